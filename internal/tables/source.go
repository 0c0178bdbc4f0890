package tables

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"time"

	"cudacompat/data"
)

// Source is one table by which a report was made.
type Source struct {
	Name    string `json:"name"`
	Date    string `json:"date"`    // ISO date of the newest row that was checked; empty where none says
	Hash    string `json:"hash"`    // SHA-256 of its files
	Overlay bool   `json:"overlay"` // rows of a site's own stand in it
}

// Sources are the tables that judge, in the order in which they are listed for people.
func (t *Tables) Sources() ([]Source, error) {
	list := make([]Source, 0, len(sheets))
	for _, s := range sheets {
		text, err := textOf(t.fsys, s.file())
		if err != nil {
			return nil, err
		}
		embedded, _ := textOf(data.FS, s.file())
		hash := sha256.Sum256(text)
		list = append(list, Source{s.name, newestDay(text), hex.EncodeToString(hash[:]), !bytes.Equal(text, embedded)})
	}
	return list, nil
}

// Checked is the ISO date of the newest row of all tables.
func (t *Tables) Checked() string {
	newest := ""
	for _, s := range sheets {
		if text, err := textOf(t.fsys, s.file()); err == nil {
			newest = max(newest, newestDay(text))
		}
	}
	return newest
}

// textOf is a table's file, or the files of its directory one after the other.
func textOf(fsys fs.FS, root string) ([]byte, error) {
	var text []byte
	err := fs.WalkDir(fsys, root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		part, err := fs.ReadFile(fsys, path)
		text = append(text, part...)
		return err
	})
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
