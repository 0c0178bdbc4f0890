package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"cudacompat/internal/usage"
	"cudacompat/probe/host"

	"github.com/spf13/cobra"
)

// fence limits where the includes of a file may lead. A file may come from a stranger, as in a pull request, and name
// any file of this machine: /etc/shadow, ../.netrc, a link to either.
type fence struct {
	dir   string   // of the file; relative includes lead from here
	roots []string // the directories that includes do not leave: dir, and --include-root
}

// includeRootFlag adds the flag that widens the fence.
func includeRootFlag(cmd *cobra.Command, root *string) {
	cmd.Flags().StringVar(root, "include-root", "", "also follow the includes of a file (-r, -c, a Dockerfile's COPY) to files below `DIR` (default: only to those below the directory of the file)")
}

// fenceOf returns the fence of a file. A name that is not a file has no directory, and its includes start at the root.
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
		return f, &usage.Error{Message: fmt.Sprintf("--include-root %q is not a directory", root),
			Hint: "give the directory below which the included files are"}
	}
	f.roots = append(f.roots, root)
	return f, nil
}

// errOutside is the error for a file outside a root of the fence.
var errOutside = errors.New("outside")

// read reads a file that another one includes: relative to that one's directory, otherwise to --include-root, from
// which an image is built if its Dockerfile is deeper.
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

// refusal says why a file outside every root is not read.
func (f fence) refusal() error {
	if f.roots[len(f.roots)-1] != f.dir {
		return errors.New("it is outside the directory of the file and outside --include-root, and is not read")
	}
	return errors.New("it is outside the directory of the file and is not read; with --include-root DIR, files below DIR are")
}

// beneath returns a path relative to a root, or an error if it is not below it.
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

// readBeneath reads a file below a directory, which links cannot leave. It opens only regular files, because a pipe may
// never end and opening a device may have an effect.
func readBeneath(dir, name string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, usage.StripPath(err)
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
	return data, usage.StripPath(err)
}

var errSpecial = errors.New("not a regular file")

// fenceReason returns why a file below a directory is not opened. Package os exports no error for a link that leads
// outside.
func fenceReason(err error) error {
	if err = usage.StripPath(err); err.Error() == "path escapes from parent" {
		return errOutside
	}
	return err
}
