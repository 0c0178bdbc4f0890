package framework

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host/hosttest"
	"cudacompat/probe/internal/pydist"
	"cudacompat/probe/internal/pyenv"
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

// TestEditable finds a torch that pip install -e left in its place: through a .pth file (setuptools' compat mode, or if
// there is one directory to add), or through the module that maps each package.
func TestEditable(t *testing.T) {
	const site = "-- srv/v/lib/python3.12/site-packages/"
	for _, c := range []struct{ name, tree, path, why string }{
		{"path-file", site + "__editable__.torch-2.10.0a0.pth --\nimport _virtualenv\n# x\n/home/u/pytorch\n",
			"/home/u/pytorch/torch", ""},
		{"relative-path", site + "easy-install.pth --\n../../../../../home/u/pytorch\n", "/home/u/pytorch/torch", ""},
		{"put-first", site + "000-front.pth --\nimport sys; sys.path.insert(0, '/home/u/pytorch')\n", "/home/u/pytorch/torch", ""},
		{"appended", site + "more.pth --\nimport sys; sys.path.append('/home/u/pytorch')\n", "/home/u/pytorch/torch", ""},
		{"site-directory", site + "more.pth --\nimport site; site.addsitedir(\"/home/u/pytorch\")\n", "/home/u/pytorch/torch", ""},
		{"sitecustomize", site + "sitecustomize.py --\nimport sys\nsys.path.append('/home/u/pytorch')\n", "/home/u/pytorch/torch", ""},
		{"hatch", site + "_editable_impl_torch.py --\nF.map_module('torch', '/home/u/pytorch/torch/__init__.py')\n", "/home/u/pytorch/torch", ""},
		{"finder", site + "__editable___torch_2_10_0a0_finder.py --\n" +
			"MAPPING: dict[str, str] = {'torchgen': '/x', 'torch': '/home/u/pytorch/torch'}\n", "/home/u/pytorch/torch",
			""},
		{"beside", site + "torch_patches.pth --\nimport sys, os, torch_patches; sys.path.insert(0, os.path.join(torch_patches.__path__[0], 'over'))\n" +
			site + "torch_patches/over/torch/version.py --\n__version__ = '2.10.0a0+git1a2b3c4'\ncuda: Optional[str] = '12.8'\n", "/srv/v/lib/python3.12/site-packages/torch_patches/over/torch", ""},
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

// TestUnfollowed checks code that Python runs at startup and whose target is unknown.
func TestUnfollowed(t *testing.T) {
	const site = "-- srv/v/lib/python3.12/site-packages/"
	for _, c := range []struct{ name, tree, want string }{
		{"plain", site + "a.pth --\nimport sys; sys.path.append('/opt/x')\n", ""},
		{"beside a package", site + "a.pth --\nimport sys, os, x; sys.path.insert(0, os.path.join(x.__path__[0], 'sub'))\n", ""},
		{"beside one that leads on", site + "a.pth --\nimport sys, os, x; sys.path.insert(0, os.path.join(x.__path__[0], 'sub'))\n" +
			site + "x/__init__.py --\nimport sys\nsys.path.append(f())\n", "a.pth"},
		{"computed", site + "a.pth --\nimport os, sys; sys.path.append(os.environ['X'])\n", "a.pth"},
		{"namespace", site + "a.pth --\nimport sys, types, os;p = os.path.join(sys._getframe(1).f_locals['sitedir'], *('mpl_toolkits',))\n", ""},
		{"coverage", site + "a.pth --\nimport coverage; coverage.process_startup()\n" + site + "coverage/__init__.py --\nx = 1\n", ""},
		{"virtualenv", site + "a.pth --\nimport _virtualenv\n" + site + "_virtualenv.py --\nsys.meta_path.insert(0, F())\n", ""},
		{"setuptools", site + "a.pth --\nimport __editable___x_finder; __editable___x_finder.install()\n" + site +
			"__editable___x_finder.py --\nMAPPING = {'x': '/x'}\nsys.meta_path.append(F)\n", ""},
		{"loader", site + "a.pth --\nimport _x_editable\n" + site + "_x_editable.py --\nsys.meta_path.insert(0, F())\n", "a.pth"},
		{"finder of its own", site + "a.pth --\nimport _redirector\n" + site + "_redirector.py --\nif 'numba.cuda' in name: find('numba_cuda')\nsys.meta_path.insert(0, F())\n" +
			site + "numba_cuda-0.30.4.dist-info/RECORD --\n_redirector.py,sha256=x,99\nnumba_cuda/__init__.py,,\n", ""},
		{"finder of others", site + "sitecustomize.py --\nNAMES = ['google.cloud.bigquery']\nsys.meta_path.append(F(NAMES))\n", ""},
		{"finder of torch", site + "sitecustomize.py --\nif name.startswith('torch.'): pass\nsys.meta_path.append(F())\n", "sitecustomize.py"},
		{"finder of libraries", site + "sitecustomize.py --\nif name == 'nvidia': pass\nsys.meta_path.append(F())\n", "sitecustomize.py"},
		{"sitecustomize", site + "sitecustomize.py --\nimport sys\nfor d in dirs():\n    sys.path.append(d)\n", "sitecustomize.py"},
		{"apport", site + "sitecustomize.py --\ntry:\n    import apport_python_hook\nexcept ImportError:\n    pass\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := hosttest.Tree(t, editableTorch+c.tree)
			got, at := "", "/srv/v/lib/python3.12/site-packages"
			builds := []facts.Build{{Name: "torch", From: at + "/torch/version.py"}, {Name: "numba-cuda", From: at + "/numba_cuda-0.30.4.dist-info/RECORD"}}
			for _, file := range pyenv.UnfollowedFiles(h, pydist.NewIndex(h, []string{at}), pyenv.Prefix{Python: "3.12", Sites: []string{at}}, builds) {
				got += path.Base(file)
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestEditableExtension checks that an editable installation of an unknown package is judged by its libraries.
func TestEditableExtension(t *testing.T) {
	root := t.TempDir()
	hosttest.Compile(t, root, hosttest.Library{Name: "home/u/proj/kernels/_C.so", Source: "char big[1<<20] = {1};\n" + fatSource(80)})
	hosttest.Write(t, filepath.Join(root, hosttest.Site+"kernels-1.0.dist-info/METADATA"), "Name: kernels\nVersion: 1.0\n")
	hosttest.Write(t, filepath.Join(root, hosttest.Site+"kernels-1.0.dist-info/RECORD"), "__editable__.kernels-1.0.pth,,\n")
	hosttest.Write(t, filepath.Join(root, hosttest.Site+"kernels-1.0.dist-info/direct_url.json"),
		`{"dir_info": {"editable": true}, "url": "file:///home/u/proj"}`)
	hosttest.Write(t, filepath.Join(root, "opt/venv/pyvenv.cfg"), "version = 3.12.3\n")
	hosttest.Write(t, filepath.Join(root, "home/u/proj/kernels/__init__.py"), "")
	for _, way := range []struct{ file, text string }{
		{"__editable__.kernels-1.0.pth", "/home/u/proj\n"},
		{"__editable___kernels_1_0_finder.py", "MAPPING: dict[str, str] = {'kernels': '/home/u/proj/kernels'}\n"},
	} {
		hosttest.Write(t, filepath.Join(root, hosttest.Site+way.file), way.text)
		b := onlyBuild(t, root, nil)
		if b.Name != "kernels" || !slices.Contains(b.SASS, "sm_80") {
			t.Errorf("%s: %+v", way.file, b)
		}
		hosttest.Must(t, os.Remove(filepath.Join(root, hosttest.Site+way.file)))
	}
}
