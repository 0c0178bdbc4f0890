package pyenv

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParsePathFile(t *testing.T) {
	got := parsePathFile([]byte("/a\r\n\n  ../b  \nimport sys; x\nimport\ty\nimportant\n#/c\n" +
		"import sys; sys.path.insert(0, '/d')\n"))
	want := []pathLine{{dir: "/a"}, {dir: "../b"}, {dir: "important"}, {dir: "/d", first: true}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(pathLine{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func FuzzParseFinder(f *testing.F) {
	f.Add([]byte("MAPPING = {'torch': '/home/u/torch'}\n"))
	f.Add([]byte("MAPPING: dict[str, str] = {'torch': '"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if got := parseFinder(data, "torch"); strings.ContainsAny(got, "'\n") {
			t.Errorf("%q", got)
		}
		for _, line := range parsePathFile(data) {
			if line.dir == "" || strings.Contains(line.dir, "\n") {
				t.Errorf("%q", line.dir)
			}

		}
	})
}
