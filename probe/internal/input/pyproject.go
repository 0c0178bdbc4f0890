package input

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/distname"

	"github.com/pelletier/go-toml/v2"
)

var pyprojectTable = lazyregexp.New(`(?m)^\[(project|build-system|dependency-groups|tool\.(poetry|uv|pdm|hatch)` +
	`(\.[\w.-]+)?)\]\s*(#.*)?$`)

func isPyproject(d Document) bool {
	return pyprojectTable.Match(d.Data) && tomlBegins.Match(d.Data) || path.Base(d.Name) == "pyproject.toml" && len(d.Data) > 0
}

// tomlBegins matches what TOML begins with below its comments: a table, or a key. Other text that has one of a project's
// tables in it is a thread that quotes it.
var tomlBegins = lazyregexp.New(`^(?:\s*(?:#.*)?\n)*\s*(?:\[|[\w."'-]+\s*=)`)

func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

// pyproject is what of a pyproject.toml names packages: PEP 621's lists, PEP 735's groups, Poetry's tables, and where
// uv and Poetry take them from:
//
//	[project]
//	dependencies = ["torch==2.9.0"]
//	[tool.poetry.dependencies]
//	torch = {version = "2.9.0", source = "pytorch"}
//	[tool.uv.sources]
//	torch = [{index = "pytorch-cu126", marker = "sys_platform == 'linux'"}]
type pyproject struct {
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
			Dev     []string       `toml:"dev-dependencies"`
			Default any            `toml:"default-groups"`
			Sources map[string]any `toml:"sources"`
			Index   []pythonIndex  `toml:"index"`
		} `toml:"uv"`
		Setuptools any `toml:"setuptools"`
		Hatch      any `toml:"hatch"`
	} `toml:"tool"`
}

// pythonIndex is one package index that has a name.
type pythonIndex struct {
	Name string `toml:"name"`
	URL  string `toml:"url"`
}

// readPyproject reads what a project asks for. Its extras and groups are environments of their own: nobody said which
// of them are installed.
func readPyproject(d Document) (facts.Facts, error) {
	p := &pyproject{}
	if err := toml.Unmarshal(d.Data, p); err != nil {
		return facts.Facts{}, tomlError(err)
	}
	main := append(p.requirementsOf(p.Project.Dependencies, ""), p.poetry(p.Tool.Poetry.Dependencies, "")...)
	more, left := p.dynamic(d)
	f := lockedFacts("pyproject.toml", append(main, more...), left)
	for i := range f.Environments {
		f.Environments[i].Pythons = cmp.Or(f.Environments[i].Pythons, p.Project.Pythons)
	}
	add := func(name string, list []lockedRelease) {
		f.Environments = append(f.Environments, lockedEnvironments("pyproject.toml", name, list)...)
	}
	for _, name := range sortedKeys(p.Project.Optional) {
		add("extra "+name, p.requirementsOf(p.Project.Optional[name], name))
	}
	for _, name := range sortedKeys(p.Groups) {
		add("group "+name, p.requirementsOf(texts(p.Groups[name]), name))
	}
	for _, name := range sortedKeys(p.Tool.Poetry.Group) {
		add("group "+name, p.poetry(p.Tool.Poetry.Group[name].Dependencies, name))
	}
	add("group dev", append(p.requirementsOf(p.Tool.UV.Dev, "dev"), p.poetry(p.Tool.Poetry.Dev, "dev")...))
	return f, nil
}

// dynamic are the packages of the files that stand in the list's place; another program than setuptools and Hatch
// computes the list, and Poetry has it in a table of its own.
func (p *pyproject) dynamic(d Document) ([]lockedRelease, []facts.Unread) {
	if !slices.Contains(p.Project.Dynamic, "dependencies") || len(p.Tool.Poetry.Dependencies) > 0 {
		return nil, nil
	}
	file := entry(p.Tool.Setuptools, "dynamic", "dependencies", "file") // a name, or several
	names := append(append(anyList(file), file),
		anyList(entry(p.Tool.Hatch, "metadata", "hooks", "requirements_txt", "files"))...)
	list := &requirementFile{files: newIncludes(d)}
	for _, name := range texts(names) {
		list.files.ask(name, false)
	}
	if len(list.files.queue) == 0 {
		return nil, []facts.Unread{{Place: "dependencies", Kind: facts.UnreadNeeded,
			Reason: "pyproject.toml leaves them to the program that builds the package (setup.py, for example)"}}
	}
	list.include()
	return list.packages(), list.leftUnread
}

// texts are the requirements of a group; what it includes of others are tables, and those groups stand for themselves.
func texts(list []any) []string {
	var found []string
	for _, item := range list {
		if text, ok := item.(string); ok {
			found = append(found, text)
		}
	}
	return found
}

// requirementsOf are requirements of PEP 508, of which one that cannot be read names no package.
func (p *pyproject) requirementsOf(list []string, group string) []lockedRelease {
	f := &requirementFile{}
	for _, line := range list {
		f.requirement(strings.TrimSpace(line), 0)
	}
	for i := range f.list {
		l := &f.list[i]
		l.from = "package " + l.name
		if !l.direct {
			l.index = cmp.Or(p.uvIndex(l.name, group), defaultIndex)
		}
	}
	return f.list
}

// uvIndex is where uv takes a package from, empty where nothing says so: of several sources the one for Linux, and for
// this extra or group. Those for a machine of another kind are left out where there is one for x86_64.
func (p *pyproject) uvIndex(name, group string) string {
	for key, source := range p.Tool.UV.Sources {
		if distname.Normal(key) != name {
			continue
		}
		list, many := source.([]any)
		if !many {
			list = []any{source}
		}
		var indexes []lockedRelease // the sources for this extra or group
		for _, item := range list {
			if only := cmp.Or(field(item, "extra"), field(item, "group")); only == "" || only == group {
				indexes = append(indexes, lockedRelease{index: p.index(field(item, "index"), p.Tool.UV.Index),
					markers: []string{field(item, "marker")}})
			}
		}
		if indexes = forOneMachine(indexes); len(indexes) > 0 {
			return indexes[0].index
		}
	}
	return ""
}

// entry is what stands in a table under a path of keys.
func entry(value any, keys ...string) any {
	for _, key := range keys {
		table, _ := value.(map[string]any)
		value = table[key]
	}
	return value
}

// field is a text of a table, empty where there is none.
func field(item any, key string) string {
	text, _ := entry(item, key).(string)
	return text
}

func (p *pyproject) index(name string, list []pythonIndex) string {
	for _, i := range list {
		if i.Name == name {
			return indexOf(i.URL)
		}
	}
	return ""
}

// poetry are the packages of one of Poetry's tables; python is among them and is none.
func (p *pyproject) poetry(table map[string]any, _ string) []lockedRelease {
	var list []lockedRelease
	for _, name := range sortedKeys(table) {
		wanted, several := table[name].([]any) // for one platform each
		if !several {
			wanted = []any{table[name]}
		}
		for _, value := range wanted {
			if l := p.poetryPackage(distname.Normal(name), value); name != "python" && !notForLinux[field(value, "platform")] {
				list = append(list, l)
			}
		}
	}
	return list
}

// notForLinux are the platforms, as Poetry calls them, of packages that Linux does not get.
var notForLinux = map[string]bool{"darwin": true, "win32": true}

// poetryPackage is a package of a constraint, or of a table with one.
func (p *pyproject) poetryPackage(name string, value any) lockedRelease {
	l := lockedRelease{name: name, from: "package " + name, index: defaultIndex, extras: texts(anyList(entry(value, "extras"))),
		markers: texts([]any{entry(value, "markers")})}
	if pythons := pythonMarker(field(value, "python")); pythons != "" && len(l.markers) == 0 {
		l.markers = []string{pythons}
	}
	constraint, plain := value.(string)
	if !plain {
		constraint, plain = entry(value, "version").(string)
	}
	if source := field(value, "source"); source != "" {
		l.index = p.index(source, p.Tool.Poetry.Source)
	}
	l.constrain(constraint, plain)
	return l
}

// pythonMarker is Poetry's range of Pythons, ">=3.8,<3.12", as an environment marker; empty for one of another form.
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

func anyList(value any) []any {
	list, _ := value.([]any)
	return list
}

var bareVersion = lazyregexp.New(`^\d[A-Za-z0-9.+!]*$`)

// constrain reads Poetry's constraint: a bare version is exact, "^2.5" and "*" leave a choice.
func (p *lockedRelease) constrain(constraint string, known bool) {
	switch {
	case !known:
		p.specifier = "(from another source)"
		p.index = ""
	case bareVersion.MatchString(constraint):
		p.version = constraint
	case strings.HasPrefix(constraint, "==") && bareVersion.MatchString(strings.TrimSpace(constraint[2:])):
		p.version = strings.TrimSpace(constraint[2:])
	case constraint == "" || constraint == "*":
		p.specifier = facts.Unspecified
	default:
		p.specifier = strings.ReplaceAll(constraint, " ", "")
	}
}
