// Command rename gives the module another path: in go.mod and in every import, and nowhere else, since the names of
// JSON schemas begin with the same word. make rename MODULE=… calls it and runs the tests.
package main

import (
	"bytes"
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: rename MODULE, in the module's root")
		os.Exit(64)
	}
	if err := rename(".", os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "rename:", err)
		os.Exit(1)
	}
}

// rename changes the module under root. A path that `go install` would refuse is refused before anything is written.
func rename(root, to string) error {
	if err := module.CheckPath(to); err != nil {
		return err
	}
	from, err := renameModule(filepath.Join(root, "go.mod"), to)
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == ".git" || e.Name() == "testdata"):
			return filepath.SkipDir
		case e.IsDir() || filepath.Ext(name) != ".go":
			return nil
		}
		return renameImports(name, from, to)
	})
}

// renameModule writes go.mod with the new path and returns the old one.
func renameModule(name, to string) (string, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	file, err := modfile.Parse(name, data, nil)
	if err != nil {
		return "", err
	}
	from := file.Module.Mod.Path
	if err := file.AddModuleStmt(to); err != nil {
		return "", err
	}
	data, err = file.Format()
	if err != nil {
		return "", err
	}
	return from, os.WriteFile(name, data, 0o644)
}

// renameImports writes a file anew where it imports a package of the module.
func renameImports(name, from, to string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	changed, err := imports(data, from, to)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if bytes.Equal(changed, data) {
		return nil
	}
	return os.WriteFile(name, changed, 0o644)
}

// imports is a Go file with the imports of one module's packages led to another, the last first, so that what was
// parsed keeps its place.
func imports(data []byte, from, to string) ([]byte, error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, "", data, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	result := slices.Clone(data)
	for _, spec := range slices.Backward(parsed.Imports) {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		rest, ok := strings.CutPrefix(path, from)
		if !ok || rest != "" && rest[0] != '/' {
			continue
		}
		start := files.Position(spec.Path.Pos()).Offset
		result = slices.Replace(result, start, start+len(spec.Path.Value), []byte(strconv.Quote(to+rest))...)
	}
	if bytes.Equal(result, data) {
		return data, nil
	}
	return format.Source(result) // another path can stand elsewhere in the order of its group
}
