package requirements

import (
	"errors"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
)

// localAddress matches a directory or its file address, with the extras that are wanted of the project in it:
//
//	./pkg[gpu]
//	file:./pkg
var localAddress = lazyregexp.New(`^(?:file:(?://(?:localhost)?)?)?(\.{1,2}(?:/[^#\[]*)?|/[^#\[]*|[^\s:#\[@]+/?)(?:\[([^\]]*)\])?(?:#.*)?$`)

// localDirectory returns the directory in an address and the extras after it. ok is false for downloads and archives.
func localDirectory(address string) (dir string, extras []string, ok bool) {
	m := localAddress.FindStringSubmatch(address)
	if m == nil || strings.Contains(address, "://") && !strings.HasPrefix(address, "file:") || archiveName.MatchString(m[1]) {
		return "", nil, false
	}
	dir = m[1]
	if strings.HasPrefix(address, "file:") {
		if plain, err := url.PathUnescape(dir); err == nil {
			dir = plain
		}
	}
	return path.Clean(dir), strings.FieldsFunc(m[2], func(r rune) bool { return r == ',' || r == ' ' }), true
}

var archiveName = lazyregexp.New(`(?i)` + archive + `$`)

// localProject is what a project's file says it requires.
type localProject struct {
	Project struct {
		Name         string              `toml:"name"`
		Dependencies []string            `toml:"dependencies"`
		Dynamic      []string            `toml:"dynamic"`
		Optional     map[string][]string `toml:"optional-dependencies"`
	} `toml:"project"`
}

// readProject reads the requirements of the project at a relative address, as pip does when it builds the project, and
// records what it cannot read. An absolute path belongs to its author's machine.
func (f *File) readProject(address, from string) {
	dir, extras, ok := localDirectory(address)
	if !ok || path.IsAbs(dir) {
		return
	}
	place := from + ": " + address
	if f.within {
		place = from
	}
	list, err := f.projectRequirements(dir, extras)
	for _, line := range list {
		own := File{typed: f.typed, Where: f.Where}
		if !own.Requirement(strings.TrimSpace(line), 0) {
			err = errors.New("a requirement of the project there cannot be read")
		}
		for _, p := range own.Named {
			p.From = from
			f.add(p, strings.Join(p.Markers, ""))
		}
	}
	if err != nil {
		f.Unread = append(f.Unread, facts.Unread{Place: place, Kind: facts.UnreadNeeded, Reason: err.Error()})
	}
}

// errElsewhere is a project that pyproject.toml does not tell the requirements of.
var errElsewhere = errors.New(Elsewhere)

// projectRequirements returns the requirements that the pyproject.toml in a directory names.
func (f *File) projectRequirements(dir string, extras []string) ([]string, error) {
	file := Include{Name: path.Join(dir, "pyproject.toml")}
	if !slices.Contains(f.Includes.Seen, file) {
		f.Includes.Seen = append(f.Includes.Seen, file) // one more of those that may be read
	}
	data, err := f.Includes.Read(file)
	switch {
	case f.Includes.Open == nil, errors.Is(err, fs.ErrNotExist):
		return nil, errElsewhere
	case err != nil:
		return nil, err
	}
	var p localProject
	if toml.Unmarshal(data, &p) != nil || p.Project.Name == "" || slices.Contains(p.Project.Dynamic, "dependencies") {
		return nil, errElsewhere
	}
	list := p.Project.Dependencies
	for _, extra := range extras {
		list = append(list, p.Project.Optional[extra]...)
	}
	return list, nil
}
