// Package bundle reads and writes tables as one file: a zip whose first entry, manifest.json, lists the others with
// their SHA-256, the day on which a source was last read, and the version of the form.
package bundle

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Schema names the form of a bundle. Its number increases when an older program would misread the tables. Added or
// removed columns do not count; the tables' reader reports those.
const Schema = schemaName + "1"

const schemaName = "cudacompat/tables/v"

const manifestName = "manifest.json"

// The tables of 2026 take 1.8 MB, and 0.4 in a zip.
const (
	maxBundle   = 4 << 20 // bytes of the file
	maxManifest = 1 << 20
	maxFiles    = 200
)

// Manifest says what is in a bundle.
type Manifest struct {
	Schema string  `json:"schema"`
	Date   string  `json:"date"` // on which a source was last read
	Files  []Entry `json:"files"`
}

// Entry is one file of a bundle.
type Entry struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// Write writes a bundle with all files of tables and the day on which a source was last read. Equal files give equal
// bytes.
func Write(w io.Writer, files fs.FS, date string) error {
	m := Manifest{Schema: Schema, Date: date}
	content := map[string][]byte{}
	err := fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || name == manifestName { // that of the bundle which the files come from
			return err
		}
		data, err := fs.ReadFile(files, name)
		m.Files = append(m.Files, Entry{name, sum(data)})
		content[name] = data
		return err
	})
	if err != nil {
		return err
	}
	day, err := time.Parse(time.DateOnly, m.Date)
	if err != nil {
		return err
	}
	manifest, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	archive := zip.NewWriter(w)
	header := zip.FileHeader{Name: manifestName, Modified: day, Method: zip.Deflate}
	if err := add(archive, header, append(manifest, '\n')); err != nil {
		return err
	}
	for _, e := range m.Files {
		header := zip.FileHeader{Name: e.Name, Modified: day, Method: zip.Deflate}
		if err := add(archive, header, content[e.Name]); err != nil {
			return err
		}
	}
	return archive.Close()
}

// Open reads a bundle whole and checks every file of it against the manifest. Nothing of a damaged one is returned.
func Open(name string) (fs.FS, Manifest, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, Manifest{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxBundle+1))
	if err != nil {
		return nil, Manifest{}, err
	}
	if len(data) > maxBundle {
		return nil, Manifest{}, fmt.Errorf("larger than a bundle of tables can be, %d MB", maxBundle>>20)
	}
	return Read(data)
}

// Read does what Open does for the bytes of a bundle.
func Read(data []byte) (fs.FS, Manifest, error) {
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, Manifest{}, errors.New("not a bundle of tables, or a damaged one: " + err.Error())
	}
	m, err := manifestOf(archive)
	if err != nil {
		return nil, m, err
	}
	files := &boundedFS{FS: archive, files: map[string][]byte{}}
	return files, m, check(archive.File[1:], files, m)
}

// manifestOf reads the first entry; of a bundle of a later form nothing else is read.
func manifestOf(archive *zip.Reader) (Manifest, error) {
	var m Manifest
	if len(archive.File) == 0 || archive.File[0].Name != manifestName {
		return m, fmt.Errorf("not a bundle of tables: it does not begin with %s", manifestName)
	}
	r, err := archive.File[0].Open()
	if err != nil {
		return m, fmt.Errorf("damaged: %s: %w", manifestName, err)
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxManifest))
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		return m, fmt.Errorf("damaged: %s: %w", manifestName, err)
	}
	if m.Schema == Schema {
		return m, nil
	}
	number, err := strconv.Atoi(strings.TrimPrefix(m.Schema, schemaName))
	if err != nil || !strings.HasPrefix(m.Schema, schemaName) || number < 1 {
		return m, fmt.Errorf("not a bundle of tables: its manifest says schema %q", m.Schema)
	}
	return m, fmt.Errorf("made for a newer cudacompat: its tables have the form %s, this program reads %s", m.Schema,
		Schema)
}

// check compares the files that are present with those in the manifest, in both directions.
func check(there []*zip.File, files fs.FS, m Manifest) error {
	if len(there) > maxFiles {
		return fmt.Errorf("damaged: %d files, more than a bundle has", len(there))
	}
	if len(there) != len(m.Files) {
		return fmt.Errorf("damaged: the manifest names %d files, %d are there", len(m.Files), len(there))
	}
	met := map[string]bool{}
	for _, f := range there {
		if met[f.Name] {
			return fmt.Errorf("damaged: %s stands twice in it", f.Name)
		}
		met[f.Name] = true
		i := slices.IndexFunc(m.Files, func(e Entry) bool { return e.Name == f.Name })
		if i < 0 {
			return fmt.Errorf("damaged: the manifest does not name %s", f.Name)
		}
		data, err := fs.ReadFile(files, f.Name)
		if err != nil {
			return fmt.Errorf("damaged: %s: %w", f.Name, plain(err))
		}
		if sum(data) != m.Files[i].SHA256 {
			return fmt.Errorf("damaged: %s is not what the manifest says (SHA-256)", f.Name)
		}
	}
	return nil
}

// plain returns an error without the name of the file, which is said already.
func plain(err error) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

func sum(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

func add(archive *zip.Writer, header zip.FileHeader, data []byte) error {
	entry, err := archive.CreateHeader(&header)
	if err != nil {
		return err
	}
	_, err = entry.Write(data)
	return err
}
