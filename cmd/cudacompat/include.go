package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"cudacompat/probe/host"

	"github.com/spf13/cobra"
)

// fence is where the includes of a file may lead. A file may come from a stranger, as a pull request does, and name any
// file of this machine: /etc/shadow, ../.netrc, a link to either.
type fence struct {
	dir   string   // of the file; relative includes lead from here
	roots []string // the directories that includes do not leave: dir, and --include-root
}

// includeRootFlag adds the flag that widens the fence.
func includeRootFlag(cmd *cobra.Command, root *string) {
	cmd.Flags().StringVar(root, "include-root", "", "also follow the includes of a file (-r, -c, a Dockerfile's COPY) to files below `DIR` (default: only to those below the directory of the file)")
}

// fenceOf returns the fence of a file; a name that is no file's has no directory, and its includes lead from the root.
func fenceOf(name, root string) (fence, error) {
	f := fence{dir: root}
	if isFile(name) {
		f.dir = filepath.Dir(name)
		f.roots = []string{f.dir}
	}
	if root == "" {
		return f, nil
	}
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return f, &usageError{fmt.Sprintf("--include-root %q is not a directory", root),
			"give the directory below which the included files are"}
	}
	f.roots = append(f.roots, root)
	return f, nil
}

// errOutside is a file beyond one root of the fence.
var errOutside = errors.New("outside")

// read reads a file that another one names: from that one's directory, else from --include-root, which is where an image
// is built whose Dockerfile lies deeper.
func (f fence) read(name string) ([]byte, error) {
	data, err := f.within(name)
	if !errors.Is(err, fs.ErrNotExist) || filepath.IsAbs(name) {
		return data, err
	}
	root := f.roots[len(f.roots)-1]
	if root == f.dir {
		return nil, fmt.Errorf("%w below the directory of the file; with --include-root DIR, DIR is searched, too", err)
	}
	if other, err := (fence{dir: root, roots: []string{root}}).within(name); err == nil {
		return other, nil
	}
	return data, err
}

// within reads a file below one of the roots.
func (f fence) within(name string) ([]byte, error) {
	for _, root := range f.roots {
		beneath, err := f.beneath(root, name)
		if err != nil {
			continue
		}
		if data, err := readBeneath(root, beneath); err != errOutside {
			return data, err
		}
	}
	return nil, f.refusal()
}

// refusal says why what is outside of every root is not read.
func (f fence) refusal() error {
	if f.roots[len(f.roots)-1] != f.dir {
		return errors.New("it is outside the directory of the file and outside --include-root, and is not read")
	}
	return errors.New("it is outside the directory of the file and is not read; with --include-root DIR, files below DIR are")
}

// beneath returns what a name is called from a root; an error says that it is not there.
func (f fence) beneath(root, name string) (string, error) {
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

// readBeneath reads a file below a directory, which links do not leave. Only a regular file is opened: a pipe may never
// end, and a device may do something when it is opened.
func readBeneath(dir, name string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, cause(err)
	}
	defer root.Close()
	if info, err := root.Stat(name); err != nil {
		return nil, fenceReason(err)
	} else if !info.Mode().IsRegular() {
		return nil, errSpecial
	}
	file, err := root.OpenFile(name, os.O_RDONLY|host.NonBlock, 0)
	if err != nil {
		return nil, fenceReason(err)
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() { // exchanged since
		return nil, errSpecial
	}
	data, err := io.ReadAll(io.LimitReader(file, givenCap))
	return data, cause(err)
}

var errSpecial = errors.New("not a regular file")

// fenceReason returns why a file below a directory is not opened. The os package has no name for its error that says
// that a link leads out.
func fenceReason(err error) error {
	if err = cause(err); err.Error() == "path escapes from parent" {
		return errOutside
	}
	return err
}
