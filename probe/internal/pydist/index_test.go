package pydist

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

const site = "/" + hosttest.Site

// plant writes the files of a site and returns its index.
func plant(t *testing.T, files map[string]string) *Index {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		hosttest.Write(t, filepath.Join(root, hosttest.Site+name), text)
	}
	return NewIndex(&host.Host{Root: root}, []string{filepath.Clean(site)})
}

// overwritten is a GPU package over which its CPU twin was installed.
var overwritten = map[string]string{
	"ort_gpu-1.2.dist-info/METADATA": "Name: ort-gpu\nVersion: 1.2\nRequires-Dist: numpy>=1.26; python_version >= \"3.9\"\n",
	"ort_gpu-1.2.dist-info/RECORD":   "ort/__init__.py,sha256=x,100\nort/cuda.so,sha256=x,9\nort/same.py,sha256=x,4\nort/gone.py,sha256=x,5\nort/none.py,,\n",
	"ort_gpu-1.2.dist-info/WHEEL":    "Root-Is-Purelib: false\nTag: cp312-cp312-manylinux_2_28_x86_64\n",
	"ort-1.3.dist-info/METADATA":     "Name: ort\nVersion: 1.3\n",
	"ort-1.3.dist-info/RECORD":       "ort/__init__.py,sha256=x,5\nort/same.py,sha256=x,4\n",
	"~rt-1.1.dist-info/METADATA":     "Name: ort\nVersion: 1.1\n",
	"old-2.0-py3.11.egg-info":        "",
	"ort/__init__.py":                "cpu()",
	"ort/cuda.so":                    "123456789",
	"ort/same.py":                    "same",
	"ort/none.py":                    "",
}

func TestIntact(t *testing.T) {
	x := plant(t, overwritten)
	d := x.Find("ort-gpu")
	if d == nil {
		t.Fatal("ort-gpu is not found")
	}
	for file, want := range map[string]State{"ort/__init__.py": Altered, "ort/cuda.so": Intact, "ort/same.py": Intact, "ort/gone.py": Gone,
		"ort/none.py": Unlisted, "ort/other.py": Unlisted} {
		if got := x.Intact(d, file); got.State != want {
			t.Errorf("%s: %v, want state %d", file, got, want)
		}
	}
	if by := x.Intact(d, "ort/__init__.py").By; by == nil || by.String() != "ort 1.3" {
		t.Errorf("__init__.py is by %v", by)
	}
	want := &facts.Replaced{By: "ort 1.3", File: site + "ort/__init__.py"}
	if diff := cmp.Diff(want, x.Replaced(d, []string{"ort/cuda.so", "ort/same.py", "ort/__init__.py"})); diff != "" {
		t.Errorf("replaced (-want +got):\n%s", diff)
	}
	for file, want := range map[string]string{"ort/gone.py": "ort/gone.py is gone", "ort/__init__.py": "ort/__init__.py has 5 bytes, RECORD says 100",
		"ort/same.py": "ort/same.py has another sha256 than RECORD says", "ort/none.py": ""} {
		if got := x.Explain(d, file); got != want {
			t.Errorf("Explain(%s) = %q, want %q", file, got, want)
		}
	}
}

func TestOwner(t *testing.T) {
	x := plant(t, overwritten)
	for file, want := range map[string]string{"ort/__init__.py": "ort 1.3", "ort/cuda.so": "ort-gpu 1.2", "ort/gone.py": "ort-gpu 1.2", "ort/no.py": ""} {
		got := ""
		if d := x.Owner(site + file); d != nil {
			got = d.String()
		}
		if got != want {
			t.Errorf("%s is %q's, want %q", file, got, want)
		}
	}
}

func TestIndex(t *testing.T) {
	x := plant(t, overwritten)
	list, err := x.In(x.Path[0])
	if err != nil || len(list) != 3 {
		t.Fatalf("%v, %v", list, err)
	}
	if x.Find("old") != nil || !x.HasEgg("old") || x.HasEgg("ort") || x.Find("rt") != nil {
		t.Error("an egg is found, or what pip left")
	}
	d := x.Find("ort-gpu")
	if d != x.At(site+"ort_gpu-1.2.dist-info") || d.Tags().Python != "3.12" || d.Tags().Pure || d.Damage() != nil {
		t.Errorf("%+v", d)
	}
	if r := d.Requires(); len(r) != 1 || r[0].Name != "numpy" || r[0].Marker() != `python_version >= "3.9"` || r[0].Plain() != "" || r[0].Elsewhere() {
		t.Errorf("requires %+v", r)
	}
	if r, ok := d.Requires()[0].Parse(); !ok || r.Name != "numpy" || r.Range != ">=1.26" {
		t.Errorf("numpy's requirement: %+v", r)
	}
	if other := x.At(site + "gone-1.0.dist-info"); other.String() != "gone 1.0" || other.Record().Has("x") || other.Damage() == nil {
		t.Errorf("%+v", other)
	}
	if _, err := x.In("/opt/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that is not there: %v", err)
	}
}

// TestTwoOfOneName checks a broken upgrade: the distribution whose files exist counts, with the version of its
// METADATA.
func TestTwoOfOneName(t *testing.T) {
	x := plant(t, map[string]string{
		"boost-1.0.dist-info/METADATA": "Name: boost\nVersion: 1.0\n", "boost-1.0.dist-info/RECORD": "boost/a.py,sha256=x,3\n",
		"boost-2.0.dist-info/METADATA": "Name: boost\nVersion: 2.0\n", "boost-2.0.dist-info/RECORD": "boost/a.py,sha256=x,4\n",
		"boost/a.py": "old"})
	if d := x.Find("boost"); d.Version != "1.0" {
		t.Errorf("%v counts", d)
	}
}

func TestDamaged(t *testing.T) {
	x := plant(t, overwritten)
	want := []Damage{{"ort/__init__.py", 5, 100}, {"ort/gone.py", host.SizeGone, 5}}
	if diff := cmp.Diff(want, x.Damaged(x.Find("ort-gpu"))); diff != "" {
		t.Errorf("damaged (-want +got):\n%s", diff)
	}
	if got := x.Damaged(x.Find("ort")); len(got) > 0 {
		t.Errorf("ort: %v", got)
	}
}
