package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// codeSpan matches an identifier of a package, "matrix/internal/model.Machine.Driver", or a path, "data/torch.csv".
var codeSpan = regexp.MustCompile("`((?:cmd|data|docs|examples|internal|matrix|packaging|probe|tools)(?:/[\\w.*-]+)*(?:\\.[\\w.]+)?)`")

// TestArchitectureNames finds names that docs/ARCHITECTURE.md and CONTRIBUTING.md mention and that no longer exist.
func TestArchitectureNames(t *testing.T) {
	mentioned := 0
	for _, page := range []string{"ARCHITECTURE.md", "../CONTRIBUTING.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range codeSpan.FindAllStringSubmatch(string(text), -1) {
			mentioned++
			if !exists(t, m[1]) {
				t.Errorf("%s names %s, which does not exist", page, m[1])
			}
		}
	}
	if mentioned < 30 {
		t.Errorf("only %d names were found", mentioned)
	}
}

// exists reports whether a path of the repository exists, or an identifier in the package before its first dot.
func exists(t *testing.T, name string) bool {
	t.Helper()
	if found, err := filepath.Glob(filepath.Join("..", name)); err == nil && len(found) > 0 {
		return true
	}
	dir, last := path.Split(name)
	pkg, identifier, _ := strings.Cut(last, ".")
	return identifier != "" && slices.Contains(declared(t, filepath.Join("..", dir, pkg)), identifier)
}

// declared lists the top-level identifiers of the package in a directory, and methods as "Type.Method".
func declared(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	for _, file := range parseDir(t, dir, 0) {
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				names = append(names, receiver(d)+d.Name.Name)
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						names = append(names, s.Name.Name)
					case *ast.ValueSpec:
						names = append(names, s.Names[0].Name)
					}
				}
			}
		}
	}
	return names
}

// receiver returns "Type." for a method, and "" for a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	kind := f.Recv.List[0].Type
	if star, ok := kind.(*ast.StarExpr); ok {
		kind = star.X
	}
	if id, ok := kind.(*ast.Ident); ok {
		return id.Name + "."
	}
	return ""
}

// parseDir parses the Go files of a directory, without its tests.
func parseDir(t *testing.T, dir string, mode parser.Mode) []*ast.File {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, mode|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// TestImportDirection compares the imports of every package with the list in ARCHITECTURE.md.
func TestImportDirection(t *testing.T) {
	layers := importLayers(t)
	checked := 0
	err := filepath.WalkDir("..", func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		from := strings.TrimPrefix(filepath.ToSlash(dir), "../")
		if d.Name() == "testdata" || from == "tools" || dir != ".." && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		for _, file := range parseDir(t, dir, parser.ImportsOnly) {
			for _, spec := range file.Imports {
				to, _ := strconv.Unquote(spec.Path.Value)
				if to, ours := strings.CutPrefix(to, modulePrefix(t)); ours {
					checked++
					if why := forbidden(layers, from, to); why != "" {
						t.Errorf("%s imports %s: %s", from, to, why)
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked < 200 {
		t.Errorf("only %d imports were found", checked)
	}
}

// modulePrefix returns the module's path with a slash, which make rename changes.
func modulePrefix(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(strings.TrimPrefix(line, "module ")) + "/"
}

// importLayers reads the lines of packages under "Who may import whom", the top layer first.
func importLayers(t *testing.T) [][]string {
	t.Helper()
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "## Who may import whom")
	var layers [][]string
	for line := range strings.Lines(rest) {
		if words, indented := strings.CutPrefix(line, "    "); indented {
			layers = append(layers, strings.Fields(words))
		} else if len(layers) > 0 {
			break
		}
	}
	if len(layers) < 5 {
		t.Fatalf("%d layers in ARCHITECTURE.md", len(layers))
	}
	return layers
}

// forbidden returns why one package may not import another one, or "".
func forbidden(layers [][]string, from, to string) string {
	a, b := layerOf(layers, from), layerOf(layers, to)
	switch {
	case a < 0 || b < 0:
		return "ARCHITECTURE.md has no layer for it"
	case b < a:
		return "it lies above"
	case strings.HasPrefix(from, "probe/") && to == "probe":
		return "the packages of probe do not import probe"
	case (from == "matrix/internal/model" || from == "matrix/internal/hardware") && (strings.HasPrefix(to, "matrix/internal/rules") || to == "matrix/internal/pins"),
		strings.HasPrefix(from, "matrix/") && to == "matrix",
		isForm(from) && strings.HasPrefix(to, "matrix/internal/"):
		return "the packages of matrix import each other in one direction"
	}
	return ""
}

// isForm reports whether a package has the form of an answer.
func isForm(pkg string) bool {
	return pkg == "matrix/verdict" || pkg == "matrix/pin" || pkg == "matrix/requires"
}

// layerOf returns the layer whose longest entry contains a package, or -1.
func layerOf(layers [][]string, pkg string) int {
	best, length := -1, 0
	for i, layer := range layers {
		for _, entry := range layer {
			if (pkg == entry || strings.HasPrefix(pkg, entry+"/")) && len(entry) > length {
				best, length = i, len(entry)
			}
		}
	}
	return best
}

// TestForbidden names imports that must stay refused.
func TestForbidden(t *testing.T) {
	layers := importLayers(t)
	for _, pair := range [][2]string{{"probe", "matrix"}, {"matrix", "internal/report"}, {"internal/version", "probe"},
		{"internal/logs", "internal/report"}, {"data", "internal/tables"}, {"probe/internal/driver", "probe"},
		{"matrix/internal/model", "matrix/internal/rules"}, {"matrix/internal/model", "matrix/internal/rules/rule"}, {"matrix/verdict", "matrix/internal/model"},
		{"internal/report", "cmd/cudacompat"}, {"matrix/internal/rules", "matrix"}} {
		if forbidden(layers, pair[0], pair[1]) == "" {
			t.Errorf("%s may import %s", pair[0], pair[1])
		}
	}
	for _, pair := range [][2]string{{"matrix", "probe/facts"}, {"internal/report", "matrix/verdict"},
		{"probe/internal/driver", "probe/host"}, {"matrix/internal/rules", "matrix/internal/pins"}, {"internal/tables", "data"}} {
		if why := forbidden(layers, pair[0], pair[1]); why != "" {
			t.Errorf("%s may not import %s: %s", pair[0], pair[1], why)
		}
	}
}
