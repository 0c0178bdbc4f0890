package signature

import "encoding/binary"

// Finder finds all literals of all signatures in one pass, so that the cost does not grow with the number of
// signatures. Four bytes identify each literal. A table says which four bytes of the text may belong to a literal, and
// only there are literals compared (after Karp and Rabin, "Efficient randomized pattern-matching algorithms", 1987). So
// no literal may be shorter than MinLiteral.
type Finder struct {
	list   [1 << hashBits]uint16 // by the hash of four bytes: which places to look at; 0: none
	places [][]place
}

// place is a literal and the offset of its four bytes.
type place struct {
	literal    string
	offset     int
	signatures []int
}

// hashBits keeps the table in the processor's second-level cache with one in seventy entries set. A wrong guess is the
// main cost of the search.
const hashBits = 17

// maxLists is the number of lists that the table can distinguish. Further literals share them.
const maxLists = 1<<16 - 1

// gram is four bytes of a text as one number.
type gram = uint32

// hash spreads grams, which share most of their bits, by Knuth's multiplicative hash.
func hash(g gram) uint32 { return g * 2654435761 >> (32 - hashBits) }

// TroubleMark stands for a mark of trouble where the finder returns the numbers of signatures.
const TroubleMark = -1

// NewFinder returns a finder for the literals of the signatures and for the marks of trouble.
func NewFinder(signatures []Signature, marks ...string) *Finder {
	many := len(marks)
	for _, s := range signatures {
		many += len(s.Literal)
	}
	users := make(map[string][]int, many)
	for _, lit := range marks {
		users[lit] = append(users[lit], TroubleMark)
	}
	for i, s := range signatures {
		for _, lit := range s.Literal {
			users[lit] = append(users[lit], i)
		}
	}
	var shared sharing
	for lit := range users {
		for i := range len(lit) - 3 {
			shared[hash(gramAt(lit, i))/2]++
		}
	}
	f := &Finder{places: make([][]place, 1, len(users)+1)}
	for lit, signatures := range users {
		i := rarest(lit, &shared)
		f.add(place{lit, i, signatures})
	}
	return f
}

func (f *Finder) add(p place) {
	list := &f.list[hash(gramAt(p.literal, p.offset))]
	if *list == 0 {
		*list = uint16(1 + (len(f.places)-1)%maxLists)
		f.places = append(f.places, nil)
	}
	f.places[*list] = append(f.places[*list], p)
}

func gramAt(text string, i int) gram {
	return gram(text[i]) | gram(text[i+1])<<8 | gram(text[i+2])<<16 | gram(text[i+3])<<24
}

// rarest returns the offset of the four bytes of a literal that the fewest literals share. "CUDA" would be a poor
// choice.
func rarest(lit string, shared *sharing) int {
	best := 0
	for i := range len(lit) - 3 {
		if shared[hash(gramAt(lit, i))/2] < shared[hash(gramAt(lit, best))/2] {
			best = i
		}
	}
	return best
}

// sharing counts, for each sequence of four bytes, the literals that contain it. Its index is half of the sequence's
// hash: the few collisions do no harm.
type sharing [1 << hashBits / 2]uint16

// Find calls hit with the end of every literal in text, in the order of their four bytes. It checks four positions at
// once, which takes a third of the time, because usually none belongs to a literal.
func (f *Finder) Find(text []byte, hit func(end int, signatures []int)) {
	at := 0
	for ; at+8 <= len(text); at += 4 {
		next := binary.LittleEndian.Uint64(text[at:])
		one, two := f.list[hash(gram(next))], f.list[hash(gram(next>>8))]
		three, four := f.list[hash(gram(next>>16))], f.list[hash(gram(next>>24))]
		if one|two|three|four != 0 {
			f.compare(text, at, f.places[one], hit)
			f.compare(text, at+1, f.places[two], hit)
			f.compare(text, at+2, f.places[three], hit)
			f.compare(text, at+3, f.places[four], hit)
		}
	}
	for ; at+4 <= len(text); at++ {
		f.compare(text, at, f.places[f.list[hash(binary.LittleEndian.Uint32(text[at:]))]], hit)
	}
}

// compare calls hit for the literals whose four bytes are at a position.
func (f *Finder) compare(text []byte, at int, places []place, hit func(end int, signatures []int)) {
	for i := range places {
		p := &places[i]
		start := at - p.offset
		end := start + len(p.literal)
		if start >= 0 && end <= len(text) && string(text[start:end]) == p.literal {
			hit(end, p.signatures)
		}
	}
}
