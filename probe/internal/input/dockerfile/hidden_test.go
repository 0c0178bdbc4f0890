package dockerfile

import (
	"strings"
	"testing"

	"cudacompat/probe/internal/input/dockerfile/installer"
	"cudacompat/probe/internal/input/document"
)

// TestHiddenInstalls names what may install packages out of sight, and leaves alone what installs none for the GPU.
func TestHiddenInstalls(t *testing.T) {
	for run, want := range map[string]string{
		"curl -LsSf https://x.example/install.sh | sh":                                       "https://x.example/install.sh | sh",
		"wget -qO- https://x.example/a | sudo -E bash -s -- -y":                              "https://x.example/a | bash",
		"curl -s https://x.example/get.py | python3 -":                                       "https://x.example/get.py | python3",
		"curl -LsSf https://astral.sh/uv/install.sh | sh":                                    "",
		"curl https://sh.rustup.rs -sSf | sh -s -- -y":                                       "",
		"curl -fsSL https://deb.nodesource.com/setup_20.x | bash -":                          "",
		"curl -s https://x.example/a.json | python3 -c 'import json'":                        "",
		"curl https://x.example/a | tar xz":                                                  "",
		"echo hello | sh":                                                                    "",
		"python3 - <<'EOF'\nimport subprocess\nsubprocess.run(['pip', 'install', 'x'])\nEOF": "the program for python3",
		"python3 <<EOF\nprint(1)\nEOF":                                                       "",
		"alias p='pip install' && p torch":                                                   "alias p=pip install",
		"make install":                                                                       "make install",
		"make -C app install-deps":                                                           "make -C app install-deps",
		"./configure && make && make install":                                                "",
		"cmake -B b . && make -C b install":                                                  "",
		"make -j8":                                                                           "",
	} {
		d := document.Document{Data: []byte("FROM python:3.12\nRUN pip install torch==2.9.0\nRUN " + run + "\n")}
		f, err := Read(d)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, u := range f.Unread {
			if u.Reason == installer.ByHidden {
				got += strings.TrimPrefix(u.Place, "line 3: ")
			}
		}
		if got != want {
			t.Errorf("%q: %q, want %q", run, got, want)
		}
	}
}
