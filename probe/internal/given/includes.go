package given

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"cudacompat/probe/facts"
)

// What includes may add up to: more files than anybody splits his requirements into.
const (
	maxIncludes     = 50
	maxIncludeBytes = 2 << 20
)

// include is one file that another refers to.
type include struct {
	name   string // relative to the document, as it is opened
	bounds bool   // -c: its packages are wanted only where another file names them
}

// includes are the files that a document refers to, those to come and those that were met.
type includes struct {
	open  func(string) ([]byte, error)
	dir   string // of the file that is read now
	queue []include
	met   []include
}

func newIncludes(d Document) includes { return includes{open: d.Beside} }

// ask puts a file into the queue, once; a loop ends so.
func (i *includes) ask(name string, bounds bool) {
	if !path.IsAbs(name) && !strings.Contains(name, "://") {
		name = path.Join(i.dir, name)
	}
	if next := (include{name, bounds}); !slices.Contains(i.met, next) {
		i.met, i.queue = append(i.met, next), append(i.queue, next)
	}
}

// read opens a file of the queue.
func (i *includes) read(next include) ([]byte, error) {
	switch {
	case strings.Contains(next.name, "://"):
		return nil, fmt.Errorf("an address, and nothing is fetched")
	case i.open == nil:
		return nil, fmt.Errorf("standard input has no files beside it")
	case len(i.met) > maxIncludes:
		return nil, fmt.Errorf("more than %d files are included", maxIncludes)
	}
	data, err := i.open(next.name)
	if err != nil {
		return nil, err
	}
	if len(data) > maxIncludeBytes {
		return nil, fmt.Errorf("larger than %d MiB", maxIncludeBytes>>20)
	}
	return decoded(data)
}

// include reads the files of the queue, those that they include too.
func (f *requirementFile) include() {
	for len(f.files.queue) > 0 {
		next := f.files.queue[0]
		f.files.queue = f.files.queue[1:]
		f.files.dir, f.where, f.bounds = path.Dir(next.name), next.name+" ", next.bounds
		data, err := f.files.read(next)
		if err == nil {
			err = tooLarge(data)
		}
		if err == nil {
			f.lines(string(data))
		} else {
			f.left = append(f.left, facts.Unread{Place: next.name, Reason: err.Error(), Kind: facts.UnreadNeeded})
		}
	}
}
