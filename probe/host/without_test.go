package host_test

import (
	"errors"
	"io/fs"
	"testing"

	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"

	"golang.org/x/tools/txtar"
)

// TestWithout checks that what is removed is missing for every question, and that nothing else is.
func TestWithout(t *testing.T) {
	root := hosttest.Plant(t, txtar.Parse([]byte(`
-- site/torch/lib/libtorch.so --
-- site/torch/version.py --
-- site/numpy/version.py --
-- site/link.py -> numpy/version.py --
`)))
	full, err := host.Tree(root)
	if err != nil {
		t.Fatal(err)
	}
	h := full.Omit(map[string]bool{"/site/torch": true, "/site/link.py": true})
	for _, name := range []string{"/site/torch", "/site/torch/version.py", "/site/numpy/../torch/lib/libtorch.so", "/site/link.py"} {
		if !full.Exists(name) || h.Exists(name) {
			t.Errorf("%s: before %v, without it %v", name, full.Exists(name), h.Exists(name))
		}
		if _, err := h.Open(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is opened: %v", name, err)
		}
		if _, err := h.Resolve(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is resolved: %v", name, err)
		}
	}
	if !h.Exists("/site/numpy/version.py") || h.Fresh().Exists("/site/torch") {
		t.Error("something else is gone, or what is gone comes back in another look")
	}
	entries, err := h.ReadDir("/site")
	if err != nil || len(entries) != 1 || entries[0].Name() != "numpy" {
		t.Errorf("the directory has %v, %v", entries, err)
	}
}
