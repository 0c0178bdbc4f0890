package input

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"testing"
)

// TestFormats checks that each format's own file is recognised by it, and by no earlier format.
func TestFormats(t *testing.T) {
	files := map[string]string{
		"facts or a report from cudacompat":   "{\n \"schema\": \"cudacompat/facts/v1\"\n}\n",
		"uv.lock":                             fmt.Sprintf(uvLockText, cu130),
		"pylock.toml":                         "lock-version = \"1.0\"\n\n[[packages]]\nname = \"torch\"\nversion = \"2.9.0\"\n",
		"requirements (pip freeze)":           "torch==2.9.0 # for the GPU\n",
		"nvidia-smi --query-gpu":              "index, name, driver_version, memory.total [MiB]\n0, NVIDIA L4, 550.90.07, 23034 MiB\n",
		"nvidia-smi dmon, nvidia-smi topo -m": "# gpu  sbecc  dbecc    pci\n# Idx   errs   errs   errs\n    0      0      2      0\n",
		"collect_env report":                  "Collecting environment information...\nPyTorch version: 2.9.0+cu130\n",
	}
	for name, want := range samples {
		data, err := os.ReadFile("testdata/samples/" + name)
		if err != nil {
			t.Fatal(err)
		}
		files[want[0]] = string(data)
	}
	for _, f := range formats {
		text, ok := files[f.Name]
		if !ok {
			t.Errorf("no file of the format %s", f.Name)
			continue
		}
		got := Document{Data: []byte(text)}.Recognise(formats).Format
		if got.Name != f.Name {
			t.Errorf("%s is recognised as %s", f.Name, got.Name)
		}
		for _, other := range formats {
			if other.Name != f.Name && other.Is(Document{Data: []byte(text)}) {
				t.Errorf("%s is recognised as %s, too", f.Name, other.Name)
			}
		}
	}
	maps.DeleteFunc(files, func(name, _ string) bool {
		for _, f := range formats {
			if f.Name == name {
				return true
			}
		}
		return false
	})
	for name := range files {
		t.Errorf("a file of the format %s, which is in no list", name)
	}
}

// TestWordsAreNoRequirements checks that a list of words is a requirements file only if one has a release, an address,
// or the name of a framework.
func TestWordsAreNoRequirements(t *testing.T) {
	for text, want := range map[string]bool{
		"numpy\nscipy>=1.14\n": true,
		"scipy @ https://files.example.org/scipy-1.14.1-cp312-cp312-linux_x86_64.whl\n": true,
		"numpy\ntorch\n":  true,
		"apples\npears\n": false,
	} {
		_, err := Read(Document{Data: []byte(text)})
		if got := !errors.Is(err, ErrForeign); got != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}
