package given

import (
	"fmt"
	"testing"
)

// TestFormats holds that each format's own file is recognised by it, and by none that stands before it in the list.
func TestFormats(t *testing.T) {
	files := map[string]string{
		"facts or a report":  "{\n \"schema\": \"cudacompat/facts/v1\"\n}\n",
		"uv.lock":            fmt.Sprintf(uvLockText, cu130),
		"pylock.toml":        "lock-version = \"1.0\"\n\n[[packages]]\nname = \"torch\"\nversion = \"2.9.0\"\n",
		"requirements":       "torch==2.9.0 # for the GPU\n",
		"collect_env report": "Collecting environment information...\nPyTorch version: 2.9.0+cu130\n",
	}
	for _, f := range formats {
		text, ok := files[f.name]
		if !ok {
			t.Errorf("no file of the format %s", f.name)
			continue
		}
		if got := formatOf([]byte(text)).name; got != f.name {
			t.Errorf("%s is recognised as %s", f.name, got)
		}
		for _, other := range formats {
			if other.name != f.name && other.name != "collect_env report" && other.is([]byte(text)) {
				t.Errorf("%s is recognised as %s, too", f.name, other.name)
			}
		}
	}
}
