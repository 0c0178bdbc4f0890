// Package lazyregexp holds regular expressions that are compiled when they are first used. A run of this program uses
// few of the some hundred it has, and compiling them all takes a third of its start; the child that asks NVML uses
// none.
package lazyregexp

import (
	"os"
	"regexp"
	"strings"
	"sync"
)

// Regexp is a [regexp.Regexp] in waiting. Its methods are those of the same names.
type Regexp struct {
	compiled func() *regexp.Regexp
}

// New is the expression expr in RE2's syntax. A broken one panics when it is first used, and in a test at once.
func New(expr string) *Regexp {
	r := &Regexp{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })}
	if inTest {
		r.compiled()
	}
	return r
}

// inTest: a test's program is called so by the go command. Asking package testing would link it into every program.
var inTest = strings.HasSuffix(os.Args[0], ".test")

func (r *Regexp) Match(b []byte) bool { return r.compiled().Match(b) }

func (r *Regexp) MatchString(s string) bool { return r.compiled().MatchString(s) }

func (r *Regexp) FindString(s string) string { return r.compiled().FindString(s) }

func (r *Regexp) FindStringSubmatch(s string) []string { return r.compiled().FindStringSubmatch(s) }

func (r *Regexp) FindStringSubmatchIndex(s string) []int {
	return r.compiled().FindStringSubmatchIndex(s)
}

func (r *Regexp) SubexpNames() []string { return r.compiled().SubexpNames() }

func (r *Regexp) FindSubmatch(b []byte) [][]byte { return r.compiled().FindSubmatch(b) }

func (r *Regexp) FindAllString(s string, n int) []string { return r.compiled().FindAllString(s, n) }

func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.compiled().FindAllStringSubmatch(s, n)
}

func (r *Regexp) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return r.compiled().FindAllStringSubmatchIndex(s, n)
}

func (r *Regexp) FindAllSubmatch(b []byte, n int) [][][]byte {
	return r.compiled().FindAllSubmatch(b, n)
}

func (r *Regexp) ReplaceAll(src, repl []byte) []byte { return r.compiled().ReplaceAll(src, repl) }

func (r *Regexp) ReplaceAllString(src, repl string) string {
	return r.compiled().ReplaceAllString(src, repl)
}

func (r *Regexp) ReplaceAllStringFunc(src string, repl func(string) string) string {
	return r.compiled().ReplaceAllStringFunc(src, repl)
}

// String is the expression.
func (r *Regexp) String() string { return r.compiled().String() }
