// Package given reads facts that somebody else has written down: reports, requirements, locks.
package given

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"cudacompat/probe/facts"
)

// Read reads facts that were taken elsewhere: facts or a report as JSON, a requirements file, a uv.lock, a pylock.toml,
// or a collect_env report as text. Text in which nothing is found gives empty Facts.
func Read(data []byte) (facts.Facts, error) {
	data = bytes.TrimLeft(bytes.TrimPrefix(data, []byte("\uFEFF")), " \t\r\n")
	if !bytes.HasPrefix(data, []byte("{")) {
		if facts, ok, err := lockedFile(data); ok {
			return facts, err
		}
		return parseCollectEnv(string(data)), nil
	}
	var document struct {
		facts.Facts
		Inner *facts.Facts `json:"facts"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return facts.Facts{}, jsonError(err)
	}
	facts := document.Facts
	if document.Inner != nil {
		facts = *document.Inner
	}
	facts.Complete()
	return facts, nil
}

// jsonError says in one clause what is wrong with a JSON document.
func jsonError(err error) error {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return fmt.Errorf("%s should not be a %s", strings.TrimPrefix(kind.Field, "Facts."), kind.Value)
	}
	return fmt.Errorf("not valid JSON: %w", err)
}
