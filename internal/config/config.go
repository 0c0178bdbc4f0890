// Package config finds the configuration file of a run, decides whether to obey it, and parses it.
//
// A file that nobody named is found by its name in the current directory, which may belong to somebody else: a shared
// /tmp, a volume of another user, the checkout of a pull request. It is obeyed only if nobody but this user and root
// can change it.
//
// The file is parsed strictly: every mistake has its line and a hint, and no key is ignored. The text of a file that
// nobody named is never quoted. Settings say afterwards what they changed in a result, and which waivers matched nothing.
package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"cudacompat/internal/usage"
)

// Name is the file that is looked for when none is named.
const Name = ".cudacompat.yaml"

// maxSize bounds a configuration in bytes; a hundred waivers are below 32 KiB.
const maxSize = 1 << 20

// Places are the directories in which a configuration is looked for, in this order.
var Places = []string{".", "/etc/cudacompat"}

// File is a configuration that was found.
type File struct {
	Name    string // as it was named, or where it was found: "./.cudacompat.yaml"; empty: there is none to obey
	Named   bool   // by a flag or the environment
	Data    []byte
	Ignored []Ignored // the files that were found before it, or in its place
}

// Ignored is a configuration that is not obeyed.
type Ignored struct {
	File string `json:"file"`
	Why  string `json:"why"` // "it belongs to another user"
}

// Effect is what configurations did to a result.
type Effect struct {
	File    string    `json:"file"`    // as in File
	Named   bool      `json:"named"`   // as in File
	Changed []string  `json:"changed"` // what it changed in this result: "fail-on: never", "waived driver-too-old"
	Ignored []Ignored `json:"ignored"`
}

// Notes says in a few words what a configuration changed, and which files were ignored. It returns none if a
// configuration was obeyed and changed nothing.
func (e *Effect) Notes() []string {
	if e == nil {
		return nil
	}
	var notes []string
	if len(e.Changed) > 0 {
		notes = append(notes, strings.Join(e.Changed, ", ")+" from "+e.File)
	}
	for _, i := range e.Ignored {
		notes = append(notes, "ignored "+i.File+": "+i.Why)
	}
	return notes
}

// UnreadableError says why a configuration could not be read.
type UnreadableError struct {
	Name string
	Err  error
}

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("cannot read the configuration %q: %v", e.Name, e.Err)
}

func (e *UnreadableError) Unwrap() error { return e.Err }

// Find reads the named file. Without a name it reads the first one in Places that nobody else can change.
func Find(named string) (File, error) {
	if named != "" {
		data, err := read(named, false)
		return File{Name: named, Named: true, Data: data}, err
	}
	var found File
	for _, dir := range Places {
		name := dir + string(filepath.Separator) + Name
		switch _, err := os.Lstat(name); {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return found, &UnreadableError{name, usage.StripPath(err)}
		}
		if why := distrusted(dir, name); why != "" {
			found.Ignored = append(found.Ignored, Ignored{name, why})
			continue
		}
		var err error
		found.Name = name
		found.Data, err = read(name, true)
		return found, err
	}
	return found, nil
}

// distrusted says why a file that nobody named is not obeyed, or returns "". The file, the links to it and every
// directory from dir on must belong to this user or root.
func distrusted(dir, name string) string {
	for _, place := range []string{dir, name} {
		info, err := os.Lstat(place)
		if err != nil {
			return "it cannot be looked at: " + usage.StripPath(err).Error()
		}
		if place == dir && info.Mode()&fs.ModeSymlink != 0 {
			if info, err = os.Stat(dir); err != nil {
				return "it cannot be looked at: " + usage.StripPath(err).Error()
			}
		}
		if why := belongsToOthers(info, place == dir); why != "" {
			return why
		}
	}
	return distrustedWay(dir, name)
}

// mostLinks are as many links as Linux follows.
const mostLinks = 40

// distrustedWay follows the links of a file in dir one by one: none may lead out of dir, not even to come back, for another
// user could turn it there.
func distrustedWay(dir, name string) string {
	shown, err := filepath.Abs(dir)
	var top string
	if err == nil {
		top, err = filepath.EvalSymlinks(shown)
	}
	if err != nil {
		return "it cannot be looked at: " + usage.StripPath(err).Error()
	}
	const leadsOut = "it is a link that leads out of its directory"
	place, rest := top, []string{filepath.Base(name)}
	for links := 0; len(rest) > 0; {
		first := rest[0]
		rest = rest[1:]
		switch first {
		case "", ".":
			continue
		case "..":
			if place == top {
				return leadsOut
			}
			place = filepath.Dir(place)
			continue
		}
		next := filepath.Join(place, first)
		info, err := os.Lstat(next)
		if err != nil {
			return "it is a link that leads nowhere"
		}
		if why := belongsToOthers(info, info.IsDir()); why != "" {
			return why
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			place = next
			continue
		}
		target, err := os.Readlink(next)
		if links++; err != nil || links > mostLinks {
			return "it is a link that leads nowhere"
		}
		if filepath.IsAbs(target) {
			below, ok := cutDirectory(target, top)
			if !ok {
				below, ok = cutDirectory(target, shown)
			}
			if !ok {
				return leadsOut
			}
			place, target = top, below
		}
		rest = append(strings.Split(target, string(filepath.Separator)), rest...)
	}
	if place == top {
		return leadsOut
	}
	return ""
}

// cutDirectory returns the rest of a path below a directory, as they are written.
func cutDirectory(path, dir string) (below string, ok bool) {
	return strings.CutPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}

// belongsToOthers says why somebody else can change a file or directory, or returns "". A group may write it, as the
// umask of Ubuntu and Fedora allows. The mode of a symbolic link means nothing.
func belongsToOthers(info fs.FileInfo, directory bool) string {
	subject := "it"
	if directory {
		subject = "its directory"
	}
	switch {
	case !ownerTrusted(info):
		return subject + " belongs to another user"
	case info.Mode()&fs.ModeSymlink == 0 && worldWritable(info):
		return "others can write " + subject
	}
	return ""
}

// read reads a configuration up to its maximum size. One that was found must be a regular file, so that a pipe that
// nobody named cannot block.
func read(name string, found bool) ([]byte, error) {
	flags := os.O_RDONLY
	if found {
		flags |= nonblocking
	}
	f, err := os.OpenFile(name, flags, 0)
	if err != nil {
		return nil, &UnreadableError{name, usage.StripPath(err)}
	}
	defer f.Close()
	if info, err := f.Stat(); found && (err != nil || !info.Mode().IsRegular()) {
		return nil, &UnreadableError{name, errors.New("it is not a regular file")}
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err == nil && len(data) > maxSize {
		err = fmt.Errorf("it is larger than %d bytes", maxSize)
	}
	if err != nil {
		return nil, &UnreadableError{name, usage.StripPath(err)}
	}
	return data, nil
}
