package pyenv

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPathLines reads .pth files as the site module of each Python does.
func TestPathLines(t *testing.T) {
	const text = "\ufeff../h\r\n\n/a  \n  ../b\n#/c\rimport sys; x\nimport\ty\nimportant\n" +
		"import sys; sys.path.insert(0, '/d')\nimport site; site.addsitedir('/e')\f/f"
	old := []pathLine{{dir: "\ufeff../h"}, {dir: "/a"}, {dir: "  ../b"}, {dir: "important"}, {dir: "/d", first: true},
		{dir: "/e", site: true}}
	for python, want := range map[string][]pathLine{
		"3.12.1": old,
		"3.9":    old,
		"3.13.0": append(append([]pathLine{{dir: "../h"}}, old[1:]...), pathLine{dir: "/f"}),
		"":       append(append([]pathLine{{dir: "../h"}}, old[1:]...), pathLine{dir: "/f"}),
	} {
		var got []pathLine
		for line := range pathLines(text, python) {
			got = append(got, parsePathLine(line)...)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(pathLine{})); diff != "" {
			t.Errorf("Python %s: -want +got:\n%s", python, diff)
		}
	}
}

func FuzzParseFinder(f *testing.F) {
	f.Add([]byte("MAPPING = {'torch': '/home/u/torch'}\n"))
	f.Add([]byte("MAPPING: dict[str, str] = {'torch': '"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if got := parseFinder(data, "torch"); strings.ContainsAny(got, "'\n") {
			t.Errorf("%q", got)
		}
		for text := range pathLines(string(data), "3.13") {
			for _, line := range parsePathLine(text) {
				if line.dir == "" || strings.ContainsAny(line.dir, "\r\n") {
					t.Errorf("%q", line.dir)
				}
			}
		}
	})
}
