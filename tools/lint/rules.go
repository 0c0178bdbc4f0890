package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// offender is one violation of a rule.
type offender struct {
	key
	place   string // "probe/run.go:12"
	message string
}

// lintModule checks every package of the module in root.
func lintModule(root string) ([]offender, error) {
	var found []offender
	err := filepath.WalkDir(root, func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		name := d.Name()
		if dir != root {
			if name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
				return filepath.SkipDir // a module of its own
			}
		}
		more, err := lintPackage(root, dir)
		found = append(found, more...)
		return err
	})
	return found, err
}

// The largest sizes, in lines.
const (
	maxFunction = 60
	maxPackage  = 2500
	perOffender = 100 // of the lines beyond maxPackage
)

// lintPackage checks the Go files in one directory. Files for other systems count too.
func lintPackage(root, dir string) ([]offender, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(root, dir)
	if err != nil {
		return nil, err
	}
	var found []offender
	files, lines, documented := 0, 0, false
	fset := token.NewFileSet()
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		if ast.IsGenerated(file) {
			continue
		}
		files++
		lines += fset.File(file.FileStart).LineCount()
		documented = documented || file.Doc != nil
		for _, o := range lintFile(fset, file) {
			o.dir = filepath.ToSlash(rel)
			found = append(found, o)
		}
	}
	if files > 0 && !documented {
		found = append(found, offender{key{filepath.ToSlash(rel), "package"}, dir, "no package comment"})
	}
	for limit := maxPackage; limit < lines; limit += perOffender {
		found = append(found, offender{key{filepath.ToSlash(rel), "size"}, dir, fmt.Sprintf("%d lines, more than %d: split the package", lines, limit)})
	}
	return found, nil
}

// lintFile checks the functions of one file.
func lintFile(fset *token.FileSet, file *ast.File) []offender {
	var found []offender
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		add := func(rule, message string) {
			place := fset.Position(f.Pos())
			found = append(found, offender{key{rule: rule}, fmt.Sprintf("%s:%d", place.Filename, place.Line), message})
		}
		if first := firstWord(f.Doc.Text()); first != "" && first != f.Name.Name {
			add("doc", fmt.Sprintf("the comment of %s begins with %q", f.Name.Name, first))
		}
		if n := fset.Position(f.End()).Line - fset.Position(f.Pos()).Line + 1; n > maxFunction {
			add("long", fmt.Sprintf("%s has %d lines, more than %d: split it", f.Name.Name, n, maxFunction))
		}
		if m := prefixWord.FindStringSubmatch(f.Name.Name); m != nil && !(strings.EqualFold(m[1], "with") && mayBeWith(f)) {
			add("name", fmt.Sprintf("%s begins with %q: begin with a verb, or name the result", f.Name.Name, m[1]))
		}
	}
	return found
}

// prefixWord matches the words that no function's name begins with.
var prefixWord = regexp.MustCompile(`^([Oo]f|[Bb]y|[Ww]ithout|[Ww]ith|[Aa]nd)(?:[A-Z]|$)`)

// firstWord returns the first word of a comment; "A", "An" and "The" belong to the next one.
func firstWord(text string) string {
	words := strings.Fields(text)
	if len(words) > 1 && (words[0] == "A" || words[0] == "An" || words[0] == "The") {
		words = words[1:]
	}
	if len(words) == 0 {
		return ""
	}
	return strings.TrimRight(words[0], ",:.")
}

// mayBeWith reports whether a function is an option, or returns a copy of its receiver or of its first argument.
func mayBeWith(f *ast.FuncDecl) bool {
	if f.Type.Results == nil {
		return false
	}
	result := types.ExprString(f.Type.Results.List[0].Type)
	if strings.HasPrefix(result, "func(") || strings.HasSuffix(result, "Option") {
		return true
	}
	same := func(list *ast.FieldList) bool {
		return list != nil && len(list.List) > 0 &&
			strings.TrimPrefix(types.ExprString(list.List[0].Type), "*") == strings.TrimPrefix(result, "*")
	}
	return same(f.Recv) || same(f.Type.Params)
}
