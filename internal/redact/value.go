package redact

import "reflect"

// Value redacts every string that can be reached from a pointer: fields, lists, the keys and values of maps. A GPU that
// is named by its UUID has one name in all of them.
func Value(pointer any) { new(Walk).Value(pointer, nil) }

// Walk redacts values in place, one after the other: a GPU has one name in all of them. What does not change is not
// written: tables share their strings with reports.
type Walk struct {
	devices
	seen    map[uintptr]bool // pointers that were followed
	texts   int
	stop    func() bool
	stopped bool
}

// Value redacts like the function Value, until stop returns true. It calls stop now and then; nil never stops. It
// reports whether everything was redacted.
func (w *Walk) Value(pointer any, stop func() bool) bool {
	w.seen, w.stop, w.stopped = map[uintptr]bool{}, stop, false
	w.into(reflect.ValueOf(pointer))
	return !w.stopped
}

// askEvery is how many texts are redacted between two looks at the clock.
const askEvery = 256

func (w *Walk) into(v reflect.Value) {
	if w.stopped {
		return
	}
	switch v.Kind() {
	case reflect.String:
		if w.texts++; w.stop != nil && w.texts%askEvery == 0 {
			w.stopped = w.stop()
		}
		if text := v.String(); v.CanSet() {
			if clean := w.redact(text); clean != text {
				v.SetString(clean)
			}
		}
	case reflect.Pointer:
		if !v.IsNil() && !w.seen[v.Pointer()] {
			w.seen[v.Pointer()] = true
			w.into(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			w.into(v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		if !holdsText(v.Type().Elem()) {
			return
		}
		for i := range v.Len() {
			w.into(v.Index(i))
		}
	case reflect.Map:
		w.intoMap(v)
	}
}

// holdsText leaves out lists of bytes and numbers.
func holdsText(t reflect.Type) bool {
	return t.Kind() == reflect.String || t.Kind() >= reflect.Array && t.Kind() != reflect.UnsafePointer
}

// intoMap writes what changes: an element of a map cannot be changed where it is.
func (w *Walk) intoMap(m reflect.Value) {
	if !m.CanInterface() {
		return
	}
	for _, key := range m.MapKeys() {
		newKey, value := reflect.New(key.Type()).Elem(), reflect.New(m.Type().Elem()).Elem()
		newKey.Set(key)
		value.Set(m.MapIndex(key))
		w.into(newKey)
		w.into(value)
		if !newKey.Equal(key) {
			m.SetMapIndex(key, reflect.Value{})
		}
		if holdsText(value.Type()) {
			m.SetMapIndex(newKey, value)
		}
	}
}
