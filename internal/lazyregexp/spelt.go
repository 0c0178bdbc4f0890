package lazyregexp

import (
	"strings"
	"unicode/utf8"
)

// alternatives lists, for each alternative of a group, the letters that it always contains. A text that lacks some of
// them for every alternative cannot match. Searching for them takes a hundredth of the time of matching.
type alternatives [][]letters

// letters is a fixed string, or a group that always matches, of which one alternative must occur.
type letters struct {
	text  string
	fold  bool // whether capitals are as good; the text has none
	group alternatives
}

// in reports whether a text may hold an alternative. Lower is the text without capitals.
func (a alternatives) in(text, lower string) bool {
	for _, one := range a {
		if allIn(one, text, lower) {
			return true
		}
	}
	return a == nil // no group, but letters
}

func allIn(one []letters, text, lower string) bool {
	for i := range one {
		l, where := &one[i], text
		if l.fold {
			where = lower
		}
		if !strings.Contains(where, l.text) || !l.group.in(text, lower) {
			return false
		}
	}
	return true
}

// speller finds the fixed letters of an expression in RE2's syntax, far faster than package regexp parses it.
type speller struct {
	expr  string
	at    int
	fold  bool // whether capitals are as good where it stands
	folds bool // whether they are anywhere
	other bool // whether it met other flags, or letters up to \E, which may be signs
}

// parts returns the alternatives up to the end of a group or the expression. If an alternative begins with a group, its
// alternatives replace it: (?:^|[^o] )Xid becomes two, of which the first is tried at one position only.
func (s *speller) parts() []part {
	all := s.part()
	for s.next() == '|' {
		s.at++
		all = append(all, s.part()...)
	}
	return all
}

func (s *speller) part() []part {
	before, flag := *s, ""
	if s.fold {
		flag = "(?i)"
	}
	if s.next() == '(' && s.enter() {
		heads := s.parts()
		s.at, s.fold = s.at+1, before.fold
		if quantified, _ := s.quantifier(); !quantified {
			from := s.at
			tail := s.alternative()
			for i := range heads {
				heads[i].letters = append(heads[i].letters, tail...)
				heads[i].expr = "(?:" + heads[i].expr + ")" + flag + s.until(from)
			}
			return heads
		}
	}
	s.at, s.fold = before.at, before.fold
	letters := s.alternative()
	return []part{{letters: letters, expr: flag + s.until(before.at)}}
}

// until returns the expression from an index to the current position.
func (s *speller) until(from int) string {
	return s.expr[min(from, len(s.expr)):min(s.at, len(s.expr))]
}

// alternatives returns those of a group, up to its closing bracket.
func (s *speller) alternatives() alternatives {
	all := alternatives{s.alternative()}
	for s.next() == '|' {
		s.at++
		all = append(all, s.alternative())
	}
	return all
}

// next returns the byte at which the speller stands, and 0 at the end.
func (s *speller) next() byte {
	if s.at < len(s.expr) {
		return s.expr[s.at]
	}
	return 0
}

func (s *speller) alternative() []letters {
	var all []letters
	for s.more() {
		if s.next() != '(' {
			if run := s.run(); run != "" {
				all = append(all, letters{text: run, fold: s.fold})
			}
			continue
		}
		group := s.group()
		if _, optional := s.quantifier(); !optional && group != nil {
			all = append(all, letters{group: group})
		}
	}
	return all
}

// more reports whether the alternative goes on.
func (s *speller) more() bool {
	return s.at < len(s.expr) && s.expr[s.at] != '|' && s.expr[s.at] != ')'
}

// run returns the literal letters from here on. It stops before a bracket or bar, or behind the next element that stands
// for no fixed letter, such as `\d`.
func (s *speller) run() string {
	from, end := s.at, s.at
	var other []byte // where the expression writes them otherwise
	for s.more() && s.expr[s.at] != '(' {
		if other == nil && !s.fold {
			s.skipPlain()
			end = s.at
		}
		letter := s.letter()
		written := s.expr[end:min(s.at, len(s.expr))]
		if quantified, _ := s.quantifier(); quantified || letter == "" {
			break
		}
		if other == nil && letter != written {
			other = []byte(s.expr[from:end])
		}
		if other != nil {
			other = append(other, letter...)
		}
		end = s.at
	}
	if other != nil {
		return string(other)
	}
	return s.expr[from:end]
}

// skipPlain skips letters that stand for themselves and are followed by another, so that no quantifier applies.
func (s *speller) skipPlain() {
	at, expr := s.at, s.expr
	for at+1 < len(expr) && plain(expr[at]) && plain(expr[at+1]) {
		at++
	}
	s.at = at
}

// plain reports whether a byte means nothing but itself. The signs are bits of two numbers: this is asked a hundred
// thousand times at the start.
func plain(c byte) bool {
	const signs, more = 1<<'.' | 1<<'+' | 1<<'*' | 1<<'?' | 1<<'(' | 1<<')' | 1<<'$', 1<<('\\'-64) | 1<<('['-64) |
		1<<('{'-64) | 1<<('|'-64) | 1<<('^'-64)
	if c < 64 {
		return uint64(signs)>>c&1 == 0
	}
	return c < utf8.RuneSelf && uint64(more)>>(c-64)&1 == 0
}

// group returns the alternatives of a group. It returns nil if the group only sets flags, which apply to the rest of
// the surrounding group.
func (s *speller) group() alternatives {
	outer := s.fold
	if !s.enter() {
		return nil
	}
	all := s.alternatives()
	s.at, s.fold = s.at+1, outer
	return all
}

// enter steps over a group's opening, and reports whether there is more of the group than flags.
func (s *speller) enter() bool {
	s.at++
	return s.next() != '?' || !s.flags()
}

// flags parses what follows a group's question mark: a name or flags. It reports whether the group ends with it.
func (s *speller) flags() bool {
	if end := strings.IndexByte(s.expr[s.at:], '>'); end > 0 && !strings.ContainsAny(s.expr[s.at:s.at+end], ":)") {
		s.at += end + 1
		return false
	}
	for on := true; s.at < len(s.expr); s.at++ {
		switch s.next() {
		case '-':
			on = false
		case 'i':
			s.fold, s.folds = on, true
		case 'm', 's', 'U':
			s.other = true
		case ':', ')':
			s.at++
			return s.expr[s.at-1] == ')'
		}
	}
	return false
}

// letter returns the letter that the current element always matches, or "".
func (s *speller) letter() string {
	from := s.at
	switch s.next() {
	case '[':
		s.class()
		return ""
	case '\\':
		return s.escape()
	case '.', '^', '$':
		s.at++
		return ""
	}
	if s.expr[from] < utf8.RuneSelf && !s.fold {
		s.at++
		return s.expr[from:s.at]
	}
	r, n := utf8.DecodeRuneInString(s.expr[from:])
	s.at += n
	switch {
	case r == utf8.RuneError || s.fold && r >= utf8.RuneSelf: // which other bytes, or letters, are as good as
		return ""
	case s.fold:
		return strings.ToLower(s.expr[from:s.at])
	}
	return s.expr[from:s.at]
}

// class steps over a class of letters.
func (s *speller) class() {
	s.at++
	if s.next() == '^' {
		s.at++
	}
	for first := true; s.at < len(s.expr); first = false {
		switch {
		case s.next() == ']' && !first:
			s.at++
			return
		case s.next() == '\\':
			s.at++
		case strings.HasPrefix(s.expr[s.at:], "[:"):
			s.at += 1 + max(0, strings.Index(s.expr[s.at:], ":]"))
		}
		s.at++
	}
}

// escape returns the sign that an escape spells.
func (s *speller) escape() string {
	s.at = min(s.at+2, len(s.expr))
	sign := s.expr[s.at-1 : s.at]
	switch c := sign[0]; {
	case c == 'Q':
		s.other = true
	case c == 'x' || c == 'p' || c == 'P':
		if s.next() == '{' {
			s.at += 1 + strings.IndexByte(s.expr[s.at:], '}')
		} else if s.at++; c == 'x' {
			s.at++
		}
	case '0' <= c && c <= '9':
		for '0' <= s.next() && s.next() <= '9' {
			s.at++
		}
	case c < '0' || c > 'z' || c > '9' && c < 'A' || c > 'Z' && c < 'a':
		return sign
	}
	return ""
}

// quantifier reports whether a quantifier follows, and whether it makes the element before it optional.
func (s *speller) quantifier() (is, optional bool) {
	switch s.next() {
	case '?', '*':
		optional = true
	case '+':
	case '{':
		rest := strings.TrimLeft(s.expr[s.at+1:], "0123456789,")
		if !strings.HasPrefix(rest, "}") {
			return false, false // it is a letter
		}
		optional = strings.HasPrefix(s.expr[s.at:], "{0")
		s.at = len(s.expr) - len(rest)
	default:
		return false, false
	}
	s.at++
	if s.next() == '?' {
		s.at++
	}
	return true, optional
}

// Literals returns texts of at least least letters, one of which occurs in every match. It returns nil if the
// expression has none.
func Literals(expr string, least int) []string {
	s := speller{expr: expr}
	all := s.literals(least)
	if s.other {
		return nil
	}
	return all
}

// literals returns the longest run of letters that each alternative up to the end of a group spells. Nil: one spells
// nothing long enough.
func (s *speller) literals(least int) []string {
	all := s.longest(least)
	for s.next() == '|' {
		s.at++
		if best := s.longest(least); best == nil || all == nil {
			all = nil
		} else {
			all = append(all, best...)
		}
	}
	return all
}

// longest returns the longest run of an alternative or, where a group has longer ones in all of its own, those.
func (s *speller) longest(least int) []string {
	var best []string
	for s.more() {
		var candidate []string
		if s.next() != '(' {
			if run := s.run(); !s.fold && len(run) >= least && (best == nil || len(run) >= shortest(best)) {
				candidate = []string{run}
			}
		} else if outer := s.fold; s.enter() {
			candidate = s.literals(least)
			s.at, s.fold = s.at+1, outer
			if _, optional := s.quantifier(); optional {
				candidate = nil
			}
		}
		if better(candidate, best) {
			best = candidate
		}
	}
	return best
}

// better prefers the set whose shortest text is longer.
func better(a, b []string) bool {
	return a != nil && (b == nil || shortest(a) > shortest(b) || shortest(a) == shortest(b) && len(a) < len(b))
}

func shortest(texts []string) int {
	least := len(texts[0])
	for _, text := range texts {
		least = min(least, len(text))
	}
	return least
}
