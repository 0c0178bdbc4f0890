package python

import (
	"strings"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

const editableTorch = `
-- srv/v/pyvenv.cfg --
version = 3.12.3
-- srv/v/lib/python3.12/site-packages/torch-2.10.0a0+git1a2b3c4.dist-info/METADATA --
Name: torch
Version: 2.10.0a0+git1a2b3c4
-- home/u/pytorch/torch/version.py --
__version__ = '2.10.0a0+git1a2b3c4'
cuda: Optional[str] = '12.8'
`

// TestEditable finds a torch that pip install -e has left where it is: by a .pth file (setuptools' compat mode, and
// where there is one directory to add), or by the module that maps each package.
func TestEditable(t *testing.T) {
	const site = "-- srv/v/lib/python3.12/site-packages/"
	for _, c := range []struct{ name, tree, path, why string }{
		{"path-file", site + "__editable__.torch-2.10.0a0.pth --\nimport _virtualenv\n# x\n/home/u/pytorch\n",
			"/home/u/pytorch/torch", ""},
		{"relative-path", site + "easy-install.pth --\n../../../../../home/u/pytorch\n", "/home/u/pytorch/torch", ""},
		{"put-first", site + "000-front.pth --\nimport sys; sys.path.insert(0, '/home/u/pytorch')\n", "/home/u/pytorch/torch", ""},
		{"finder", site + "__editable___torch_2_10_0a0_finder.py --\n" +
			"MAPPING: dict[str, str] = {'torchgen': '/x', 'torch': '/home/u/pytorch/torch'}\n", "/home/u/pytorch/torch",
			""},
		{"gone", site + "__editable__.torch-2.10.0a0.pth --\n/home/u/moved\n",
			"/srv/v/lib/python3.12/site-packages/torch-2.10.0a0+git1a2b3c4.dist-info", "editable or damaged"},
		{"no-file", "", "/srv/v/lib/python3.12/site-packages/torch-2.10.0a0+git1a2b3c4.dist-info",
			"editable or damaged"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := hosttest.Tree(t, editableTorch+c.tree)
			found, err := Read(h, []string{"/srv/v"})
			if (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
				t.Errorf("error %v, want %q", err, c.why)
			}
			var f facts.Facts
			f.Environments = found.Environments
			builds := f.Environments[0].Builds
			if len(builds) != 1 || builds[0].Path != c.path || c.why == "" && builds[0].CUDA != "12.8" {
				t.Errorf("builds are %+v, want one at %s", builds, c.path)
			}
		})
	}
}

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
