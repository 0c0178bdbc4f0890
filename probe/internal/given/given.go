// Package given reads facts that somebody else has written down: reports, requirements, locks.
package given

import (
	"bytes"

	"cudacompat/probe/facts"
)

// A format is one kind of file: how it is recognised, and how it is read.
type format struct {
	name string // what people call it, "uv.lock"
	is   func([]byte) bool
	read func([]byte) (facts.Facts, error)
}

// formats is every kind of file that is read. The first that recognises a file reads it, so those with marks of their
// own stand before those that take any JSON, any list of names or any text.
var formats = []format{
	{"facts or a report", isJSON, readJSON},
	{"uv.lock", isUVLock, readUVLock},
	{"pylock.toml", isPylock, readPylock},
	{"requirements", isRequirements, readRequirements},
	{"collect_env report", isText, readCollectEnv},
}

// Read reads what was taken elsewhere, of whatever format. Text in which nothing is found gives empty Facts.
func Read(data []byte) (facts.Facts, error) {
	data = bytes.TrimLeft(bytes.TrimPrefix(data, []byte("\uFEFF")), " \t\r\n")
	if err := tooLarge(data); err != nil {
		return facts.Facts{}, err
	}
	f, err := formatOf(data).read(data)
	if err == nil {
		err = tooManyNamed(f)
	}
	if err != nil {
		return facts.Facts{}, err
	}
	f.Complete()
	return f, nil
}

// formatOf is the format that reads a file; the last one reads any.
func formatOf(data []byte) format {
	for _, f := range formats {
		if f.is(data) {
			return f
		}
	}
	return formats[len(formats)-1]
}
