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
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files in %s: %v", dir, err)
		}
		parsers, called := map[string]bool{}, map[string]bool{}
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			inTest := strings.HasSuffix(name, "_test.go")
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncDecl:
					if !inTest && strings.HasPrefix(n.Name.Name, "parse") {
						parsers[n.Name.Name] = true
					}
				case *ast.Ident:
					called[n.Name] = called[n.Name] || inTest
				}
				return true
			})
		}
		if len(parsers) < 5 {
			t.Errorf("%s: %d parsers were found", dir, len(parsers))
		}
		for name := range parsers {
			if !called[name] {
				t.Errorf("%s: no test calls %s: give it a line as the file has it, and one that is damaged", dir, name)
			}
		}
	}
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
