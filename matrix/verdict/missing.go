package verdict

import "cudacompat/matrix/requires"

// Missing is a rule that could not be judged, and the fact that it lacks.
type Missing = requires.Missing

// Lack is the fact that a rule lacks, in its parts.
type Lack = requires.Lack

// Reason is why a fact is not known.
type Reason = requires.Reason

// Question is a lack in words that can follow "it is unknown".
func Question(fact string) Lack { return requires.Question(fact) }

// Value is a lack that has a name: "the driver's version".
func Value(fact string) Lack { return requires.Value(fact) }

// Statement is a lack that says why nobody could look.
func Statement(words string) Lack { return requires.Statement(words) }

// What the flags of a target supply.
var (
	NoDriver = Value("the driver's version").By("--driver")
	NoCUDA   = Value("the CUDA that the driver speaks").By("--driver")
	NoGPU    = Value("a GPU to compare with").By("--gpu")
)

// Reasons that several rules have.
var (
	Unpinned = Reason{Kind: "unpinned", Words: "the file does not pin a version"}
	// ByPython is of a range that no other package narrows: an installer takes the newest release that has a wheel for its Python.
	ByPython    = Reason{Kind: "unpinned", Words: "the file does not pin a version, and the Python decides which one is installed (add --python)"}
	Conditional = OfFile("installs it only under a condition") // of a Dockerfile's
	// Bare is of TensorFlow, ONNX Runtime and CTranslate2.
	Bare = Reason{Kind: "bare", Words: "the plain wheel has none of the CUDA libraries that it opens"}
)

// OfFile is what a file leaves open; words say what it does, "installs it only under a condition".
func OfFile(words string) Reason { return Reason{Kind: "file", Words: "the file " + words} }

// OfTables is what the tables leave open: "do not have torch 2.15.0".
func OfTables(words string) Reason { return Reason{Kind: "tables", Words: "the tables " + words} }
