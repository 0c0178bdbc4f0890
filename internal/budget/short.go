package budget

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Short returns a copy of a value with the first Shown entries of every list and map. left counts the entries left out,
// by the JSON name of the nearest field above them. The copy is small however large the value is, so it can be written
// when time is short.
func Short[T any](value T) (short T, left map[string]int) {
	s := shortening{left: map[string]int{}}
	s.copy(reflect.ValueOf(&short).Elem(), reflect.ValueOf(&value).Elem(), "")
	return short, s.left
}

type shortening struct{ left map[string]int }

// copy sets a value to a short copy of another. What has lists copies none of their memory.
func (s *shortening) copy(to, from reflect.Value, name string) {
	switch from.Kind() {
	case reflect.Pointer:
		if !from.IsNil() {
			to.Set(reflect.New(from.Type().Elem()))
			s.copy(to.Elem(), from.Elem(), name)
		}
	case reflect.Struct:
		to.Set(from) // fields that nobody writes, too
		for i := range from.NumField() {
			if field := from.Type().Field(i); field.IsExported() {
				s.copy(to.Field(i), from.Field(i), cmp.Or(jsonName(field), name))
			}
		}
	case reflect.Slice:
		s.copySlice(to, from, name)
	case reflect.Map:
		s.copyMap(to, from, name)
	default:
		to.Set(from)
	}
}

func (s *shortening) copySlice(to, from reflect.Value, name string) {
	if from.IsNil() || from.Type().Elem().Kind() == reflect.Uint8 {
		to.Set(from)
		return
	}
	n := min(from.Len(), Shown)
	s.leave(name, from.Len()-n)
	to.Set(reflect.MakeSlice(from.Type(), n, n))
	for i := range n {
		s.copy(to.Index(i), from.Index(i), name)
	}
}

func (s *shortening) copyMap(to, from reflect.Value, name string) {
	if from.IsNil() {
		return
	}
	keys := from.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
	n := min(len(keys), Shown)
	s.leave(name, len(keys)-n)
	to.Set(reflect.MakeMapWithSize(from.Type(), n))
	for _, key := range keys[:n] {
		entry := reflect.New(from.Type().Elem()).Elem()
		s.copy(entry, from.MapIndex(key), name)
		to.SetMapIndex(key, entry)
	}
}

func (s *shortening) leave(name string, n int) {
	if n > 0 {
		s.left[name] += n
	}
}

// Words says what Short left out, "builds (12), findings (1800)".
func Words(left map[string]int) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(left)) {
		list = append(list, fmt.Sprintf("%s (%d)", name, left[name]))
	}
	return strings.Join(list, ", ")
}

// jsonName returns a field's JSON name, or "".
func jsonName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return strings.TrimPrefix(name, "-")
}
