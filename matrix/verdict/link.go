package verdict

import (
	"slices"
)

// LinkName names one link of the chain that a build needs to run on a GPU.
type LinkName string

// The links, in the order in which a program meets them.
const (
	LinkGPU       LinkName = "gpu"       // on the bus, bound to the module, neither lost nor excluded
	LinkModule    LinkName = "module"    // the kernel module is loaded and drives this GPU
	LinkDevices   LinkName = "devices"   // the nodes under /dev are there, may be opened and were given to this process
	LinkLibcuda   LinkName = "libcuda"   // the loader takes a whole libcuda.so.1 of the module's release
	LinkAnswers   LinkName = "answers"   // the driver, where it was asked, answers and lets programs in
	LinkDriver    LinkName = "driver"    // it is new enough for the build's CUDA
	LinkPython    LinkName = "python"    // the interpreter starts and imports the package
	LinkLibraries LinkName = "libraries" // what it opens resolves, symbols and versions included
	LinkCode      LinkName = "code"      // it has machine code or PTX for this GPU that this driver takes
)

// MachineLinks lists the links that all builds on a machine share.
var MachineLinks = []LinkName{LinkGPU, LinkModule, LinkDevices, LinkLibcuda, LinkAnswers}

// BuildLinks lists the links that each build has for itself.
var BuildLinks = []LinkName{LinkDriver, LinkPython, LinkLibraries, LinkCode}

// LinksWithoutGPU lists the links of a build for the CPU.
var LinksWithoutGPU = []LinkName{LinkPython, LinkLibraries}

// LinkState says what is known about a link.
type LinkState string

// The states, from the best to the worst. Broken outranks unseen.
const (
	Held       LinkState = "held"    // seen
	Assumed    LinkState = "assumed" // the target was named, a file was given, or the tree is at rest
	Unseen     LinkState = "unseen"  // a fact is missing
	LinkBroken LinkState = "broken"  // by a finding
)

// Link records the state of one link of a chain, and what proves it.
type Link struct {
	Link  LinkName  `json:"link"`
	GPU   string    `json:"gpu"` // the kind of GPU that it is for, "NVIDIA L4 (8.9)"; empty where it is the same for all
	State LinkState `json:"state"`
	// Value is what was seen, "580.95.05". For an unseen link it is the missing fact, or Withheld.
	Value   string   `json:"value"`
	From    string   `json:"from"`    // where it was seen, or what it was assumed by
	Because []string `json:"because"` // ids of the rules that broke it or that lack a fact
	// Facts are those that a held link rests on, by their names in the JSON of facts: without all of them it is not held.
	Facts []string `json:"-"`
	// Lacks is the fact that an unseen link lacks; nothing where it was withheld.
	Lacks MissingFact `json:"-"`
}

// Withheld is the value of the link devices if this process was given no GPU, or hides all of them on purpose.
const Withheld = "withheld"

// Weight ranks states: the state with the highest weight in a chain decides the answer.
func (s LinkState) Weight() int {
	return slices.Index([]LinkState{Held, Assumed, Unseen, LinkBroken}, s)
}
