package cases

import (
	"encoding/json"
	"reflect"
	"testing"
)

// TestPatched checks those examples of RFC 7386, appendix A, that a case can contain, and lists by their entries'
// names.
func TestPatched(t *testing.T) {
	for _, c := range [][3]string{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`["a","b"]`, `["c","d"]`, `["c","d"]`},
		{`{"a":"foo"}`, `"bar"`, `"bar"`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},

		{`[{"name":"a","v":1},{"name":"b","v":1}]`, `{"b":{"v":2}}`, `[{"name":"a","v":1},{"name":"b","v":2}]`},
		{`[{"name":"a"},{"path":"/b"}]`, `{"/b":null}`, `[{"name":"a"}]`},
		{`[{"v":1},{"v":1}]`, `{"1":{"v":2}}`, `[{"v":1},{"v":2}]`},
		{`[{"name":"a","v":1},{"name":"b","v":1}]`, `{"*":{"v":3}}`, `[{"name":"a","v":3},{"name":"b","v":3}]`},
		{`[]`, `{"*":{"v":3},"c":{"name":"c","d":null}}`, `[{"name":"c"}]`},
		{`[]`, `{"b":{"name":"b"},"a":{"name":"a"},"c":null}`, `[{"name":"a"},{"name":"b"}]`},
	} {
		value, patch, want := parsed(t, c[0]), parsed(t, c[1]), parsed(t, c[2])
		if got := MergePatch(value, patch); !reflect.DeepEqual(got, want) {
			t.Errorf("%s with %s: %v, want %v", c[0], c[1], got, want)
		}
		if !reflect.DeepEqual(value, parsed(t, c[0])) {
			t.Errorf("%s is another after %s", c[0], c[1])
		}
	}
}

func parsed(t *testing.T, text string) any {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}
