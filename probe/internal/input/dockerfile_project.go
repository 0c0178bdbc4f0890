package input

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"

	"github.com/pelletier/go-toml/v2"
)

// project is what a tool installs by files of its own: uv.lock, poetry.lock, environment.yml.
func (f *dockerfile) project(t tool, number int) step {
	var list []lockedRelease
	var err error
	switch t.by {
	case "uv", "uv run":
		list, err = f.uvProject(t)
	case "poetry":
		list, err = f.poetryProject(t.args)
	case "conda":
		names := append(valuesOf(t.args, "-f"), valuesOf(t.args, "--file")...)
		c := &conda{}
		for _, name := range append(names, "environment.yml")[:max(1, len(names))] {
			f.condaFile(c, name, number)
		}
		return step{list: c.packages()}
	default:
		err = errNoProject
	}
	if err != nil && t.reason != "" {
		f.unread(t.command, t.reason, number)
	}
	if with := valuesOf(t.args, "--with"); t.by == "uv run" && len(with) > 0 {
		f.stages[len(f.stages)-1].steps = append(f.stages[len(f.stages)-1].steps, step{apart: true,
			list: f.pip(with, number, "uv").list})
	}
	return step{list: list, whole: true}
}

// errNoProject is a project of which no file is there.
var errNoProject = fmt.Errorf("there is no such file")

// open reads a file of the image that comes from the build context, up to what its format may have.
func (f *dockerfile) open(name string, most limit) ([]byte, error) {
	data, err := f.files.read(include{name: f.find(name)})
	if err == nil {
		err = tooLarge(data)
	}
	if err == nil {
		err = most(data)
	}
	return data, err
}

// uvValues are options of uv that take the next word.
var uvValues = []string{"--extra", "--group", "--no-group", "--only-group", "--no-extra", "--package", "--project",
	"--directory", "--with", "--with-editable", "--with-requirements", "--python", "-p", "--env-file", "--index",
	"--default-index", "--no-install-package", "--no-binary-package", "--upgrade-package", "-P", "--config-file",
	"--cache-dir", "--link-mode", "--python-platform", "--refresh-package", "--reinstall-package", "--index-strategy",
	"--extra-index-url", "-i", "--index-url", "-f", "--find-links", "--resolution", "--prerelease", "--color", "-w"}

// beforeCommand are the options that stand before the program which uv run starts.
func beforeCommand(list []string) []string {
	for i := 0; i < len(list); i++ {
		switch {
		case slices.Contains(uvValues, list[i]):
			i++
		case !strings.HasPrefix(list[i], "-"):
			return list[:i]
		}
	}
	return list
}

// uvProject is what uv sync, and uv run before the program, install: what uv.lock says, else what the project asks for.
func (f *dockerfile) uvProject(t tool) ([]lockedRelease, error) {
	dir := "."
	for _, option := range []string{"--directory", "--project"} {
		if at := valuesOf(t.args, option); len(at) > 0 {
			dir = at[0]
		}
	}
	beside := func(name string) ([]byte, error) { return f.open(path.Join(dir, name), project) }
	data, err := f.open(path.Join(dir, "uv.lock"), tables)
	if err != nil {
		if data, err = beside("pyproject.toml"); err != nil {
			return nil, err
		}
		return f.uvUnlocked(data, t.args)
	}
	l, err := parseUVLock(data, beside)
	if err != nil {
		return nil, err
	}
	c := l.choice(t.args)
	installed := l.installed(c)
	left := valuesOf(t.args, "--no-install-package")
	return l.list(c, func(i int) bool { return installed[i] && !slices.Contains(left, l.Package[i].Name) }), nil
}

// uvUnlocked is what a project without a lock asks for.
func (f *dockerfile) uvUnlocked(data []byte, args []string) ([]lockedRelease, error) {
	p := &pyproject{}
	if err := toml.Unmarshal(data, p); err != nil {
		return nil, tomlError(err)
	}
	list := p.requirementsOf(p.Project.Dependencies, "")
	for _, extra := range valuesOf(args, "--extra") {
		list = append(list, p.requirementsOf(p.Project.Optional[extra], extra)...)
	}
	for _, group := range append(valuesOf(args, "--group"), "dev") {
		list = append(list, p.requirementsOf(texts(p.Groups[group]), group)...)
	}
	return list, nil
}

// choice is what the options of uv sync and uv run choose.
func (l *uvDocument) choice(args []string) selection {
	c := selection{extras: valuesOf(args, "--extra"), groups: slices.Clone(l.groups), members: valuesOf(args, "--package"),
		everyMember: slices.Contains(args, "--all-packages")}
	every := func(of func(*uvPackage) map[string][]uvNeed) (names []string) {
		for i := range l.Package {
			if p := &l.Package[i]; p.member() {
				names = append(names, sortedKeys(of(p))...)
			}
		}
		return names
	}
	for _, word := range args {
		switch word {
		case "--all-extras":
			c.extras = every(func(p *uvPackage) map[string][]uvNeed { return p.Optional })
		case "--all-groups":
			c.groups = every(func(p *uvPackage) map[string][]uvNeed { return p.Groups })
		case "--no-default-groups":
			c.groups = nil
		}
	}
	c.groups = append(c.groups, valuesOf(args, "--group")...)
	if only := valuesOf(args, "--only-group"); len(only) > 0 {
		c.groups, c.groupsOnly = only, true
	}
	without := valuesOf(args, "--no-group")
	if slices.Contains(args, "--no-dev") {
		without = append(without, "dev")
	}
	c.groups = slices.DeleteFunc(c.groups, func(name string) bool { return slices.Contains(without, name) })
	without = valuesOf(args, "--no-extra")
	c.extras = slices.DeleteFunc(c.extras, func(name string) bool { return slices.Contains(without, name) })
	return c
}

// poetryProject is what poetry install installs.
func (f *dockerfile) poetryProject(args []string) ([]lockedRelease, error) {
	p := &pyproject{}
	data, err := f.open("pyproject.toml", project)
	if err == nil {
		err = toml.Unmarshal(data, p)
	}
	if err != nil {
		return nil, err
	}
	data, err = f.open("poetry.lock", tables)
	if err != nil {
		return append(p.poetry(p.Tool.Poetry.Dependencies, ""), p.requirementsOf(p.Project.Dependencies, "")...), nil
	}
	l, err := parsePoetryLock(data)
	if err != nil {
		return nil, err
	}
	return l.list(l.choice(args, p), p), nil
}

// sourceDir matches a directory with the extras that are asked of it: ".[gpu,dev]".
var sourceDir = lazyregexp.New(`^([^\[]*?)/?(?:\[([^\]]*)\])?$`)

// source is what a directory of the build context asks for that is installed: pip install -e .[gpu]. What it names is
// added to the command's own where pip's indexes hold for it; uv takes the project's own.
func (f *dockerfile) source(r *requirementFile, name string, args []string, number int, by string) []lockedRelease {
	if slices.Contains(args, "--no-deps") {
		return nil
	}
	p := &pyproject{}
	m := sourceDir.FindStringSubmatch(name)
	if m == nil || strings.HasSuffix(name, ".whl") || strings.Contains(name, "$") {
		f.unread("pip install "+name, elsewhere, number)
		return nil
	}
	beside := func(name string) ([]byte, error) { return f.open(path.Join(m[1], name), project) }
	data, err := beside("pyproject.toml")
	if err == nil {
		err = toml.Unmarshal(data, p)
	}
	if err != nil || p.Project.Name == "" && len(p.Tool.Poetry.Dependencies) == 0 {
		f.unread("pip install "+name, elsewhere, number) // setup.py computes it
		return nil
	}
	more, left := p.dynamic(Document{Beside: beside})
	f.leftUnread = append(f.leftUnread, left...)
	lines := map[string][]string{"": p.Project.Dependencies}
	for extra := range strings.SplitSeq(m[2], ",") {
		if extra = strings.TrimSpace(extra); extra != "" {
			lines[extra] = p.Project.Optional[extra]
		}
	}
	list := append(more, p.poetry(p.Tool.Poetry.Dependencies, "")...)
	for _, group := range sortedKeys(lines) {
		if by == "uv" {
			list = append(list, p.requirementsOf(lines[group], group)...)
			continue
		}
		for _, line := range lines[group] {
			r.requirement(strings.TrimSpace(line), number)
		}
	}
	return list
}

// condaFile adds what a file names that conda is given: an environment.yml, a lock, an explicit list, or specifications.
func (f *dockerfile) condaFile(c *conda, name string, number int) {
	data, err := f.open(name, lines)
	if err != nil {
		f.unread("conda's "+name, inAnotherFile, number)
		return
	}
	d := Document{Name: name, Data: data, Beside: func(other string) ([]byte, error) {
		return f.open(path.Join(path.Dir(name), other), rows)
	}}
	bad := len(c.bad)
	switch {
	case isCondaLock(d):
		lock := parseCondaLock(data)
		c.list, c.cuda, c.cpu = append(c.list, lock.list...), lock.cuda, lock.cpu
	case isCondaExplicit(d):
		c.explicit(data)
	case isCondaYAML(d):
		var left []facts.Unread
		if left, err = c.environment(d); err != nil {
			f.unread("conda's "+name, err.Error(), number)
		}
		f.leftUnread = append(f.leftUnread, left...)
	default:
		for line := range strings.Lines(string(data)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				c.spec(line)
			}
		}
	}
	if len(c.bad) > bad { // whoever wrote the Dockerfile may have named any file: no line of it is shown
		c.bad = c.bad[:bad]
		f.unread("conda's "+name, "a line of it is not a package that conda reads", number)
	}
}
