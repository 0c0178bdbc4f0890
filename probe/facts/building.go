package facts

// Building is what compiles code on this machine: extensions, and what Triton makes when it runs.
type Building struct {
	Compiler Compiler `json:"compiler"` // the C compiler that CC names, else gcc on PATH, else clang
	// libcuda.so.1 as ldconfig lists it, else in LD_LIBRARY_PATH; empty: Triton finds none
	LibCUDA string `json:"libcuda"`
	Named   bool   `json:"named"` // TRITON_LIBCUDA_PATH says where libcuda is
}

// Compiler is one C compiler.
type Compiler struct {
	Name    string `json:"name"`    // "gcc" or "clang"; empty for another one
	Version string `json:"version"` // "12" or "12.3.0"; empty when the files do not tell
	Path    string `json:"path"`    // empty: there is none
	From    string `json:"from"`    // "CC" or "PATH"
}
