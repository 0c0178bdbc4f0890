package document

import (
	"maps"
	"slices"
)

func SortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

// Texts returns the requirements of a group. Tables in it include other groups, which are read separately.
func Texts(list []any) []string {
	var found []string
	for _, item := range list {
		if text, ok := item.(string); ok {
			found = append(found, text)
		}
	}
	return found
}

// Entry returns what stands in a table under a path of keys.
func Entry(value any, keys ...string) any {
	for _, key := range keys {
		table, _ := value.(map[string]any)
		value = table[key]
	}
	return value
}

// Field returns a text in a table, or "".
func Field(item any, key string) string {
	text, _ := Entry(item, key).(string)
	return text
}

func AnyList(value any) []any {
	list, _ := value.([]any)
	return list
}
