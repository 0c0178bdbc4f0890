package budget

import (
	"fmt"
	"maps"
	"slices"
	"testing"
)

type leaf struct {
	Names  []string `json:"names"`
	hidden []int
}

type tree struct {
	Leaves []leaf           `json:"leaves"`
	Named  map[string]*leaf `json:"named"`
	Raw    []byte           `json:"raw"`
	Inner  leaf
	None   []string `json:"none"`
}

// TestShort checks that each list and map keeps at most its first entries, at every depth, and shares no memory with
// the value, because an abandoned writer may still read that.
func TestShort(t *testing.T) {
	value := tree{Named: map[string]*leaf{}, Raw: make([]byte, 500), Inner: leaf{Names: make([]string, 101), hidden: []int{1}}}
	for i := range 130 {
		value.Leaves = append(value.Leaves, leaf{Names: make([]string, i)})
		value.Named[fmt.Sprintf("%03d", i)] = &leaf{Names: []string{"x"}}
	}
	short, left := Short(value)
	want := map[string]int{"leaves": 30, "named": 30, "names": 1} // the longest of the first hundred leaves has 99
	if !maps.Equal(left, want) {
		t.Errorf("left out: %v, want %v", left, want)
	}
	if len(short.Leaves) != 100 || len(short.Leaves[99].Names) != 99 || len(short.Inner.Names) != 100 || len(short.Raw) != 500 ||
		short.None != nil || len(short.Inner.hidden) != 1 {
		t.Errorf("%d leaves, %d names, %d bytes, %v", len(short.Leaves), len(short.Inner.Names), len(short.Raw), short.None)
	}
	if keys := slices.Sorted(maps.Keys(short.Named)); len(keys) != 100 || keys[0] != "000" || keys[99] != "099" {
		t.Errorf("keys %v", keys)
	}
	short.Leaves[50].Names[0], short.Named["000"].Names[0] = "changed", "changed"
	if value.Leaves[50].Names[0] != "" || value.Named["000"].Names[0] != "x" {
		t.Error("the copy shares its memory with the value")
	}
	if got := Words(left); got != "leaves (30), named (30), names (1)" {
		t.Errorf("words: %s", got)
	}
}
