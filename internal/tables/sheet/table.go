package sheet

import (
	"encoding"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/version"
)

// Sources is a cell of sources separated by spaces. The source of an artefact contains spaces, which separate nothing.
type Sources []string

// UnmarshalText reads the cell; CheckCell has its form.
func (s *Sources) UnmarshalText(text []byte) error {
	*s = SourcesOf(string(text))
	return nil
}

// SourcesOf takes a cell of sources apart.
func SourcesOf(cell string) Sources {
	if !strings.Contains(cell, " ") && cell != "" {
		return Sources{cell}
	}
	list := Sources{}
	for words := strings.Fields(cell); len(words) > 0; {
		n := 1
		if words[0] == "wheel" || words[0] == "sdist" {
			n = min(3, len(words))
		}
		list = append(list, strings.Join(words[:n], " "))
		words = words[n:]
	}
	return slices.Clip(list)
}

// MarshalText writes it back.
func (s Sources) MarshalText() ([]byte, error) { return []byte(strings.Join(s, " ")), nil }

// NameList is a list whose entries have spaces in them; a cell separates them by ";".
type NameList []string

// UnmarshalText reads "GeForce RTX 4090;L4".
func (n *NameList) UnmarshalText(text []byte) error {
	if len(text) > 0 {
		*n = strings.Split(string(text), ";")
	}
	return nil
}

// MarshalText writes it back.
func (n NameList) MarshalText() ([]byte, error) { return []byte(strings.Join(n, ";")), nil }

// Table is one table, read.
type Table[T any] struct {
	Rows  []T
	ByKey func() map[string][]T // by the first cell
}

// ReadTable reads one table: the header names its columns exactly, every cell parses and passes the check, keys are
// unique and sorted. An error names file, line and column.
func ReadTable[T any](s Sheet, from Layers, check CellCheck) (any, error) {
	reader := rowReader{columns: columnsOf(s.Row), check: check}
	var rows []T
	var keys []string
	err := from.each(s, reader.columns, func(r record) error {
		var row T
		if len(rows) > 0 {
			row = rows[len(rows)-1]
		}
		err := reader.read(r, reflect.ValueOf(&row).Elem())
		rows, keys = append(rows, row), append(keys, r.cells[0])
		return err
	})
	if err != nil {
		return nil, err
	}
	return Table[T]{rows, sync.OnceValue(func() map[string][]T { return partsByKey(rows, keys) })}, nil
}

// partsByKey makes a part of rows for each key; the rows of a key stand together, since tables are sorted.
func partsByKey[T any](rows []T, keys []string) map[string][]T {
	parts := map[string][]T{}
	for first, next := 0, 0; first < len(rows); first = next {
		for next < len(rows) && keys[next] == keys[first] {
			next++
		}
		parts[keys[first]] = rows[first:next:next]
	}
	return parts
}

// record is one row of a table as text.
type record struct {
	cells []string
	place func(column int) Place
}

// copied returns the record as it is read now: its cells and places outlive the reader's next one.
func (r record) copied() record {
	places := make([]Place, len(r.cells))
	for i := range places {
		places[i] = r.place(i)
	}
	return record{slices.Clone(r.cells), func(column int) Place { return places[column] }}
}

// Place is where a cell stands: line and column count from 1, columns in bytes.
type Place struct {
	file         string
	line, column int
}

// WrapError puts the place before an error.
func (p Place) WrapError(err error) error {
	return fmt.Errorf("%s:%d:%d: %w", p.file, p.line, p.column, err)
}

// cellError is an error of one cell of a record.
type cellError struct {
	column int
	err    error
}

// Error returns what is wrong with the cell.
func (e *cellError) Error() string { return e.err.Error() }

// Unwrap returns the error without the cell.
func (e *cellError) Unwrap() error { return e.err }

// eachLine calls visit for every line of a CSV, in order, and checks the header, the number of cells and the keys.
func eachLine(fsys fs.FS, s Sheet, columns []column, visit func(record) error) error {
	file := s.FindPath()
	f, err := fsys.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	r := csv.NewReader(f)
	header, err := r.Read()
	if err != nil {
		return parseError(file, err)
	}
	at := func(i int) Place { line, column := r.FieldPos(i); return Place{file, line, column} }
	if i, err := checkHeader(header, columns); err != nil {
		return at(min(i, len(header)-1)).WrapError(err)
	}
	var last []string
	for {
		cells, err := r.Read()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return parseError(file, err)
		}
		if err := checkKey(last, cells[:s.Keys]); err != nil {
			return at(0).WrapError(err)
		}
		if err := visit(record{cells, at}); err != nil {
			return atPlace(at, err)
		}
		last = cells[:s.Keys]
	}
}

// atPlace puts the place of the cell that is wrong before the error.
func atPlace(at func(int) Place, err error) error {
	column := 0
	if cell := (*cellError)(nil); errors.As(err, &cell) {
		column = cell.column
	}
	return at(column).WrapError(err)
}

// parseError returns what encoding/csv says of a file that is no table.
func parseError(file string, err error) error {
	var parse *csv.ParseError
	switch {
	case errors.As(err, &parse):
		return Place{file, parse.Line, parse.Column}.WrapError(parse.Err)
	case errors.Is(err, io.EOF):
		return Place{file, 1, 1}.WrapError(errors.New("there is no header"))
	}
	return fmt.Errorf("%s: %w", file, err)
}

// column is one column and the field of a row that it fills.
type column struct {
	name  string
	index []int
	kind  reflect.Type
}

// columnsOf returns the columns of a row's type, those of embedded types in their place. reflect.VisibleFields takes
// four times as long, looking for fields that hide others.
func columnsOf(t reflect.Type) []column {
	columns := make([]column, 0, t.NumField()+1)
	for i := range t.NumField() {
		f := t.Field(i)
		if name := f.Tag.Get("csv"); name != "" {
			columns = append(columns, column{name, f.Index, f.Type})
		} else if f.Anonymous {
			for _, c := range columnsOf(f.Type) {
				columns = append(columns, column{c.name, append([]int{i}, c.index...), c.kind})
			}
		}
	}
	return columns
}

// checkHeader compares the header with the table's columns; at is the first that is wrong.
func checkHeader(header []string, columns []column) (at int, err error) {
	for i, c := range columns {
		if i >= len(header) || header[i] != c.name {
			return i, fmt.Errorf("column %d of the header must be %q", i+1, c.name)
		}
	}
	if len(header) > len(columns) {
		n := len(columns)
		return n, fmt.Errorf("column %d of the header is %q, which this table does not have", n+1, header[n])
	}
	return 0, nil
}

// rowReader fills rows from their cells.
type rowReader struct {
	columns []column
	check   CellCheck
	above   []string // the cells of the row before
}

// read fills a row, which is given as a copy of the one before it. Most cells repeat the one above them and are not
// read again: rows share their lists, which nobody writes to.
func (t *rowReader) read(r record, row reflect.Value) error {
	for i, c := range t.columns {
		if t.above != nil && r.cells[i] == t.above[i] {
			continue
		}
		field := row.FieldByIndex(c.index)
		field.SetZero()
		err := setCell(field, r.cells[i])
		if err == nil {
			err = t.check(c.name, r.cells[i], field)
		}
		if err != nil {
			return &cellError{i, fmt.Errorf("%s: %w", c.name, err)}
		}
	}
	t.above = r.cells
	return nil
}

// setCell writes a cell into a field: text, a list, a number, or a type that reads itself.
func setCell(field reflect.Value, cell string) error {
	switch p := field.Addr().Interface().(type) {
	case *string:
		*p = cell
	case *version.Number:
		return p.Read(cell)
	case *Sources:
		*p = SourcesOf(cell)
	case *[]string:
		*p = strings.Fields(cell)
	case *Several:
		*p = nil
		if cell != "" {
			*p = strings.Split(cell, several)
		}
	case *int:
		if cell != "" {
			n, err := strconv.Atoi(cell)
			if err != nil {
				return fmt.Errorf("%q is not a number", cell)
			}
			*p = n
		}
	case encoding.TextUnmarshaler:
		return p.UnmarshalText([]byte(cell))
	default:
		return fmt.Errorf("a field of type %s cannot be read from a cell", field.Type())
	}
	return nil
}

var sourceText = lazyregexp.New(
	`^(https://\S+|(wheel|sdist) \S+ sha256:[0-9a-f]{64})( (https://\S+|(wheel|sdist) \S+ sha256:[0-9a-f]{64}))*$`)

// CellCheck says what is wrong with a cell of a column, or with the field that was read from it.
type CellCheck func(name, cell string, field reflect.Value) error

// SkipCheck returns the check of tables that were linted before: by Load, or, the embedded ones, by a test. It
// spares a third of what a judgement costs.
func SkipCheck(string, string, reflect.Value) error { return nil }

// CheckCell holds what every table promises: a source one can open or hash, words that rules know.
func CheckCell(name, cell string, field reflect.Value) error {
	if late, ok := field.Interface().(interface{ Valid() error }); ok { // what is read when it is first asked for
		if err := late.Valid(); err != nil {
			return err
		}
	}
	switch {
	case strings.TrimSpace(cell) != cell:
		return fmt.Errorf("%q has spaces around it", cell)
	case name == "source" && !sourceText.MatchString(cell):
		return fmt.Errorf("%q is neither an https address nor `wheel NAME sha256:…` or `sdist …`", cell)
	case name == "checked":
		if _, err := time.Parse(time.DateOnly, cell); err != nil {
			return fmt.Errorf("%q is not a date like 2026-11-21", cell)
		}
	}
	return checkWords(name, cell)
}

// checkKey reports whether key may follow last.
func checkKey(last, key []string) error {
	if last == nil {
		return nil
	}
	switch c := CompareKeys(last, key); {
	case c == 0:
		return fmt.Errorf("the key %s stands twice", strings.Join(key, " "))
	case c > 0:
		return fmt.Errorf("%s must come before %s: the table is sorted", strings.Join(key, " "), strings.Join(last, " "))
	}
	return nil
}

// CompareKeys orders the rows of a table by their keys, numbers in them as numbers.
func CompareKeys(a, b []string) int { return slices.CompareFunc(a, b, CompareNaturally) }

// CompareNaturally compares text with its numbers as numbers: "2.9.0" comes before "2.10.0", "AD104" before "AD1020".
func CompareNaturally(a, b string) int {
	for a != "" && b != "" {
		x, restA := chunk(a)
		y, restB := chunk(b)
		if c := compareChunks(x, y); c != 0 {
			return c
		}
		a, b = restA, restB
	}
	return len(a) - len(b)
}

// chunk splits off the leading run of digits, or of anything else.
func chunk(s string) (head, rest string) {
	digit := isDigit(s[0])
	for i := range len(s) {
		if isDigit(s[i]) != digit {
			return s[:i], s[i:]
		}
	}
	return s, ""
}

func compareChunks(x, y string) int {
	if !isDigit(x[0]) || !isDigit(y[0]) {
		return strings.Compare(x, y)
	}
	x, y = strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
	if len(x) != len(y) {
		return len(x) - len(y)
	}
	return strings.Compare(x, y)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
