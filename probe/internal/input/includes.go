package input

import (
	"errors"
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

// queuedInclude is an include with the line that asks for it, where that stands in a file that is itself only included.
type queuedInclude struct {
	include
	asker string
}

// place is what to call a file that is not read. Of an included file no line is shown, so not what it includes either.
func (q queuedInclude) place() string {
	if q.asker != "" {
		return q.asker + ": the file that it includes"
	}
	return q.name
}

// errNothingBeside is a file that what comes by standard input refers to.
var errNothingBeside = errors.New("standard input has no files beside it")

// includes are the files that a document refers to, those to come and those that were met.
type includes struct {
	open      func(string) ([]byte, error)
	dir       string // of the file that is read now
	asker     string // the line of an included file that is read now
	queue     []queuedInclude
	seenFiles []include
}

func newIncludes(d Document) includes { return includes{open: d.Beside} }

// ask puts a file into the queue, once; a loop ends so.
func (i *includes) ask(name string, bounds bool) {
	if !path.IsAbs(name) && !isAddress(name) {
		name = path.Join(i.dir, name)
	}
	if next := (include{name, bounds}); !slices.Contains(i.seenFiles, next) {
		i.seenFiles, i.queue = append(i.seenFiles, next), append(i.queue, queuedInclude{next, i.asker})
	}
}

// isAddress reports whether pip would take a name for an address: file:/etc/passwd is one.
func isAddress(name string) bool {
	return strings.Contains(name, "://") || strings.HasPrefix(strings.ToLower(name), "file:")
}

// read opens a file of the queue.
func (i *includes) read(next include) ([]byte, error) {
	switch {
	case isAddress(next.name):
		return nil, fmt.Errorf("an address, and nothing is fetched")
	case i.open == nil:
		return nil, errNothingBeside
	case len(i.seenFiles) > maxIncludes:
		return nil, fmt.Errorf("more than %d files are included", maxIncludes)
	}
	data, err := i.open(next.name)
	if err != nil {
		return nil, err
	}
	if len(data) > maxIncludeBytes {
		return nil, fmt.Errorf("larger than %d MiB", maxIncludeBytes>>20)
	}
	return decode(data)
}

// include reads the files of the queue, those that they include too.
func (f *requirementFile) include() {
	for len(f.files.queue) > 0 {
		next := f.files.queue[0]
		f.files.queue = f.files.queue[1:]
		data, err := f.files.read(next.include)
		if err == nil {
			err = tooLarge(data)
		}
		if err != nil {
			f.leftUnread = append(f.leftUnread, facts.Unread{Place: next.place(), Reason: err.Error(), Kind: facts.UnreadNeeded})
			continue
		}
		f.readIncluded(next, string(data))
	}
}

// readIncluded reads the text of a file that another one names. Whoever wrote that one may have named any file of this
// machine, so nothing is shown of one that is no requirements file, and of others no line.
func (f *requirementFile) readIncluded(file queuedInclude, text string) {
	f.files.dir, f.where, f.bounds, f.within = path.Dir(file.name), file.name+" ", file.bounds, true
	good, bad := f.good, len(f.bad)
	f.lines(text)
	if f.good == good && len(f.bad) > bad {
		f.bad = append(f.bad[:bad], facts.Unread{Place: file.place(), Kind: facts.UnreadNeeded,
			Reason: "no line of it is a requirement that pip reads"})
	}
	f.files.asker = ""
}
