package requires

// MissingFact is a fact that a rule needs and does not have, as a whole and in parts from which formats build
// sentences. The zero value means that nothing is missing.
type MissingFact struct {
	Missing  string `json:"missing"`          // the fact and the reason, words that can follow "not known:"
	Fact     string `json:"fact,omitempty"`   // "which CUDA it was built with"; empty where Missing says why nobody could look
	Why      string `json:"why,omitempty"`    // the reason, a clause: "the file does not pin a version"
	Reason   string `json:"reason,omitempty"` // its kind: "unpinned", "bare", "tables", "nvml", "excluded", "held", "withheld", "withheld-job", "hidden", "file", "compat", "jetson", "not-cuda"
	Flag     string `json:"flag,omitempty"`   // the flag that supplies the fact, "--driver"
	Question bool   `json:"-"`                // Fact can follow "it is unknown"
}

// Question returns a missing fact as words that can follow "it is unknown": "whether this is a virtual machine".
func Question(fact string) MissingFact { return MissingFact{Missing: fact, Fact: fact, Question: true} }

// Value returns a missing fact that has a name: "the driver's version".
func Value(fact string) MissingFact { return MissingFact{Missing: fact, Fact: fact} }

// Statement returns a missing fact as the reason why nobody could look: "permission denied".
func Statement(words string) MissingFact { return MissingFact{Missing: words} }

// IsMissing reports whether a fact is missing at all.
func (l MissingFact) IsMissing() bool { return l.Missing != "" }

// Reason says why a fact is unknown, if a reader can do something about it.
type Reason struct {
	Kind  string // as Lack.Reason
	Words string // a clause: "the file does not pin a version"
}

// Because returns the missing fact with a reason. The zero Reason adds nothing.
func (l MissingFact) Because(r Reason) MissingFact {
	if r.Words != "" {
		l.Missing += ": " + r.Words
	}
	l.Why, l.Reason = r.Words, r.Kind
	return l
}

// WithFlag returns the missing fact with the flag that supplies it.
func (l MissingFact) WithFlag(flag string) MissingFact {
	l.Flag = flag
	return l
}
