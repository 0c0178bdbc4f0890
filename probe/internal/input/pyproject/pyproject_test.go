package pyproject

import (
	"io/fs"
	"strings"
	"testing"

	"cudacompat/probe/internal/input/document"
)

// TestIndexes reads which build of torch a project's indexes, sources and overrides install.
func TestIndexes(t *testing.T) {
	const (
		index   = `url = "https://download.pytorch.org/whl/cu130"` + "\n"
		address = `"https://download.pytorch.org/whl/cu130"` + "\n"
		other   = `"https://packages.example/pypi/"` + "\n"
	)
	for name, c := range map[string]struct{ text, want string }{
		"PyPI":                  {"", "2.9.0 default"},
		"uv's index":            {"[[tool.uv.index]]\n" + index, "2.9.0+cu130 cu130"},
		"uv's default":          {"[[tool.uv.index]]\ndefault = true\n" + index, "2.9.0+cu130 cu130"},
		"uv's explicit":         {"[[tool.uv.index]]\nname = \"a\"\nexplicit = true\n" + index, "2.9.0 default"},
		"another index":         {"[[tool.uv.index]]\nurl = " + other, "2.9.0 "},
		"two variants":          {"[[tool.uv.index]]\n" + index + "[[tool.uv.index]]\nurl = \"https://download.pytorch.org/whl/cu126\"\n", "2.9.0 "},
		"uv's index-url":        {"[tool.uv]\nindex-url = " + address, "2.9.0+cu130 cu130"},
		"uv's extra index":      {"[tool.uv]\nextra-index-url = [" + address + "]\n", "2.9.0+cu130 cu130"},
		"uv's links":            {"[tool.uv]\nfind-links = [" + address + "]\n", "2.9.0 "},
		"uv pip's extra index":  {"[tool.uv.pip]\nextra-index-url = [" + address + "]\n", "2.9.0+cu130 cu130"},
		"uv pip's backend":      {"[tool.uv.pip]\ntorch-backend = \"cu130\"\n", "2.9.0+cu130 cu130"},
		"uv pip's own choice":   {"[tool.uv.pip]\ntorch-backend = \"auto\"\n", "2.9.0 "},
		"PDM's":                 {"[[tool.pdm.source]]\nname = \"a\"\n" + index, "2.9.0+cu130 cu130"},
		"PDM's for another":     {"[[tool.pdm.source]]\nname = \"a\"\ninclude_packages = [\"foo*\"]\n" + index, "2.9.0 default"},
		"Poetry's":              {"[[tool.poetry.source]]\nname = \"a\"\npriority = \"primary\"\n" + index, "2.9.0+cu130 cu130"},
		"Poetry's explicit":     {"[[tool.poetry.source]]\nname = \"a\"\npriority = \"explicit\"\n" + index, "2.9.0 default"},
		"Pixi's":                {"[tool.pixi.pypi-options]\nextra-index-urls = [" + address + "]\n", "2.9.0+cu130 cu130"},
		"a repository":          {"[tool.uv.sources]\ntorch = {git = \"https://example.com/torch\"}\n", "(from another source) "},
		"a wheel":               {"[tool.uv.sources]\ntorch = {url = \"https://example.com/torch-2.8.0%2Bcu129-cp312-cp312-linux_x86_64.whl\"}\n", "2.8.0+cu129 "},
		"a source of no index":  {"[tool.uv.sources]\ntorch = {index = \"a\"}\n", "2.9.0 "},
		"a source for macOS":    {"[tool.uv.sources]\ntorch = {git = \"x\", marker = \"sys_platform == 'darwin'\"}\n", "2.9.0 default"},
		"an override":           {"[tool.uv]\noverride-dependencies = [\"torch==2.9.0+cu130\"]\n", "2.9.0+cu130 default"},
		"an older release":      {"[tool.uv]\noverride-dependencies = [\"torch==2.8.0\"]\n", "2.8.0 default"},
		"an override for macOS": {"[tool.uv]\noverride-dependencies = [\"torch==2.8.0; sys_platform == 'darwin'\"]\n", ""},
		"a constraint":          {"[tool.uv]\nconstraint-dependencies = [\"torch==2.9.0+cu130\"]\n", "2.9.0+cu130 default"},
		"PDM's override":        {"[tool.pdm.resolution.overrides]\ntorch = \"2.9.0+cu130\"\n", "2.9.0+cu130 default"},
		"of another package":    {"[tool.uv]\noverride-dependencies = [\"numpy==2.0.0\", \"jax==0.6.2\"]\n", "2.9.0 default unread jax"},
		"uv.toml":               {"# uv.toml\n[[index]]\n" + index, "2.9.0 default unread uv.toml"},
		"uv.toml of no index":   {"# uv.toml\ncache-dir = \"./cache\"\n", "2.9.0 default"},
	} {
		d := document.Document{Name: "pyproject.toml", Data: []byte("[project]\nname = \"a\"\ndependencies = [\"torch==2.9.0\"]\n" + c.text),
			Beside: func(name string) ([]byte, error) {
				if name == "uv.toml" && strings.HasPrefix(c.text, "# uv.toml\n") {
					return []byte(c.text), nil
				}
				return nil, fs.ErrNotExist
			}}
		if strings.HasPrefix(c.text, "# uv.toml\n") {
			d.Data = []byte("[project]\nname = \"a\"\ndependencies = [\"torch==2.9.0\"]\n")
		}
		f, err := Read(d)
		got := ""
		for _, e := range f.Environments {
			for _, b := range e.Builds {
				got += b.Version + b.Specifier + " " + b.Index
			}
		}
		for _, u := range f.Unread {
			got += " unread " + u.Place
		}
		if err != nil || got != c.want {
			t.Errorf("%s: %q, want %q (%v)", name, got, c.want, err)
		}
	}
}

// TestTables reads the tables in which tools other than pip keep their packages, or names them as not read.
func TestTables(t *testing.T) {
	for text, want := range map[string]string{
		"[tool.pixi.dependencies]\npytorch-gpu = \"*\"\n":                            "unread tool.pixi.dependencies",
		"[tool.pixi.dependencies]\npython = \"3.12.*\"\nnumpy = \"*\"\n":             "",
		"[tool.pixi.pypi-dependencies]\ntorch = \"==2.9.0\"\n":                       "unread tool.pixi.pypi-dependencies",
		"[tool.pixi.feature.gpu.pypi-dependencies]\nvllm = \"*\"\n":                  "unread tool.pixi.feature.gpu.pypi-dependencies",
		"[tool.pixi.target.linux-64.dependencies]\ncuda-version = \"12.6.*\"\n":      "unread tool.pixi.target.linux-64.dependencies",
		"[tool.pixi.target.osx-arm64.dependencies]\npytorch = \"*\"\n":               "",
		"[tool.hatch.envs.gpu]\ndependencies = [\"torch==2.9.0\"]\n":                 "environment gpu 2.9.0",
		"[tool.hatch.envs.gpu]\nextra-dependencies = [\"torch==2.9.0\"]\n":           "environment gpu 2.9.0",
		"[tool.pdm.dev-dependencies]\ntest = [\"torch==2.9.0\", \"-e file:///x\"]\n": "group test 2.9.0",
		"[tool.uv]\ndev-dependencies = [\"torch==2.9.0\"]\n":                         " 2.9.0",
		"[project]\nname = \"a\"\ndynamic = [\"optional-dependencies\"]\n":           "unread optional-dependencies",
		"[project]\nname = \"a\"\ndynamic = [\"optional-dependencies\"]\n" +
			"[tool.setuptools.dynamic.optional-dependencies]\ngpu = {file = [\"gpu.txt\"]}\n": "extra gpu 2.9.0",
		"[project]\nname = \"a\"\ndynamic = [\"optional-dependencies\"]\n" +
			"[tool.hatch.metadata.hooks.requirements_txt.optional-dependencies]\ngpu = [\"none.txt\"]\n": "unread none.txt",
	} {
		f, err := Read(document.Document{Name: "pyproject.toml", Data: []byte(text), Beside: func(name string) ([]byte, error) {
			if name == "gpu.txt" {
				return []byte("torch==2.9.0\n"), nil
			}
			return nil, fs.ErrNotExist
		}})
		var got []string
		for _, e := range f.Environments {
			for _, b := range e.Builds {
				got = append(got, e.Path+" "+b.Version)
			}
		}
		for _, u := range f.Unread {
			got = append(got, "unread "+u.Place)
		}
		if err != nil || strings.Join(got, ", ") != want {
			t.Errorf("%s: %q, want %q (%v)", text, got, want, err)
		}
	}
}

// TestDefaultGroups reads what a plain `uv sync` installs. The answers are those of uv 0.13 on local indexes.
func TestDefaultGroups(t *testing.T) {
	const cu130 = "[[tool.uv.index]]\nname = \"cu130\"\nurl = \"https://download.pytorch.org/whl/cu130\"\nexplicit = true\n"
	for name, c := range map[string]struct{ text, want string }{
		"the group's source holds for the project's own requirement": {"dependencies = [\"torch\"]\n[dependency-groups]\ngpu = [\"torch\"]\n" +
			"[tool.uv]\ndefault-groups = [\"gpu\"]\n[tool.uv.sources]\ntorch = [{index = \"cu130\", group = \"gpu\", marker = \"sys_platform != 'darwin'\"}]\n" + cu130,
			"torch (no version given) cu130"},
		"the ranges of both hold": {"dependencies = [\"torch>=2.9,<2.12\"]\n[dependency-groups]\ngpu = [\"torch!=2.11.0\"]\n" +
			"[tool.uv]\ndefault-groups = [\"gpu\"]\n", "torch >=2.9,<2.12,!=2.11.0 default"},
		"a group that is not a default": {"dependencies = [\"torch\"]\n[dependency-groups]\ngpu = [\"torch\"]\ndev = [\"pytest\"]\n" +
			"[tool.uv]\ndefault-groups = [\"dev\"]\n[tool.uv.sources]\ntorch = [{index = \"cu130\", group = \"gpu\"}]\n" + cu130,
			"torch (no version given) cu130, group gpu: torch (no version given) cu130"},
		"nor is its range left out, since uv resolves all groups at once": {"dependencies = [\"torch==2.9.1\"]\n[dependency-groups]\ngpu = [\"torch<2.12\"]\n" +
			"[project.optional-dependencies]\nx = [\"torch\"]\n[tool.uv]\ndefault-groups = []\n[tool.uv.sources]\ntorch = [{index = \"cu130\", extra = \"x\"}]\n" + cu130,
			"torch 2.9.1+cu130 cu130, extra x: torch <2.12 cu130, group gpu: torch <2.12 cu130"},
		"conflicting parts are resolved apart": {"dependencies = [\"torch\"]\n[dependency-groups]\ngpu = [\"torch\"]\ncpu = [\"torch\"]\n" +
			"[tool.uv]\nconflicts = [[{group = \"gpu\"}, {group = \"cpu\"}]]\ndefault-groups = []\n" +
			"[tool.uv.sources]\ntorch = [{index = \"cu130\", group = \"gpu\"}, {index = \"other\", group = \"cpu\"}]\n" + cu130,
			"torch (no version given) default, group cpu: torch (no version given) , group gpu: torch (no version given) cu130"},
		"overlapping conflicts leave it open": {"dependencies = [\"torch\"]\n[dependency-groups]\ng = [\"torch\"]\n" +
			"[project.optional-dependencies]\ngpu = [\"torch\"]\ncpu = [\"torch\"]\n" +
			"[tool.uv]\nconflicts = [[{extra = \"gpu\"}, {extra = \"cpu\"}], [{group = \"g\"}, {extra = \"cpu\"}]]\ndefault-groups = []\n" +
			"[tool.uv.sources]\ntorch = [{index = \"cu130\", group = \"g\"}]\n" + cu130,
			"torch (no version given) default, extra cpu: torch (no version given) default, extra gpu: torch (no version given) default, group g: torch (no version given) cu130, " +
				"unread extras and groups in several sets of conflicts decide which index serves it: uv.lock says which"},
		"dev is one where none is listed": {"dependencies = [\"numpy\"]\n[dependency-groups]\ndev = [\"torch==2.9.0\"]\n" +
			"[tool.uv.sources]\ntorch = [{index = \"cu130\"}]\n" + cu130, "torch 2.9.0+cu130 cu130"},
		"without uv none is": {"dependencies = [\"numpy\"]\n[dependency-groups]\ndev = [\"torch==2.9.0\"]\n", "group dev: torch 2.9.0 default"},
		"all":                {"[dependency-groups]\na = [\"torch==2.9.0\"]\n[tool.uv]\ndefault-groups = \"all\"\n", "torch 2.9.0 default"},
		"an included group, with its source": {"[dependency-groups]\ngpu = [\"torch==2.9.0\"]\ndev = [{include-group = \"GPU\"}]\n" +
			"[tool.uv.sources]\ntorch = [{index = \"cu130\", group = \"gpu\"}]\n" + cu130, "torch 2.9.0+cu130 cu130"},
		"the source of the including group": {"[dependency-groups]\ngpu = [\"torch==2.9.0\"]\ndev = [{include-group = \"gpu\"}]\n" +
			"[tool.uv.sources]\ntorch = [{index = \"cu130\", group = \"dev\"}]\n" + cu130, "torch 2.9.0+cu130 cu130"},
		"an extra of the project itself, through another": {"[project.optional-dependencies]\ncu130 = [\"torch==2.9.0\"]\ngpu = [\"a[cu130]\"]\n" +
			"[dependency-groups]\ndev = [\"A[gpu]\"]\n[tool.uv.sources]\ntorch = [{index = \"cu130\", extra = \"cu130\"}]\n" + cu130, "torch 2.9.0+cu130 cu130"},
		"groups that include each other": {"[dependency-groups]\nb = [{include-group = \"c\"}, \"torch==2.9.0\"]\nc = [{include-group = \"b\"}]\n" +
			"[tool.uv]\ndefault-groups = [\"b\"]\n", "torch 2.9.0 default"},
		"a marker of another system": {"dependencies = [\"torch==2.9.0\"]\n[dependency-groups]\ngpu = [\"torch==2.8.0; sys_platform == 'win32'\"]\n" +
			"[tool.uv]\ndefault-groups = [\"gpu\"]\n", "torch 2.9.0 default"},
		"an undefined default is refused": {"dependencies = [\"torch==2.9.0\"]\n[tool.uv]\ndefault-groups = [\"gpu\"]\n",
			"torch 2.9.0 default, unread uv refuses it: the group gpu is not defined"},
		"defaults in conflict are refused": {"[dependency-groups]\nb = [\"torch==2.9.0\"]\nc = [\"numpy\"]\n" +
			"[tool.uv]\ndefault-groups = [\"b\", \"c\"]\nconflicts = [[{group = \"b\"}, {group = \"c\"}]]\n",
			"torch 2.9.0 default, unread uv refuses it: the groups b and c are declared as conflicting"},
		"a conflict with an extra is none": {"[project.optional-dependencies]\ncpu = [\"torch\"]\n[dependency-groups]\nb = [\"torch==2.9.0\"]\n" +
			"[tool.uv]\ndefault-groups = [\"b\"]\nconflicts = [[{group = \"b\"}, {extra = \"cpu\"}]]\n[tool.uv.sources]\ntorch = [{index = \"cu130\", group = \"b\"}]\n" + cu130,
			"torch 2.9.0+cu130 cu130, extra cpu: torch (no version given) default"},
	} {
		f, err := Read(document.Document{Name: "pyproject.toml", Data: []byte("[project]\nname = \"a\"\n" + c.text)})
		var got []string
		for _, e := range f.Environments {
			for _, b := range e.Builds {
				got = append(got, strings.TrimPrefix(e.Path+": ", ": ")+b.Name+" "+b.Version+b.Specifier+" "+b.Index)
			}
		}
		for _, u := range f.Unread {
			got = append(got, "unread "+u.Reason)
		}
		if err != nil || strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %q, want %q (%v)", name, strings.Join(got, ", "), c.want, err)
		}
	}
}
