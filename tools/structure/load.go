package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// pkg is one package of this repository with what the type checker knows of it.
type pkg struct {
	path  string
	fset  *token.FileSet
	files []*ast.File
	types *types.Package
	info  *types.Info
}

// listed is what `go list` says of a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles, CgoFiles       []string
	Module                  *struct{ Main bool }
}

// paths are the import paths of patterns.
func paths(patterns []string) ([]string, error) {
	out, err := exec.Command("go", append([]string{"list"}, patterns...)...).Output()
	return strings.Fields(string(out)), err
}

// load type-checks the repository's own packages of a pattern; what they import comes from the compiler's exports.
func load(pattern string) ([]*pkg, error) {
	out, err := exec.Command("go", "list", "-export", "-deps",
		"-json=ImportPath,Dir,Export,GoFiles,CgoFiles,Module", pattern).Output()
	if err != nil {
		return nil, err
	}
	var own []listed
	exports := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[l.ImportPath] = l.Export
		if l.Module != nil && l.Module.Main {
			own = append(own, l)
		}
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	var list []*pkg
	for _, l := range own {
		p, err := check(l, fset, imports)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

func check(l listed, fset *token.FileSet, imports types.Importer) (*pkg, error) {
	p := &pkg{path: l.ImportPath, fset: fset, info: &types.Info{Uses: map[*ast.Ident]types.Object{}}}
	for _, name := range slices.Concat(l.GoFiles, l.CgoFiles) {
		f, err := parser.ParseFile(fset, filepath.Join(l.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		p.files = append(p.files, f)
	}
	conf := types.Config{Importer: imports, FakeImportC: true}
	var err error
	if p.types, err = conf.Check(l.ImportPath, fset, p.files, p.info); err != nil {
		return nil, fmt.Errorf("%s: %w", l.ImportPath, err)
	}
	return p, nil
}

// fileOf is the number of the file that holds a position, -1 where none of the package does.
func (p *pkg) fileOf(pos token.Pos) int {
	return slices.IndexFunc(p.files, func(f *ast.File) bool { return f.FileStart <= pos && pos < f.FileEnd })
}

// wide counts the lines over 120 columns; a tab is one.
func (p *pkg) wide() int {
	n := 0
	for _, f := range p.files {
		text, err := os.ReadFile(p.fset.Position(f.FileStart).Filename)
		if err != nil {
			continue
		}
		for line := range bytes.Lines(text) {
			if utf8.RuneCount(bytes.TrimRight(line, "\n")) > 120 {
				n++
			}
		}
	}
	return n
}
