package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode"
	"unicode/utf16"

	"cudacompat/probe/facts"
)

// JSON writes the report as the contract has it; report/schema/report-v1.json is its schema.
func JSON(w io.Writer, r Report, _ Style) error { return writeJSON(w, r) }

// Facts writes facts alone, in the form in which a report holds them; report/schema/facts-v1.json is their schema.
func Facts(w io.Writer, f facts.Facts) error {
	f.Complete()
	return writeJSON(w, f)
}

func writeJSON(w io.Writer, value any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(value); err != nil {
		return err
	}
	_, err := w.Write(visible(b.Bytes()))
	return err
}

// visible writes characters that do not show as \u escapes. encoding/json leaves those from U+007F on as they are,
// and some terminals take U+009B for the start of an escape sequence. Outside strings JSON has none of them.
func visible(document []byte) []byte {
	var b bytes.Buffer
	for _, r := range string(document) {
		switch {
		case r == '\n' || unicode.IsGraphic(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.Bytes()
}
