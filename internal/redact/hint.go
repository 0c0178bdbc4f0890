package redact

import (
	"strings"
	"sync"
)

// deviceHint is the bit of texts that may name a GPU by its UUID. The bits below it are the rules'.
const deviceHint = 1 << 63

// hint is a word without which some rules cannot match, in lower case.
type hint struct {
	word  string
	rules uint64
}

// hintTable finds hints by their first two letters.
type hintTable struct {
	at     uint64 // the rules whose hint is "@"
	dotted uint64 // those whose hint is "1.2.3.4"
	groups [][]hint
	group  [1 << 16]uint8 // by two letters, the number of the group; 0: none
}

// hintsOf is the table, made when it is first used.
var hintsOf = sync.OnceValue(func() *hintTable {
	t := &hintTable{groups: make([][]hint, 1)}
	for i, r := range rules {
		for word := range strings.FieldsSeq(r.hints) {
			t.add(word, 1<<i)
		}
	}
	t.add("gpu-", deviceHint)
	t.add("mig-", deviceHint)
	return t
})

func (t *hintTable) add(word string, rules uint64) {
	switch word {
	case "@":
		t.at |= rules
		return
	case "1.2.3.4":
		t.dotted |= rules
		return
	}
	pair := uint16(word[0])<<8 | uint16(word[1])
	if t.group[pair] == 0 {
		t.group[pair] = uint8(len(t.groups))
		t.groups = append(t.groups, nil)
	}
	group := &t.groups[t.group[pair]]
	*group = append(*group, hint{word, rules})
}

// hints returns the rules that may match a text. Nearly all texts have none: a file of megabytes is looked through
// once, and no regular expression is tried.
func hints[T string | []byte](text T) (rules uint64) {
	t := hintsOf()
	var before byte
	dots := 0 // between digits
	for i := range len(text) {
		c := text[i]
		switch {
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		case c == '@':
			rules |= t.at
		case before == '.' && isDigit(c) && i > 1 && isDigit(text[i-2]):
			if dots++; dots == 3 {
				rules |= t.dotted
			}
		}
		if group := t.group[uint16(before)<<8|uint16(c)]; group != 0 {
			for _, h := range t.groups[group] {
				if begins(text, i-1, h.word) {
					rules |= h.rules
				}
			}
		}
		before = c
	}
	return rules
}

// begins reports whether a word of lower case stands at a place of a text, in whatever case.
func begins[T string | []byte](text T, at int, word string) bool {
	if len(text)-at < len(word) {
		return false
	}
	for i := 2; i < len(word); i++ { // the first two are those of the group
		if c := text[at+i]; c != word[i] && (c < 'A' || c > 'Z' || c+'a'-'A' != word[i]) {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
