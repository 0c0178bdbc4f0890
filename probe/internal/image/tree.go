package image

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"cudacompat/probe/host"
)

// node is a file of the image as its layers leave it.
type node struct {
	kind fs.FileMode // 0 for a regular file
	body *body       // of a regular file
	link string      // where a symbolic link points
	in   map[string]*node
}

func (n *node) isDir() bool { return n.kind == fs.ModeDir }

// What layers say by the names of files (image-spec, layer.md).
const (
	whiteout = ".wh."         // before the name of a file that a lower layer has, and which is gone
	opaque   = ".wh..wh..opq" // in a directory: what lower layers have in it is gone
	aufs     = ".wh..wh."     // what a storage driver of old kept beside
)

const (
	maxDepth = 1000 // of directories
	maxLinks = 40   // on one way (path_resolution(7))
)

// tree is the file system of an image.
type tree struct{ root *node }

func newTree() *tree { return &tree{&node{kind: fs.ModeDir, in: map[string]*node{}}} }

// apply applies a layer to the tree as a runtime unpacks it. The removals come first: they affect lower layers and
// nothing of the layer itself.
func (t *tree) apply(l *layer) error {
	for _, e := range l.entries {
		name, gone := strings.CutPrefix(e.base, whiteout)
		if !gone {
			continue
		}
		dir := t.find(e.dir)
		switch {
		case dir == nil || !dir.isDir():
		case e.base == opaque:
			clear(dir.in)
		case !strings.HasPrefix(e.base, aufs):
			delete(dir.in, name)
		}
	}
	for _, e := range l.entries {
		if strings.HasPrefix(e.base, whiteout) || e.base == "" {
			continue
		}
		if err := t.add(e); err != nil {
			return fmt.Errorf("%s: %w", sayable(path.Join(e.dir, e.base)), err)
		}
	}
	return nil
}

// What keeps an entry from being unpacked.
var (
	errNoDirectory = errors.New("what stands above it is not a directory")
	errNoHardLink  = errors.New("it is a hard link to what is not there")
)

// add puts one entry into the tree, replacing an existing one. An existing directory keeps its content.
func (t *tree) add(e *entry) error {
	dir := t.walk(e.dir, true)
	if dir == nil || !dir.isDir() {
		return errNoDirectory
	}
	have := dir.in[e.base]
	switch {
	case e.kind == fs.ModeDir && have != nil && have.isDir():
		return nil
	case e.hard != "":
		of := t.find(path.Dir(e.hard))
		if of == nil || of.in[path.Base(e.hard)] == nil || of.in[path.Base(e.hard)].isDir() {
			return errNoHardLink
		}
		dir.in[e.base] = of.in[path.Base(e.hard)]
		return nil
	}
	n := &node{kind: e.kind, body: e.body, link: e.link}
	if e.kind == fs.ModeDir {
		n.in = map[string]*node{}
	}
	dir.in[e.base] = n
	return nil
}

// find returns what a name leads to, following symbolic links as with chroot, or nil.
func (t *tree) find(name string) *node { return t.walk(name, false) }

// walk returns find; with create, what is missing on the way is made, as runtimes do.
func (t *tree) walk(name string, create bool) *node {
	at, rest := []*node{t.root}, strings.Split(name, "/")
	for links := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		dir := at[len(at)-1]
		switch part {
		case "", ".":
			continue
		case "..":
			at = at[:max(len(at)-1, 1)]
			continue
		}
		if !dir.isDir() {
			return nil
		}
		next := dir.in[part]
		switch {
		case next == nil && !create:
			return nil
		case next == nil:
			next = &node{kind: fs.ModeDir, in: map[string]*node{}}
			dir.in[part] = next
		case next.kind == fs.ModeSymlink:
			if links++; links > maxLinks {
				return nil
			}
			if path.IsAbs(next.link) {
				at = at[:1]
			}
			rest = append(strings.Split(next.link, "/"), rest...)
			continue
		}
		if at = append(at, next); len(at) > maxDepth {
			return nil
		}
	}
	return at[len(at)-1]
}

// at returns the node at a name without links except in the last part, as host.Files requires.
func (t *tree) at(name string) (*node, error) {
	n := t.root
	for part := range strings.SplitSeq(name, "/") {
		if part == "" {
			continue
		}
		if !n.isDir() {
			return nil, syscall.ENOTDIR
		}
		if n = n.in[part]; n == nil {
			return nil, fs.ErrNotExist
		}
	}
	return n, nil
}

// Readlink returns where a link points, empty for what is no link.
func (i *Image) Readlink(name string) (string, error) {
	n, err := i.tree.at(name)
	if err != nil {
		return "", err
	}
	return n.link, nil
}

// Open opens a regular file.
func (i *Image) Open(name string) (host.File, error) {
	n, err := i.tree.at(name)
	if err != nil {
		return nil, err
	}
	if n.kind != 0 {
		return nil, host.ErrNotRegular
	}
	return &open{body: n.body, name: name, image: i}, nil
}

// ReadDir lists a directory by name.
func (i *Image) ReadDir(name string) ([]fs.DirEntry, error) {
	n, err := i.tree.at(name)
	if err != nil {
		return nil, err
	}
	if !n.isDir() {
		return nil, syscall.ENOTDIR
	}
	list := make([]fs.DirEntry, 0, len(n.in))
	for name, one := range n.in {
		list = append(list, dirEntry{name, one})
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

type dirEntry struct {
	name string
	of   *node
}

func (e dirEntry) Name() string               { return e.name }
func (e dirEntry) IsDir() bool                { return e.of.isDir() }
func (e dirEntry) Type() fs.FileMode          { return e.of.kind }
func (e dirEntry) Info() (fs.FileInfo, error) { return nil, fs.ErrInvalid }
