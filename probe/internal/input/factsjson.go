package input

import (
	"encoding/json"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
)

// ourKey matches a field of facts or of a report.
var ourKey = lazyregexp.New(`"(schema|facts|system|driver|gpus|toolkits|environments|libraries|unread|machine)"\s*:`)

// isJSON takes an object with a field of facts or of a report near its beginning.
func isJSON(d Document) bool {
	return d.starts("{") && ourKey.Match(d.Data[:min(len(d.Data), 1<<20)])
}

// readJSON reads facts, or a report with facts in it, as this program writes them.
func readJSON(d Document) (facts.Facts, error) {
	data := d.Data
	var document struct {
		facts.Facts
		Inner *facts.Facts `json:"facts"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return facts.Facts{}, jsonError(err)
	}
	if document.Inner != nil {
		return *document.Inner, nil
	}
	return document.Facts, nil
}
