package tables

import (
	"bytes"
	"errors"
	"io/fs"
	"reflect"
	"strings"
	"sync"

	"cudacompat/internal/tables/sheet"
)

// maxParts is how many keys of a table are read by themselves: about what the packages of one environment come to.
// Whoever asks for more has the whole table read.
const maxParts = 64

// parts holds the rows of single keys: most runs ask the largest table for one or two of its packages.
type parts struct {
	mu     sync.Mutex
	byType map[reflect.Type]*part
}

// forWhole returns where the whole table is read from: the text that parts of it were read of, so that its file is
// opened once. From then on no parts are read.
func (p *parts) forWhole(of reflect.Type, from sheet.Layers) sheet.Layers {
	p.mu.Lock()
	defer p.mu.Unlock()
	if read := p.byType[of]; read != nil && read.text != nil {
		from.Under = oneFile(read.text)
	}
	p.set(of, &part{whole: true})
	return from
}

func (p *parts) set(of reflect.Type, to *part) {
	if p.byType == nil {
		p.byType = map[reflect.Type]*part{}
	}
	p.byType[of] = to
}

// part is what was read of one table.
type part struct {
	text  []byte         // the table as it is written
	rows  map[string]any // by key: []T
	whole bool           // all of it is read
}

// partOf returns the rows of a key without reading the rest of their table. ok is false if the whole table is to be
// read, or was: it has rows of a site, another form, or many keys were asked for.
func partOf[T any](t *Tables, key string) (rows []T, ok bool) {
	of := reflect.TypeFor[T]()
	s := sheetFor(of)
	if t.from.Over != nil || !s.Form.Sorted || strings.ContainsAny(key, "\",\r\n") {
		return nil, false
	}
	t.parts.mu.Lock()
	defer t.parts.mu.Unlock()
	p := t.parts.byType[of]
	if p == nil {
		text, err := fs.ReadFile(t.from.Under, s.FindPath())
		if err != nil {
			return nil, false // reading the whole table says why
		}
		p = &part{text: text, rows: map[string]any{}}
		t.parts.set(of, p)
	}
	if p.whole {
		return nil, false
	}
	if known, ok := p.rows[key]; ok {
		return known.([]T), true
	}
	if len(p.rows) >= maxParts {
		return nil, false
	}
	read, err := sheet.ReadTable[T](s, sheet.Layers{Under: oneFile(linesOf(p.text, key))}, sheet.SkipCheck)
	if err != nil {
		return nil, false
	}
	rows = read.(sheet.Table[T]).Rows
	p.rows[key] = rows
	return rows, true
}

// linesOf returns the first line of a sorted table, and those whose first cell is a key.
func linesOf(text []byte, key string) []byte {
	header := text[:bytes.IndexByte(text, '\n')+1]
	beginning := []byte("\n" + key + ",")
	first := bytes.Index(text, beginning)
	if first < 0 {
		return header
	}
	end := first
	for bytes.HasPrefix(text[end:], beginning) {
		next := bytes.IndexByte(text[end+1:], '\n')
		if next < 0 {
			end = len(text)
			break
		}
		end += 1 + next
	}
	return append(bytes.Clone(header), text[first+1:end]...)
}

// oneFile is a file system in which every file has the same text.
type oneFile []byte

// Open opens a file.
func (f oneFile) Open(string) (fs.File, error) { return textFile{bytes.NewReader(f)}, nil }

// textFile is an open file whose content is in memory.
type textFile struct{ *bytes.Reader }

// Stat is not supported.
func (textFile) Stat() (fs.FileInfo, error) { return nil, errors.ErrUnsupported }

// Close does nothing.
func (textFile) Close() error { return nil }
