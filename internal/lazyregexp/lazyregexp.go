// Package lazyregexp holds regular expressions that are compiled when they are first used. A run of this program uses
// few of the some hundred it has, and compiling them all takes a third of its start; the child that asks NVML uses
// none.
package lazyregexp

import (
	"regexp"
	"sync"
)

// Regexp is a [regexp.Regexp] in waiting. Its methods are those of the same names.
type Regexp struct {
	expr     string
	once     sync.Once
	compiled *regexp.Regexp
}

// New is the expression expr in RE2's syntax. A broken one panics when it is first used; the package's test compiles
// every one of this program. It does nothing else so that the compiler can lay a variable out in the program, which
// then costs nothing at the start.
func New(expr string) *Regexp { return &Regexp{expr: expr} }

func (r *Regexp) get() *regexp.Regexp {
	r.once.Do(func() { r.compiled = regexp.MustCompile(r.expr) })
	return r.compiled
}

func (r *Regexp) Match(b []byte) bool { return r.get().Match(b) }

func (r *Regexp) MatchString(s string) bool { return r.get().MatchString(s) }

func (r *Regexp) FindString(s string) string { return r.get().FindString(s) }

func (r *Regexp) FindStringSubmatch(s string) []string { return r.get().FindStringSubmatch(s) }

func (r *Regexp) FindStringSubmatchIndex(s string) []int {
	return r.get().FindStringSubmatchIndex(s)
}

func (r *Regexp) SubexpNames() []string { return r.get().SubexpNames() }

func (r *Regexp) FindSubmatch(b []byte) [][]byte { return r.get().FindSubmatch(b) }

func (r *Regexp) FindAllString(s string, n int) []string { return r.get().FindAllString(s, n) }

func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.get().FindAllStringSubmatch(s, n)
}

func (r *Regexp) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return r.get().FindAllStringSubmatchIndex(s, n)
}

func (r *Regexp) FindAllSubmatch(b []byte, n int) [][][]byte {
	return r.get().FindAllSubmatch(b, n)
}

func (r *Regexp) ReplaceAll(src, repl []byte) []byte { return r.get().ReplaceAll(src, repl) }

func (r *Regexp) ReplaceAllString(src, repl string) string {
	return r.get().ReplaceAllString(src, repl)
}

func (r *Regexp) ReplaceAllStringFunc(src string, repl func(string) string) string {
	return r.get().ReplaceAllStringFunc(src, repl)
}

// String is the expression.
func (r *Regexp) String() string { return r.expr }
