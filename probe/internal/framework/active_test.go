package framework

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"
	"cudacompat/probe/internal/pydist"
	"cudacompat/probe/internal/pyenv"

	"golang.org/x/tools/txtar"
)

// plant makes a tree of environments and other files, each with a torch whose version is its place's number.
func plant(t *testing.T, environments []string, files map[string]string) string {
	t.Helper()
	archive := &txtar.Archive{}
	add := func(name, text string) {
		archive.Files = append(archive.Files, txtar.File{Name: strings.TrimPrefix(name, "/"), Data: []byte(text)})
	}
	for i, env := range environments {
		add(env+"/pyvenv.cfg", "version = 3.12.3\nhome = /usr/bin\n")
		add(env+"/lib/python3.12/site-packages/torch/version.py",
			fmt.Sprintf("__version__ = '2.%d.0+cu126'\ncuda = '12.6'\n", i))
	}
	for name, text := range files {
		add(name, text)
	}
	return hosttest.Plant(t, archive)
}

// TestActive checks the order of the sources for the environment in which a program starts.
func TestActive(t *testing.T) {
	root := plant(t, []string{"/opt/venv", "/home/a/project/.venv", "/opt/conda/envs/ml", "/opt/conda", "/data/app", "/home/a/pixi/.pixi/envs/default"},
		map[string]string{
			"/opt/conda/condabin/conda": "#", "/home/a/project/src/deep/x.py": "", "/usr/bin/python3 -> python3.12": "",
			"/usr/bin/python3.12":       "",
			"/usr/lib/python3.12/os.py": "", "/proc/1/exe -> /usr/bin/python3.12": "",
			"/proc/1/cmdline": "/data/app/bin/python\x00serve.py",
			"/data/app/bin/python -> /usr/bin/python3.12": "",
		})
	for _, c := range []struct {
		name, want string
		env        map[string]string
	}{
		{"virtual-env", "/opt/venv", map[string]string{"VIRTUAL_ENV": "/opt/venv", "CONDA_PREFIX": "/opt/conda/envs/ml",
			"PATH": "/usr/bin"}},
		{"conda", "/opt/conda/envs/ml", map[string]string{"CONDA_PREFIX": "/opt/conda/envs/ml", "PWD": "/home/a/project",
			"PATH": "/usr/bin"}},
		{"conda-base-is-not-chosen", "/home/a/project/.venv",
			map[string]string{"CONDA_PREFIX": "/opt/conda", "PWD": "/home/a/project", "PATH": "/usr/bin"}},
		{"project", "/home/a/project/.venv", map[string]string{"PWD": "/home/a/project/src/deep", "PATH": "/usr/bin"}},
		{"pixi", "/home/a/pixi/.pixi/envs/default", map[string]string{"PWD": "/home/a/pixi/src", "PATH": "/usr/bin"}},
		{"path", "/usr", map[string]string{"PWD": "/home/a", "PATH": "/usr/bin"}},
		{"container", "/data/app", map[string]string{"container": "podman", "VIRTUAL_ENV": "/opt/venv", "PATH": "/usr/bin"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := &host.Host{Root: root, Env: c.env}
			if c.name == "container" && h.ContainerKind() == "" {
				hosttest.Must(t, os.WriteFile(filepath.Join(root, ".dockerenv"), nil, 0o644))
				defer os.Remove(filepath.Join(root, ".dockerenv"))
			}
			if got, ok := pyenv.ActivePython(h); !ok || got.Root != c.want {
				t.Errorf("active is %q, want %q", got.Root, c.want)
			}
			if c.name == "container" { // whose first process an image does not have
				return
			}
			if got, ok := pyenv.ActivePython(&host.Host{Root: root, Env: c.env, Rest: true}); !ok || got.Root != c.want {
				t.Errorf("of an image with these variables the active one is %q, want %q", got.Root, c.want)
			}
		})
	}
	if c, ok := pyenv.ActivePython(&host.Host{Root: root, Rest: true}); ok {
		t.Errorf("a tree at rest has the active environment %q", c.Root)
	}
}

// TestActiveByStart checks that the program an image starts takes precedence over its variables, like process 1 in its
// containers. Shells, init programs and missing files show nothing.
func TestActiveByStart(t *testing.T) {
	root := plant(t, []string{"/opt/venv", "/opt/other"}, map[string]string{
		"/usr/bin/python3 -> python3.12": "", "/usr/bin/python3.12": "", "/usr/lib/python3.12/os.py": "",
		"/opt/venv/bin/python -> /usr/bin/python3.12": "", "/opt/other/bin/python3 -> /usr/bin/python3.12": "",
		"/opt/venv/bin/vllm":  "#!/opt/venv/bin/python\n# -*- coding: utf-8 -*-\nimport re\n",
		"/opt/venv/bin/env":   "#!/usr/bin/env -S A=1 python3 -u\nimport re\n",
		"/opt/venv/bin/spare": "#! /opt/venv/bin/python -s",
		"/opt/venv/bin/long":  "#!" + strings.Repeat("/", 255) + "opt/venv/bin/python\n",
		"/opt/venv/bin/run":   "#!/bin/sh\nexec /opt/venv/bin/python\n", "/bin/sh": "", "/usr/bin/tini": "\x7fELF",
		"/opt/venv/bin/pip":    "#!/bin/sh\n'''exec' /opt/venv/bin/python \"$0\" \"$@\"\n' '''\nimport re\n",
		"/opt/venv/bin/blanks": "#!/bin/sh\n'''exec' \"/opt/venv/bin/python\" \"$0\" \"$@\"\n' '''\nimport re\n",
		"/opt/venv/bin/envabs": "#!/usr/bin/env -S /opt/venv/bin/python -u\nimport re\n",
		"/app/serve.py":        "#!/opt/venv/bin/python\n", "/opt/venv/bin/empty": "", "/opt/venv/bin/none": "#!\n",
	})
	for start, want := range map[string]string{
		"/opt/venv/bin/python": "/opt/venv", "python3": "/opt/other", "/opt/venv/bin/vllm": "/opt/venv", "vllm": "/opt/venv",
		"pip": "/opt/venv", "blanks": "/opt/venv", "envabs": "/opt/venv", "env": "/opt/other", "spare": "/opt/venv", "./serve.py": "/opt/venv", "serve.py": "/usr", "long": "/usr", "run": "/usr",
		"tini": "/usr", "/bin/sh": "/usr", "nowhere": "/usr", "/nowhere": "/usr", "empty": "/usr", "none": "/usr", "": "/usr",
	} {
		env := map[string]string{"PATH": "/usr/bin:/opt/venv/bin", "PWD": "/app"}
		if want == "/opt/other" || start == "env" {
			env["PATH"] = "/opt/other/bin:/opt/venv/bin:/usr/bin"
		}
		c, ok := pyenv.ActivePython(&host.Host{Root: root, Rest: true, Env: env, Start: start})
		if !ok || c.Root != want {
			t.Errorf("an image that starts %q has the active environment %q, want %q", start, c.Root, want)
		}
	}
}

// TestActiveBesideTheProgram checks the case in which cudacompat itself is in an environment. That environment is
// judged if it contains anything else. Otherwise uvx or pipx made it for this program, and the project or the machine
// is judged.
func TestActiveBesideTheProgram(t *testing.T) {
	const tool, full = "/root/.cache/uv/archive-v0/dSqz", "/opt/venv"
	files := map[string]string{
		"/usr/bin/python3 -> python3.12": "", "/usr/bin/python3.12": "", "/usr/lib/python3.12/os.py": "",
		"/home/a/project/.venv/pyvenv.cfg": "version = 3.12.3\n", "/home/a/b/x": "",
	}
	for _, env := range []string{tool, full} {
		files[env+"/pyvenv.cfg"] = "version = 3.12.3\nhome = /usr/bin\n"
		files[env+"/bin/python3 -> /usr/bin/python3.12"] = ""
		files[env+"/bin/cudacompat"] = ""
		for _, name := range []string{"cudacompat-0.1.0", "pip-25.0"} {
			files[env+"/lib/python3.12/site-packages/"+name+".dist-info/METADATA"] = "Version: 1\n"
		}
	}
	files[full+"/lib/python3.12/site-packages/numpy-2.0.0.dist-info/METADATA"] = "Version: 2.0.0\n"
	for _, c := range []struct{ name, program, path, dir, want string }{
		{"called-by-its-path", full, "/usr/bin", "/home/a/project", full},
		{"uvx-in-a-project", tool, tool + "/bin:/usr/bin", "/home/a/project", "/home/a/project/.venv"},
		{"uvx-elsewhere", tool, tool + "/bin:/usr/bin", "/home/a/b", "/usr"},
		{"uvx-beside-an-environment-on-path", tool, tool + "/bin:" + full + "/bin", "/home/a/b", full},
		{"installed-for-the-system", "/usr", "/usr/bin", "/home/a/b", "/usr"},
	} {
		t.Run(c.name, func(t *testing.T) {
			own := maps.Clone(files)
			own["/proc/self/exe -> "+c.program+"/bin/cudacompat"] = ""
			h := &host.Host{Root: plant(t, nil, own), Env: map[string]string{"PATH": c.path, "PWD": c.dir}}
			if got, ok := pyenv.ActivePython(h); !ok || got.Root != c.want {
				t.Errorf("active is %q, want %q", got.Root, c.want)
			}
		})
	}
}

// TestImportPath checks which torch is imported if several directories have one, and that the others are hidden.
func TestImportPath(t *testing.T) {
	torch := func(version string) string { return "__version__ = '" + version + "+cu126'\ncuda = '12.6'\n" }
	files := map[string]string{
		"/usr/bin/python3.12": "", "/usr/lib/python3.12/os.py": "",
		"/home/a/v/pyvenv.cfg": "version = 3.12.3\nhome = " +
			"/usr/bin\ninclude-system-site-packages = true\n",
		"/home/a/v/lib/python3.12/site-packages/README":                                   "",
		"/home/a/.local/lib/python3.12/site-packages/torch/version.py":                    torch("2.1.0"),
		"/usr/lib/python3/dist-packages/torch/version.py":                                 torch("2.2.0"),
		"/srv/userbase/lib/python3.12/site-packages/torch/version.py":                     torch("2.4.0"),
		"/data/packages/torch/version.py":                                                 torch("2.3.0"),
		"/data/packages/torchaudio-2.3.0.dist-info/METADATA":                              "Version: 2.3.0\n",
		"/home/a/.local/lib/python3.12/site-packages/torchaudio-2.1.0.dist-info/METADATA": "Version: 2.1.0\n",
	}
	root := plant(t, nil, files)
	for _, c := range []struct {
		name, want, audio string
		env               map[string]string
	}{
		{"user-site-of-a-venv-with-system-packages", "2.1.0+cu126", "2.1.0",
			map[string]string{"HOME": "/home/a", "VIRTUAL_ENV": "/home/a/v"}},
		{"user-base", "2.4.0+cu126", "", map[string]string{"HOME": "/home/a", "VIRTUAL_ENV": "/home/a/v",
			"PYTHONUSERBASE": "/srv/userbase"}},
		{"no-user-site", "2.2.0+cu126", "", map[string]string{"HOME": "/home/a", "VIRTUAL_ENV": "/home/a/v",
			"PYTHONNOUSERSITE": "1"}},
		{"pythonpath", "2.3.0+cu126", "2.3.0", map[string]string{"HOME": "/home/a", "VIRTUAL_ENV": "/home/a/v",
			"PYTHONPATH": "packages:/gone", "PWD": "/data"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			found, err := Read(&host.Host{Root: root, Env: c.env}, nil)
			hosttest.Must(t, err)
			env := found.Environments[slices.IndexFunc(found.Environments, func(e facts.Environment) bool { return e.Active })]
			if len(env.Builds) != 1 || env.Builds[0].Version != c.want {
				t.Errorf("builds are %+v, want torch %s", env.Builds, c.want)
			}
			if p := env.Package("torchaudio"); c.audio == "" && p != nil || c.audio != "" && (p == nil || p.Version != c.audio) {
				t.Errorf("torchaudio is %+v, want %q", p, c.audio)
			}
		})
	}
}

// TestSite checks a torch in a directory before the environment's own: it is judged, and lists the copies that it
// hides. The user's site is then no second environment.
func TestSite(t *testing.T) {
	files := map[string]string{"/usr/bin/python3.12": "", "/usr/lib/python3.12/os.py": ""}
	const own, user, shared = "/usr/lib/python3/dist-packages", "/home/a/.local/lib/python3.12/site-packages", "/data/packages"
	for dir, version := range map[string]string{own: "2.2.0", user: "2.1.0", shared: "2.3.0"} {
		files[dir+"/torch/version.py"] = "__version__ = '" + version + "+cu126'\ncuda = '12.6'\n"
		files[dir+"/torch-"+version+".dist-info/METADATA"] = "Name: torch\nVersion: " + version + "\n"
	}
	root := plant(t, nil, files)
	hosttest.Must(t, os.Symlink("python3.12", filepath.Join(root, "usr/bin/python3")))
	for _, c := range []struct {
		name, site string
		env        map[string]string
		hides      []string
	}{
		{"pythonpath", shared, map[string]string{"PYTHONPATH": shared}, []string{"torch 2.1.0 in " + user, "torch 2.2.0 in " + own}},
		{"user-site", user, nil, []string{"torch 2.2.0 in " + own}},
		{"own", "", map[string]string{"PYTHONNOUSERSITE": "1"}, nil},
	} {
		env := map[string]string{"HOME": "/home/a", "PATH": "/usr/bin"}
		maps.Copy(env, c.env)
		found, _ := Read(&host.Host{Root: root, Env: env}, nil) // the torches are not whole
		var active, others []facts.Build
		for _, e := range found.Environments {
			if e.Active {
				active = append(active, e.Builds...)
			} else {
				others = append(others, e.Builds...)
			}
		}
		if len(active) != 1 || active[0].Site != c.site || !slices.Equal(active[0].Hides, c.hides) {
			t.Errorf("%s: %+v, want one in %q that hides %q", c.name, active, c.site, c.hides)
		}
		if len(others) > 0 != (c.name == "own") {
			t.Errorf("%s: other environments have %+v", c.name, others)
		}
	}
}

// TestTarget reads what `pip install --target` filled when it is named, and no other environment beside it.
func TestTarget(t *testing.T) {
	root := plant(t, []string{"/opt/venv"}, map[string]string{
		"/srv/lib/torch/version.py":                         "__version__ = '2.9.0+cu130'\ncuda = '13.0'\n",
		"/srv/lib/torch-2.9.0.dist-info/METADATA":           "Version: 2.9.0\n",
		"/srv/lib/torch/_C.cpython-312-x86_64-linux-gnu.so": "",
	})
	h := &host.Host{Root: root, Env: map[string]string{"PATH": "/usr/bin"}}
	if !IsEnvironment(h, "/srv/lib") {
		t.Error("a directory of distributions is refused")
	}
	found, _ := Read(h, []string{"/srv/lib"})
	if len(found.Environments) != 1 {
		t.Fatalf("%d environments, want the named one: %+v", len(found.Environments), found.Environments)
	}
	e := found.Environments[0]
	if !e.Named || e.Kind != "target" || e.Python != "3.12" || len(e.Builds) != 1 || e.Builds[0].Version != "2.9.0+cu130" {
		t.Errorf("the target is %+v", e)
	}
}

// TestManyProjects finds the only environment among more places than the limits allow: a limit counts existing things.
func TestManyProjects(t *testing.T) {
	root := plant(t, []string{"/home/zoe/ml"}, nil)
	for user := range 30 {
		for project := range 60 {
			hosttest.Must(t, os.MkdirAll(filepath.Join(root, "home", fmt.Sprintf("user%02d", user),
				fmt.Sprintf("project%02d", project)), 0o755))
		}
	}
	found, err := Read(&host.Host{Root: root, Env: map[string]string{"HOME": "/root"}}, nil)
	hosttest.Must(t, err)
	if len(found.Environments) != 1 || found.Environments[0].Path != "/home/zoe/ml" ||
		!found.Environments[0].OtherUser || len(found.Unread) != 0 {
		t.Errorf("found %+v", found)
	}
}

// TestUnreadSites checks that an unreadable directory is named, and matters if it is active, named or at rest.
func TestUnreadSites(t *testing.T) {
	root := plant(t, nil, map[string]string{"/loop -> loop": ""})
	tooLong := "/" + strings.Repeat("x", 300) // an error that root meets too
	p := pyenv.Prefix{Path: "/opt/venv", Sites: []string{tooLong, "/absent", "/loop"}}
	for _, c := range []struct {
		c    pyenv.Candidate
		rest bool
		want string
	}{
		{pyenv.Candidate{Active: true}, false, facts.UnreadNeeded}, {pyenv.Candidate{Named: true}, false, facts.UnreadNeeded},
		{pyenv.Candidate{}, true, facts.UnreadNeeded}, {pyenv.Candidate{}, false, facts.UnreadClosed},
	} {
		s := &pyenv.Search{Host: &host.Host{Root: root, Rest: c.rest}}
		unreadSites(s, p, c.c, pydist.NewIndex(s.Host, nil), nil)
		if u := s.Found.Unread; len(u) != 1 || u[0].Place != tooLong || u[0].Kind != c.want || u[0].Reason == "" {
			t.Errorf("%+v: unread %+v, want the one as %s", c, u, c.want)
		}
	}
}
