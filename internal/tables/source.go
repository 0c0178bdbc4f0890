package tables

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"cudacompat/data"
	"cudacompat/internal/tables/sheet"
)

// Source is one table by which a report was made.
type Source struct {
	Name    string `json:"name"`
	Date    string `json:"date"`    // ISO date on which the oldest of its sources was last read; empty where none says
	Hash    string `json:"hash"`    // SHA-256 of its files, a site's own after the embedded ones
	Overlay bool   `json:"overlay"` // rows of a site's own stand in it
}

// Sources returns the tables that judge, in the order in which they are listed for people.
func (t *Tables) Sources() ([]Source, error) {
	list, err := t.sources()
	return slices.Clone(list), err
}

func (t *Tables) readSources() ([]Source, error) {
	list := make([]Source, 0, len(sheets))
	for _, s := range sheets {
		source, err := t.source(s)
		if err != nil {
			return nil, err
		}
		list = append(list, source)
	}
	return list, nil
}

// Digest returns one SHA-256 of all of them.
func Digest(sources []Source) string {
	all := sha256.New()
	for _, s := range sources {
		fmt.Fprintln(all, s.Name, s.Hash)
	}
	return hex.EncodeToString(all.Sum(nil))
}

// Checked returns the ISO date on which any source of the tables was last read.
func (t *Tables) Checked() string {
	if t.from.Under == data.FS && t.from.Over == nil && data.Dates != "" {
		return embeddedSources()[allTables].Date
	}
	return t.lock().FindNewest()
}

// DayOf returns how old what sources say in a table is.
func (t *Tables) DayOf(table string, sources []string) string {
	return t.lock().FindDay(table, sources)
}

// allTables stands in dates.txt for all tables together.
const allTables = "all"

// Dates returns the text of dates.txt.
func (t *Tables) Dates() (string, error) {
	sources, err := t.Sources()
	if err != nil {
		return "", err
	}
	var text strings.Builder
	fmt.Fprintln(&text, allTables, t.lock().FindNewest(), Digest(sources))
	for _, s := range sources {
		fmt.Fprintln(&text, s.Name, s.Date, s.Hash)
	}
	return text.String(), nil
}

func (t *Tables) source(s sheet.Sheet) (Source, error) {
	if source, ok := findEmbedded(t.from, s); ok {
		return source, nil
	}
	text, err := textOf(t.from.Under, s.FindPath())
	if err != nil {
		return Source{}, err
	}
	own, err := textOf(t.from.Over, s.FindPath())
	if err != nil {
		return Source{}, err
	}
	if bytes.Equal(own, text) { // a bundle has all tables, most of them as they are
		own = nil
	}
	hash := sha256.Sum256(slices.Concat(text, own))
	g, err := s.ReadGrid(t.from)
	return Source{s.Name, t.lock().FindDate(g), hex.EncodeToString(hash[:]), len(own) > 0}, err
}

// embeddedSources are what data.Dates says of the embedded tables, by their names.
var embeddedSources = sync.OnceValue(func() map[string]Source {
	list := map[string]Source{}
	for line := range strings.Lines(data.Dates) {
		words := strings.Split(strings.TrimSpace(line), " ") // a table that dates no row has an empty date
		list[words[0]] = Source{Name: words[0], Date: words[1], Hash: words[2]}
	}
	return list
})

// findEmbedded returns what data.Dates says of an embedded table over which nothing is laid.
func findEmbedded(l sheet.Layers, s sheet.Sheet) (Source, bool) {
	if l.Under != data.FS || l.Over != nil {
		return Source{}, false
	}
	source, ok := embeddedSources()[s.Name]
	return source, ok
}

// textOf returns a table's file, or the files of its directory one after the other; nothing where it is not.
func textOf(fsys fs.FS, root string) ([]byte, error) {
	if fsys == nil {
		return nil, nil
	}
	var text []byte
	err := fs.WalkDir(fsys, root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		part, err := fs.ReadFile(fsys, path)
		text = append(text, part...)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}
