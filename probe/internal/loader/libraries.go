package loader

import (
	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/ldso"
	"cudacompat/probe/host"
)

var (
	// familyName matches the sonames that tell which CUDA a library is for; cuBLAS's, NVRTC's and NPP's have its major.
	FamilyName = lazyregexp.New(`^lib(?:cudart|cublas|cublasLt|nvrtc|npp\w+)\.so\.(\d+)`)
	// frameworkLibrary matches the libraries of frameworks.
	FrameworkLibrary = lazyregexp.New(`^lib(torch|c10|tensorflow_framework)(_\w+)?\.so`)
	FrameworkOf      = map[string]string{"torch": "torch", "c10": "torch", "tensorflow_framework": "tensorflow"}
)

// NeededBy lists the libraries that one needs; none of a damaged one, of which addCode has spoken.
func NeededBy(h *host.Host, name string) []string {
	f, err := h.Files().Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	e, err := ldso.Read(f)
	if err != nil {
		return nil
	}
	return e.Needed
}
