package inputs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"cudacompat/internal/usage"
	"cudacompat/probe/host"
)

// Fence limits where the includes of a file may lead. A file may come from a stranger, as in a pull request, and name
// any file of this machine: /etc/shadow, ../.netrc, a link to either.
type Fence struct {
	dir   string   // of the file; relative includes lead from here
	roots []string // the directories that includes do not leave: dir, and --include-root
}

// NewFence returns the fence of a file. A name that is not a file has no directory, and its includes start at the root.
func NewFence(name, root string) (Fence, error) {
	f := Fence{dir: root}
	if IsFile(name) {
		f.dir = filepath.Dir(name)
		f.roots = []string{f.dir}
	}
	if root == "" {
		return f, nil
	}
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return f, &usage.Error{Message: fmt.Sprintf("--include-root %q is not a directory", root),
			Hint: "give the directory below which the included files are"}
	}
	f.roots = append(f.roots, root)
	return f, nil
}

// errOutside is the error for a file outside a root of the fence.
var errOutside = errors.New("outside")

// Read reads a file that another one includes: relative to that one's directory, otherwise to --include-root, from
// which an image is built if its Dockerfile is deeper.
func (f Fence) Read(name string) ([]byte, error) {
	data, err := f.readWithin(name)
	if !errors.Is(err, fs.ErrNotExist) || filepath.IsAbs(name) {
		return data, err
	}
	root := f.roots[len(f.roots)-1]
	if root == f.dir {
		return nil, fmt.Errorf("%w below the directory of the file; with --include-root DIR, DIR is searched, too", err)
	}
	if other, err := (Fence{dir: root, roots: []string{root}}).readWithin(name); err == nil {
		return other, nil
	}
	return data, err
}

// readWithin reads a file below one of the roots.
func (f Fence) readWithin(name string) ([]byte, error) {
	for _, root := range f.roots {
		beneath, err := f.locateBeneath(root, name)
		if err != nil {
			continue
		}
		if data, err := readBeneath(root, beneath); err != errOutside {
			return data, err
		}
	}
	return nil, f.explainRefusal()
}

// explainRefusal says why a file outside every root is not read.
func (f Fence) explainRefusal() error {
	if f.roots[len(f.roots)-1] != f.dir {
		return errors.New("it is outside the directory of the file and outside --include-root, and is not read")
	}
	return errors.New("it is outside the directory of the file and is not read; with --include-root DIR, files below DIR are")
}

// locateBeneath returns a path relative to a root, or an error if it is not below it.
func (f Fence) locateBeneath(root, name string) (string, error) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(f.dir, name)
	}
	name, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	if root, err = filepath.Abs(root); err != nil {
		return "", err
	}
	beneath, err := filepath.Rel(root, name)
	if err == nil && !filepath.IsLocal(beneath) {
		err = errOutside
	}
	return beneath, err
}

// readBeneath reads a file below a directory, which links cannot leave. It opens only regular files, because a pipe may
// never end and opening a device may have an effect.
func readBeneath(dir, name string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, usage.StripPath(err)
	}
	defer root.Close()
	if info, err := root.Stat(name); err != nil {
		return nil, explainOpenError(err)
	} else if !info.Mode().IsRegular() {
		return nil, errSpecial
	}
	file, err := root.OpenFile(name, os.O_RDONLY|host.NonBlock, 0)
	if err != nil {
		return nil, explainOpenError(err)
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() { // exchanged since
		return nil, errSpecial
	}
	data, err := io.ReadAll(io.LimitReader(file, MaxFile))
	return data, usage.StripPath(err)
}

var errSpecial = errors.New("not a regular file")

// explainOpenError returns why a file below a directory is not opened. Package os exports no error for a link that leads
// outside.
func explainOpenError(err error) error {
	if err = usage.StripPath(err); err.Error() == "path escapes from parent" {
		return errOutside
	}
	return err
}
