package wheel

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPipIndex asks for the index as pip would: its variable, the last of its files, its own default.
func TestPipIndex(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	system := file("system", "# index-url = https://comment.example/simple\n[global]\ntimeout = 60\nIndex_URL: "+
		"https://system.example/simple\n")
	user := file("user", "[install]\nindex-url = https://install.example/simple\n[global]\nindex-url = "+
		"https://user.example/simple\n")
	none := file("none", "[global]\ncert = /etc/ssl\n")
	help := "  -i, --index-url <url>       Base URL of the Python Package Index (default\n                            " +
		"  https://default.example/simple). This should point to …"
	for _, c := range []struct {
		name, variable string
		files          []string
		want           string
	}{
		{"variable", "https://variable.example/simple", []string{system, user}, "https://variable.example/simple"},
		{"last-file", "", []string{system, user, none, filepath.Join(dir, "absent")}, "https://user.example/simple"},
		{"system", "", []string{system, none}, "https://system.example/simple"},
		{"default", "", []string{none}, "https://default.example/simple"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pip := Pip{func(string) string { return c.variable }, c.files, func() string { return help }}
			if got, err := pip.Index(); err != nil || got != c.want {
				t.Errorf("the index is %q (%v), want %q", got, err, c.want)
			}
		})
	}
	if _, err := (Pip{func(string) string { return "" }, nil, func() string { return "" }}).Index(); err == nil {
		t.Error("no pip and no configuration gave an index")
	}
}

func TestPipFiles(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want []string
	}{
		{nil, []string{"/etc/xdg/pip/pip.conf", "/etc/pip.conf"}},
		{map[string]string{"HOME": "/h", "VIRTUAL_ENV": "/v", "PIP_CONFIG_FILE": "/c"},
			[]string{"/etc/xdg/pip/pip.conf", "/etc/pip.conf", "/h/.pip/pip.conf", "/h/.config/pip/pip.conf", "/v/pip.conf",
				"/c"}},
		{map[string]string{"HOME": "/h", "XDG_CONFIG_HOME": "/x"},
			[]string{"/etc/xdg/pip/pip.conf", "/etc/pip.conf", "/h/.pip/pip.conf", "/x/pip/pip.conf"}},
		{map[string]string{"HOME": "/h", "PIP_CONFIG_FILE": "/dev/null"}, nil},
	} {
		if diff := cmp.Diff(c.want, pipFiles(func(name string) string { return c.env[name] })); diff != "" {
			t.Errorf("%v: -want +got\n%s", c.env, diff)
		}
	}
}

func TestTag(t *testing.T) {
	for name, want := range map[string]Tag{
		"torch-2.9.0-cp313-cp313t-manylinux_2_28_aarch64.whl": {"torch", "2.9.0", "3.13t",
			"linux_aarch64", "2.28", ""},
		"torch-1.8.0-cp36-cp36m-manylinux1_x86_64.whl": {"torch", "1.8.0", "3.6",
			"linux_x86_64", "2.5", ""},
		"tensorflow-2.20.0-cp39-cp39-manylinux_2_17_x86_64.manylinux2014_x86_64.whl": {"tensorflow", "2.20.0", "3.9",
			"linux_x86_64", "2.17", ""},
		"nvidia_nccl_cu12-2.27.5-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl": {"nvidia_nccl_cu12", "2.27.5",
			"", "linux_x86_64", "2.17", ""},
		"jax-0.9.2-py3-none-any.whl": {"jax", "0.9.2", "", "any", "", ""},
		"vllm-0.11.0-cp38-abi3-manylinux1_x86_64.whl": {"vllm", "0.11.0", "",
			"linux_x86_64", "2.5", ""},
		"torch-2.15.0+cu130-cp312-cp312-manylinux_2_28_x86_64.whl": {"torch", "2.15.0", "3.12",
			"linux_x86_64", "2.28", "cu130"},
		"torch-2.9.0-2-cp312-cp312-win_amd64.whl": {"torch", "2.9.0", "3.12", "", "", ""},
	} {
		if got, ok := (File{Name: name}).Tag(); !ok || got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	if _, ok := (File{Name: "torch-2.9.0.tar.gz"}).Tag(); ok {
		t.Error("a source archive passes for a wheel")
	}
}

// FuzzIndexPage gives an index's page any bytes.
func FuzzIndexPage(f *testing.F) {
	f.Add([]byte(`{"files": [{"filename": "x-1.0-py3-none-any.whl", "hashes": {"sha256": "00"}, "url": "x", "yanked": false}]}`))
	f.Add([]byte(`<a href="../x-1.0-py3-none-any.whl#sha256=00" data-yanked>x-1.0-py3-none-any.whl</a>`))
	f.Fuzz(func(t *testing.T, page []byte) {
		for _, read := range []func([]byte) ([]File, error){jsonFiles, htmlFiles} {
			files, _ := read(page)
			for _, file := range files {
				file.Tag()
			}
		}
	})
}
