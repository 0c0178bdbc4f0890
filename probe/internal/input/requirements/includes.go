package requirements

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"cudacompat/probe/facts"
	"cudacompat/probe/internal/input/document"
)

// What includes may add up to: more files than anybody splits his requirements into.
const (
	maxIncludes     = 50
	MaxIncludeBytes = 2 << 20
)

// Include is one file that another refers to.
type Include struct {
	Name   string // relative to the document, as it is opened
	bounds bool   // -c: its packages are wanted only where another file names them
}

// queuedInclude is an include with the line that asks for it, unless that line is in an included file.
type queuedInclude struct {
	Include
	asker string
}

// place returns the name of a file that is not read. No line of an included file is shown, so neither are its includes.
func (q queuedInclude) place() string {
	if q.asker != "" {
		return q.asker + ": the file that it includes"
	}
	return q.Name
}

// ErrNothingBeside is a file that what comes by standard input refers to.
var ErrNothingBeside = errors.New("standard input has no files beside it")

// Includes are the files that a document refers to, those to come and those that were met.
type Includes struct {
	Open  func(string) ([]byte, error)
	dir   string // of the file that is read now
	asker string // the line of an included file that is read now
	Queue []queuedInclude
	Seen  []Include
}

func NewIncludes(d document.Document) Includes { return Includes{Open: d.Beside} }

// Ask puts a file into the queue, once; a loop ends so.
func (i *Includes) Ask(name string, bounds bool) {
	if !path.IsAbs(name) && !IsAddress(name) {
		name = path.Join(i.dir, name)
	}
	if next := (Include{name, bounds}); !slices.Contains(i.Seen, next) {
		i.Seen, i.Queue = append(i.Seen, next), append(i.Queue, queuedInclude{next, i.asker})
	}
}

// IsAddress reports whether pip would take a name for an address: file:/etc/passwd is one.
func IsAddress(name string) bool {
	return strings.Contains(name, "://") || strings.HasPrefix(strings.ToLower(name), "file:")
}

// Read opens a file of the queue.
func (i *Includes) Read(next Include) ([]byte, error) {
	switch {
	case IsAddress(next.Name):
		return nil, fmt.Errorf("an address, and nothing is fetched")
	case i.Open == nil:
		return nil, ErrNothingBeside
	case len(i.Seen) > maxIncludes:
		return nil, fmt.Errorf("more than %d files are included", maxIncludes)
	}
	data, err := i.Open(next.Name)
	if err != nil {
		return nil, err
	}
	if len(data) > MaxIncludeBytes {
		return nil, fmt.Errorf("larger than %d MiB", MaxIncludeBytes>>20)
	}
	return document.Decode(data)
}

// ReadIncludes reads the files of the queue, those that they include too.
func (f *File) ReadIncludes() {
	for len(f.Includes.Queue) > 0 {
		next := f.Includes.Queue[0]
		f.Includes.Queue = f.Includes.Queue[1:]
		data, err := f.Includes.Read(next.Include)
		if err == nil {
			err = document.TooLarge(data)
		}
		if err != nil {
			f.Unread = append(f.Unread, facts.Unread{Place: next.place(), Reason: err.Error(), Kind: facts.UnreadNeeded})
			continue
		}
		f.readIncluded(next, string(data))
	}
}

// readIncluded reads the text of a file that another one names. Whoever wrote that one may have named any file of this
// machine, so nothing is shown of one that is no requirements file, and of others no line.
func (f *File) readIncluded(file queuedInclude, text string) {
	f.Includes.dir, f.Where, f.bounds, f.within = path.Dir(file.Name), file.Name+" ", file.bounds, true
	good, bad := f.good, len(f.Bad)
	f.ReadLines(text)
	if f.good == good && len(f.Bad) > bad {
		f.Bad = append(f.Bad[:bad], facts.Unread{Place: file.place(), Kind: facts.UnreadNeeded,
			Reason: "no line of it is a requirement that pip reads"})
	}
	f.Includes.asker = ""
}
