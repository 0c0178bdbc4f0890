package given

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"cudacompat/probe/facts"
)

func isJSON(data []byte) bool { return bytes.HasPrefix(data, []byte("{")) }

// readJSON reads facts, or a report with facts in it, as this program writes them.
func readJSON(data []byte) (facts.Facts, error) {
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

// jsonError says in one clause what is wrong with a JSON document.
func jsonError(err error) error {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return fmt.Errorf("%s should not be a %s", strings.TrimPrefix(kind.Field, "Facts."), kind.Value)
	}
	return fmt.Errorf("not valid JSON: %w", err)
}
