package verdict

// What is missing (Missing.Missing) ends in the reason where there is one that a reader can do something about: ": the
// file does not pin a version". Every reason begins as Because.
const (
	Because     = ": the "
	Unpinned    = Because + "file does not pin a version"
	Conditional = Because + "file installs it only under a condition" // of a Dockerfile's
	OfTables    = Because + "tables "
	Bare        = Because + "plain wheel has none of the CUDA libraries that it opens" // of TensorFlow, ONNX Runtime and CTranslate2
)
