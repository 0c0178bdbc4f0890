package sheet

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
)

// Lock says for each source what it was when last read, and which rows it supports: data/lock.json.
type Lock map[string]*Locked

// Locked is one source: one that a program reads, or one whose pages a person reads.
type Locked struct {
	Tables   []string `json:"tables,omitempty"`   // empty: any
	Projects []string `json:"projects,omitempty"` // on the package index
	Address  string   `json:"address,omitempty"`  // with which what is read begins
	Fixed    bool     `json:"fixed,omitempty"`    // what stands there does not change, so that it does not age
	ByHand   bool     `json:"by_hand,omitempty"`  // a person reads it, page by page

	// Of what a program reads.
	Fetched   string            `json:"fetched,omitempty"`   // the day; of a copy, the one of which it is; empty: never
	SHA256    string            `json:"sha256,omitempty"`    // of the list of its files, or of the page
	Rows      string            `json:"rows,omitempty"`      // the seal of the rows that name it
	Marks     string            `json:"marks,omitempty"`     // of each of these rows, by which a changed one is known
	Nothing   map[string]string `json:"nothing,omitempty"`   // wheels that make no row, and why: nobody reads them again
	Overruled map[string]string `json:"overruled,omitempty"` // "torch 2.9.0 cu130 linux_x86_64 nccl": what it says where hand.csv says otherwise

	// Pages for a person to read: each with the day and the seal of the rows that name it. Sources that no program has
	// read yet also belong here.
	Pages map[string]Page `json:"pages,omitempty"`
}

// Typed reports whether a person answers for the rows that name a source.
func (l *Locked) Typed() bool { return l.ByHand || l.Fetched == "" }

// Page is when a person read a page, and the seal of the rows for which it vouches: "2026-11-21 9f86d081884c7d65".
type Page struct{ Read, Rows string }

// MarshalText writes both.
func (p Page) MarshalText() ([]byte, error) { return []byte(p.Read + " " + p.Rows), nil }

// UnmarshalText reads them back.
func (p *Page) UnmarshalText(text []byte) error {
	var ok bool
	if p.Read, p.Rows, ok = strings.Cut(string(text), " "); !ok || !isoDay(p.Read) {
		return fmt.Errorf("%q is not a day and a seal", text)
	}
	return nil
}

const lockFile = "lock.json"

// ReadLock reads the lock beside tables; without one, nothing was read yet.
func ReadLock(fsys fs.FS) (Lock, error) {
	lock := Lock{}
	text, err := fs.ReadFile(fsys, lockFile)
	if errors.Is(err, fs.ErrNotExist) {
		return lock, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &lock)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", lockFile, err)
	}
	return lock, err
}

var wheelName = lazyregexp.New(`^wheel ([^-\s]+)-`)

// Origin returns the id of the source that an entry of a row's sources belongs to, or "". The project of a wheel takes
// precedence over an address, and the longest address over others.
func (l Lock) Origin(table, source string) string {
	project := ""
	if m := wheelName.FindStringSubmatch(source); m != nil {
		project = strings.ToLower(strings.ReplaceAll(m[1], "_", "-"))
	}
	best := ""
	for id, one := range l {
		switch {
		case len(one.Tables) > 0 && !slices.Contains(one.Tables, table):
		case project != "" && slices.Contains(one.Projects, project):
			return id
		case one.Address != "" && strings.HasPrefix(source, one.Address) && (best == "" || len(l[best].Address) < len(one.Address)):
			best = id
		}
	}
	return best
}

// day returns the day on which an entry of a row's sources was last read, and whether the source can change.
func (l Lock) day(table, source string) (day string, fixed bool) {
	one := l[l.Origin(table, source)]
	if one == nil {
		return "", false
	}
	if page, ok := one.Pages[source]; ok {
		return page.Read, one.Fixed
	}
	return one.Fetched, one.Fixed
}

// FindDay returns the age of what sources say: the day of the oldest source that can change. If none can, it is the day
// on which they were last read.
func (l Lock) FindDay(table string, sources []string) string {
	oldest, newest := "", ""
	for _, source := range sources {
		switch day, fixed := l.day(table, source); {
		case day == "":
		case fixed:
			newest = max(newest, day)
		case oldest == "" || day < oldest:
			oldest = day
		}
	}
	if oldest != "" {
		return oldest
	}
	return newest
}

// FindNewest returns the day on which any source was last read.
func (l Lock) FindNewest() string {
	day := ""
	for _, one := range l {
		day = max(day, one.Fetched)
		for _, page := range one.Pages {
			day = max(day, page.Read)
		}
	}
	return day
}

// FindDate returns how old the rows of a grid are. Of a thread that a person read, the row itself says the day.
func (l Lock) FindDate(g Grid) string {
	seen := map[string]bool{}
	var sources []string
	newest := ""
	for i := range g.Rows {
		newest = max(newest, g.Cell(i, "checked"))
		for _, source := range SourcesOf(g.Cell(i, "source")) {
			if !seen[source] {
				seen[source] = true
				sources = append(sources, source)
			}
		}
	}
	if newest != "" {
		return newest
	}
	return l.FindDay(g.Table, sources)
}

// isoDay reports whether a text is of the form 2026-11-21.
func isoDay(text string) bool {
	for i := range len(text) {
		if (i == 4 || i == 7) != (text[i] == '-') || text[i] != '-' && !isDigit(text[i]) {
			return false
		}
	}
	return true
}
