package fleet

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"reflect"
	"slices"

	"cudacompat/probe/facts"
)

// digest is the same for facts that are judged alike.
type digest [sha256.Size]byte

// keyOf hashes every field. An empty list is the same as none.
func keyOf(f *facts.Facts) digest {
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
