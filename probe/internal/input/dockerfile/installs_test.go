package dockerfile

import (
	"slices"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/internal/input/document"
)

// TestUnfollowedInstalls finds no RUN silent that names an installer in a form that is not followed, and no query named.
func TestUnfollowedInstalls(t *testing.T) {
	const bad = "torch==2.9.0+cu130"
	for _, run := range []string{
		"uv pip install --system -r pyproject.toml", "pip install --group gpu", "pip --log /x install " + bad,
		"pip --unheard-of /x install " + bad, "micromamba create -yf env.yml", "pipx inject app " + bad, "easy_install " + bad,
		"python -m poetry add " + bad, "python3 -m pdm add " + bad, "rye add " + bad, "conda-lock install", "conda-lock install -n x",
		"python pip.pyz install " + bad, "python /opt/pip.pyz install " + bad,
		`python -c "import pip; pip.main(['install', 'torch'])"`,
		`python3 -c "import os; os.system('pip install ` + bad + `')"`,
		"x=$(pip install " + bad + ")", "x=`pip install " + bad + "`", `[ -n "$(pip install ` + bad + `)" ]`,
		"export X=$(uv pip install " + bad + ")", "cat <(pip install " + bad + ")",
		"uv run pip install " + bad, `busybox sh -c "pip install ` + bad + `"`, `env -S "pip install ` + bad + `"`,
		"a() { pip install " + bad + "; }; b() { a; }; c() { b; }; d() { c; }; e() { d; }; f() { e; }; f",
		"<<EOF\n#!/usr/bin/env python3\nimport pip\npip.main(['install', 'torch'])\nEOF",
		`trap "pip install ` + bad + `" EXIT`, "poetry update", "pixi run start", "uv tool upgrade x", "pdm -p /x update",
	} {
		if f := readRun(t, run); len(f.Unread) == 0 && !asksFor(f, "torch") {
			t.Errorf("%q: no word of it", run)
		}
	}
	for _, run := range []string{"pip --version", "pip list", "pip cache purge", "pip uninstall -y x", "apt-get install -y python3-pip pipx",
		"pip config get global.index-url", "pip config set global.index-url https://mirror.example/simple", "which uv && uv --version",
		"command -v pip", "curl -LsSf https://astral.sh/uv/install.sh | sh", "curl -o /usr/local/bin/micromamba https://x.example/micromamba",
		"rm -rf ~/.cache/pip /opt/conda/pkgs", "conda clean -afy && conda init bash && conda config --add channels conda-forge",
		"bash miniconda.sh2 -b -p /opt/conda", "poetry config virtualenvs.create false && poetry lock", "uv venv /opt/venv", "uv python install 3.12",
		"uv cache clean && uv lock", "conda update -n base -c defaults conda", "conda update --all -y", `eval "$(micromamba shell hook -s bash)"`,
		"echo 'pip install torch' >> /root/.bashrc", "ln -s /root/.local/bin/uv /usr/bin/uv", "conda run -n x python a.py", "poetry self add p",
		"update-alternatives --install /usr/bin/pip pip /usr/bin/pip3 1", "x=$(pip cache dir)", "V=$(pip show x | grep Version)",
		`python -c "import torch; print(torch.__version__)"`, "python -m pip --version", "uv pip list", "uv pip compile r.in", "chown -R u /opt/conda",
		"sed -i 's/pip install x/true/' a.sh", "python -m venv /opt/uv", "apk add --no-cache uv poetry", "a() { b; }; b() { true; }; a"} {
		if f := readRun(t, run); len(f.Unread) > 0 {
			t.Errorf("%q: %+v", run, f.Unread)
		}
	}
}

// TestRecursionNamedOnce names a function that calls itself many times once.
func TestRecursionNamedOnce(t *testing.T) {
	if f := readRun(t, "f() { f; f; f; f; }; f"); len(f.Unread) != 1 {
		t.Errorf("%d entries, want 1", len(f.Unread))
	}
}

// TestIndexSettings reads the indexes of pip's configuration and of the image's variables, or names them.
func TestIndexSettings(t *testing.T) {
	const cu130 = "https://download.pytorch.org/whl/cu130"
	for _, before := range []string{"RUN pip config set global.index-url " + cu130, "RUN pip config --user set global.extra-index-url " + cu130,
		"ENV UV_INDEX=" + cu130, "ENV UV_INDEX=torch=" + cu130, "ENV UV_EXTRA_INDEX_URL=" + cu130, "ENV UV_FIND_LINKS=" + cu130 + "/torch",
		"ENV PIP_FIND_LINKS=" + cu130 + "/torch", "ENV UV_OVERRIDE=/o.txt", "ENV PIP_REQUIREMENT=/r.txt", "ENV UV_CONFIG_FILE=/uv.toml",
		"ENV PIP_CONFIG_FILE=/pip.conf"} {
		f := readText(t, "FROM python:3.12\n"+before+"\nRUN pip install torch==2.9.0\n")
		read := slices.ContainsFunc(f.Environments[0].Builds, func(b facts.Build) bool {
			return b.Name == "torch" && (b.Version == "2.9.0+cu130" || b.Index == "") // no index: the build is not known
		})
		if len(f.Unread) == 0 && !read {
			t.Errorf("%s: %+v", before, f.Environments)
		}
		if f := readText(t, "FROM python:3.12\n"+before+"\n"); len(f.Unread) > 0 {
			t.Errorf("%s, and no package of it: %+v", before, f.Unread)
		}
	}
}

func readRun(t *testing.T, run string) facts.Facts {
	t.Helper()
	return readText(t, "FROM python:3.12\nRUN "+run+"\n")
}

func readText(t *testing.T, text string) facts.Facts {
	t.Helper()
	f, err := Read(document.Document{Data: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func asksFor(f facts.Facts, name string) bool {
	for _, e := range f.Environments {
		if slices.ContainsFunc(e.Requested, func(r facts.Requested) bool { return r.Name == name }) ||
			slices.ContainsFunc(e.Packages, func(p facts.Package) bool { return p.Name == name }) {
			return true
		}
	}
	return false
}
