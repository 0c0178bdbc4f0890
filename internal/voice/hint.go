package voice

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
	pairs  map[uint16][]hint
	known  [1 << 16 / 64]uint64 // the pairs that there are
}

// hintsOf is the table, made when it is first used.
var hintsOf = sync.OnceValue(func() *hintTable {
	t := &hintTable{pairs: map[uint16][]hint{}}
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
	t.pairs[pair] = append(t.pairs[pair], hint{word, rules})
	t.known[pair/64] |= 1 << (pair % 64)
}

// hints are the rules that may match a text. Nearly all texts have none: a file of megabytes is looked through once, and
// no regular expression is tried.
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
		pair := uint16(before)<<8 | uint16(c)
		if t.known[pair/64]&(1<<(pair%64)) != 0 {
			for _, h := range t.pairs[pair] {
				if rest := text[i-1:]; len(rest) >= len(h.word) && strings.EqualFold(string(rest[:len(h.word)]), h.word) {
					rules |= h.rules
				}
			}
		}
		before = c
	}
	return rules
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
