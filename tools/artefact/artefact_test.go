package artefact

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// TestConstants checks the code in jax_cuda12_plugin 0.9.2's _versions.so that returns 12090, as the two compilers
// wrote it.
func TestConstants(t *testing.T) {
	// push rbp; mov rbp,rsp; mov edi,0x2f3a; call; pop rbp; ret; then a mov before no call
	x86 := []byte{0x55, 0x48, 0x89, 0xe5, 0xbf, 0x3a, 0x2f, 0, 0, 0xe8, 0x12, 0x08, 0x05, 0, 0x5d, 0xc3, 0xbf, 1, 0, 0,
		0, 0x5d}
	if got := constantsX86(x86); !slices.Equal(got, []int{12090}) {
		t.Errorf("x86-64: %v", got)
	}
	// mov w0,#0x2f3a; b; mov w0,#0x637a; movk w0,#1,lsl #16; bl; mov w0,#5; ret; mov w1,#6; bl
	arm := []byte{0x40, 0xe7, 0x85, 0x52, 0x10, 0, 0, 0x14, 0x40, 0x6f, 0x8c, 0x52, 0x20, 0, 0xa0, 0x72, 0x10, 0, 0, 0x94,
		0xa0, 0, 0x80, 0x52, 0xc0, 0x03, 0x5f, 0xd6, 0xc1, 0, 0x80, 0x52, 0x10, 0, 0, 0x94}
	if got := constantsARM(arm); !slices.Equal(got, []int{12090, 91002}) {
		t.Errorf("aarch64: %v", got)
	}
	if got := cudnnAmong([]int{12090, 91002, 11705}); got != "9.10.2" {
		t.Errorf("cuDNN %q", got)
	}
	if got := cudnnAmong([]int{8907, 91002}); got != "" {
		t.Errorf("of two that may be cuDNN's, %q was taken", got)
	}
}

// TestSays checks cells that agree with what was read, in other words or more exactly, and cells that do not.
func TestSays(t *testing.T) {
	for _, c := range []struct {
		column, old, read string
		want              bool
	}{
		{"cuda", "12.8.1", "12.8", true},
		{"cuda", "12.8", "12.8.1", false},
		{"cuda", "12.80", "12.8", false},
		{"cuda", "", "12.8", false},
		{"glibc", "2.17.1", "2.17", false},
		{"cudnn", "8.6", "8", true},
		{"built", "12.2 12.4", "12.4", true},
		{"packages", "nvidia-cudnn-cu12>=9.0,<10.0 nvidia-nccl-cu12==2.18.1",
			"nvidia-cudnn-cu12<10.0,>=9.0 nvidia-nccl-cu12==2.18.1", true},
		{"packages", "nvidia-cudnn-cu12>=9.0", "nvidia-cudnn-cu13>=9.0", false},
		{"numpy", "<3.0,>=2.0", ">=2.0,<3.0", true},
		{"numpy", ">=2.0", ">=2.0,<3.0", false},
		{"sass", "sm_80 sm_90", "sm_90 sm_80", false},
		{"verified", "METADATA libcudf.so 2026-11-22", "METADATA 2026-12-01", true},
		{"verified", "METADATA 2026-11-22", "METADATA libx.so 2026-11-22", false},
		{"verified", "", "METADATA 2026-12-01", false},
	} {
		if got := says(c.column, c.old, c.read); got != c.want {
			t.Errorf("%s: %q says %q: %v", c.column, c.old, c.read, got)
		}
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

// TestNotShipped checks that the cudacompat program contains nothing from tools/.
func TestNotShipped(t *testing.T) {
	for _, dir := range []string{"cmd", "probe", "matrix", "data", "internal"} {
		err := filepath.WalkDir(filepath.Join("../..", dir), func(name string, e fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(name, ".go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
			if err != nil {
				return err
			}
			for _, spec := range file.Imports {
				if strings.Contains(spec.Path.Value, "cudacompat/tools/") {
					t.Errorf("%s imports %s", name, spec.Path.Value)
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestAsks reads what metadata asks for in the forms that PyTorch and torchvision have had.
func TestAsks(t *testing.T) {
	r := &Reading{Tag: Tag{Platform: "linux_aarch64"}, Metadata: "Requires-Dist: torch (>=2.14.0)\n" +
		`Requires-Dist: triton (==3.5.0) ; platform_system == "Linux" and platform_machine == "x86_64"` + "\n"}
	if got := r.triton(); got != "" {
		t.Errorf("on aarch64 no Triton is asked for, not %s", got)
	}
	r.Tag.Platform = "linux_x86_64"
	if got := r.triton(); got != "3.5.0" {
		t.Errorf("triton %q", got)
	}
	r.Metadata += `Requires-Dist: torch>=2.0,<2.1; extra == "old"`
	if !r.takes("torch", "2.15.0") || r.takes("torch", "2.13.1") {
		t.Error("torch >=2.14.0 takes 2.15.0 and not 2.13.1")
	}
	if got := leastCapability([]string{"sm_100f", "sm_75", "sm_90a"}); got != "7.5" {
		t.Errorf("the least capability is 7.5, not %s", got)
	}
}

// TestCompanion checks that a row keeps its companion when a later one takes its PyTorch, too: 0.29.2 takes any since
// 2.14, and 2.14.1's rows have 0.29.1.
func TestCompanion(t *testing.T) {
	d, err := OpenData("../../data")
	if err != nil {
		t.Fatal(err)
	}
	key := map[string]string{"release": "2.14.1", "variant": "cu130", "platform": "linux_aarch64"}
	have, known := d.torchCell(key, "torchvision")
	if !known || have != "0.29.1" {
		t.Fatalf("2.14.1 has torchvision %q, %v", have, known)
	}
	if isCompanion("0.29.2", have, known, false) || !isCompanion("0.29.1", have, known, false) {
		t.Error("a row that is known keeps its companion")
	}
	if isCompanion("2.11.1", "", true, false) {
		t.Error("a row that is known and has none takes none")
	}
	key["release"] = "99.0.0"
	if _, known := d.torchCell(key, "torchvision"); known || !isCompanion("0.29.2", "", known, false) || isCompanion("0.29.1", "", known, true) {
		t.Error("a new row takes the newest")
	}
}

// TestNames finds a release by its row's key, whether or not the row exists.
func TestNames(t *testing.T) {
	data, err := OpenData("../../data")
	if err != nil {
		t.Fatal(err)
	}
	sources, err := ReadSources("../../data")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		product, release, version string
		want                      bool
	}{
		{"cudnn", "9.24.1", "9.24.1.1", true},
		{"cudnn", "9.99.9", "9.99.9.1", true},
		{"cudnn", "9.24.1.1", "9.24.1.1", true},
		{"cudnn", "9.2", "9.24.1.1", false},
		{"jax", "0.9.0", "0.9.0", true},
		{"jax", "0.9.0", "0.9.0.1", false},
	} {
		i := slices.IndexFunc(sources, func(l Listed) bool { return l.ID == c.product })
		p, _ := sources[i].Product()
		if got := data.Names(p, c.release, Candidate{Tag: Tag{Version: c.version}}); got != c.want {
			t.Errorf("%s %s means %s: %v", c.product, c.release, c.version, got)
		}
	}
}

// TestNamedWheel distinguishes the wheel that a table's row is based on from one of the same release that another table
// uses: sglang 0.5.23 has one for each Python.
func TestNamedWheel(t *testing.T) {
	d := &Data{sources: map[string]string{"extension": "wheel a.whl sha256:aa\n", "package": "wheel b.whl sha256:bb\n"}}
	for _, c := range []struct {
		table, sum string
		want       bool
	}{
		{"extension", "aa", true}, {"extension", "bb", false}, {"package", "bb", true}, {"", "bb", true}, {"", "cc", false}, {"", "", false},
	} {
		if got := d.names(c.table, File{SHA256: c.sum}); got != c.want {
			t.Errorf("%q names %q: %t", c.table, c.sum, got)
		}
	}
}

// TestMergedSources replaces a project's wheel by another one of the same project, and keeps one of a later release
// beside the row's own: torchcodec 0.17.0's page says for which torch 0.3.0 was built.
func TestMergedSources(t *testing.T) {
	sum := func(digit string) string { return " sha256:" + strings.Repeat(digit, 64) }
	own, other, later := "wheel a-0.3.0-x.whl"+sum("1"), "wheel a-0.3.0-y.whl"+sum("2"), "wheel a-0.17.0-x.whl"+sum("3")
	for _, c := range []struct{ cell, want string }{
		{own, other},
		{own + " " + later, other + " " + later},
		{later, other}, // a library's row: its next release
		{"https://example.com/", "https://example.com/ " + other},
	} {
		change := Change{Columns: []string{"source"}, New: []string{c.cell}}
		change.mergeSources(Row{Sources: map[string]string{"a": other}})
		if change.New[0] != c.want {
			t.Errorf("%s becomes %s", c.cell, change.New[0])
		}
	}
}
