package input_test

import (
	"io/fs"
	"strings"
	"testing"

	"cudacompat/probe/internal/input"
	"cudacompat/probe/internal/input/document"
)

// TestUnseenBuilds reads the builds that lock files and lists of packages name in unusual places, or names the place.
func TestUnseenBuilds(t *testing.T) {
	const (
		index = "https://download.pytorch.org/whl/cu130"
		wheel = "torch-2.9.0+cu130-cp312-cp312-manylinux_2_28_x86_64.whl"
		bad   = "2.9.0+cu130"
		uv    = "version = 1\n[[package]]\nname = \"p\"\nversion = \"1\"\nsource = { virtual = \".\" }\ndependencies = [{ name = \"torch\" }]\n"
		conda = "version: 1\npackage:\n- name: torch\n  version: \"2.9.0+cu130\"\n  manager: pip\n  platform: linux-64\n"
		yaml  = "channels: [conda-forge]\ndependencies:\n"
		meta  = `"_meta": {"pipfile-spec": 6, "sources": [{"name": "pt", "url": "` + index + `"}]}`
		head  = "[project]\nname = 'p'\nversion = '1'\n"
	)
	for _, c := range []struct{ name, text, want string }{
		{"uv.lock", uv + "[[package]]\nname = \"torch\"\nversion = \"2.9.0\"\nsource = { url = \"" + index + "/" + wheel + "\" }\n", bad},
		{"pylock.toml", "lock-version = '1.0'\n[[packages]]\nname = 'torch'\nversion = '2.9.0'\nwheels = [{ url = 'https://x.example/" + wheel + "' }]\n", bad},
		{"pylock.toml", "lock-version = '1.0'\n[[packages]]\nname = 'torch'\nversion = '2.9.0'\nwheels = [{ name = '" + wheel + "' }, { name = 'torch-2.9.0+cu126-cp312-cp312-linux_x86_64.whl' }]\n", "2.9.0"},
		{"poetry.lock", "[[package]]\nname = 'torch'\nversion = '2.9.0'\nfiles = [{ file = '" + wheel + "' }]\n[metadata]\ncontent-hash = '0'\n", bad},
		{"Pipfile.lock", "{" + meta + `, "default": {"torch": {"version": "==2.9.0"}}}`, bad},
		{"Pipfile.lock", "{" + meta + `, "default": {}, "gpu": {"torch": {"version": "==2.9.0+cu130"}}}`, bad},
		{"Pipfile.lock", "{" + meta + `, "default": {"3f2a": {"file": "https://x.example/` + wheel + `"}}}`, bad},
		{"Pipfile.lock", "{" + meta + `, "default": {"3f2a": {"file": "https://x.example/a.zip"}}}`, "?"},
		{"conda-lock.yml", conda + "  url: git+https://github.com/pytorch/pytorch@v2.9.0\n", bad},
		{"conda-lock.yml", conda + "  url: https://mirror.example/f/abc\n", bad},
		{"environment.yml", yaml + "- sel(linux): pytorch=2.9.0=cuda130_py312_0\n- sel(win): pytorch=2.8.0=cuda126_py312_0\n", "2.9.0"},
		{"environment.yml", yaml + "- pip: torch==2.9.0+cu130\n", bad},
		{"environment.yml", yaml + "- PIP: [torch==2.9.0+cu130]\n", "?"},
		{"environment.yml", yaml + "- numpy\n---\ndependencies:\n- pip: [torch==2.9.0+cu130]\n", "?"},
		{"environment.yml", yaml + "- pip: [torch==2.9.0]\nvariables:\n  PIP_INDEX_URL: " + index + "\n", "2.9.0 ?"},
		{"environment.yml", yaml + "- pip: [torch==2.9.0]\nvariables:\n  OMP_NUM_THREADS: 4\n", "2.9.0"},
		{"pyproject.toml", "[tool.flit.metadata]\nmodule = 'p'\nrequires = ['torch==2.9.0+cu130']\n[build-system]\nrequires = ['flit']\n", bad},
		{"pyproject.toml", head + "dependencies = ['m']\n[tool.uv.workspace]\nmembers = ['libs/m']\n[tool.uv.sources]\nm = { workspace = true }\n", bad},
		{"pyproject.toml", head + "dependencies = ['m']\n[tool.uv.sources]\nm = { path = 'libs/m' }\n", bad},
		{"pyproject.toml", head + "dependencies = ['n']\n[tool.uv.sources]\nn = { workspace = true }\n", "?"},
		{"compose.yaml", "services:\n  a:\n    build:\n      args: {V: 2.9.0+cu130}\n", bad},
		{"compose.yaml", "services:\n  a:\n    build:\n      target: none\n", "2.8.0+cu126 ?"},
		{"compose.yaml", "services:\n  a:\n    build:\n      args: [V]\n", "2.8.0+cu126"},
		{"compose.yaml", "services:\n  a:\n    image: python:3.12\n    post_start:\n      - command: pip install torch==2.9.0+cu130\n", bad},
		{"compose.yaml", "services:\n  a:\n    image: pytorch/pytorch:${TAG:-2.7.1-cuda12.6-cudnn9-runtime}\n", "2.9.0-cuda13.0-cudnn9-runtime"},
		{"compose.yaml", "services:\n  a:\n    image: pytorch/pytorch:${NONE:-2.7.1-cuda12.6-cudnn9-runtime}\n", "2.7.1-cuda12.6-cudnn9-runtime"},
		{"compose.yaml", "services:\n  a:\n    image: pytorch/pytorch:${NONE}\n", "?"},
	} {
		beside := map[string]string{"libs/m/pyproject.toml": "[project]\nname = 'm'\ndependencies = ['torch==2.9.0+cu130']\n",
			"Dockerfile": "FROM python:3.12\nARG V=2.8.0+cu126\nRUN pip install torch==$V\n", ".env": "# tags\nexport TAG=\"2.9.0-cuda13.0-cudnn9-runtime\"\n"}
		f, err := input.Read(document.Document{Name: c.name, Data: []byte(c.text), Beside: func(name string) ([]byte, error) {
			if text, ok := beside[name]; ok {
				return []byte(text), nil
			}
			return nil, fs.ErrNotExist
		}})
		var got []string
		for _, e := range f.Environments {
			for _, b := range e.Builds {
				got = append(got, b.Version)
			}
			for _, r := range e.Requested {
				if strings.Contains(r.Version, "cuda") {
					got = append(got, r.Version)
				}
			}
		}
		if len(f.Unread) > 0 {
			got = append(got, "?")
		}
		if text := strings.Join(got, " "); err != nil || text != c.want {
			t.Errorf("%s: %q, want %q: %v, %+v\n%s", c.name, text, c.want, err, f.Unread, c.text)
		}
	}
}
