package pyproject

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/distname"
	"cudacompat/probe/internal/input/document"
	"cudacompat/probe/internal/input/request"
	"cudacompat/probe/internal/input/requirements"
)

// pythonIndex is one package index that a table of uv's, PDM's or Poetry's names.
type pythonIndex struct {
	Name     string `toml:"name"`
	URL      string `toml:"url"`
	Explicit bool   `toml:"explicit"` // uv: only for the packages whose source names it
	Default  bool   `toml:"default"`  // uv: instead of PyPI
	Priority string `toml:"priority"` // Poetry
	Type     string `toml:"type"`     // PDM: "find_links" for a page of links
	Include  any    `toml:"include_packages"`
	Exclude  any    `toml:"exclude_packages"`
}

// indexSettings are the options of uv that name indexes, in [tool.uv] and in [tool.uv.pip].
type indexSettings struct {
	IndexURL      string `toml:"index-url"`
	ExtraIndexURL any    `toml:"extra-index-url"`
	FindLinks     any    `toml:"find-links"`
	NoIndex       bool   `toml:"no-index"`
	TorchBackend  string `toml:"torch-backend"`
}

// addTo adds the settings to a file's options.
func (s indexSettings) addTo(f *requirements.File) {
	addOption(f, "--index-url", s.IndexURL)
	for _, address := range textsOf(s.ExtraIndexURL) {
		addOption(f, "--extra-index-url", address)
	}
	for _, address := range textsOf(s.FindLinks) {
		addOption(f, "--find-links", address)
	}
	if s.NoIndex {
		f.Option("--no-index")
	}
	if s.TorchBackend != "" {
		f.Option(requirements.TorchBackend(s.TorchBackend))
	}
}

func addOption(f *requirements.File, option, value string) {
	if value != "" {
		f.Option(option + "=" + value)
	}
}

// textsOf returns the texts of a setting that holds one text or a list of them.
func textsOf(setting any) []string {
	if text, ok := setting.(string); ok {
		return []string{text}
	}
	return document.Texts(document.AnyList(setting))
}

// maxIndexes limits the indexes that are compared for each package. With more, the index is unknown.
const maxIndexes = 50

// setIndex fills in the index of a package that has no source of its own: the project's indexes serve it.
func (p *Project) setIndex(l *request.Package) {
	uv := p.Tool.UV
	if len(uv.Index)+len(p.Tool.PDM.Source)+len(p.Tool.Poetry.Source) > maxIndexes ||
		len(textsOf(uv.ExtraIndexURL))+len(textsOf(uv.FindLinks)) > maxIndexes ||
		len(textsOf(document.Entry(p.Tool.Pixi, "pypi-options", "extra-index-urls"))) > maxIndexes ||
		len(textsOf(uv.Pip.ExtraIndexURL))+len(textsOf(uv.Pip.FindLinks)) > maxIndexes {
		return
	}
	f := &requirements.File{}
	for _, i := range uv.Index {
		switch {
		case i.Explicit:
		case i.Default:
			addOption(f, "--index-url", i.URL)
		default:
			addOption(f, "--extra-index-url", i.URL)
		}
	}
	uv.indexSettings.addTo(f)
	uv.Pip.addTo(f)
	for _, i := range p.Tool.PDM.Source {
		switch {
		case !i.serves(l.Name):
		case i.Type == "find_links":
			addOption(f, "--find-links", i.URL)
		default:
			addOption(f, "--extra-index-url", i.URL)
		}
	}
	for _, i := range p.Tool.Poetry.Source {
		switch i.Priority {
		case "", "primary", "default":
			addOption(f, "--extra-index-url", i.URL)
		case "supplemental", "secondary": // searched for what no primary source has
		}
	}
	p.addPixiIndexes(f)
	f.SetIndex(l)
	for _, i := range p.Tool.UV.Index {
		l.IndexCUDA = cmp.Or(l.IndexCUDA, request.ServedCUDA(i.URL, l.Name))
	}
}

// addPixiIndexes adds the indexes that Pixi takes the packages of the project's list from.
func (p *Project) addPixiIndexes(f *requirements.File) {
	options := document.Entry(p.Tool.Pixi, "pypi-options")
	addOption(f, "--index-url", document.Field(options, "index-url"))
	for _, address := range textsOf(document.Entry(options, "extra-index-urls")) {
		addOption(f, "--extra-index-url", address)
	}
	if len(document.AnyList(document.Entry(options, "find-links"))) > 0 {
		f.Option("--no-index")
	}
}

// serves reports whether PDM looks for a package in a source.
func (i pythonIndex) serves(name string) bool {
	matches := func(pattern string) bool {
		ok, _ := path.Match(strings.ToLower(pattern), name)
		return ok
	}
	include := textsOf(i.Include)
	return (len(include) == 0 || slices.ContainsFunc(include, matches)) && !slices.ContainsFunc(textsOf(i.Exclude), matches)
}

// setSource applies what [tool.uv.sources] says of a package: of several sources the one for Linux, and for one of these
// extras and groups. Those for a machine of another kind are left out where there is one for x86_64. It returns false if no source
// holds for the package.
func (p *Project) setSource(l *request.Package, parts []string) bool {
	for key, source := range p.Tool.UV.Sources {
		if distname.Normal(key) != l.Name {
			continue
		}
		list, many := source.([]any)
		if !many {
			list = []any{source}
		}
		var sources []request.Package // for this extra or group
		for _, item := range list {
			if only := cmp.Or(document.Field(item, "extra"), document.Field(item, "group")); only == "" || slices.ContainsFunc(parts, func(part string) bool { return sameName(part, only) }) {
				sources = append(sources, p.source(*l, item))
			}
		}
		if sources = request.ForOneMachine(sources); len(sources) > 0 {
			sources[0].Markers = l.Markers
			*l = sources[0]
			return true
		}
	}
	return false
}

// source returns a package as one source of uv's provides it. A repository or a directory can hold any build.
func (p *Project) source(l request.Package, item any) request.Package {
	l.Markers = []string{document.Field(item, "marker")}
	switch name, address := document.Field(item, "index"), document.Field(item, "url"); {
	case name != "":
		l.Index = p.Index(name, p.Tool.UV.Index)
		l.IndexCUDA = request.IndexCUDA(l.Index)
		for _, i := range p.Tool.UV.Index {
			l.IndexCUDA = cmp.Or(l.IndexCUDA, request.ServedCUDA(i.URL, l.Name))
		}
	case address != "":
		l.Version, l.Specifier = "", ""
		l.Take(address, "")
	default:
		l.Version, l.Specifier, l.Index = "", fromElsewhere, ""
	}
	return l
}

// fromElsewhere is the specifier of a package that comes from no index.
const fromElsewhere = "(from another source)"

// override returns the packages with the versions that uv and PDM install instead of those that are asked for, and
// within uv's constraints.
func (p *Project) override(list []request.Package) []request.Package {
	if p.overriding == nil {
		p.overriding = groupByName(p.overrides())
		p.constraining = groupByName(request.ForOneMachine(parse(p.Tool.UV.Constraints)))
	}
	overrides, constraints := p.overriding, p.constraining
	if len(overrides)+len(constraints) == 0 {
		return list
	}
	replaced := map[string]request.Package{} // what several lines ask of one package, together
	var kept []request.Package
	for _, l := range list {
		if len(overrides[l.Name]) == 0 {
			for _, c := range constraints[l.Name] {
				constrainTo(&l, c)
			}
			kept = append(kept, l)
			continue
		}
		before, again := replaced[l.Name]
		if again {
			l.Extras = append(before.Extras, l.Extras...)
			if len(before.Markers) == 0 || len(l.Markers) == 0 {
				l.Markers = nil
			} else {
				l.Markers = append(before.Markers, l.Markers...)
			}
		}
		replaced[l.Name] = l
	}
	for _, name := range document.SortedKeys(replaced) {
		for _, o := range overrides[name] {
			o.Overrides = true
			o.Extras = append(slices.Clone(o.Extras), replaced[name].Extras...)
			if len(o.Markers) == 0 {
				o.Markers = replaced[name].Markers
			}
			kept = append(kept, o)
		}
	}
	return kept
}

// groupByName returns the packages by their names.
func groupByName(list []request.Package) map[string][]request.Package {
	named := map[string][]request.Package{}
	for _, l := range list {
		named[l.Name] = append(named[l.Name], l)
	}
	return named
}

// overrides returns the requirements that replace all others of their packages.
func (p *Project) overrides() []request.Package {
	list := slices.Clone(p.Tool.UV.Overrides)
	for _, name := range document.SortedKeys(p.Tool.PDM.Resolution.Overrides) {
		switch wanted, _ := p.Tool.PDM.Resolution.Overrides[name].(string); {
		case bareVersion.MatchString(wanted):
			list = append(list, name+"=="+wanted)
		case strings.Contains(wanted, "://"):
			list = append(list, name+" @ "+wanted)
		default:
			list = append(list, name+wanted)
		}
	}
	return parse(list)
}

// constrainTo narrows what a package's requirement leaves open to what a constraint allows.
func constrainTo(l *request.Package, c request.Package) {
	if c.Name != l.Name || l.Direct {
		return
	}
	public, _, _ := strings.Cut(c.Version, "+")
	switch {
	case c.Version != "" && (l.Version == "" || l.Version == public):
		l.Version, l.Specifier = c.Version, ""
	case l.Version == "" && l.Specifier == facts.Unspecified:
		l.Specifier = c.Specifier
	case l.Version == "" && c.Specifier != facts.Unspecified:
		l.Specifier += "," + c.Specifier
	}
}

// overriddenElsewhere names the frameworks that are overridden or constrained and that no list asks for: a package that
// needs one installs it.
func (p *Project) overriddenElsewhere(asked map[string]bool) []facts.Unread {
	var left []facts.Unread
	for _, o := range append(p.overrides(), parse(p.Tool.UV.Constraints)...) {
		if framework.MatchString(o.Name) && !asked[o.Name] {
			asked[o.Name] = true
			left = append(left, facts.Unread{Place: o.Name, Kind: facts.UnreadNeeded,
				Reason: "pyproject.toml overrides its version, and only another package asks for it"})
		}
	}
	return left
}

// framework matches the packages of the frameworks whose builds differ in their CUDA.
var framework = lazyregexp.New(`^(?:torch|tensorflow(?:-gpu|-cpu)?|jax|jaxlib)$`)

// askedFor returns the names of the packages that facts have.
func askedFor(f facts.Facts) map[string]bool {
	asked := map[string]bool{}
	for _, e := range f.Environments {
		for _, b := range e.Builds {
			asked[b.Name] = true
		}
		for _, r := range e.Requested {
			asked[r.Name] = true
		}
	}
	return asked
}

// LeftUnread returns what changes the packages of a project and is not read. beside opens a file beside the project, or
// is nil.
func (p *Project) LeftUnread(asked map[string]bool, beside func(string) ([]byte, error)) []facts.Unread {
	if len(asked) == 0 {
		return nil
	}
	left := p.overriddenElsewhere(asked)
	if beside == nil || !slices.ContainsFunc(slices.Collect(maps.Keys(asked)), stack) {
		return left
	}
	switch data, err := beside("uv.toml"); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		left = append(left, facts.Unread{Place: "uv.toml", Kind: facts.UnreadNeeded, Reason: err.Error()})
	case ChoosesBuilds(data):
		left = append(left, facts.Unread{Place: "uv.toml", Kind: facts.UnreadNeeded,
			Reason: "its indexes and overrides replace those of pyproject.toml, and they are not read"})
	}
	return left
}

// InStack reports whether a package is one of a CUDA stack.
func InStack(name string) bool { return stack(name) }

// stack reports whether a package is one of a CUDA stack.
func stack(name string) bool {
	return name != "numpy" && name != "protobuf" && (distname.Companions.Match(name) || distname.Reported.Match(name))
}

// ChoosesBuilds reports whether a uv.toml has settings that change which builds are installed.
func ChoosesBuilds(data []byte) bool { return uvSettings.Match(data) }

// uvSettings matches the settings of a uv.toml that change which builds are installed.
var uvSettings = lazyregexp.New(`(?m)^[ \t]*(?:\[+[ \t]*)?"?(?:pip[ \t]*\.[ \t]*)?"?(?:index|index-url|extra-index-url|find-links|no-index|` +
	`torch-backend|override-dependencies|constraint-dependencies|sources)\b`)
