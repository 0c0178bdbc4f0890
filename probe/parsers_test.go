package probe

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"cudacompat/probe/facts"

	"github.com/google/go-cmp/cmp"
)

// TestEveryParserHasATest: each function parse… of a probe is called by a test beside it.
func TestEveryParserHasATest(t *testing.T) {
	for _, dir := range []string{".", "internal/python"} {
		parsers := 0
		called := namesInTests(t, dir)
		for _, file := range parsed(t, dir, false) {
			for _, d := range file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok || !strings.HasPrefix(f.Name.Name, "parse") {
					continue
				}
				parsers++
				if !called[f.Name.Name] {
					t.Errorf("no test in probe/%s calls %s: give it a line as the file has it, and one that is damaged", dir, f.Name.Name)
				}
			}
		}
		if parsers < 5 {
			t.Errorf("%s: %d parsers were found", dir, parsers)
		}
	}
}

// namesInTests are the names that a directory's tests use.
func namesInTests(t *testing.T, dir string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, file := range parsed(t, dir, true) {
		ast.Inspect(file, func(n ast.Node) bool {
			if n, ok := n.(*ast.Ident); ok {
				names[n.Name] = true
			}
			return true
		})
	}
	return names
}

// parsed are the files of a directory's tests, or those beside them.
func parsed(t *testing.T, dir string, tests bool) []*ast.File {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no files in %s: %v", dir, err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") != tests {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

func TestParseSecureBoot(t *testing.T) {
	for data, want := range map[string]string{"\x06\x00\x00\x00\x01": "on", "\x06\x00\x00\x00\x00": "off", "": "", "\x01": "",
		"\x06\x00\x00\x00\x01\x01": ""} {
		got, err := parseSecureBoot([]byte(data))
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v, want %q", data, got, err, want)
		}
	}
}

func TestParseGSPOption(t *testing.T) {
	for _, c := range []struct {
		text, value string
		ok          bool
	}{
		{"options nvidia NVreg_EnableGpuFirmware=0\n", "0", true},
		{"options nvidia-550 NVreg_Foo=1 NVreg_EnableGpuFirmware=18", "18", true},
		{"options nvidia NVreg_EnableGpuFirmware=0\noptions nvidia NVreg_EnableGpuFirmware=1\n", "1", true},
		{"# options nvidia NVreg_EnableGpuFirmware=0\n", "", false},
		{"options nouveau NVreg_EnableGpuFirmware=0\n", "", false},
		{"options nvidia\n", "", false},
		{"", "", false},
	} {
		if value, ok := parseGSPOption([]byte(c.text)); value != c.value || ok != c.ok {
			t.Errorf("%q: %q, %v, want %q, %v", c.text, value, ok, c.value, c.ok)
		}
	}
}

func TestParseStanza(t *testing.T) {
	const stanza = "Package: nvidia-driver-550\nStatus: hold ok installed\nMaintainer: Ubuntu Core Developers " +
		"<ubuntu-devel-discuss@lists.ubuntu.com>\nVersion: 550.120-0ubuntu0.22.04.1\nDescription: driver\n Version: 1 of a text\n"
	want := &facts.DriverPackage{Name: "nvidia-driver-550", Version: "550.120-0ubuntu0.22.04.1", Held: true, Vendor: "ubuntu"}
	if diff := cmp.Diff(want, parseStanza(stanza)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	removed := strings.Replace(stanza, "hold ok installed", "deinstall ok config-files", 1)
	for _, none := range []string{removed, strings.Replace(stanza, "Package", "Source", 1), ""} {
		if got := parseStanza(none); got != nil {
			t.Errorf("%q is %+v", none, got)
		}
	}
}
