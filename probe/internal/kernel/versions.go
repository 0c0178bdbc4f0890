package kernel

import (
	"cmp"
	"strings"
)

// end stands among the marks for the end of a version.
const end = -1

// compareVersions is the order by which boot loaders sort (UAPI's Version Format Specification), as systemd has it:
// numbers by their value and after letters, letters by their codes; of marks "~" comes before the end of a string,
// "-", "^" and "." after it. All other characters only part what they stand between.
func compareVersions(a, b string) int {
	for {
		a, b = toVersion(a), toVersion(b)
		for _, mark := range []rune{'~', end, '-', '^', '.'} {
			switch {
			case mark == end && (a == "" || b == ""):
				return cmp.Compare(len(a), len(b))
			case mark == end:
			case begins(a, mark) != begins(b, mark):
				return falseFirst(begins(b, mark), begins(a, mark))
			case begins(a, mark):
				a, b = a[1:], b[1:]
			}
		}
		numberA, restA := cutKind(a, isDigit)
		numberB, restB := cutKind(b, isDigit)
		c := cmp.Or(falseFirst(numberA != "", numberB != ""), compareNumbers(numberA, numberB))
		if numberA+numberB == "" {
			var wordA, wordB string
			wordA, restA = cutKind(a, isLetter)
			wordB, restB = cutKind(b, isLetter)
			c = cmp.Compare(wordA, wordB)
		}
		if c != 0 {
			return c
		}
		a, b = restA, restB
	}
}

// compareNumbers compares digits of any length.
func compareNumbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

// toVersion drops what stands before the next character that counts.
func toVersion(s string) string {
	return strings.TrimLeftFunc(s, func(r rune) bool {
		return !isDigit(r) && !isLetter(r) && !strings.ContainsRune("~-^.", r)
	})
}

func begins(s string, mark rune) bool { return s != "" && rune(s[0]) == mark }

func cutKind(s string, kind func(rune) bool) (part, rest string) {
	rest = strings.TrimLeftFunc(s, kind)
	return s[:len(s)-len(rest)], rest
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
