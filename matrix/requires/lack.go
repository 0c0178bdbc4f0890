package requires

// Lack is a fact without which a rule cannot be judged, whole and in the parts of which a sentence is made. The zero Lack
// lacks nothing.
type Lack struct {
	Missing  string `json:"missing"`          // the fact and the reason, words that can follow "not known:"
	Fact     string `json:"fact,omitempty"`   // "which CUDA it was built with"; empty where Missing says why nobody could look
	Why      string `json:"why,omitempty"`    // the reason, a clause: "the file does not pin a version"
	Reason   string `json:"reason,omitempty"` // its kind: "unpinned", "bare", "tables", "nvml", "excluded", "held", "withheld", "withheld-job", "hidden", "file"
	Flag     string `json:"flag,omitempty"`   // the flag that supplies the fact, "--driver"
	Question bool   `json:"-"`                // Fact can follow "it is unknown"
}

// Question is a lack in words that can follow "it is unknown": "whether this is a virtual machine".
func Question(fact string) Lack { return Lack{Missing: fact, Fact: fact, Question: true} }

// Value is a lack that has a name: "the driver's version".
func Value(fact string) Lack { return Lack{Missing: fact, Fact: fact} }

// Statement is a lack that says why nobody could look: "permission denied".
func Statement(words string) Lack { return Lack{Missing: words} }

// Lacking reports whether a fact is missing at all.
func (l Lack) Lacking() bool { return l.Missing != "" }

// Reason is why a fact is not known, where a reader can do something about it.
type Reason struct {
	Kind  string // as Lack.Reason
	Words string // a clause: "the file does not pin a version"
}

// Because is the lack with its reason; the zero Reason adds nothing.
func (l Lack) Because(r Reason) Lack {
	if r.Words != "" {
		l.Missing += ": " + r.Words
	}
	l.Why, l.Reason = r.Words, r.Kind
	return l
}

// By is the lack with the flag that supplies its fact.
func (l Lack) By(flag string) Lack {
	l.Flag = flag
	return l
}
