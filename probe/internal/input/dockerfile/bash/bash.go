// Package bash expands what Bash has beyond the shell of POSIX: braces and $'…'.
package bash

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// maxBraced bounds the words that the braces of one word make: {1..9}{1..9}{1..9} makes 729.
const maxBraced = 1_000

// deepest bounds braces within braces.
const deepest = 4

// Braces returns the words that Bash makes of the braces in one: torch{vision,audio} is two. ok is false where they make too
// many. The shell of POSIX leaves braces as they are, and no installer takes a name with one.
func Braces(w *syntax.Word) (list []*syntax.Word, ok bool) {
	if !slices.ContainsFunc(w.Parts, func(part syntax.WordPart) bool {
		lit, ok := part.(*syntax.Lit)
		return ok && strings.Contains(lit.Value, "{")
	}) {
		return []*syntax.Word{w}, true
	}
	split := &syntax.Word{Parts: slices.Clone(w.Parts)}
	syntax.SplitBraces(split)
	if list, ok = alternatives(split, 0); !ok {
		return nil, false
	}
	return list, true
}

// alternatives multiplies the alternatives of each brace in a word that is split at them.
func alternatives(w *syntax.Word, depth int) (list []*syntax.Word, ok bool) {
	list = []*syntax.Word{{}}
	for _, part := range w.Parts {
		b, isBrace := part.(*syntax.BraceExp)
		if !isBrace {
			for _, one := range list {
				one.Parts = append(one.Parts, part)
			}
			continue
		}
		choices, ok := choicesOf(b, depth)
		if !ok || len(choices)*len(list) > maxBraced {
			return nil, false
		}
		var next []*syntax.Word
		for _, one := range list {
			for _, choice := range choices {
				next = append(next, &syntax.Word{Parts: slices.Concat(one.Parts, choice.Parts)})
			}
		}
		list = next
	}
	return list, true
}

// choicesOf returns what one brace stands for: its alternatives, or the numbers of {1..9}.
func choicesOf(b *syntax.BraceExp, depth int) (list []*syntax.Word, ok bool) {
	if b.Sequence {
		first, wrong := strconv.Atoi(b.Elems[0].Lit())
		last, bad := strconv.Atoi(b.Elems[1].Lit())
		if wrong != nil || bad != nil || len(b.Elems) != 2 || first > last || last-first >= maxBraced {
			return nil, false
		}
		for n := first; n <= last; n++ {
			list = append(list, &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: strconv.Itoa(n)}}})
		}
		return list, true
	}
	for _, elem := range b.Elems {
		more, ok := alternatives(elem, depth+1)
		if list = append(list, more...); !ok || depth > deepest || len(list) > maxBraced {
			return nil, false
		}
	}
	return list, true
}

// Unescape returns the text of Bash's $'…', whose backslashes stand for characters: \x74 is t.
func Unescape(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			out.WriteByte(text[i])
			continue
		}
		i++
		c := text[i]
		digits, base, most := i+1, 16, map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
		if c >= '0' && c <= '7' {
			digits, base, most = i, 8, 3
		}
		end := digits
		for end < len(text) && end < digits+most && isDigit(text[end], base) {
			end++
		}
		n, err := strconv.ParseUint(text[digits:end], base, 32)
		switch plain := strings.IndexByte(`abefnrtv`, c); {
		case most > 0 && err == nil && (c == 'u' || c == 'U') && n <= utf8.MaxRune:
			out.WriteRune(rune(n))
			i = end - 1
		case most > 0 && err == nil && c != 'u' && c != 'U':
			out.WriteByte(byte(n))
			i = end - 1
		case plain >= 0:
			out.WriteByte("\a\b\x1b\f\n\r\t\v"[plain])
		case strings.IndexByte(`\'"?`, c) >= 0:
			out.WriteByte(c)
		default:
			out.WriteByte('\\')
			out.WriteByte(c)
		}
	}
	return out.String()
}

// isDigit reports whether a character is a digit of octal or hexadecimal numbers.
func isDigit(c byte, base int) bool {
	return c >= '0' && c <= '7' || base == 16 && strings.IndexByte("89abcdefABCDEF", c) >= 0
}
