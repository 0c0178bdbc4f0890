package probe

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryParserHasATest finds functions parse… of the probes that no test calls.
func TestEveryParserHasATest(t *testing.T) {
	for _, dirs := range [][]string{{"internal/container"}, {"internal/driver"}, {"internal/gpu"}, {"internal/kernel"},
		{"internal/process"}, {"internal/system"}, {"internal/toolkit"},
		{"internal/pydist", "internal/pyenv", "internal/pyimport", "internal/loader", "internal/framework"}} {
		parsers := 0
		called := map[string]bool{}
		for _, dir := range dirs {
			maps.Copy(called, namesInTests(t, dir))
		}
		for _, dir := range dirs {
			for _, file := range parsed(t, dir, false) {
				for _, d := range file.Decls {
					f, ok := d.(*ast.FuncDecl)
					if !ok || !strings.HasPrefix(f.Name.Name, "parse") && !(len(dirs) > 1 && strings.HasPrefix(f.Name.Name, "Parse")) {
						continue
					}
					parsers++
					if !called[f.Name.Name] {
						t.Errorf("no test in probe/%s calls %s: give it a line as the file has it, and one that is damaged", dir, f.Name.Name)
					}
				}
			}
		}
		if parsers == 0 {
			t.Errorf("%s: no parser was found", dirs)
		}
	}
}

// namesInTests returns the names that a directory's tests use.
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

// parsed returns the files of a directory's tests, or those beside them.
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
