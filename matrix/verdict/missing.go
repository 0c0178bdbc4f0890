package verdict

import "cudacompat/matrix/requires"

// Missing is a rule that could not be judged because a fact is missing.
type Missing = requires.Missing

// MissingFact is the fact that kept a rule from being judged.
type MissingFact = requires.MissingFact

// Reason says why a fact is not known.
type Reason = requires.Reason

// Question returns a missing fact as words that can follow "it is unknown", such as "whether this is a virtual
// machine".
func Question(fact string) MissingFact { return requires.Question(fact) }

// Value returns a missing fact that has a name, such as "the driver's version".
func Value(fact string) MissingFact { return requires.Value(fact) }

// Statement returns a missing fact given as the reason why nobody could look, such as "permission denied".
func Statement(words string) MissingFact { return requires.Statement(words) }

// What the flags of a target supply.
var (
	NoDriver = Value("the driver's version").WithFlag("--driver")
	NoCUDA   = Value("the CUDA that the driver speaks").WithFlag("--driver")
	NoGPU    = Value("a GPU to compare with").WithFlag("--gpu")
)

// Reasons that several rules have.
var (
	Unpinned = Reason{Kind: "unpinned", Words: "the file does not pin a version"}
	// ByPython is of a range that no other package narrows: an installer takes the newest release that has a wheel for its Python.
	ByPython    = Reason{Kind: "unpinned", Words: "the file does not pin a version, and the Python decides which one is installed (add --python)"}
	Conditional = FileReason("installs it only under a condition") // of a Dockerfile's
	// OwnCompat is of images with a cuda-compat library: only their start shows whether the loader takes it.
	OwnCompat = Reason{Kind: "compat"}
	// OnJetson is of builds that are not made for a Jetson.
	OnJetson = Reason{Kind: "jetson"}
	// NotCUDA is of builds for ROCm, XPU and the like.
	NotCUDA = Reason{Kind: "not-cuda", Words: "cudacompat covers CUDA only"}
	// Bare is of TensorFlow, ONNX Runtime and CTranslate2.
	Bare = Reason{Kind: "bare", Words: "the plain wheel has none of the CUDA libraries that it opens"}
)

// FileReason returns a reason that is in the file. words say what the file does: "installs it only under a condition".
func FileReason(words string) Reason { return Reason{Kind: "file", Words: "the file " + words} }

// TablesReason returns the reason that the tables leave something open: "do not have torch 2.15.0".
func TablesReason(words string) Reason { return Reason{Kind: "tables", Words: "the tables " + words} }
