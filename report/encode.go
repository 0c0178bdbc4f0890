package report

import (
	"bytes"
	"encoding/json"
	"io"
)

// encodeJSON writes a value as JSON for people and programs alike: indented, "<" as it is.
func encodeJSON(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(value)
}

// marshalCell is a value as JSON on one line.
func marshalCell(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}
