package tables

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"cudacompat/data"
	"cudacompat/internal/bundle"
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
		if table, ok := t.from.packed(s); ok {
			newest = max(newest, table.Date)
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
	if table, ok := l.packed(s); ok {
		return Source{Name: s.name, Date: table.Date, Hash: table.SHA256}, nil
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

// carried is what a packed program says of its tables, so that nobody reads all of them for a date.
var carried = sync.OnceValue(func() []bundle.Table { return bundle.Tables(data.FS) })

// packed is what its bundle says of a table over which nothing is laid.
func (l layers) packed(s sheet) (bundle.Table, bool) {
	if l.under != data.FS || l.over != nil {
		return bundle.Table{}, false
	}
	i := slices.IndexFunc(carried(), func(t bundle.Table) bool { return t.Name == s.name })
	if i < 0 {
		return bundle.Table{}, false
	}
	return carried()[i], true
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

// newestDay is the newest date at the end of a line, where every row's column "checked" is. It reads no table: the
// date is asked for by every run.
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
