package input

import (
	"fmt"
	"maps"
	"os"
	"testing"
)

// TestFormats holds that each format's own file is recognised by it, and by none that stands before it in the list.
func TestFormats(t *testing.T) {
	files := map[string]string{
		"facts or a report from cudacompat": "{\n \"schema\": \"cudacompat/facts/v1\"\n}\n",
		"uv.lock":                           fmt.Sprintf(uvLockText, cu130),
		"pylock.toml":                       "lock-version = \"1.0\"\n\n[[packages]]\nname = \"torch\"\nversion = \"2.9.0\"\n",
		"requirements (pip freeze)":         "torch==2.9.0 # for the GPU\n",
		"collect_env report":                "Collecting environment information...\nPyTorch version: 2.9.0+cu130\n",
	}
	for name, want := range samples {
		data, err := os.ReadFile("testdata/samples/" + name)
		if err != nil {
			t.Fatal(err)
		}
		files[want[0]] = string(data)
	}
	for _, f := range formats {
		text, ok := files[f.name]
		if !ok {
			t.Errorf("no file of the format %s", f.name)
			continue
		}
		got, _ := formatOf(Document{Data: []byte(text)})
		if got.name != f.name {
			t.Errorf("%s is recognised as %s", f.name, got.name)
		}
		for _, other := range formats {
			if other.name != f.name && other.is(Document{Data: []byte(text)}) {
				t.Errorf("%s is recognised as %s, too", f.name, other.name)
			}
		}
	}
	maps.DeleteFunc(files, func(name, _ string) bool {
		for _, f := range formats {
			if f.name == name {
				return true
			}
		}
		return false
	})
	for name := range files {
		t.Errorf("a file of the format %s, which is in no list", name)
	}
}
