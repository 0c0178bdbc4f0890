package triage

// automaton finds all literals of all signatures in one pass, one table look-up a byte (Aho and
// Corasick, "Efficient string matching", 1975), so that the cost of a log does not depend on how
// many signatures there are.
type automaton struct {
	class [256]uint32 // column of a byte; all bytes that no literal holds share column 0
	width uint32      // number of columns
	next  []uint32    // row+column to row; the top bit marks a row in which a literal ends
	ends  [][]int     // by row/width: the signatures whose literals end there
}

// ending marks a row. A row is where a state's columns begin in next.
const ending = 1 << 31

func newAutomaton(signatures []Signature) *automaton {
	a := &automaton{width: 1}
	for _, s := range signatures {
		for _, lit := range s.Literal {
			a.number(lit)
		}
	}
	a.addRow()
	for i, s := range signatures {
		for _, lit := range s.Literal {
			a.insert(lit, i)
		}
	}
	a.link()
	return a
}

// number gives every byte of a literal its column.
func (a *automaton) number(lit string) {
	for i := range len(lit) {
		if a.class[lit[i]] == 0 {
			a.class[lit[i]] = a.width
			a.width++
		}
	}
}

func (a *automaton) addRow() uint32 {
	row := uint32(len(a.next))
	a.next = append(a.next, make([]uint32, a.width)...)
	a.ends = append(a.ends, nil)
	return row
}

// insert adds a literal to the trie.
func (a *automaton) insert(lit string, signature int) {
	row := uint32(0)
	for i := range len(lit) {
		cell := row + a.class[lit[i]]
		if a.next[cell] == 0 {
			child := a.addRow()
			a.next[cell] = child
		}
		row = a.next[cell]
	}
	a.ends[row/a.width] = append(a.ends[row/a.width], signature)
}

// link turns the trie into a complete automaton, breadth first: a missing edge continues where the
// longest suffix that is also a prefix would.
func (a *automaton) link() {
	fail := make([]uint32, len(a.ends))
	queue := []uint32{0}
	for len(queue) > 0 {
		row := queue[0]
		queue = queue[1:]
		for column := range a.width {
			fallback := uint32(0)
			if row != 0 {
				fallback = a.next[fail[row/a.width]+column]
			}
			child := a.next[row+column]
			if child == 0 {
				a.next[row+column] = fallback
				continue
			}
			fail[child/a.width] = fallback
			a.ends[child/a.width] = append(a.ends[child/a.width], a.ends[fallback/a.width]...)
			queue = append(queue, child)
		}
	}
	for cell, row := range a.next {
		if len(a.ends[row/a.width]) > 0 {
			a.next[cell] |= ending
		}
	}
}

// find calls hit with the end of every literal in text, from left to right.
func (a *automaton) find(text []byte, hit func(end int, signatures []int)) {
	row := uint32(0)
	for i, b := range text {
		row = a.next[row+a.class[b]]
		if row&ending != 0 {
			row &^= ending
			hit(i+1, a.ends[row/a.width])
		}
	}
}
