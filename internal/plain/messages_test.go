package plain

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// spoken are the directories whose strings people read.
var spoken = []string{"cmd", "matrix", "probe", "internal/fleet", "internal/guard", "internal/report", "internal/logs",
	"internal/tables", "internal/bundle", "internal/version",
	"internal/rpmdb"}

// TestMessages finds odd English in the strings of the program: messages, needs, steps, hints, help.
func TestMessages(t *testing.T) {
	files := token.NewFileSet()
	for _, dir := range spoken {
		err := filepath.WalkDir("../../"+dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if field, ok := n.(*ast.Field); ok && field.Tag != nil || isPattern(n) {
					return false
				}
				if text, ok := literal(n); ok && strings.Contains(text, " ") { // a word is a name
					for _, odd := range Odd(text) {
						t.Errorf("%s: %s", files.Position(n.Pos()), odd)
					}
					return false
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// isPattern reports whether a call makes an expression, which matches what other programs say.
func isPattern(n ast.Node) bool {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return false
	}
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		return fun.Name == "newForm"
	case *ast.SelectorExpr:
		from, ok := fun.X.(*ast.Ident)
		return ok && from.Name == "lazyregexp"
	}
	return false
}

// literal returns a string, or strings that are added up; what is between them is any word.
func literal(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(n.Value)
		return text, err == nil && n.Kind == token.STRING
	case *ast.BinaryExpr:
		if n.Op != token.ADD {
			return "", false
		}
		left, known := literal(n.X)
		right, alsoKnown := literal(n.Y)
		if !known {
			left = "…"
		}
		if !alsoKnown {
			right = "…"
		}
		return left + right, known || alsoKnown
	}
	return "", false
}

// TestAnswers reports odd English in the tables: the signatures' reasons and steps, and the advisories.
func TestAnswers(t *testing.T) {
	files, err := filepath.Glob("../../data/signature/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no signatures: %v", err)
	}
	for _, file := range append(files, "../../data/advisory.csv") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		number := 0
		for line := range strings.Lines(string(text)) {
			number++
			if strings.HasSuffix(file, ".txt") && !strings.HasPrefix(line, "because: ") && !strings.HasPrefix(line, "do: ") {
				continue
			}
			for _, odd := range Odd(line) {
				t.Errorf("%s:%d: %s", file, number, odd)
			}
		}
	}
}
