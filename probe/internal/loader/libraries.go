package loader

import (
	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/ldso"
	"cudacompat/probe/host"
)

var (
	// familyName matches the sonames that show the CUDA of a library; those of cuBLAS, NVRTC and NPP contain its major
	// version.
	FamilyName = lazyregexp.New(`^lib(?:cudart|cublas|cublasLt|nvrtc|npp\w+)\.so\.(\d+)`)
	// frameworkLibrary matches the libraries of frameworks.
	FrameworkLibrary = lazyregexp.New(`^lib(torch|c10|tensorflow_framework)(_\w+)?\.so`)
	FrameworkOf      = map[string]string{"torch": "torch", "c10": "torch", "tensorflow_framework": "tensorflow"}
)

// NeededBy lists the libraries that one needs, or none for a damaged one, which addCode has reported.
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
