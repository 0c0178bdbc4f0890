package pysource

import (
	"bytes"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
)

// Takes lists the names that the import of a source is certain to take of a module: those that it imports from there,
// and the module's attributes in statements of the top level or of a class that nothing makes conditional or catches.
func Takes(data []byte, module string) []string {
	if !bytes.Contains(data, []byte(module)) {
		return nil
	}
	t := &taking{module: module}
	p := newParser()
	p.takes = t
	p.read(&scanner{data: data, skip: -1})
	return t.names
}

// TakenFrom is Takes as far as a summary shows: imported names, and no attributes.
func (s Summary) TakenFrom(module string) []string {
	var names []string
	for _, i := range s.Imports {
		if i.Certain && i.Level == 0 && i.Module == module {
			names = append(names, slices.DeleteFunc(slices.Clone(i.Names), func(n string) bool { return n == "*" })...)
		}
	}
	return names
}

// taking is what a source takes of one module.
type taking struct {
	module  string
	aliases []string // the names that the module has in this source
	names   []string
}

// line reads one statement.
func (t *taking) line(l line) {
	switch word := l.word(); {
	case compounds[word], conditional.MatchString(l.text):
	case word == "import":
		for part := range strings.SplitSeq(strings.TrimPrefix(l.text, "import"), ",") {
			t.takeImport(strings.Fields(part))
		}
	case word == "from":
		if i, ok := parseFrom(l.text); ok && i.Level == 0 && i.Module == t.module {
			t.take(i.Names...)
		}
	case len(t.aliases) > 0:
		text := annotation.ReplaceAllString(l.text, "") // which may not be evaluated
		for _, m := range attribute.FindAllStringSubmatch(text, -1) {
			if slices.Contains(t.aliases, m[1]) {
				t.take(m[2])
			}
		}
	}
}

var (
	// conditional matches what may leave a part of a statement out, or for later.
	conditional = lazyregexp.New(`\b(lambda|if|or|and|for|assert)\b`)
	annotation  = lazyregexp.New(`^[\w.]+\s*:[^=]*`)
	attribute   = lazyregexp.New(`(?:^|[^\w.])([A-Za-z_]\w*)\s*\.\s*([A-Za-z_]\w*)`)
)

// takeImport takes what "import" gives a name to: [ml_dtypes], [numpy as np].
func (t *taking) takeImport(words []string) {
	switch {
	case len(words) == 0 || words[0] != t.module:
	case len(words) == 1:
		t.aliases = append(t.aliases, t.module)
	case len(words) == 3 && words[1] == "as":
		t.aliases = append(t.aliases, words[2])
	}
}

func (t *taking) take(names ...string) {
	for _, n := range names {
		if n != "*" && !slices.Contains(t.names, n) {
			t.names = append(t.names, n)
		}
	}
}
