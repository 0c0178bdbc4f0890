package reading

import (
	"debug/elf"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Needs is what the libraries of a wheel need of the torch and of the CUDA beside them.
type Needs struct {
	Linked  bool     // one of them is linked to a library of torch's
	Symbols int      // their undefined C++ symbols in torch's namespaces
	CXX11   string   // "true" where they need, or define, the new ABI's c10::Error, "false" for the old one's
	Links   []string // the CUDA libraries that they are linked to and that are not in the wheel
	Opens   []string // those that they open by name
}

var (
	torchLinked = regexp.MustCompile(`^lib(torch|c10)(_\w+)?\.so`)
	torchSymbol = regexp.MustCompile(`^_Z(T[VIST])?N[KVRO]*(2at|3c10|5torch)[0-9A-Z]`)
	// errorSymbol matches c10::Error::Error(c10::SourceLocation, std::string), the only symbol that shows the ABI: any
	// other with "cxx11" in its name may belong to libstdc++.
	errorSymbol = regexp.MustCompile(`^_ZN3c105ErrorC[12]ENS_14SourceLocationE(S|N)`)
	// cudaSoname matches the CUDA libraries that a package takes from elsewhere. What auditwheel put into the wheel has
	// a hash in its name.
	cudaSoname = regexp.MustCompile(`\blib(?:cudart|cublas|cublasLt|nvrtc|nvJitLink|cudnn\w*|cufft|curand|cusparse|cusparseLt|cusolver|nccl|nvToolsExt|cupti|npp\w+|cufile|nvshmem\w*)\.so\.\d+(?:\.\d+)*`)
)

// take reads one library.
func (n *Needs) take(f *elf.File) {
	needed, _ := f.ImportedLibraries() // a broken list is an empty one
	for _, name := range needed {
		n.Linked = n.Linked || torchLinked.MatchString(name)
		if cudaSoname.FindString(name) == name && !slices.Contains(n.Links, name) {
			n.Links = append(n.Links, name)
		}
	}
	symbols, _ := f.DynamicSymbols()
	for _, s := range symbols {
		if m := errorSymbol.FindStringSubmatch(s.Name); m != nil {
			n.CXX11 = strconv.FormatBool(m[1] == "N")
		}
		if s.Section == elf.SHN_UNDEF && torchSymbol.MatchString(s.Name) {
			n.Symbols++
		}
	}
	for _, name := range cudaSoname.FindAllString(string(ReadSection(f, ".rodata")), -1) {
		if !slices.Contains(n.Opens, name) && !slices.Contains(n.Links, name) {
			n.Opens = append(n.Opens, name)
		}
	}
	slices.Sort(n.Links)
	slices.Sort(n.Opens)
}

// FillCells writes what the libraries need into a row's cells, "none" for nothing.
func (n *Needs) FillCells(cells map[string]string) {
	cells["symbols"] = "none"
	if n.Linked || n.Symbols > 0 {
		cells["symbols"] = strconv.Itoa(n.Symbols)
	}
	if n.CXX11 != "" {
		cells["cxx11_abi"] = n.CXX11
	}
	list := func(names []string) string {
		if len(names) == 0 {
			return "none"
		}
		return strings.Join(names, " ")
	}
	cells["links"], cells["opens"] = list(n.Links), list(n.Opens)
}
