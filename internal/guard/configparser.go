package guard

import (
	"bytes"
	"errors"
	"maps"
	"strings"
	"unicode"
	"unicode/utf8"
)

// errConfig is a file that Python's configparser refuses.
var errConfig = errors.New("not a configuration file of Python's")

// configReader reads what Python's RawConfigParser reads, which pip uses for pip.conf.
type configReader struct {
	sections map[string]map[string]string
	names    map[string]bool // sections that stood in the file
	section  string
	key      string // whose value goes on in lines that are indented deeper
	indent   int    // of the line of the key, or of the section
}

// defaultSection holds what counts in every section.
const defaultSection = "DEFAULT"

// parseConfig parses a file such as
//
//	[install] ; mine
//	--Target =
//	    /x
//
// parseConfig returns keys in lower case. A line indented deeper than its key continues the key's value, whatever it looks like.
func parseConfig(data []byte) (map[string]map[string]string, error) {
	if !utf8.Valid(data) {
		return nil, errConfig
	}
	r := &configReader{sections: map[string]map[string]string{}, names: map[string]bool{}}
	for line := range bytes.Lines(bytes.ReplaceAll(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))) {
		if err := r.read(strings.TrimSuffix(string(line), "\n")); err != nil {
			return nil, err
		}
	}
	for name, keys := range r.sections {
		if name != defaultSection {
			own := maps.Clone(keys)
			maps.Copy(keys, r.sections[defaultSection])
			maps.Copy(keys, own)
		}
	}
	delete(r.sections, defaultSection) // pip asks for the sections, of which it is none
	return r.sections, nil
}

// read reads one line.
func (r *configReader) read(line string) error {
	text := strings.TrimSpace(line)
	if text == "" || text[0] == '#' || text[0] == ';' {
		return nil // empty lines and comments end no value
	}
	indent := len([]rune(line)) - len([]rune(strings.TrimLeftFunc(line, unicode.IsSpace)))
	if r.section != "" && r.key != "" && indent > r.indent {
		keys := r.sections[r.section]
		keys[r.key] = strings.TrimSpace(keys[r.key] + "\n" + text)
		return nil
	}
	r.indent = indent
	if end := strings.LastIndexByte(text, ']'); text[0] == '[' && end > 1 { // what stands behind the bracket means nothing
		return r.open(text[1:end])
	}
	at := strings.IndexAny(text, "=:")
	if r.section == "" || at <= 0 {
		return errConfig
	}
	key := strings.ToLower(strings.TrimSpace(text[:at]))
	if _, twice := r.sections[r.section][key]; twice {
		return errConfig
	}
	r.key = key
	r.sections[r.section][key] = strings.TrimSpace(text[at+1:])
	return nil
}

// open begins a section, which only DEFAULT may do twice.
func (r *configReader) open(name string) error {
	if r.names[name] && name != defaultSection {
		return errConfig
	}
	r.names[name] = true
	if r.sections[name] == nil {
		r.sections[name] = map[string]string{}
	}
	r.section, r.key = name, ""
	return nil
}
