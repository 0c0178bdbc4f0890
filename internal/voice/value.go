package voice

import "reflect"

// Value redacts every string that can be reached from a pointer: fields, lists, the keys and values of maps. A GPU that
// is named by its UUID has one name in all of them.
func Value(pointer any) {
	w := walk{seen: map[uintptr]bool{}}
	w.into(reflect.ValueOf(pointer))
}

// walk redacts a value in place. What does not change is not written: tables share their strings with reports.
type walk struct {
	devices
	seen map[uintptr]bool // pointers that were followed
}

func (w *walk) into(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
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
func (w *walk) intoMap(m reflect.Value) {
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
