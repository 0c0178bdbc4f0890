package artefact

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cudacompat/tools/artefact/reading"
	"cudacompat/tools/artefact/wheel"
)

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
	r := &reading.Reading{Tag: wheel.Tag{Platform: "linux_aarch64"}, Metadata: "Requires-Dist: torch (>=2.14.0)\n" +
		`Requires-Dist: triton (==3.5.0) ; platform_system == "Linux" and platform_machine == "x86_64"` + "\n"}
	if got := findTriton(r); got != "" {
		t.Errorf("on aarch64 no Triton is asked for, not %s", got)
	}
	r.Tag.Platform = "linux_x86_64"
	if got := findTriton(r); got != "3.5.0" {
		t.Errorf("triton %q", got)
	}
	r.Metadata += `Requires-Dist: torch>=2.0,<2.1; extra == "old"`
	if !r.Accepts("torch", "2.15.0") || r.Accepts("torch", "2.13.1") {
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
		if got := data.Names(p, c.release, Candidate{Tag: wheel.Tag{Version: c.version}}); got != c.want {
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
		if got := d.names(c.table, wheel.File{SHA256: c.sum}); got != c.want {
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
