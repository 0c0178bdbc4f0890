// Package lazyregexp compiles regular expressions at first use, and applies them only to texts with the letters that
// every match contains. A run uses few of the program's several hundred expressions, and compiling all takes a third of
// its start. A line of a log matches even fewer, and package regexp takes a hundred times as long to find that out as a
// search for the letters.
package lazyregexp

import (
	"bytes"
	"iter"
	"regexp"
	"strings"
	"sync"
)

// Regexp is a [regexp.Regexp] that is compiled at first use. Its methods have the same names. Its working data is
// stored elsewhere, because the program has hundreds of them.
type Regexp struct {
	expr        string
	once        sync.Once
	compilation *compilation
}

// compilation is what is made of an expression when it is first used.
type compilation struct {
	parts []part // its alternatives; none where they cannot be told apart
	folds bool   // whether capitals are as good for some of their letters
	compiled
}

// part is one alternative of an expression.
type part struct {
	letters []letters
	expr    string
	compiled
}

// compiled is an expression when it is needed.
type compiled struct {
	once   sync.Once
	regexp *regexp.Regexp
}

func (c *compiled) compile(expr string) *regexp.Regexp {
	c.once.Do(func() { c.regexp = regexp.MustCompile(expr) })
	return c.regexp
}

// New returns the expression expr in RE2's syntax. A broken one panics when it is first used; the package's test
// compiles every one of this program. It does nothing else so that the compiler can lay a variable out in the program,
// which then costs nothing at the start.
func New(expr string) *Regexp { return &Regexp{expr: expr} }

func (r *Regexp) get() *regexp.Regexp { return r.read().compile(r.expr) }

// read reads what the expression spells.
func (r *Regexp) read() *compilation {
	r.once.Do(func() {
		s := speller{expr: r.expr}
		r.compilation = &compilation{parts: s.parts(), folds: s.folds}
		if s.other {
			r.compilation.parts = nil
		}
	})
	return r.compilation
}

// Spelt reports whether a text has the letters of a match.
func (r *Regexp) Spelt(s string) bool {
	return r.read().any(s, func(*part) bool { return true })
}

// may reports whether a text may match: whether it has the letters, and, of several alternatives, whether one of them
// matches. Each is a shorter program than all of them, and most texts have the letters of none or one.
func (r *Regexp) may(s string) bool {
	k := r.read()
	return k.any(s, func(p *part) bool { return len(k.parts) == 1 || p.compile(p.expr).MatchString(s) })
}

// any reports whether an alternative of which a text has the letters is as wanted.
func (k *compilation) any(s string, wanted func(*part) bool) bool {
	lower := ""
	if k.folds {
		if strings.Contains(s, "ſ") { // the one letter that is as good as one of ASCII and no capital
			return true
		}
		lower = strings.ToLower(s)
	}
	for i := range k.parts {
		if p := &k.parts[i]; allIn(p.letters, s, lower) && wanted(p) {
			return true
		}
	}
	return k.parts == nil
}

func (r *Regexp) Match(b []byte) bool { return r.get().Match(b) }

func (r *Regexp) MatchString(s string) bool { return r.may(s) && r.get().MatchString(s) }

func (r *Regexp) FindString(s string) string {
	if !r.may(s) {
		return ""
	}
	return r.get().FindString(s)
}

func (r *Regexp) FindStringSubmatch(s string) []string {
	if !r.may(s) {
		return nil
	}
	return r.get().FindStringSubmatch(s)
}

func (r *Regexp) FindStringSubmatchIndex(s string) []int {
	if !r.may(s) {
		return nil
	}
	return r.get().FindStringSubmatchIndex(s)
}

func (r *Regexp) SubexpIndex(name string) int { return r.get().SubexpIndex(name) }

func (r *Regexp) SubexpNames() []string { return r.get().SubexpNames() }

func (r *Regexp) FindSubmatch(b []byte) [][]byte { return r.get().FindSubmatch(b) }

func (r *Regexp) FindAllString(s string, n int) []string { return r.get().FindAllString(s, n) }

func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.get().FindAllStringSubmatch(s, n)
}

func (r *Regexp) FindAllStringSubmatchIndex(s string, n int) [][]int {
	if !r.may(s) {
		return nil
	}
	return r.get().FindAllStringSubmatchIndex(s, n)
}

func (r *Regexp) FindAllSubmatch(b []byte, n int) [][][]byte {
	return r.get().FindAllSubmatch(b, n)
}

// block is about how many bytes EachSubmatch searches at a time.
const block = 64 << 10

// EachSubmatch returns the matches that FindAllSubmatch lists, of a pattern that matches within one line. A file of
// half a million such lines makes no list of them all.
func (r *Regexp) EachSubmatch(b []byte) iter.Seq[[][]byte] {
	return func(yield func([][]byte) bool) {
		for len(b) > 0 {
			end := len(b)
			if end > block {
				if end = block + bytes.IndexByte(b[block:], '\n') + 1; end == block {
					end = len(b)
				}
			}
			for _, m := range r.get().FindAllSubmatch(b[:end], -1) {
				if !yield(m) {
					return
				}
			}
			b = b[end:]
		}
	}
}

func (r *Regexp) ReplaceAll(src, repl []byte) []byte { return r.get().ReplaceAll(src, repl) }

func (r *Regexp) ReplaceAllString(src, repl string) string {
	if !r.may(src) {
		return src
	}
	return r.get().ReplaceAllString(src, repl)
}

func (r *Regexp) ReplaceAllStringFunc(src string, repl func(string) string) string {
	if !r.may(src) {
		return src
	}
	return r.get().ReplaceAllStringFunc(src, repl)
}

// String returns the expression.
func (r *Regexp) String() string { return r.expr }
