package dockerfile

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/input/conda"
	"cudacompat/probe/internal/input/dockerfile/installer"
	"cudacompat/probe/internal/input/document"
	"cudacompat/probe/internal/input/poetry"
	"cudacompat/probe/internal/input/pyproject"
	"cudacompat/probe/internal/input/request"
	"cudacompat/probe/internal/input/requirements"
	"cudacompat/probe/internal/input/uvlock"

	"github.com/pelletier/go-toml/v2"
)

// project returns what a tool installs by files of its own: uv.lock, poetry.lock, environment.yml.
func (f *dockerfile) project(t installer.Tool, number int) step {
	var list []request.Package
	var err error
	switch t.By {
	case "uv", "uv run":
		list, err = f.uvProject(t)
	case "poetry":
		list, err = f.poetryProject(t.Args)
	case "conda":
		names := append(uvlock.OptionValues(t.Args, "-f"), uvlock.OptionValues(t.Args, "--file")...)
		c := &conda.List{}
		for _, name := range append(names, "environment.yml")[:max(1, len(names))] {
			f.condaFile(c, name, number)
		}
		return step{list: c.Resolved()}
	default:
		err = errNoProject
	}
	if err != nil && t.Reason != "" {
		f.unread(t.Command, t.Reason, number)
	}
	if with := uvlock.OptionValues(t.Args, "--with"); t.By == "uv run" && len(with) > 0 {
		f.stages[len(f.stages)-1].steps = append(f.stages[len(f.stages)-1].steps, step{apart: true,
			list: f.pip(with, number, "uv").list})
	}
	return step{list: list, whole: true}
}

// errNoProject is a project of which no file is there.
var errNoProject = fmt.Errorf("there is no such file")

// open reads a file of the image that comes from the build context, up to what its format may have.
func (f *dockerfile) open(name string, most document.Limit) ([]byte, error) {
	if why := f.changedFile(name); why != "" {
		return nil, errors.New(why)
	}
	data, err := f.files.Read(requirements.Include{Name: f.find(name)})
	if err == nil {
		err = document.TooLarge(data)
	}
	if err == nil {
		err = most(data)
	}
	return data, err
}

// uvProject returns what uv sync, and uv run before the program, install: what uv.lock says, else what the project asks
// for.
func (f *dockerfile) uvProject(t installer.Tool) ([]request.Package, error) {
	dir := "."
	for _, option := range []string{"--directory", "--project"} {
		if at := uvlock.OptionValues(t.Args, option); len(at) > 0 {
			dir = at[0]
		}
	}
	beside := func(name string) ([]byte, error) { return f.open(path.Join(dir, name), document.Project) }
	data, err := f.open(path.Join(dir, "uv.lock"), document.Tables)
	if err != nil {
		if data, err = beside("pyproject.toml"); err != nil {
			return nil, err
		}
		return f.uvUnlocked(data, t.Args, beside)
	}
	l, err := uvlock.Parse(data, beside)
	if err != nil {
		return nil, err
	}
	c := l.Selection(t.Args)
	installed := l.Installed(c)
	left := uvlock.OptionValues(t.Args, "--no-install-package")
	return l.List(c, func(i int) bool { return installed[i] && !slices.Contains(left, l.Package[i].Name) }), nil
}

// uvUnlocked returns what a project without a lock asks for.
func (f *dockerfile) uvUnlocked(data []byte, args []string, beside func(string) ([]byte, error)) ([]request.Package, error) {
	p := &pyproject.Project{}
	if err := toml.Unmarshal(data, p); err != nil {
		return nil, document.TOMLError(err)
	}
	groups := p.DefaultGroups()
	if slices.Contains(args, "--no-default-groups") {
		groups = nil
	}
	groups = append(groups, uvlock.OptionValues(args, "--group")...)
	without := uvlock.OptionValues(args, "--no-group")
	if slices.Contains(args, "--no-dev") {
		without = append(without, "dev")
	}
	groups = slices.DeleteFunc(groups, func(name string) bool { return slices.Contains(without, name) })
	extras := uvlock.OptionValues(args, "--extra")
	if slices.Contains(args, "--all-extras") {
		extras = document.SortedKeys(p.Project.Optional)
	}
	list := p.Synced(extras, groups)
	asked := map[string]bool{}
	for _, l := range list {
		asked[l.Name] = true
	}
	f.leftUnread = append(f.leftUnread, p.LeftUnread(asked, func(name string) ([]byte, error) {
		data, err := beside(name)
		if err != nil { // it is not in the image
			err = fs.ErrNotExist
		}
		return data, err
	})...)
	return list, nil
}

// poetryProject returns what poetry install installs.
func (f *dockerfile) poetryProject(args []string) ([]request.Package, error) {
	p := &pyproject.Project{}
	data, err := f.open("pyproject.toml", document.Project)
	if err == nil {
		err = toml.Unmarshal(data, p)
	}
	if err != nil {
		return nil, err
	}
	data, err = f.open("poetry.lock", document.Tables)
	if err != nil {
		return append(p.Poetry(p.Tool.Poetry.Dependencies, ""), p.RequirementsOf(p.Project.Dependencies, "")...), nil
	}
	l, err := poetry.Parse(data)
	if err != nil {
		return nil, err
	}
	return l.List(l.Selection(args, p), p), nil
}

// sourceDir matches a directory with the extras that are asked of it: ".[gpu,dev]".
var sourceDir = lazyregexp.New(`^([^\[]*?)/?(?:\[([^\]]*)\])?$`)

// source returns what a directory of the build context asks for that is installed: pip install -e .[gpu]. What it names
// is added to the command's own where pip's indexes hold for it; uv takes the project's own.
func (f *dockerfile) source(r *requirements.File, name string, args []string, number int, by string) []request.Package {
	if slices.Contains(args, "--no-deps") {
		return nil
	}
	p := &pyproject.Project{}
	m := sourceDir.FindStringSubmatch(name)
	if m == nil || strings.HasSuffix(name, ".whl") || strings.Contains(name, "$") {
		f.unread("pip install "+name, requirements.Elsewhere, number)
		return nil
	}
	beside := func(name string) ([]byte, error) { return f.open(path.Join(m[1], name), document.Project) }
	data, err := beside("pyproject.toml")
	if err == nil {
		err = toml.Unmarshal(data, p)
	}
	if err != nil || p.Project.Name == "" && len(p.Tool.Poetry.Dependencies) == 0 {
		f.unread("pip install "+name, requirements.Elsewhere, number) // setup.py computes it
		return nil
	}
	more, left := p.Dynamic(document.Document{Beside: beside})
	f.leftUnread = append(f.leftUnread, left...)
	lines := map[string][]string{"": p.Project.Dependencies}
	for extra := range strings.SplitSeq(m[2], ",") {
		if extra = strings.TrimSpace(extra); extra != "" {
			lines[extra] = p.Project.Optional[extra]
		}
	}
	list := append(more, p.Poetry(p.Tool.Poetry.Dependencies, "")...)
	for _, group := range document.SortedKeys(lines) {
		if by == "uv" {
			list = append(list, p.RequirementsOf(lines[group], group)...)
			continue
		}
		for _, line := range lines[group] {
			r.Requirement(strings.TrimSpace(line), number)
		}
	}
	return list
}

// condaFile adds what a file names that conda is given: an environment.yml, a lock, an explicit list, or specifications.
func (f *dockerfile) condaFile(c *conda.List, name string, number int) {
	data, err := f.open(name, document.Lines)
	if err != nil {
		f.unread("conda's "+name, installer.InAnotherFile, number)
		return
	}
	d := document.Document{Name: name, Data: data, Beside: func(other string) ([]byte, error) {
		return f.open(path.Join(path.Dir(name), other), document.Rows)
	}}
	bad := len(c.Bad)
	switch {
	case conda.IsLock(d):
		lock := conda.ParseLock(data)
		c.Packages, c.CUDA, c.CPU = append(c.Packages, lock.Packages...), lock.CUDA, lock.CPU
	case conda.IsExplicit(d):
		c.Explicit(data)
	case conda.IsYAML(d):
		var left []facts.Unread
		if left, err = c.Environment(d); err != nil {
			f.unread("conda's "+name, err.Error(), number)
		}
		f.leftUnread = append(f.leftUnread, left...)
	default:
		for line := range strings.Lines(string(data)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				c.Spec(line)
			}
		}
	}
	if len(c.Bad) > bad { // whoever wrote the Dockerfile may have named any file: no line of it is shown
		c.Bad = c.Bad[:bad]
		f.unread("conda's "+name, "a line of it is not a package that conda reads", number)
	}
}
