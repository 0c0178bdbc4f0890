package exactjson

import (
	"encoding/json"
	"strings"
	"testing"
)

type inner struct {
	Version string            `json:"version"`
	Vars    map[string]string `json:"vars"`
}

type outer struct {
	inner
	Driver *inner           `json:"driver"`
	List   []inner          `json:"list"`
	ByName map[string]inner `json:"by_name"`
	Raw    json.RawMessage  `json:"raw"`
	Hidden string           `json:"-"`
}

func TestUnmarshal(t *testing.T) {
	for text, says := range map[string]string{
		`{}`:                               "",
		`{"driver":{"version":"1"},"x":1}`: "",
		`{"vars":{"PATH":"a","path":"b"},"version":"1"}`:   "",
		`{"x":{"Driver":1,"driver":2},"list":[{},{}]}`:     "",
		`{"raw":{"VERSION":1},"by_name":{"A":{},"a":{}}}`:  "",
		" { \"driver\" : null , \"list\" : [ ] }\n":        "",
		`{"version":"a\"b\\","Hidden":1}`:                  "",
		`{"Driver":{}}`:                                    `"driver" is written "Driver"`,
		`{"driver":{"VERSION":"1"}}`:                       `"version" is written "VERSION"`,
		`{"list":[{},{"Version":"1"}]}`:                    `"version" is written "Version"`,
		`{"by_name":{"a":{"Vars":{}}}}`:                    `"vars" is written "Vars"`,
		`{"liſt":[]}`:                                      `"list" is written "liſt"`,
		`{"Ver\u0073ion":"1"}`:                             `"version" is written "Version"`,
		`{"driver":{},"driver":{}}`:                        `"driver" is twice`,
		`{"driver":{},"d\u0072iver":{}}`:                   `"driver" is twice`,
		`{"vars":{"A":"1","A":"2"}}`:                       `"A" is twice`,
		`{"x":[{"y":1,"y":2}]}`:                            `"y" is twice`,
		`{"x":{` + strings.Repeat(`"a":1,`, 1) + `"a":1}}`: `"a" is twice`,
		`{"vars":{"0":"","1":"","2":"","3":"","4":"","5":"","6":"","7":"","8":"","9":"","a":"","b":"","c":"","d":"","e":"","f":"","g":"","g":""}}`: `"g" is twice`,
		`{"driver":1}`: "cannot unmarshal",
		`{`:            "unexpected end",
		`[]`:           "cannot unmarshal",
	} {
		var o outer
		if err := Unmarshal([]byte(text), &o); (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
}

// FuzzUnmarshal reads all that encoding/json reads, to its end.
func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(`{"driver":{"version":"a\u0041\\"},"list":[{},{"x":[1,2.5e3,null,true]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var a, b outer
		plain, exact := json.Unmarshal(data, &a), Unmarshal(data, &b)
		if plain != nil && exact == nil {
			t.Errorf("%q is taken, and encoding/json says %v", data, plain)
		}
	})
}
