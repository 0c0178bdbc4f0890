package host

import (
	"io"
	"io/fs"
)

// File is a regular file that is read.
type File interface {
	io.Reader
	io.ReaderAt
	io.Closer
	Stat() (fs.FileInfo, error)
}

// Files replaces a directory of this machine: for example the files of an image that was never unpacked. Names are
// absolute and contain no links except in the last part.
type Files interface {
	// Readlink is where a link points, empty for what is no link.
	Readlink(name string) (string, error)
	// Open opens a regular file; of anything else it says what it is not.
	Open(name string) (File, error)
	// ReadDir lists a directory by name.
	ReadDir(name string) ([]fs.DirEntry, error)
}

// Unmounted returns a tree of files that are in no directory. The program that is started among them, if it is known,
// gets these variables.
func Unmounted(files Files, env map[string]string, start string) *Host {
	return &Host{Root: "/", Env: env, Rest: true, Start: start, files: files}
}

// filesRoot is a root of files that are in no directory.
type filesRoot struct {
	stepwise
	files Files
}

func (u *filesRoot) open(name string) (File, error) {
	resolved, err := u.resolve(name)
	if err != nil {
		return nil, err
	}
	return u.files.Open(resolved)
}

func (u *filesRoot) openDir(name string) (dir, error) {
	resolved, err := u.resolve(name)
	if err != nil {
		return nil, err
	}
	list, err := u.files.ReadDir(resolved)
	if err != nil {
		return nil, err
	}
	return listing(list), nil
}

// listing is a directory that was listed.
type listing []fs.DirEntry

func (l listing) id() (directory, bool) { return directory{}, false }

func (l listing) Close() error { return nil }

func (l listing) entries(keep func([]keptEntry) error) ([]keptEntry, error) {
	all := make([]keptEntry, len(l))
	for i, e := range l {
		all[i] = keptEntry{e.Name(), e.Type()}
	}
	return all, keep(all)
}

// ErrNotRegular is the error of opening what is no regular file.
var ErrNotRegular = errNotRegular

// Sought is a file of which only a part is available. The rest is known to contain nothing that anybody looks for, and
// reads as zeros.
type Sought interface{ Sought() io.ReaderAt }

// ToSearch returns a file for those who look for something that can stand anywhere in it.
func ToSearch(r io.ReaderAt) io.ReaderAt {
	if s, ok := r.(Sought); ok {
		return s.Sought()
	}
	return r
}
