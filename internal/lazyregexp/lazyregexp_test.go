package lazyregexp

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// fromArguments is the number of functions that build an expression from their arguments. The tests of their packages
// use every one.
const fromArguments = 6

// TestEveryExpressionCompiles reads this program's sources: a user would be the first to compile one of them.
func TestEveryExpressionCompiles(t *testing.T) {
	compiled, unread := 0, 0
	for dir, files := range sources(t) {
		constants := constantsOf(files)
		for _, file := range files {
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || !isNew(call) {
					return true
				}
				expr, ok := text(call.Args[0], constants)
				if !ok {
					unread++
					return true
				}
				if _, err := regexp.Compile(expr); err != nil {
					t.Errorf("%s: %v", dir, err)
				}
				compiled++
				return true
			})
		}
	}
	if compiled < 300 || unread > fromArguments {
		t.Errorf("%d expressions compiled, %d could not be read; want 300 and at most %d", compiled, unread,
			fromArguments)
	}
}

// sources returns the files of every package of this module, tests and tools left out.
func sources(t *testing.T) map[string][]*ast.File {
	all := map[string][]*ast.File{}
	err := filepath.WalkDir("../..", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "tools"):
			return fs.SkipDir
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		all[filepath.Dir(name)] = append(all[filepath.Dir(name)], file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// constantsOf returns the expressions by which a package's names are declared.
func constantsOf(files []*ast.File) map[string]ast.Expr {
	constants := map[string]ast.Expr{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == len(spec.Names) {
				for i, name := range spec.Names {
					constants[name.Name] = spec.Values[i]
				}
			}
			return true
		})
	}
	return constants
}

func isNew(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || f.Sel.Name != "New" {
		return false
	}
	of, ok := f.X.(*ast.Ident)
	return ok && of.Name == "lazyregexp"
}

// text returns a constant string.
func text(e ast.Expr, constants map[string]ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil
	case *ast.BinaryExpr:
		left, ok := text(e.X, constants)
		right, also := text(e.Y, constants)
		return left + right, ok && also && e.Op == token.ADD
	case *ast.Ident:
		if value, ok := constants[e.Name]; ok {
			return text(value, constants)
		}
	}
	return "", false
}

func TestCompiledWhenUsed(t *testing.T) {
	New(`(`) // compiled by nobody
	if got := New(`b+`).FindString("abbc"); got != "bb" {
		t.Errorf("found %q", got)
	}
}
