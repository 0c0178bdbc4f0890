package facts

import (
	"reflect"
	"unicode/utf8"
)

// longest is how many bytes of a text in somebody else's file are kept. No name, version or message is longer, and a
// report quotes each several times.
const longest = 4096

// Shorten cuts texts that no machine has.
func (f *Facts) Shorten() { shorten(reflect.ValueOf(f).Elem()) }

func shorten(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if text := v.String(); len(text) > longest {
			end := longest
			for end > 0 && !utf8.RuneStart(text[end]) {
				end--
			}
			v.SetString(text[:end] + "…")
		}
	case reflect.Pointer:
		if !v.IsNil() {
			shorten(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			shorten(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			shorten(v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(key))
			shorten(value)
			v.SetMapIndex(key, value)
		}
	}
}
