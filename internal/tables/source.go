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
	"time"

	"cudacompat/data"
)

// Source is one table by which a report was made.
type Source struct {
	Name    string `json:"name"`
	Date    string `json:"date"`    // ISO date of the newest row that was checked; empty where none says
	Hash    string `json:"hash"`    // SHA-256 of its files, a site's own after the embedded ones
	Overlay bool   `json:"overlay"` // rows of a site's own stand in it
}

// Sources are the tables that judge, in the order in which they are listed for people.
func (t *Tables) Sources() ([]Source, error) {
	list := make([]Source, 0, len(sheets))
	for _, s := range sheets {
		source, err := t.from.source(s)
		if err != nil {
			return nil, err
		}
		list = append(list, source)
	}
	return list, nil
}

// Digest is one SHA-256 of all of them.
func Digest(sources []Source) string {
	all := sha256.New()
	for _, s := range sources {
		fmt.Fprintln(all, s.Name, s.Hash)
	}
	return hex.EncodeToString(all.Sum(nil))
}

// Checked is the ISO date of the newest row of all tables.
func (t *Tables) Checked() string {
	newest := ""
	for _, s := range sheets {
		if source, ok := t.from.dated(s); ok {
			newest = max(newest, source.Date)
			continue
		}
		for _, layer := range []fs.FS{t.from.under, t.from.over} {
			text, _ := textOf(layer, s.file()) // Load has said what cannot be read
			newest = max(newest, newestDay(text))
		}
	}
	return newest
}

func (l layers) source(s sheet) (Source, error) {
	if source, ok := l.dated(s); ok {
		return source, nil
	}
	text, err := textOf(l.under, s.file())
	if err != nil {
		return Source{}, err
	}
	own, err := textOf(l.over, s.file())
	if err != nil {
		return Source{}, err
	}
	if bytes.Equal(own, text) { // a bundle has all tables, most of them as they are
		own = nil
	}
	hash := sha256.Sum256(slices.Concat(text, own))
	return Source{s.name, max(newestDay(text), newestDay(own)), hex.EncodeToString(hash[:]), len(own) > 0}, nil
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

// dated is what data.Dates says of an embedded table over which nothing is laid.
func (l layers) dated(s sheet) (Source, bool) {
	if l.under != data.FS || l.over != nil {
		return Source{}, false
	}
	source, ok := embeddedSources()[s.name]
	return source, ok
}

// textOf is a table's file, or the files of its directory one after the other; nothing where it is not.
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

// newestDay is the newest date at the end of a line, where every row's column "checked" is.
func newestDay(text []byte) string {
	newest := ""
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(line, "\r\n")
		if len(line) < len(time.DateOnly) {
			continue
		}
		day := string(line[len(line)-len(time.DateOnly):])
		if isoDay(day) {
			newest = max(newest, day)
		}
	}
	return newest
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
