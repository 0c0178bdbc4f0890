package lint

import (
	"regexp/syntax"
	"slices"
	"strings"
)

// mustContain reports whether every text that matches pattern contains one of the literals. It returns false if the
// parsed pattern does not prove it.
func mustContain(pattern string, literals []string) bool {
	re, err := syntax.Parse(pattern, syntax.Perl)
	return err == nil && proves(re, literals)
}

func proves(re *syntax.Regexp, literals []string) bool {
	switch re.Op {
	case syntax.OpLiteral, syntax.OpConcat:
		if provesRun(re, literals) {
			return true
		}
		return slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return proves(sub, literals) })
	case syntax.OpAlternate:
		return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !proves(sub, literals) })
	case syntax.OpCapture, syntax.OpPlus:
		return proves(re.Sub[0], literals)
	case syntax.OpRepeat:
		return re.Min > 0 && proves(re.Sub[0], literals)
	}
	return false
}

// provesRun looks for a literal in the text that the expression always contains, with alternatives multiplied out: the
// parser factors cudaErrorA|cudaErrorB into cudaError(?:A|B).
func provesRun(re *syntax.Regexp, literals []string) bool {
	spelt := spellings(re)
	return len(spelt) > 0 && !slices.ContainsFunc(spelt, func(text string) bool {
		return !slices.ContainsFunc(literals, func(lit string) bool { return strings.Contains(text, lit) })
	})
}

// maxSpellings limits the work for patterns with many alternatives.
const maxSpellings = 256

// spellings lists the texts that an expression matches. It writes parts that are not fixed as "\x00", which no literal
// contains. It returns nil if there are too many.
func spellings(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return []string{string(re.Rune)}
		}
		if len(re.Rune) == 1 { // the parser writes [Ll] as (?i:l)
			return []string{strings.ToLower(string(re.Rune)), strings.ToUpper(string(re.Rune))}
		}
	case syntax.OpCharClass:
		return members(re.Rune)
	case syntax.OpQuest:
		return append(spellings(re.Sub[0]), "")
	case syntax.OpCapture:
		return spellings(re.Sub[0])
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			all = append(all, spellings(sub)...)
		}
		return all
	case syntax.OpConcat:
		return product(re.Sub)
	case syntax.OpEmptyMatch, syntax.OpWordBoundary, syntax.OpBeginText, syntax.OpEndText:
		return []string{""}
	}
	return []string{"\x00"}
}

// members lists the characters of a small class, given as pairs of first and last.
func members(ranges []rune) []string {
	var all []string
	for i := 0; i < len(ranges); i += 2 {
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			if all = append(all, string(r)); len(all) > 8 {
				return []string{"\x00"}
			}
		}
	}
	return all
}

func product(subs []*syntax.Regexp) []string {
	all := []string{""}
	for _, sub := range subs {
		var longer []string
		for _, tail := range spellings(sub) {
			for _, head := range all {
				longer = append(longer, head+tail)
			}
		}
		if all = longer; len(all) > maxSpellings {
			return nil
		}
	}
	return all
}

// fills reports whether every match of the expression sets the named group, so that a sentence with that name is always
// complete.
func fills(re *syntax.Regexp, name string) bool {
	in := func(sub *syntax.Regexp) bool { return fills(sub, name) }
	switch re.Op {
	case syntax.OpCapture:
		return re.Name == name || in(re.Sub[0])
	case syntax.OpAlternate:
		return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !in(sub) })
	case syntax.OpConcat, syntax.OpPlus:
		return slices.ContainsFunc(re.Sub, in)
	case syntax.OpRepeat:
		return re.Min > 0 && in(re.Sub[0])
	}
	return false
}
