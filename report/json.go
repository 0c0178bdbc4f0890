package report

import (
	"encoding/json"
	"io"
)

// JSON writes the report as the contract has it; report/schema holds its schema.
func JSON(w io.Writer, r Report, _ Style) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
