package cases

import (
	"maps"
	"slices"
	"strconv"
)

// MergePatch returns a value with a merge patch (RFC 7386) applied. If the patch has an object where the value has a
// list, the object's names select entries: by name or path, by index, or all ("*"). A name without an entry adds one.
func MergePatch(value, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	if list, ok := value.([]any); ok {
		return patchedList(list, changes)
	}
	whole := map[string]any{}
	if object, ok := value.(map[string]any); ok {
		whole = maps.Clone(object)
	}
	for name, change := range changes {
		if change == nil {
			delete(whole, name)
		} else {
			whole[name] = MergePatch(whole[name], change)
		}
	}
	return whole
}

func patchedList(list []any, changes map[string]any) []any {
	kept := slices.Clone(list)
	var added []any
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		change, found := changes[name], name == "*"
		for i, entry := range kept {
			if !namesEntry(entry, i, name) {
				continue
			}
			found = true
			if kept[i] = nil; change != nil {
				kept[i] = MergePatch(entry, change)
			}
		}
		if !found && change != nil {
			added = append(added, MergePatch(nil, change))
		}
	}
	return append(slices.DeleteFunc(kept, func(entry any) bool { return entry == nil }), added...)
}

// namesEntry reports whether a name in a patch stands for an entry.
func namesEntry(entry any, number int, name string) bool {
	if name == "*" || name == strconv.Itoa(number) {
		return true
	}
	object, _ := entry.(map[string]any)
	return object["name"] == name || object["path"] == name
}
