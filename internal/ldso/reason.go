package ldso

// How is the mechanism by which a file is taken.
type How int

// The mechanisms. The search tries RPath to SystemDir in this order, after the objects already loaded.
const (
	Executable       How = iota + 1 // the program itself
	Interpreter                     // the loader, which the kernel maps
	Preload                         // LD_PRELOAD
	PreloadFile                     // /etc/ld.so.preload
	Named                           // by a path: a name with a slash is not searched
	RPath                           // DT_RPATH of Reason.Of
	LibraryPath                     // LD_LIBRARY_PATH
	RunPath                         // DT_RUNPATH of Reason.Of
	InCache                         // /etc/ld.so.cache
	SystemDir                       // a directory compiled into the loader
	AlreadyNeeded                   // loaded before, as dependency of Reason.Of
	AlreadyPreloaded                // loaded before, by a preload
	AlreadyOpened                   // loaded before, by a dlopen
)

// Reason says why a file is taken.
type Reason struct {
	How How
	Of  string // path of the object whose DT_RPATH, DT_RUNPATH or dependency it is; else empty
}

// String returns the reason as it can follow "taken by" or stand behind a path.
func (r Reason) String() string { return sentences[r.How] + r.Of }

var sentences = map[How]string{
	Executable:       "the program itself",
	Interpreter:      "the program interpreter",
	Preload:          "LD_PRELOAD",
	PreloadFile:      PreloadPath,
	Named:            "its path",
	RPath:            "DT_RPATH of ",
	LibraryPath:      "LD_LIBRARY_PATH",
	RunPath:          "DT_RUNPATH of ",
	InCache:          "ld.so.cache",
	SystemDir:        "default path",
	AlreadyNeeded:    "already loaded as dependency of ",
	AlreadyPreloaded: "already loaded by preload",
	AlreadyOpened:    "already loaded by dlopen",
}
