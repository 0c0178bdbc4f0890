package triage

import (
	"slices"
	"strings"
)

// literalsOf are texts of which one stands in every match of a pattern, read from the pattern's own letters: the
// longest run that it always spells, or one of each alternative. It is far cheaper than parsing the pattern, which
// only those need whose literal a log holds; a test proves every one of them. Nil: the pattern spells nothing long
// enough.
func literalsOf(pattern string) []string {
	if strings.Contains(pattern, "(?i)") {
		return nil // its letters may be capitals
	}
	var all []string
	for _, branch := range branches(pattern) {
		best := longest(branch)
		if best == nil {
			return nil
		}
		all = append(all, best...)
	}
	return all
}

// branches are the alternatives of a pattern: the parts between its bars outside brackets.
func branches(pattern string) []string {
	var all []string
	from := 0
	for i := 0; i < len(pattern); {
		if pattern[i] == '|' {
			all, from = append(all, pattern[from:i]), i+1
			i++
			continue
		}
		i = elementEnd(pattern, i)
	}
	return append(all, pattern[from:])
}

// elementEnd is where the element that begins at i ends: a letter, an escape, a class or a group.
func elementEnd(pattern string, i int) int {
	switch pattern[i] {
	case '\\':
		return min(i+2, len(pattern))
	case '[':
		for j := i + 1; j < len(pattern); j++ {
			if pattern[j] == '\\' {
				j++
			} else if pattern[j] == ']' && j > i+1 {
				return j + 1
			}
		}
		return len(pattern)
	case '(':
		for j := i + 1; j < len(pattern); {
			if pattern[j] == ')' {
				return j + 1
			}
			j = elementEnd(pattern, j)
		}
		return len(pattern)
	}
	return i + 1
}

// longest is the longest run of letters that a branch always spells, or, where a group that must match has longer ones
// in all its branches, those.
func longest(branch string) []string {
	var run []byte
	var best []string
	keep := func(candidate []string) {
		if better(candidate, best) {
			best = candidate
		}
	}
	flush := func() {
		if len(run) > 0 && (best == nil || len(run) >= shortest(best)) {
			keep([]string{string(run)})
		}
		run = run[:0]
	}
	for i := 0; i < len(branch); {
		end := elementEnd(branch, i)
		element := branch[i:end]
		optional, more := quantified(branch, end)
		switch letter, plain := letterOf(element); {
		case plain && !optional && end == more:
			run = append(run, letter...)
		case element[0] == '(' && !optional && !strings.HasPrefix(element, "(?i"):
			flush()
			keep(literalsOf(groupBody(element)))
		default:
			flush()
		}
		i = more
	}
	flush()
	if best != nil && shortest(best) < minLiteral {
		return nil
	}
	return best
}

// quantified reports whether what ends at i may be missing, and where its quantifier ends.
func quantified(branch string, i int) (optional bool, end int) {
	if i >= len(branch) {
		return false, i
	}
	switch branch[i] {
	case '?', '*':
		optional, end = true, i+1
	case '+':
		end = i + 1
	case '{':
		closing := strings.IndexByte(branch[i:], '}')
		if closing < 0 {
			return false, i
		}
		optional, end = strings.HasPrefix(branch[i:], "{0"), i+closing+1
	default:
		return false, i
	}
	if end < len(branch) && branch[end] == '?' {
		end++
	}
	return optional, end
}

// letterOf is the letter that an element spells.
func letterOf(element string) (letter string, plain bool) {
	switch {
	case len(element) == 1:
		return element, element[0] != '.' && element[0] != '^' && element[0] != '$'
	case element[0] == '\\' && strings.IndexByte(`.^$*+?()[]{}|\/-"'#:,=<>@!&%~`, element[1]) >= 0:
		return element[1:], true
	}
	return "", false
}

// groupBody is what stands in a group, without its brackets and name.
func groupBody(group string) string {
	body := strings.TrimSuffix(group[1:], ")")
	if strings.HasPrefix(body, "?P<") {
		return body[strings.IndexByte(body, '>')+1:]
	}
	return strings.TrimPrefix(body, "?:")
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

// needles are, for each alternative of a pattern, what it always spells: a text that lacks a part of every alternative
// cannot match. To look for them costs a hundredth of the pattern. Nil: nothing is known.
type needles [][]needle

// needle is a run of letters, or a group that is always there, of which one alternative must be.
type needle struct {
	text  string
	group needles
}

func needlesOf(pattern string) needles {
	if strings.Contains(pattern, "(?i)") {
		return nil
	}
	var all needles
	for _, branch := range branches(pattern) {
		all = append(all, spelled(branch))
	}
	return all
}

// spelled is what a branch always spells: its letters, as far as they stand together, and its groups.
func spelled(branch string) []needle {
	var all []needle
	run := ""
	flush := func() {
		if run != "" {
			all, run = append(all, needle{text: run}), ""
		}
	}
	for i := 0; i < len(branch); {
		end := elementEnd(branch, i)
		element := branch[i:end]
		optional, more := quantified(branch, end)
		switch letter, plain := letterOf(element); {
		case plain && !optional && end == more:
			run += letter
		case element[0] == '(' && !optional && !flagged(element):
			flush()
			all = append(all, needle{group: needlesOf(groupBody(element))})
		default:
			flush()
		}
		i = more
	}
	flush()
	return all
}

// flagged reports whether a group has flags, by which its letters may mean others.
func flagged(group string) bool {
	return strings.HasPrefix(group, "(?") && !strings.HasPrefix(group, "(?:") && !strings.HasPrefix(group, "(?P<")
}

// in reports whether a text may hold an alternative.
func (n needles) in(text string) bool {
	return n == nil || slices.ContainsFunc(n, func(all []needle) bool {
		return !slices.ContainsFunc(all, func(one needle) bool {
			return !strings.Contains(text, one.text) || !one.group.in(text)
		})
	})
}
