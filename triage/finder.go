package triage

// finder finds all literals of all signatures in one pass, so that the cost of a log does not depend on how many
// signatures there are. Each literal is known by four of its bytes; a bit says of every four bytes of the text whether
// they may be some literal's, and only there is a literal compared (after Karp and Rabin, "Efficient randomized
// pattern-matching algorithms", 1987). So no literal may be shorter than minLiteral.
type finder struct {
	may [1 << hashBits / 64]uint64
	at  map[gram][]place // by the four bytes
}

// place is a literal and where in it its four bytes begin.
type place struct {
	literal    string
	offset     int
	signatures []int
}

// hashBits keeps the bits in a processor's first cache; one in forty is set.
const hashBits = 16

// gram is four bytes of a text as one number.
type gram = uint32

// hash spreads grams, which share most of their bits, by Knuth's multiplier.
func hash(g gram) uint32 { return g * 2654435761 >> (32 - hashBits) }

// mark is the place of a mark of trouble among the signatures.
const mark = -1

func newFinder(signatures []Signature, marks ...string) *finder {
	users := make(map[string][]int, 2*len(signatures))
	for _, lit := range marks {
		users[lit] = append(users[lit], mark)
	}
	for i, s := range signatures {
		for _, lit := range s.Literal {
			users[lit] = append(users[lit], i)
		}
	}
	var shared [1 << hashBits]uint16 // how many literals hold four bytes, by their hash: near enough to choose by
	for lit := range users {
		for i := range len(lit) - 3 {
			shared[hash(gramAt(lit, i))]++
		}
	}
	f := &finder{at: make(map[gram][]place, len(users))}
	for lit, signatures := range users {
		i := rarest(lit, &shared)
		g := gramAt(lit, i)
		f.at[g] = append(f.at[g], place{lit, i, signatures})
		f.may[hash(g)/64] |= 1 << (hash(g) % 64)
	}
	return f
}

func gramAt(text string, i int) gram {
	return gram(text[i])<<24 | gram(text[i+1])<<16 | gram(text[i+2])<<8 | gram(text[i+3])
}

// rarest is where the four bytes of a literal begin that the fewest literals share: "CUDA" says little.
func rarest(lit string, shared *[1 << hashBits]uint16) int {
	best := 0
	for i := range len(lit) - 3 {
		if shared[hash(gramAt(lit, i))] < shared[hash(gramAt(lit, best))] {
			best = i
		}
	}
	return best
}

// find calls hit with the end of every literal in text, in the order of their four bytes.
func (f *finder) find(text []byte, hit func(end int, signatures []int)) {
	var g gram
	for i, b := range text {
		g = g<<8 | gram(b)
		h := hash(g)
		if f.may[h/64]&(1<<(h%64)) == 0 {
			continue
		}
		for _, p := range f.at[g] {
			start := i - 3 - p.offset
			if start >= 0 && start+len(p.literal) <= len(text) && string(text[start:start+len(p.literal)]) == p.literal {
				hit(start+len(p.literal), p.signatures)
			}
		}
	}
}
