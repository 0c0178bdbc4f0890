// Package pyproject reads what a pyproject.toml asks for.
package pyproject

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/distname"
	"cudacompat/probe/internal/input/document"
	"cudacompat/probe/internal/input/request"
	"cudacompat/probe/internal/input/requirements"

	"github.com/pelletier/go-toml/v2"
)

var pyprojectTable = lazyregexp.New(`(?m)^\[(project|build-system|dependency-groups|tool\.(poetry|uv|pdm|hatch|pixi)` +
	`(\.[\w.-]+)?)\]\s*(#.*)?$`)

func Is(d document.Document) bool {
	return pyprojectTable.Match(d.Data) && tomlBegins.Match(d.Data) || path.Base(d.Name) == "pyproject.toml" && len(d.Data) > 0
}

// tomlBegins matches what TOML begins with below its comments: a table, or a key. Other text that has one of a project's
// tables in it is a thread that quotes it.
var tomlBegins = lazyregexp.New(`^(?:\s*(?:#.*)?\n)*\s*(?:\[|[\w."'-]+\s*=)`)

// Project is what of a pyproject.toml names packages: PEP 621's lists, PEP 735's groups, Poetry's tables, and where
// uv and Poetry take them from:
//
//	[project]
//	dependencies = ["torch==2.9.0"]
//	[tool.poetry.dependencies]
//	torch = {version = "2.9.0", source = "pytorch"}
//	[tool.uv.sources]
//	torch = [{index = "pytorch-cu126", marker = "sys_platform == 'linux'"}]
type Project struct {
	Project struct {
		Name         string              `toml:"name"`
		Pythons      string              `toml:"requires-python"`
		Dependencies []string            `toml:"dependencies"`
		Dynamic      []string            `toml:"dynamic"`
		Optional     map[string][]string `toml:"optional-dependencies"`
	} `toml:"project"`
	Groups map[string][]any `toml:"dependency-groups"`
	Tool   struct {
		Poetry struct {
			Dependencies map[string]any `toml:"dependencies"`
			Dev          map[string]any `toml:"dev-dependencies"`
			Group        map[string]struct {
				Optional     bool           `toml:"optional"`
				Dependencies map[string]any `toml:"dependencies"`
			} `toml:"group"`
			Source []pythonIndex `toml:"source"`
		} `toml:"poetry"`
		UV struct {
			Dev       []string `toml:"dev-dependencies"`
			Default   any      `toml:"default-groups"`
			Conflicts [][]any  `toml:"conflicts"`
			Workspace struct {
				Members []string `toml:"members"`
			} `toml:"workspace"`
			Sources map[string]any `toml:"sources"`
			Index   []pythonIndex  `toml:"index"`
			indexSettings
			Pip         indexSettings `toml:"pip"`
			Overrides   []string      `toml:"override-dependencies"`
			Constraints []string      `toml:"constraint-dependencies"`
		} `toml:"uv"`
		PDM struct {
			Source     []pythonIndex    `toml:"source"`
			Dev        map[string][]any `toml:"dev-dependencies"`
			Resolution struct {
				Overrides map[string]any `toml:"overrides"`
			} `toml:"resolution"`
		} `toml:"pdm"`
		Flit struct {
			Metadata struct {
				Requires []string            `toml:"requires"`
				Extra    map[string][]string `toml:"requires-extra"`
			} `toml:"metadata"`
		} `toml:"flit"`
		Setuptools any `toml:"setuptools"`
		Hatch      any `toml:"hatch"`
		Pixi       any `toml:"pixi"`
	} `toml:"tool"`

	overriding, constraining map[string][]request.Package // by package; nil: not parsed yet
}

// Read parses what a project requires. Its extras and groups become separate environments, because nobody said which
// are installed.
func Read(d document.Document) (facts.Facts, error) {
	p := &Project{}
	if err := toml.Unmarshal(d.Data, p); err != nil {
		return facts.Facts{}, document.TOMLError(err)
	}
	var groups []string // that are installed with the project
	if p.usesUV() {
		groups = p.DefaultGroups()
	}
	synced := p.synced(nil, groups)
	own := p.settled(synced.list, p.requirementsResolvedWith(synced))
	main := append(slices.Clone(own), p.Poetry(p.Tool.Poetry.Dependencies, "")...)
	main = append(main, p.RequirementsOf(p.Tool.Flit.Metadata.Requires, "")...)
	more, left := p.Dynamic(d)
	local, unread := p.localSources(d)
	more, left = append(more, local...), slices.Concat(left, unread, p.refusedGroups(), p.unsureSources(synced, own))
	f := request.Facts("pyproject.toml", append(main, more...), left)
	for i := range f.Environments {
		f.Environments[i].Pythons = cmp.Or(f.Environments[i].Pythons, p.Project.Pythons)
	}
	add := func(name string, list []request.Package) {
		f.Environments = append(f.Environments, request.Environments("pyproject.toml", name, list)...)
	}
	for _, name := range document.SortedKeys(p.Tool.Flit.Metadata.Extra) {
		add("extra "+name, p.RequirementsOf(p.Tool.Flit.Metadata.Extra[name], name))
	}
	for _, name := range document.SortedKeys(p.Project.Optional) {
		if !synced.seen["extra "+distname.Normal(name)] {
			add("extra "+name, p.partOf("extra", anyTexts(p.Project.Optional[name]), name))
		}
	}
	for _, name := range document.SortedKeys(p.Groups) {
		if !synced.seen["group "+distname.Normal(name)] {
			add("group "+name, p.partOf("group", p.Groups[name], name))
		}
	}
	p.addToolGroups(add, synced.seen["group dev"])
	extras, left := p.dynamicExtras(d)
	f.Unread = append(f.Unread, left...)
	for _, name := range document.SortedKeys(extras) {
		add("extra "+name, extras[name])
	}
	f.Unread = append(f.Unread, p.LeftUnread(askedFor(f), d.Beside)...)
	f.Unread = append(f.Unread, p.pixiTables()...)
	return f, nil
}

// addToolGroups adds the groups and environments of Poetry, PDM and Hatch, and those of uv's older setting. If synced,
// a plain `uv sync` already installs the group dev.
func (p *Project) addToolGroups(add func(name string, list []request.Package), synced bool) {
	for _, name := range document.SortedKeys(p.Tool.Poetry.Group) {
		add("group "+name, p.Poetry(p.Tool.Poetry.Group[name].Dependencies, name))
	}
	dev := p.Poetry(p.Tool.Poetry.Dev, "dev")
	if !synced {
		dev = append(p.RequirementsOf(p.Tool.UV.Dev, "dev"), dev...)
	}
	add("group dev", dev)
	for _, name := range document.SortedKeys(p.Tool.PDM.Dev) {
		add("group "+name, p.RequirementsOf(document.Texts(p.Tool.PDM.Dev[name]), name))
	}
	environments, _ := document.Entry(p.Tool.Hatch, "envs").(map[string]any)
	for _, name := range document.SortedKeys(environments) {
		list := slices.Concat(document.AnyList(document.Entry(environments[name], "dependencies")),
			document.AnyList(document.Entry(environments[name], "extra-dependencies")))
		add("environment "+name, p.RequirementsOf(document.Texts(list), name))
	}
}

// RequirementsOf returns requirements of PEP 508 as the project's tools install them, for the extras and groups through
// which they are asked for. One that cannot be read names no package.
func (p *Project) RequirementsOf(list []string, parts ...string) []request.Package {
	named := p.override(parse(list))
	for i := range named {
		l := &named[i]
		l.From = "package " + l.Name
		if !l.Direct && !p.setSource(l, parts) {
			p.setIndex(l)
		}
	}
	return named
}

// parse reads requirements of PEP 508.
func parse(list []string) []request.Package {
	f := &requirements.File{}
	for _, line := range list {
		f.Requirement(strings.TrimSpace(line), 0)
	}
	return f.Named
}

func (p *Project) Index(name string, list []pythonIndex) string {
	for _, i := range list {
		if strings.EqualFold(i.Name, name) {
			if i.URL == "" { // Poetry's own entry for PyPI
				return request.DefaultIndex
			}
			return request.IndexOf(i.URL)
		}
	}
	return ""
}

// Poetry returns the packages of one of Poetry's tables; python is among them and is none.
func (p *Project) Poetry(table map[string]any, _ string) []request.Package {
	var list []request.Package
	for _, name := range document.SortedKeys(table) {
		wanted, several := table[name].([]any) // for one platform each
		if !several {
			wanted = []any{table[name]}
		}
		for _, value := range wanted {
			if l := p.poetryPackage(distname.Normal(name), value); name != "python" && !notForLinux[document.Field(value, "platform")] {
				list = append(list, l)
			}
		}
	}
	return list
}

// notForLinux are the platforms, as Poetry calls them, of packages that Linux does not get.
var notForLinux = map[string]bool{"darwin": true, "win32": true}

// poetryPackage returns a package of a constraint, or of a table with one.
func (p *Project) poetryPackage(name string, value any) request.Package {
	l := request.Package{Name: name, From: "package " + name, Extras: document.Texts(document.AnyList(document.Entry(value, "extras"))),
		Markers: document.Texts([]any{document.Entry(value, "markers")})}
	if pythons := pythonMarker(document.Field(value, "python")); pythons != "" && len(l.Markers) == 0 {
		l.Markers = []string{pythons}
	}
	constraint, plain := value.(string)
	if !plain {
		constraint, plain = document.Entry(value, "version").(string)
	}
	if source := document.Field(value, "source"); source != "" {
		l.Index = p.Index(source, p.Tool.Poetry.Source)
		l.IndexCUDA = request.IndexCUDA(l.Index)
	} else {
		p.setIndex(&l)
	}
	constrain(&l, constraint, plain)
	return l
}

// pythonMarker returns Poetry's range of Pythons, ">=3.8,<3.12", as an environment marker; empty for one of another
// form.
func pythonMarker(pythons string) string {
	var parts []string
	for part := range strings.SplitSeq(pythons, ",") {
		m := pythonBound.FindStringSubmatch(strings.TrimSpace(part))
		if m == nil {
			return ""
		}
		parts = append(parts, "python_version "+m[1]+" '"+m[2]+"'")
	}
	return strings.Join(parts, " and ")
}

var pythonBound = lazyregexp.New(`^([<>]=?|[!=]=)\s*(\d[\d.*]*)$`)

var bareVersion = lazyregexp.New(`^\d[A-Za-z0-9.+!]*$`)

// constrain reads Poetry's constraint: a bare version is exact, "^2.5" and "*" leave a choice.
func constrain(p *request.Package, constraint string, known bool) {
	switch {
	case !known:
		p.Specifier = fromElsewhere
		p.Index = ""
	case bareVersion.MatchString(constraint):
		p.Version = constraint
	case strings.HasPrefix(constraint, "==") && bareVersion.MatchString(strings.TrimSpace(constraint[2:])):
		p.Version = strings.TrimSpace(constraint[2:])
	case constraint == "" || constraint == "*":
		p.Specifier = facts.Unspecified
	default:
		p.Specifier = strings.ReplaceAll(constraint, " ", "")
	}
}
