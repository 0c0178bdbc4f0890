package input

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"cudacompat/internal/lazyregexp"
)

// Document is one file: its name, what is in it, and how files that it refers to are opened.
type Document struct {
	Name string // empty for standard input
	Data []byte
	// Beside opens a file by the path that the document gives; nil where nothing is beside it, as with standard input.
	Beside func(name string) ([]byte, error)
	Typed  bool // requirements that were typed, one a line: there is no file
	Above  int  // lines of the text that stand before the document, where Machines divided it

	known *recognised // what Machines found, so that nobody looks for it again
}

// recognised is a document as it is read, and the format that reads it, or why none does.
type recognised struct {
	data   []byte
	format format
	err    error
}

// recognised decodes a document and looks for its format. What is too large is not looked at any more.
func (d Document) recognised() recognised {
	if d.known != nil {
		return *d.known
	}
	data, err := decode(d.Data)
	if err == nil {
		err = tooLarge(data)
	}
	if err != nil {
		return recognised{err: err}
	}
	d.Data = data
	f, ok := formatOf(d)
	if !ok {
		err = ErrForeign
	}
	return recognised{data, f, err}
}

// starts reports whether a document begins with one of some texts.
func (d Document) starts(with ...string) bool {
	for _, text := range with {
		if bytes.HasPrefix(d.Data, []byte(text)) {
			return true
		}
	}
	return false
}

// leadVersion is the version that a text begins with.
var leadVersion = lazyregexp.New(`^\d+(?:\.\d+)+`)

// twoParts is "12.4" of "12.4.131": nvcc's and cudart's third part is the component's build.
func twoParts(v string) string {
	parts := strings.SplitN(v, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// jsonError says in one clause what is wrong with a JSON document.
func jsonError(err error) error {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return fmt.Errorf("%s: a JSON %s does not belong here", strings.TrimPrefix(kind.Field, "Facts."), kind.Value)
	}
	return fmt.Errorf("not valid JSON: %w", err)
}
