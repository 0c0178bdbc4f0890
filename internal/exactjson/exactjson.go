// Package exactjson refuses JSON that two readers would understand differently: a name twice in one object, and a name that
// encoding/json takes for a field although it is written otherwise, such as "Driver" for "driver".
package exactjson

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Unmarshal returns json.Unmarshal for a document whose names are written as the fields are, each once.
func Unmarshal(data []byte, to any) error {
	if err := json.Unmarshal(data, to); err != nil {
		return err
	}
	s := scanner{data: data}
	s.value(reflect.TypeOf(to).Elem())
	return s.err
}

// scanner walks over JSON that is known to be valid.
type scanner struct {
	data []byte
	at   int
	err  error
}

// value passes over a value of a type; nil is of none that is known.
func (s *scanner) value(t reflect.Type) {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t != nil && reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		t = nil
	}
	switch s.space(); s.data[s.at] {
	case '{':
		s.object(t)
	case '[':
		s.array(t)
	case '"':
		s.text()
	default:
		for s.at < len(s.data) && !strings.ContainsRune(",]} \t\r\n", rune(s.data[s.at])) {
			s.at++
		}
	}
}

func (s *scanner) array(t reflect.Type) {
	var of reflect.Type
	if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
		of = t.Elem()
	}
	for s.at++; s.more(']') && s.err == nil; {
		s.value(of)
	}
}

func (s *scanner) object(t reflect.Type) {
	var fields *names
	var of reflect.Type
	if t != nil {
		switch t.Kind() {
		case reflect.Struct:
			fields = namesOf(t)
		case reflect.Map:
			of = t.Elem()
		}
	}
	var few []string
	var many map[string]bool
	for s.at++; s.more('}'); {
		name := s.text()
		s.space()
		s.at++ // the colon
		if slices.Contains(few, name) || many[name] {
			s.err = fmt.Errorf("the name %q is twice in one object", name)
		}
		if len(few) < 16 {
			few = append(few, name)
		} else {
			if many == nil {
				many = map[string]bool{}
			}
			many[name] = true
		}
		next := of
		if fields != nil {
			next = fields.types[name]
			if exact := fields.folded(name); next == nil && exact != "" {
				s.err = fmt.Errorf("the name %q is written %q", exact, name)
			}
		}
		if s.err != nil {
			return
		}
		if s.value(next); s.err != nil {
			return
		}
	}
}

// more skips to the next value and reports whether there is one. If the end comes first, it skips that.
func (s *scanner) more(end byte) bool {
	s.space()
	if s.data[s.at] == ',' {
		s.at++
		s.space()
	}
	if s.data[s.at] == end {
		s.at++
		return false
	}
	return true
}

func (s *scanner) space() {
	for s.data[s.at] == ' ' || s.data[s.at] == '\n' || s.data[s.at] == '\t' || s.data[s.at] == '\r' {
		s.at++
	}
}

// text passes over a string and returns what it says.
func (s *scanner) text() string {
	start, escaped := s.at, false
	for s.at++; s.data[s.at] != '"'; s.at++ {
		if s.data[s.at] == '\\' {
			escaped = true
			s.at++
		}
	}
	s.at++
	if !escaped {
		return string(s.data[start+1 : s.at-1])
	}
	var text string
	if json.Unmarshal(s.data[start:s.at], &text) != nil {
		text = strconv.Quote(string(s.data[start:s.at]))
	}
	return text
}

// names are the fields of a struct as JSON has them.
type names struct{ types map[string]reflect.Type }

// folded returns the field that encoding/json would match a name with, or "".
func (n *names) folded(name string) string {
	for field := range n.types {
		if strings.EqualFold(field, name) {
			return field
		}
	}
	return ""
}

var known sync.Map // of *names, by type

func namesOf(t reflect.Type) *names {
	if n, ok := known.Load(t); ok {
		return n.(*names)
	}
	n := &names{map[string]reflect.Type{}}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" || f.Anonymous && name == "" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		if n.types[name] == nil || len(f.Index) == 1 {
			n.types[name] = f.Type
		}
	}
	known.Store(t, n)
	return n
}
