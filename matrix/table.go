package matrix

import (
	"encoding"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
)

// origin is where a row comes from: every table ends in these columns.
type origin struct {
	Source  sources `csv:"source"`  // https addresses, or "wheel NAME sha256:…" for what was read from the artefact
	Checked string  `csv:"checked"` // ISO date
}

// sources is a cell of sources separated by spaces; a wheel's has spaces of its own.
type sources []string

var oneSource = regexp.MustCompile(`https://\S+|wheel \S+ sha256:[0-9a-f]{64}`)

// UnmarshalText reads the cell; checkCell has its form.
func (s *sources) UnmarshalText(text []byte) error {
	*s = oneSource.FindAllString(string(text), -1)
	return nil
}

// MarshalText writes it back.
func (s sources) MarshalText() ([]byte, error) { return []byte(strings.Join(s, " ")), nil }

// names is a list whose entries have spaces in them; a cell separates them by ";".
type names []string

// UnmarshalText reads "GeForce RTX 4090;L4".
func (n *names) UnmarshalText(text []byte) error {
	if len(text) > 0 {
		*n = strings.Split(string(text), ";")
	}
	return nil
}

// MarshalText writes it back.
func (n names) MarshalText() ([]byte, error) { return []byte(strings.Join(n, ";")), nil }

// readTable reads and lints one table: the header names T's columns exactly, every cell parses, keys are unique and
// sorted, every row has a source and a date. keys is how many leading columns make the key. An error names file,
// line and column.
func readTable[T any](fsys fs.FS, file string, keys int) ([]T, error) {
	f, err := fsys.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := csv.NewReader(f)
	columns := columnsOf(reflect.TypeFor[T]())
	header, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("%s: no header: %w", file, err)
	}
	if err := checkHeader(header, columns); err != nil {
		return nil, fmt.Errorf("%s:1: %w", file, err)
	}
	var rows []T
	var last []string
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		line, _ := r.FieldPos(0)
		row, err := readRow[T](cells, columns)
		if err == nil {
			err = checkKey(last, cells[:keys])
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, line, err)
		}
		rows, last = append(rows, row), cells[:keys]
	}
}

// column is one column and the field of a row that it fills.
type column struct {
	name  string
	index []int
}

func columnsOf(t reflect.Type) []column {
	var columns []column
	for _, f := range reflect.VisibleFields(t) {
		if name := f.Tag.Get("csv"); name != "" {
			columns = append(columns, column{name, f.Index})
		}
	}
	return columns
}

func checkHeader(header []string, columns []column) error {
	for i, c := range columns {
		if i >= len(header) || header[i] != c.name {
			return fmt.Errorf("column %d of the header must be %q", i+1, c.name)
		}
	}
	if len(header) > len(columns) {
		return fmt.Errorf("column %d of the header is %q, which this table does not have", len(columns)+1, header[len(columns)])
	}
	return nil
}

func readRow[T any](cells []string, columns []column) (T, error) {
	var row T
	v := reflect.ValueOf(&row).Elem()
	for i, c := range columns {
		if err := setCell(v.FieldByIndex(c.index), cells[i]); err != nil {
			return row, fmt.Errorf("column %d (%s): %w", i+1, c.name, err)
		}
		if err := checkCell(c.name, cells[i]); err != nil {
			return row, fmt.Errorf("column %d (%s): %w", i+1, c.name, err)
		}
	}
	return row, nil
}

// setCell writes a cell into a field: text, a list, a number, or a type that reads itself.
func setCell(field reflect.Value, cell string) error {
	switch p := field.Addr().Interface().(type) {
	case *string:
		*p = cell
	case *[]string:
		*p = strings.Fields(cell)
	case *int:
		if cell != "" {
			if _, err := fmt.Sscanf(cell, "%d", p); err != nil {
				return fmt.Errorf("%q is not a number", cell)
			}
		}
	case encoding.TextUnmarshaler:
		return p.UnmarshalText([]byte(cell))
	default:
		return fmt.Errorf("a field of type %s cannot be read from a cell", field.Type())
	}
	return nil
}

var sourceText = regexp.MustCompile(`^(https://\S+|wheel \S+ sha256:[0-9a-f]{64})( (https://\S+|wheel \S+ sha256:[0-9a-f]{64}))*$`)

// checkCell holds what every table promises: a source one can open or hash, a date.
func checkCell(name, cell string) error {
	switch {
	case strings.TrimSpace(cell) != cell:
		return fmt.Errorf("%q has spaces around it", cell)
	case name == "source" && !sourceText.MatchString(cell):
		return fmt.Errorf("%q is neither an https address nor `wheel NAME sha256:…`", cell)
	case name == "checked":
		if _, err := time.Parse(time.DateOnly, cell); err != nil {
			return fmt.Errorf("%q is not a date like 2026-11-21", cell)
		}
	}
	return nil
}

// checkKey says whether key may follow last.
func checkKey(last, key []string) error {
	if last == nil {
		return nil
	}
	switch c := compareKeys(last, key); {
	case c == 0:
		return fmt.Errorf("the key %s stands twice", strings.Join(key, " "))
	case c > 0:
		return fmt.Errorf("%s must stand before %s: the table is sorted", strings.Join(key, " "), strings.Join(last, " "))
	}
	return nil
}

func compareKeys(a, b []string) int { return slices.CompareFunc(a, b, naturally) }

// naturally compares text with its numbers as numbers: "2.9.0" comes before "2.10.0", "AD104" before "AD1020".
func naturally(a, b string) int {
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
