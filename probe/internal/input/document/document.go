// Package document contains what the readers of all formats share: the document, its limits and its errors.
package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"

	"github.com/pelletier/go-toml/v2"
)

// Document is one file: its name, what is in it, and how files that it refers to are opened.
type Document struct {
	Name string // empty for standard input
	Data []byte
	// Beside opens a file by the path in the document. It is nil if no files are beside it, as for standard input.
	Beside func(name string) ([]byte, error)
	Typed  bool // requirements that were typed, one a line: there is no file
	Above  int  // lines of the text that stand before the document, where Machines divided it

	known *Recognised // what an earlier call of Recognise found
}

// Format is one kind of file: how it is recognised and read, and how much of what its parser keeps it may have.
type Format struct {
	Name string // what people call it, "uv.lock"
	Is   func(Document) bool
	Read func(Document) (facts.Facts, error)
	Most Limit
}

// ErrForeign is a file of no kind that is read.
var ErrForeign = errors.New("cannot tell what kind of file this is")

// Recognised is a decoded document with the format that reads it, or the error that says why none does.
type Recognised struct {
	Data   []byte
	Format Format
	Err    error
}

// Recognise decodes a document and looks for the first format that takes it. It looks no further at a document that is
// too large.
func (d Document) Recognise(formats []Format) Recognised {
	if d.known != nil {
		return *d.known
	}
	data, err := Decode(d.Data)
	if err == nil {
		err = TooLarge(data)
	}
	if err != nil {
		return Recognised{Err: err}
	}
	d.Data = data
	for _, f := range formats {
		if f.Is(d) {
			return Recognised{data, f, nil}
		}
	}
	return Recognised{Data: data, Err: ErrForeign}
}

// Remember returns the document with what recognise found, so that the next call does not look again.
func (d Document) Remember(r Recognised) Document {
	d.known = &r
	return d
}

// Starts reports whether a document begins with one of some texts.
func (d Document) Starts(with ...string) bool {
	for _, text := range with {
		if bytes.HasPrefix(d.Data, []byte(text)) {
			return true
		}
	}
	return false
}

// LeadVersion is the version that a text begins with.
var LeadVersion = lazyregexp.New(`^\d+(?:\.\d+)+`)

// TwoParts returns "12.4" of "12.4.131": nvcc's and cudart's third part is the component's build.
func TwoParts(v string) string {
	parts := strings.SplitN(v, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// JSONError says in one clause what is wrong with a JSON document.
func JSONError(err error) error {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return fmt.Errorf("%s: a JSON %s does not belong here", strings.TrimPrefix(kind.Field, "Facts."), kind.Value)
	}
	if syntax := new(json.SyntaxError); !errors.As(err, &syntax) { // a name that is written otherwise, or twice
		return err
	}
	return fmt.Errorf("not valid JSON: %w", err)
}

// TOMLError says in one clause what is wrong with a TOML document, and where.
func TOMLError(err error) error {
	var decode *toml.DecodeError
	if errors.As(err, &decode) {
		line, column := decode.Position()
		reason, _, _ := strings.Cut(strings.TrimPrefix(decode.Error(), "toml: "), " into ") // a type of Go's
		return fmt.Errorf("not valid TOML: line %d, column %d: %s", line, column, reason)
	}
	return fmt.Errorf("not valid TOML: %s", strings.TrimPrefix(err.Error(), "toml: "))
}
