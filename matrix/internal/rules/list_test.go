package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// TestEveryRuleIsListed finds functions with the form of a rule that All does not list and no other package calls. Such
// a rule would never run, and no linter finds it, because its name is exported.
func TestEveryRuleIsListed(t *testing.T) {
	listed := map[string]bool{}
	for _, r := range All {
		for _, f := range []any{r.OnMachine, r.OnBuild} {
			if v := reflect.ValueOf(f); !v.IsNil() {
				name := runtime.FuncForPC(v.Pointer()).Name() // cudacompat/matrix/internal/rules/driver.Missing
				listed[name[strings.LastIndex(name, "/")+1:]] = true
			}
		}
	}
	files, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]string{} // by package
	var rules []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		family := filepath.Dir(file)
		sources[family] += string(text)
		for _, name := range rulesIn(t, file, text) {
			rules = append(rules, family+"."+name)
		}
	}
	for _, name := range rules {
		family, _, _ := strings.Cut(name, ".")
		called := false
		for other, text := range sources {
			called = called || other != family && strings.Contains(text, name+"(")
		}
		if !listed[name] && !called {
			t.Errorf("%s is in no list and nothing calls it", name)
		}
	}
	if len(rules) < 60 {
		t.Errorf("only %d rules were found", len(rules))
	}
}

// rulesIn returns the exported functions of a file that have the form of a rule's OnMachine or OnBuild.
func rulesIn(t *testing.T, name string, text []byte) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil || !f.Name.IsExported() {
			continue
		}
		switch form := types.ExprString(f.Type); form {
		case "func(m *model.Machine) []*rule.Result", "func(m *model.Machine, b *model.Build) []*rule.Result":
			names = append(names, f.Name.Name)
		}
	}
	return names
}
