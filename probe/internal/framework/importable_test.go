package framework

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"
	"cudacompat/probe/internal/pyenv"
	"cudacompat/probe/internal/pyimport"

	"github.com/google/go-cmp/cmp"
)

// umath is a module of NumPy's.
const umath = "numpy/_core/_umath.cpython-312-x86_64-linux-gnu.so"

// xgboostTree returns an environment with the metadata of an XGBoost for the GPU, and of the NumPy that it requires.
func xgboostTree(t *testing.T) string {
	root := t.TempDir()
	for name, text := range map[string]string{
		"xgboost-3.4.1.dist-info/METADATA": "Name: xgboost\nVersion: 3.4.1\nRequires-Dist: numpy\n" +
			"Requires-Dist: nvidia-nccl-cu13; platform_system == \"Linux\"\n",
		"xgboost-3.4.1.dist-info/RECORD": "xgboost/__init__.py,sha256=x,10\n" +
			"xgboost/lib/libxgboost.so,sha256=x,200000000\n",
		"numpy-2.3.1.dist-info/METADATA": "Name: numpy\nVersion: 2.3.1\n",
		"numpy-2.3.1.dist-info/WHEEL":    "Root-Is-Purelib: false\nTag: cp312-cp312-manylinux_2_28_x86_64\n",
		"numpy-2.3.1.dist-info/RECORD":   umath + ",sha256=x,1\n",
		umath:                            "x",
	} {
		hosttest.Write(t, filepath.Join(root, hosttest.Site+name), text)
	}
	hosttest.Write(t, filepath.Join(root, "opt/venv/pyvenv.cfg"), "version = 3.12.3\n")
	return root
}

// hindrancesOf returns the hindrances of the environment's only build, for a program started in a directory.
func hindrancesOf(t *testing.T, root string, variables map[string]string) []facts.Hindrance {
	t.Helper()
	found, err := Read(&host.Host{Root: root, Env: variables}, []string{"/opt/venv"})
	if err != nil {
		t.Fatal(err)
	}
	builds := found.Environments[0].Builds
	if len(builds) == 0 {
		return nil
	}
	return builds[0].Hindrances
}

// TestMetadataOnly checks that an XGBoost of which only the metadata is left is known to have been for the GPU. Of a
// package that names nothing of CUDA, such as LightGBM, nothing is reported.
func TestMetadataOnly(t *testing.T) {
	root := xgboostTree(t)
	want := []facts.Hindrance{{Kind: facts.HindranceGone, Of: "xgboost 3.4.1",
		Path: "/" + hosttest.Site + "xgboost/lib/libxgboost.so"}}
	if diff := cmp.Diff(want, hindrancesOf(t, root, nil)); diff != "" {
		t.Errorf("XGBoost (-want +got):\n%s", diff)
	}
	hosttest.Write(t, filepath.Join(root, hosttest.Site+"xgboost-3.4.1.dist-info/METADATA"), "Name: xgboost\n")
	if got := hindrancesOf(t, root, nil); got != nil {
		t.Errorf("without a word of CUDA: %v", got)
	}
}

// TestModulesBefore checks that a file on PYTHONPATH is imported before the package, that one in the working directory
// affects only programs started there, and that a directory without __init__.py affects nobody.
func TestModulesBefore(t *testing.T) {
	root := xgboostTree(t)
	hosttest.Write(t, filepath.Join(root, "srv/front/xgboost.py"), "")
	hosttest.Write(t, filepath.Join(root, "srv/source/xgboost/__init__.py"), "")
	hosttest.Write(t, filepath.Join(root, "srv/data/xgboost/model.json"), "")
	for name, c := range map[string]struct {
		variables  map[string]string
		kind, file string
	}{
		"file": {map[string]string{"PYTHONPATH": "/srv/front"}, facts.HindranceHidden, "/srv/front/xgboost.py"},
		"package": {map[string]string{"PYTHONPATH": "/srv/data:/srv/source"}, facts.HindranceHidden,
			"/srv/source/xgboost/__init__.py"},
		"here":      {map[string]string{"PWD": "/srv/front"}, facts.HindranceHere, "/srv/front/xgboost.py"},
		"namespace": {map[string]string{"PYTHONPATH": "/srv/data", "PWD": "/srv/data"}, "", ""},
	} {
		var kind, file string
		for _, h := range hindrancesOf(t, root, c.variables) {
			if h.Kind != facts.HindranceGone {
				kind, file = h.Kind, h.Path
			}
		}
		if kind != c.kind || file != c.file {
			t.Errorf("%s: %q by %q, want %q by %q", name, kind, file, c.kind, c.file)
		}
	}
}

// TestOtherPython checks modules for another Python in the site, listed in RECORD or not.
func TestOtherPython(t *testing.T) {
	root := xgboostTree(t)
	module := "/" + hosttest.Site + strings.Replace(umath, "312", "311", 1)
	info := "/" + hosttest.Site + "numpy-2.3.1.dist-info"
	check := func(name, wantFile, wantPython string) {
		t.Helper()
		s := &pyenv.Site{Python: "3.12.3"}
		if file, python := pyimport.OtherPython(s, &host.Host{Root: root}, info); file != wantFile || python != wantPython {
			t.Errorf("%s: %q for %q", name, file, python)
		}
	}
	check("healthy", "", "")
	hosttest.Must(t, os.Rename(filepath.Join(root, hosttest.Site+umath), filepath.Join(root, module)))
	check("renamed", module, "3.11")
	hosttest.Write(t, filepath.Join(root, info, "RECORD"), strings.Replace(umath, "312", "311", 1)+",sha256=x,1\n")
	check("installed for another", module, "3.11")
	hosttest.Write(t, filepath.Join(root, info, "RECORD"), "numpy/_core/_umath.abi3.so,sha256=x,1\n")
	check("stable ABI", "", "")
	hosttest.Write(t, filepath.Join(root, info, "RECORD"), strings.Replace(umath, "312", "311", 1)+",sha256=x,1\n")
	hosttest.Write(t, filepath.Join(root, info, "WHEEL"), "Tag: cp310-abi3-manylinux_2_24_x86_64\n")
	check("a library that is loaded by its path", "", "") // torchao's
	hosttest.Write(t, filepath.Join(root, info, "RECORD"), "numpy/_core/_umath.abi3.so,sha256=x,1\n")
	check("in the place of one for every Python", module, "3.11")
	hosttest.Write(t, filepath.Join(root, info, "RECORD"), "numpy/_core/_umath.abi3.so,sha256=x,1\n"+
		strings.Replace(umath, "312", "311", 1)+",sha256=x,1\n")
	check("listed beside one for every Python that is gone", "", "")
	hosttest.Write(t, filepath.Join(root, info, "RECORD"), umath+",sha256=x,1\n")
	check("in the place of one for this Python", module, "3.11")
	stable := filepath.Join(root, hosttest.Site+"numpy/_core/_umath.abi3.so")
	hosttest.Write(t, stable, "")
	check("beside one for every Python", "", "")
	hosttest.Must(t, os.Remove(stable))
	hosttest.Write(t, filepath.Join(root, info, "RECORD"), strings.Replace(umath, "312", "311", 1)+",sha256=x,1\n")
	hosttest.Write(t, filepath.Join(root, info, "WHEEL"), "Tag: cp311-cp311-manylinux_2_28_x86_64\n")
	check("wheel for another", module, "3.11")
	want := facts.Hindrance{Kind: facts.HindranceOtherPython, Of: "numpy 2.3.1", Path: module, By: "3.11"}
	hosttest.Write(t, filepath.Join(root, info, "RECORD"), strings.Replace(umath, "312", "311", 1)+",sha256=x,1\n")
	if got := hindrancesOf(t, root, nil); len(got) != 2 || got[1] != want {
		t.Errorf("XGBoost requires NumPy: %v, want %v", got, want)
	}
}

// TestWithoutConfig checks that an environment without its pyvenv.cfg starts a Python that looks elsewhere, that a
// standalone Python has its own library, and that a copy of the packages has no interpreter.
func TestWithoutConfig(t *testing.T) {
	lost := &facts.Interpreter{Path: "/opt/venv/bin/python3", Leads: "/usr/bin/python3.12", NoConfig: true}
	for name, c := range map[string]struct {
		link, library string
		want          *facts.Interpreter
	}{
		"lost":          {"/usr/bin/python3.12", "", lost},
		"installation":  {"python3.12", "lib/python3.12/os.py", nil},
		"linked in":     {"/usr/bin/python3.12", "lib/python3.12/os.py", nil},
		"packages only": {"", "", nil},
	} {
		root := xgboostTree(t)
		hosttest.Must(t, os.Remove(filepath.Join(root, "opt/venv/pyvenv.cfg")))
		hosttest.Write(t, filepath.Join(root, "usr/bin/python3.12"), "")
		if c.library != "" {
			hosttest.Write(t, filepath.Join(root, "opt/venv", c.library), "")
		}
		if c.link != "" {
			hosttest.Write(t, filepath.Join(root, "opt/venv/bin/python3.12"), "")
			hosttest.Must(t, os.Symlink(c.link, filepath.Join(root, "opt/venv/bin/python3")))
		}
		found, err := Read(&host.Host{Root: root}, []string{"/opt/venv"})
		hosttest.Must(t, err)
		if diff := cmp.Diff(c.want, found.Environments[0].Interpreter); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestInterpreter checks a venv's python3 that leads nowhere, to another version, to its own, to a file nobody may
// execute, or is a copy with an uninformative name.
func TestInterpreter(t *testing.T) {
	own := map[string]string{"python3": "/usr/bin/python3.12"}
	for name, c := range map[string]struct {
		links map[string]string // in bin
		home  string            // PYTHONHOME
		want  *facts.Interpreter
	}{
		"gone": {map[string]string{"python": "/nowhere/bin/python3.12", "python3": "python"}, "",
			&facts.Interpreter{Path: "/opt/venv/bin/python3", Leads: "/nowhere/bin/python3.12", Gone: true}},
		"half gone": {map[string]string{"python": "/nowhere/bin/python3.12", "python3": "/usr/bin/python3.12"}, "", nil},
		"upgraded": {map[string]string{"python3": "/usr/bin/python3"}, "",
			&facts.Interpreter{Path: "/opt/venv/bin/python3", Leads: "/usr/bin/python3.13", Python: "3.13"}},
		"own": {own, "", nil},
		"a link to what nobody may execute": {map[string]string{"python3": "/usr/bin/plain3.12"}, "",
			&facts.Interpreter{Path: "/opt/venv/bin/python3", Leads: "/usr/bin/plain3.12", NoExecute: true}},
		"a copy that nobody may execute": {map[string]string{"python3": ""}, "",
			&facts.Interpreter{Path: "/opt/venv/bin/python3", Leads: "/opt/venv/bin/python3", NoExecute: true}},
		"one of two that may be executed": {map[string]string{"python3": "/usr/bin/plain3.12", "python": "/usr/bin/python3.12"}, "", nil},
		"none":                            {nil, "", &facts.Interpreter{Path: "/opt/venv/bin/python3", Gone: true}},
		"home elsewhere":                  {own, "/usr", nil},
		"home of a library":               {own, "/usr:/exec", nil},
		"home in lib64":                   {own, "/fedora", nil},
		"home not absolute":               {own, "python", nil},
		"home gone": {own, "/nowhere",
			&facts.Interpreter{Path: "/opt/venv/bin/python3", Leads: "/nowhere", Home: true}},
	} {
		root := xgboostTree(t)
		hosttest.Write(t, filepath.Join(root, "usr/bin/python3.12"), "")
		hosttest.Write(t, filepath.Join(root, "usr/bin/python3.13"), "")
		hosttest.Write(t, filepath.Join(root, "usr/bin/plain3.12"), "\x7fELF")
		hosttest.Must(t, os.Symlink("python3.13", filepath.Join(root, "usr/bin/python3")))
		hosttest.Must(t, os.MkdirAll(filepath.Join(root, "opt/venv/bin"), 0o755))
		for link, to := range c.links {
			if to == "" {
				hosttest.Write(t, filepath.Join(root, "opt/venv/bin", link), "\x7fELF")
				continue
			}
			hosttest.Must(t, os.Symlink(to, filepath.Join(root, "opt/venv/bin", link)))
		}
		hosttest.Write(t, filepath.Join(root, "usr/lib/python3.12/os.py"), "")
		hosttest.Write(t, filepath.Join(root, "fedora/lib64/python3.12/os.py"), "")
		found, err := Read(&host.Host{Root: root, Env: map[string]string{"PYTHONHOME": c.home}}, []string{"/opt/venv"})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, found.Environments[0].Interpreter); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
