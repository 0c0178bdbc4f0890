package report

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"cudacompat/internal/report/layout"
	"cudacompat/probe/facts"
)

// JSON writes the report; its schema is internal/report/schema/report-v1.json.
func JSON(w io.Writer, r Report, _ layout.Style) error { return WriteJSON(w, r.ShortenLists()) }

// FactsFormats lists every format of facts.
var FactsFormats = []Format[facts.Facts]{
	{"json", func(w io.Writer, f facts.Facts, _ layout.Style) error { return Facts(w, f) }},
	{"fleet", factsLine},
}

// Facts writes facts alone, in the form that a report contains; their schema is internal/report/schema/facts-v1.json.
func Facts(w io.Writer, f facts.Facts) error {
	f.Complete()
	return WriteJSON(w, f)
}

// PackedSchema names compressed facts: {"schema":"cudacompat/packed/v1","gzip":"H4sI…"}, with the gzip in base64.
const PackedSchema = "cudacompat/packed/v1"

// packAbove is the size in bytes from which facts on one line are compressed. containerd splits lines of more than 16
// KiB (its max_container_log_line_size), and `kubectl logs --tail` counts the pieces. Half a kilobyte is left for what
// a collector adds.
const packAbove = 16<<10 - 512

// factsLine writes facts on one line for `cudacompat fleet`. It compresses them if the line would be too long for a
// log.
func factsLine(w io.Writer, f facts.Facts, _ layout.Style) error {
	f.Complete()
	line, err := compactJSON(f)
	if err != nil {
		return err
	}
	if len(line) > packAbove {
		var packed bytes.Buffer
		z, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // the level is one
		if _, err := z.Write(line); err != nil {
			return err
		}
		if err := z.Close(); err != nil {
			return err
		}
		if line, err = compactJSON(struct {
			Schema string `json:"schema"`
			Gzip   []byte `json:"gzip"`
		}{PackedSchema, packed.Bytes()}); err != nil {
			return err
		}
	}
	_, err = w.Write(line)
	return err
}

// compactJSON returns a value as JSON on one line.
func compactJSON(value any) ([]byte, error) {
	var b bytes.Buffer
	err := encode(&b, value, "")
	return b.Bytes(), err
}

// WriteJSON writes a value as indented JSON, with invisible characters as \u escapes.
func WriteJSON(w io.Writer, value any) error { return encode(w, value, "  ") }

// encode writes a value as JSON with this indentation.
func encode(w io.Writer, value any, indent string) error {
	out := bufio.NewWriterSize(w, 64<<10)
	e := json.NewEncoder(visible{out})
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(value); err != nil {
		return err
	}
	return out.Flush()
}

// visible writes invisible characters as \u escapes. encoding/json leaves those from U+007F on, and some terminals read
// U+009B as the start of an escape sequence. Outside strings JSON has none of them.
type visible struct{ *bufio.Writer }

// Write takes a whole document, as json.Encoder provides it.
func (v visible) Write(document []byte) (int, error) {
	for at := 0; at < len(document); {
		r, size := utf8.DecodeRune(document[at:])
		switch {
		case r == '\n' || unicode.IsGraphic(r):
			v.Writer.Write(document[at : at+size])
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(v.Writer, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(v.Writer, `\u%04x`, r)
		}
		at += size
	}
	return len(document), nil // Flush says what could not be written
}
