package sheet

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Several is a list of sentences; a cell separates them by " || ".
type Several []string

// UnmarshalText takes the cell apart.
func (s *Several) UnmarshalText(text []byte) error {
	if len(text) > 0 {
		*s = strings.Split(string(text), several)
	}
	return nil
}

// MarshalText writes it back.
func (s Several) MarshalText() ([]byte, error) { return []byte(strings.Join(s, several)), nil }

const several = " || "

// StepNeeds stands between a step and what it needs the log to show, the "for" below its "do".
const StepNeeds = "\tfor "

// Stanzas is a directory of files, one a family, with a field a line: for people to read, review and merge. A stanza of
// a cause says what holds for the lines below it; a line may say better.
//
//	cause: index-out-of-range
//	blame: program
//	because: An index is negative or not smaller than the size of what it looks up.
//	do: print the smallest and largest index before the call
//
//	line: index-out-of-range-in-self
//	weight: cause
//	pattern: IndexError: index out of range in self
//	seen: IndexError: index out of range in self
//	source: https://github.com/fc2869/lo-fit/issues/1
//	checked: 2026-11-21
var Stanzas = Form{"*", false, eachStanza}

// eachStanza calls visit for every line of every file, the files by their names.
func eachStanza(fsys fs.FS, s Sheet, columns []column, visit func(record) error) error {
	entries, err := fs.ReadDir(fsys, s.FindPath())
	if err != nil {
		return err
	}
	r := stanzaReader{columns: columns, index: map[string]int{}, known: map[string]bool{}, visit: visit}
	for i, c := range columns {
		r.index[c.name] = i
	}
	for _, e := range entries {
		r.file, r.number, r.cause = path.Join(s.FindPath(), e.Name()), 0, nil
		text, err := fs.ReadFile(fsys, r.file)
		if err != nil {
			return err
		}
		if err := r.read(string(text)); err != nil {
			return err
		}
	}
	return nil
}

// stanzaReader reads one file after the other.
type stanzaReader struct {
	file    string
	columns []column
	index   map[string]int  // of the columns, by their names
	known   map[string]bool // the keys of lines so far
	visit   func(record) error
	cause   []string // the cells that the last cause said
	cells   []string // those of the stanza that is read
	places  []int    // the line of the file that each stands on
	number  int
}

func (r *stanzaReader) read(text string) error {
	r.begin()
	for line := range strings.SplitSeq(text, "\n") {
		r.number++
		var err error
		switch {
		case line == "":
			err = r.end()
		case strings.HasPrefix(line, "#"):
		default:
			err = r.field(line)
		}
		if err != nil {
			return err
		}
	}
	return r.end()
}

func (r *stanzaReader) begin() {
	r.cells = make([]string, len(r.columns)) // rows keep theirs
	if r.places == nil {
		r.places = make([]int, len(r.columns))
	}
	clear(r.places)
}

// field reads "name: value"; a second one of a name makes a list.
func (r *stanzaReader) field(line string) error {
	name, value, said := strings.Cut(line, ": ")
	if do, ok := r.index["do"]; name == "for" && ok && r.cells[do] != "" {
		r.cells[do] += StepNeeds + value
		return nil
	}
	i, known := r.index[name]
	switch {
	case !said || !known:
		return r.at(0).WrapError(fmt.Errorf("%q is none of the fields of this table", line))
	case r.cells[i] == "":
		r.cells[i] = value
	case name == "source":
		r.cells[i] += " " + value
	case name == "do" || name == "literal":
		r.cells[i] += several + value
	default:
		return r.at(0).WrapError(fmt.Errorf("%s is said twice", name))
	}
	if r.places[i] == 0 {
		r.places[i] = r.number
	}
	return nil
}

// end ends a stanza: of a cause it keeps what is said, of a line it makes a row.
func (r *stanzaReader) end() error {
	defer r.begin()
	switch {
	case slices.Max(r.places) == 0:
		return nil
	case r.cells[0] == "":
		r.cause = r.cells
		return nil
	case r.cause == nil:
		return r.at(0).WrapError(errors.New("a line comes before the first cause"))
	case r.known[r.cells[0]]:
		return r.at(0).WrapError(fmt.Errorf("the key %s stands twice", r.cells[0]))
	}
	r.known[r.cells[0]] = true
	r.inherit()
	if err := r.visit(record{r.cells, r.at}); err != nil {
		return atPlace(r.at, err)
	}
	return nil
}

// inherit gives a line what its cause says and it does not; steps go with the sentence. A rule "none" is none.
func (r *stanzaReader) inherit() {
	own := false
	for i, c := range r.columns {
		switch {
		case c.name == "because":
			own = r.cells[i] != ""
		case c.name == "do" && own:
			continue
		case c.name == "rule" && r.cells[i] == "none":
			r.cells[i] = ""
			continue
		}
		if r.cells[i] == "" {
			r.cells[i] = r.cause[i]
		}
	}
}

// at returns where a column of the stanza stands; where it does not say it, the stanza's last line.
func (r *stanzaReader) at(column int) Place {
	if n := r.places[column]; n > 0 {
		return Place{r.file, n, 1}
	}
	return Place{r.file, r.number, 1}
}
