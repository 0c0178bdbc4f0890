// Package factsjson reads facts and reports in JSON, as this program writes them.
package factsjson

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"cudacompat/internal/exactjson"
	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/redact"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/input/document"
)

// ourKey matches a field of facts or of a report.
var ourKey = lazyregexp.New(`"(schema|facts|system|driver|gpus|toolkits|environments|libraries|unread|machine)"\s*:`)

// Is takes an object with a field of facts or of a report near its beginning.
func Is(d document.Document) bool {
	return d.Starts("{") && ourKey.Match(d.Data[:min(len(d.Data), 1<<20)])
}

// Divide returns the facts of each machine of a report about several, or nothing if the report is about one.
func Divide(data []byte) [][]byte {
	var report struct {
		Machines []struct {
			Facts json.RawMessage `json:"facts"`
		} `json:"machines"`
	}
	if !bytes.Contains(data, []byte(`"machines"`)) || exactjson.Unmarshal(data, &report) != nil {
		return nil
	}
	var list [][]byte
	for _, m := range report.Machines {
		list = append(list, m.Facts)
	}
	return list
}

// Read reads facts, or a report with facts in it, as this program writes them.
func Read(d document.Document) (facts.Facts, error) {
	data := d.Data
	var parsed struct {
		facts.Facts
		Inner *facts.Facts `json:"facts"`
	}
	if err := exactjson.Unmarshal(data, &parsed); err != nil {
		return facts.Facts{}, document.JSONError(err)
	}
	for _, schema := range []string{parsed.Schema, cmp.Or(parsed.Inner, &facts.Facts{}).Schema} {
		if strings.HasPrefix(schema, "cudacompat/") && !strings.HasSuffix(schema, "/v1") {
			return facts.Facts{}, fmt.Errorf("its form is %s, and this cudacompat reads cudacompat/…/v1", redact.Quote(schema, 60))
		}
	}
	if parsed.Inner != nil {
		return *parsed.Inner, nil
	}
	return parsed.Facts, nil
}
