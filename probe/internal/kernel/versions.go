package kernel

import (
	"cmp"
	"strings"
)

// end marks the end of a version among the separators.
const end = -1

// compareVersions compares versions by UAPI's Version Format Specification, as systemd implements it. Numbers compare
// by value and come after letters; letters compare by code. The separator "~" sorts before the end of the text, and
// "-", "^" and "." sort after it. All other characters only separate.
func compareVersions(a, b string) int {
	for {
		a, b = skipSeparators(a), skipSeparators(b)
		for _, mark := range []rune{'~', end, '-', '^', '.'} {
			switch {
			case mark == end && (a == "" || b == ""):
				return cmp.Compare(len(a), len(b))
			case mark == end:
			case startsWith(a, mark) != startsWith(b, mark):
				return falseFirst(startsWith(b, mark), startsWith(a, mark))
			case startsWith(a, mark):
				a, b = a[1:], b[1:]
			}
		}
		numberA, restA := cutPrefixFunc(a, isDigit)
		numberB, restB := cutPrefixFunc(b, isDigit)
		c := cmp.Or(falseFirst(numberA != "", numberB != ""), compareNumbers(numberA, numberB))
		if numberA+numberB == "" {
			var wordA, wordB string
			wordA, restA = cutPrefixFunc(a, isLetter)
			wordB, restB = cutPrefixFunc(b, isLetter)
			c = cmp.Compare(wordA, wordB)
		}
		if c != 0 {
			return c
		}
		a, b = restA, restB
	}
}

// compareNumbers compares decimal numbers of any length.
func compareNumbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

// skipSeparators drops characters up to the next one that counts.
func skipSeparators(s string) string {
	return strings.TrimLeftFunc(s, func(r rune) bool {
		return !isDigit(r) && !isLetter(r) && !strings.ContainsRune("~-^.", r)
	})
}

// startsWith reports whether s begins with mark.
func startsWith(s string, mark rune) bool { return s != "" && rune(s[0]) == mark }

// cutPrefixFunc splits s after its longest prefix of characters of one kind.
func cutPrefixFunc(s string, kind func(rune) bool) (part, rest string) {
	rest = strings.TrimLeftFunc(s, kind)
	return s[:len(s)-len(rest)], rest
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
