package matrix

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"reflect"
	"slices"

	"cudacompat/probe"
)

// fleetKey is the same for facts that are judged alike.
type fleetKey [sha256.Size]byte

// settle takes out of facts what differs from one look to the next and is not judged over a fleet: how long a probe
// took, how much memory is in use, for how long a machine runs once its fabric had the time to start.
func settle(f *probe.Facts) {
	f.Machine.Uptime = min(f.Machine.Uptime, registerSeconds+1)
	for i := range f.Probes {
		f.Probes[i].Seconds = 0
	}
	for i := range f.GPUs {
		f.GPUs[i].Memory = nil
		if h := f.GPUs[i].Health; h != nil {
			h.Slowdown = slices.DeleteFunc(h.Slowdown, func(s string) bool { return s == "idle" || s == "power cap" })
		}
	}
}

// keyOf hashes every field. An empty list is the same as none.
func keyOf(f *probe.Facts) fleetKey {
	return sha256.Sum256(appendValue(make([]byte, 0, 16<<10), reflect.ValueOf(f).Elem()))
}

// appendValue writes a value so that two values are written alike only if they are equal.
func appendValue(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.String:
		b = binary.AppendUvarint(b, uint64(v.Len()))
		return append(b, v.String()...)
	case reflect.Int, reflect.Int64:
		return binary.AppendVarint(b, v.Int())
	case reflect.Uint64:
		return binary.AppendUvarint(b, v.Uint())
	case reflect.Float64:
		return binary.AppendUvarint(b, math.Float64bits(v.Float()))
	case reflect.Bool:
		if v.Bool() {
			return append(b, 1)
		}
		return append(b, 0)
	case reflect.Pointer:
		if v.IsNil() {
			return append(b, 0)
		}
		return appendValue(append(b, 1), v.Elem())
	case reflect.Slice:
		b = binary.AppendUvarint(b, uint64(v.Len()))
		for i := range v.Len() {
			b = appendValue(b, v.Index(i))
		}
		return b
	case reflect.Struct:
		for i := range v.NumField() {
			b = appendValue(b, v.Field(i))
		}
		return b
	case reflect.Map:
		return appendMap(b, v)
	}
	panic("a fact of kind " + v.Kind().String())
}

// appendMap writes a map by its keys' order; facts have text for keys.
func appendMap(b []byte, v reflect.Value) []byte {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(x, y reflect.Value) int {
		switch {
		case x.String() < y.String():
			return -1
		case x.String() > y.String():
			return 1
		}
		return 0
	})
	b = binary.AppendUvarint(b, uint64(len(keys)))
	for _, k := range keys {
		b = appendValue(appendValue(b, k), v.MapIndex(k))
	}
	return b
}

// registerSeconds is how long after boot a fabric may be in the making.
const registerSeconds = 300
