package guard

import (
	"strings"
	"testing"

	"cudacompat/matrix/verdict"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for typed, dry := range map[string]string{
		"uv pip install vllm":                          "uv pip install --dry-run vllm",
		"uv --offline pip install -q vllm":             "uv --offline pip install --dry-run vllm",
		"uv --directory pip pip sync r.txt":            "uv --directory pip pip sync --dry-run r.txt",
		"uv pip uninstall torch":                       "uv pip uninstall --dry-run torch",
		"uv sync --frozen":                             "uv sync --dry-run --frozen",
		"pip install -r r.txt":                         "pip install --dry-run --quiet --report - -r r.txt",
		"/opt/venv/bin/pip3.12 install torch":          "/opt/venv/bin/pip3.12 install --dry-run --quiet --report - torch",
		"python3 -m pip install -U torch":              "python3 -m pip install --dry-run --quiet --report - -U torch",
		"pip --python /opt/venv install --quiet numpy": "pip --python /opt/venv install --dry-run --quiet --report - numpy",
	} {
		c, err := Parse(strings.Fields(typed))
		if err != nil {
			t.Errorf("%s: %v", typed, err)
			continue
		}
		got, ok := c.DryRun()
		if !ok || strings.Join(got, " ") != dry {
			t.Errorf("%s: dry run %q, want %q", typed, got, dry)
		}
	}
	for _, typed := range []string{"", "conda install pytorch", "uv", "uv pip", "uv pip list", "uv add torch", "uv run x",
		"pip list", "python train.py", "python -m venv x", "sh -c uv", "uv pip install --dry-run torch",
		"pip install --user torch", "pip install --prefix=/x torch", "pip uninstall -r r.txt"} {
		if c, err := Parse(strings.Fields(typed)); err == nil {
			t.Errorf("%q is understood as %s %s", typed, c.By, c.Verb)
		}
	}
}

func TestWhereItInstalls(t *testing.T) {
	c, err := Parse(strings.Fields("uv pip install -p /opt/venv --target=/opt/site torch==2.9.0 -r r.txt numpy"))
	if err != nil || c.Python() != "/opt/venv" || c.Into() != "/opt/site" {
		t.Errorf("python %q, target %q, %v", c.Python(), c.Into(), err)
	}
	if diff := cmp.Diff([]string{"torch==2.9.0", "numpy"}, c.PackageNames()); diff != "" {
		t.Error(diff)
	}
}

// TestGivenTwice checks that the last value of a repeated option counts, as in pip.
func TestGivenTwice(t *testing.T) {
	for typed, want := range map[string][2]string{
		"pip install -t /a -t /b torch":                               {"", "/b"},
		"pip install --target /a --target /b torch":                   {"", "/b"},
		"pip install --target=/a torch --target=/b":                   {"", "/b"},
		"pip install --target /b -t/a torch":                          {"", "/a"},
		"pip install -t/a torch --target /b":                          {"", "/b"},
		"pip --python /v --python /w install torch":                   {"/w", ""},
		"pip --python=/v --python /w install -t /a --target=/b torch": {"/w", "/b"},
		"pip --python /v install --python /w torch":                   {"/v", ""},
		"uv pip install --python /v -p /w torch":                      {"/w", ""},
	} {
		c, err := Parse(strings.Fields(typed))
		if got := [2]string{c.Python(), c.Into()}; err != nil || got != want {
			t.Errorf("%s: python and target %q, want %q, %v", typed, got, want, err)
		}
	}
}

// TestShell checks that a suggested command is safe to paste.
func TestShell(t *testing.T) {
	got := Shell([]string{"uv", "pip", "install", "torch>=2", "it's $(x)", "numpy"})
	if want := `uv pip install 'torch>=2' 'it'\''s $(x)' numpy`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestCandidates(t *testing.T) {
	c, err := Parse(strings.Fields("uv pip install vllm[audio] -r r.txt"))
	if err != nil {
		t.Fatal(err)
	}
	f := Forecast{Breaks: []verdict.Finding{{Rule: "driver-too-old", Pins: []verdict.Pin{
		{Package: "vllm", Commands: map[string]string{"uv": "uv pip uninstall nvidia-cudnn-cu13 && uv pip install " +
			`--python /opt/venv/bin/python vllm==0.19.1 "torch==2.10.0+cu128" --index-url https://download.pytorch.org/whl/cu128`}},
		{Package: "driver", Commands: map[string]string{"apt": "sudo apt-get install x"}}}}},
		Changes: []Change{{Build: "torch", From: "2.6.0+cu124", To: "2.13.0", Was: verdict.Works, Will: verdict.Broken}}}
	want := [][]string{
		strings.Fields("uv pip install vllm[audio]==0.19.1 -r r.txt torch==2.10.0"),
		strings.Fields("uv pip install vllm[audio]==0.19.1 -r r.txt torch==2.10.0+cu128 --extra-index-url " +
			"https://download.pytorch.org/whl/cu128"),
		strings.Fields("uv pip install vllm[audio] -r r.txt torch==2.6.0"),
	}
	if diff := cmp.Diff(want, Candidates(c, f)); diff != "" {
		t.Error(diff)
	}
}

// TestBare checks that a command which ignores requirements is compared with the same one that does not.
func TestBare(t *testing.T) {
	for typed, want := range map[string]string{
		"uv pip install --no-deps vllm": "uv pip install vllm", "uv pip install vllm": "",
		"uv pip sync a.txt --python venv b.txt": "uv pip install -r a.txt --python venv -r b.txt", "uv sync": "",
		"pip install --no-deps vllm": "",
	} {
		c, err := Parse(strings.Fields(typed))
		if err != nil {
			t.Fatal(err)
		}
		whole, bare := c.Bare()
		if bare != (want != "") || bare && whole.String() != want {
			t.Errorf("%s: %s, %v", typed, whole, bare)
		}
	}
}

// TestIncluded finds the files that requirements may include, as pip and uv write and decode them.
func TestIncluded(t *testing.T) {
	getenv := func(name string) string { return map[string]string{"DIR": "/d"}[name] }
	for text, want := range map[string]string{
		"torch==2.9.0\n# -r a\n":            "",
		"-r a\n-rb\n--requirement c\n":      "a|b|c",
		"--requirement=a\n--constr=b\n":     "a|b",
		"-r \\\n  a\n":                      "a",
		"\ufeff-c 'a b'\n":                  "a|b",
		"-r ${DIR}/a ${dir}\n":              "/d/a|${dir}",
		"numpy\r-r a":                       "a",
		"-\x00r\x00 \x00a\x00\n\x00":        "a",
		"-r file:///dev/stdin # comment\n":  "file:///dev/stdin|#|comment",
		"torch @ file:///w.whl --hash=-r\n": "",
	} {
		if got := strings.Join(Included([]byte(text), getenv), "|"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
