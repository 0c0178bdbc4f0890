package python

import (
	"bytes"
	"path"
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/ldso"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
)

// Least sizes of libraries worth reading, in bytes. One with kernels for a single GPU has some hundred kilobytes; it
// says by its name what it is, where hundreds of small modules of other packages do not.
const (
	anySize   = 1 << 20
	namedSize = 16 << 10
)

// cudaWords matches the paths of libraries that say that they are for the GPU: "torchao/_C_cutlass_100a.abi3.so".
var cudaWords = lazyregexp.New(`(?i)cuda|cutlass|cublas|cudnn|nccl|nvrtc|gpu|torch`)

// worthReading reports whether a file is a library that may hold CUDA code, by its name and size.
func worthReading(name []byte, size int64) bool {
	return (size >= anySize || size >= namedSize && cudaWords.Match(name)) && libraryFile.Match(name)
}

var (
	libraryFile = lazyregexp.New(`\.so(\.\d+)*$`)
	familyFile  = lazyregexp.New(`_cu(?:da)?(1[0-9])(\d)(_\w+)?(?:\.cpython-[\w-]+|\.abi3)?\.so$`)
)

// librariesIn lists the libraries of a RECORD that are worth reading, such as
// "flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so,sha256=…,987654321". RECORDs can have ten thousands of lines.
func librariesIn(record []byte) []string { return librariesFrom(record, worthReading) }

func librariesFrom(record []byte, worth func(name []byte, size int64) bool) []string {
	var list []string
	for line := range bytes.Lines(record) {
		if !bytes.Contains(line, []byte(".so")) {
			continue
		}
		name, rest, _ := bytes.Cut(line, []byte(","))
		_, size, ok := bytes.Cut(rest, []byte(","))
		n, err := strconv.ParseInt(string(bytes.TrimSpace(size)), 10, 64)
		if ok && err == nil && worth(name, n) && !bytes.HasPrefix(name, []byte("..")) {
			list = append(list, string(name))
		}
	}
	return list
}

// librariesOf lists the libraries of a distribution that are worth reading: where its name tells of the GPU, or it
// requires torch, small ones too. The modules of RAPIDS have some hundred kilobytes each, and their paths say nothing:
// "cuvs/neighbors/ivf_pq.….so".
func librariesOf(b *facts.Build, h *host.Host, record []byte) []string {
	small := librariesFrom(record, func(name []byte, size int64) bool {
		return size >= namedSize && libraryFile.Match(name)
	})
	if len(small) == 0 || cudaWords.MatchString(b.Name) || namedForCUDA.MatchString(b.Name) || requiredFramework(h, b) == "torch" {
		return small
	}
	return librariesIn(record)
}

// namedForCUDA matches the names of distributions that tell a CUDA family, "cuvs-cu13", "cupy-cuda12x".
var namedForCUDA = lazyregexp.New(`-cu(da)?\d+x?$`)

// loadedOf drops the libraries that are for another CUDA. bitsandbytes ships one for each, libbitsandbytes_cuda128.so,
// loads that of torch's, and since 0.50 else another of the same major; fussim has _cuda_cu128.cpython-311-….so.
func loadedOf(names []string, cuda string) []string {
	major, minor, _ := strings.Cut(cuda, ".")
	minor, _, _ = strings.Cut(minor, ".")
	isFor := func(name, minor string) bool {
		m := familyFile.FindStringSubmatch(name)
		return m == nil || m[1] == major && (minor == "" || m[2] == minor)
	}
	own := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !isFor(name, minor) })
	if slices.ContainsFunc(own, familyFile.MatchString) || !slices.ContainsFunc(names, familyFile.MatchString) {
		return own
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !isFor(name, "") })
}

// torchFile matches the libraries that say for which torch they are, "libtorch_c_dlpack_addon_torch24-cuda.so".
var torchFile = lazyregexp.New(`torch(\d)(\d{1,2})[-_.]`)

// ofTorch drops the libraries that are for another torch than the one beside them: a package with one for each opens
// that of the running torch, and none where it has none for it.
func ofTorch(names []string, torch *facts.Build) []string {
	return slices.DeleteFunc(names, func(name string) bool {
		m := torchFile.FindStringSubmatch(path.Base(name))
		return m != nil && (torch == nil || !strings.HasPrefix(torch.Version, m[1]+"."+m[2]+"."))
	})
}

var (
	// familyName matches the sonames that tell which CUDA a library is for; cuBLAS's, NVRTC's and NPP's have its major.
	familyName = lazyregexp.New(`^lib(?:cudart|cublas|cublasLt|nvrtc|npp\w+)\.so\.(\d+)`)
	// frameworkLibrary matches the libraries of frameworks.
	frameworkLibrary = lazyregexp.New(`^lib(torch|c10|tensorflow_framework)(_\w+)?\.so`)
	frameworkOf      = map[string]string{"torch": "torch", "c10": "torch", "tensorflow_framework": "tensorflow"}
)

// frameworkIn is the framework of which one of some libraries is; empty where none is.
func frameworkIn(needed []string) string {
	for _, library := range needed {
		if m := frameworkLibrary.FindStringSubmatch(library); m != nil {
			return frameworkOf[m[1]]
		}
	}
	return ""
}

// mayLoad reports whether the import of a package may come to a library that is linked to a framework's. Where the sources
// name none of its libraries, it may come to any of a framework that they import or METADATA requires; what is linked to
// another is a part: deepmd-kit has one for TensorFlow and one for torch, and its import opens neither.
func (s *site) mayLoad(h *host.Host, r lazyReach, names []string, name, required, framework string) bool {
	if !slices.Contains(r.now().loads(names), name) {
		return false
	}
	return required != "" || r.now().names(name) || s.needs(h, r, framework)
}

// neededBy lists the libraries that one needs; none of a damaged one, of which addCode has spoken.
func neededBy(h *host.Host, name string) []string {
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

// absent reports whether a file is certainly not there.
func absent(h *host.Host, name string) bool {
	f, err := h.Open(name)
	if err == nil {
		f.Close()
	}
	return host.Absent(err)
}

// readLibraries reads the code of a package's libraries, and what they need.
func readLibraries(b *facts.Build, h *host.Host, s *site, r lazyReach, names []string) error {
	var failed host.Errors
	var linked []string // those that need a library of torch's
	families, required := map[string]bool{}, b.Framework
	for _, name := range names {
		full := path.Join(s.dir, name)
		failed.Add(addCode(b, h, full))
		needed := neededBy(h, full)
		framework := frameworkIn(needed)
		part := framework != "" && !isMain(name) && !s.mayLoad(h, r, names, name, required, framework)
		if !part && slices.ContainsFunc(needed, torchLibrary.MatchString) {
			linked = append(linked, full)
		}
		for _, library := range needed {
			if m := familyName.FindStringSubmatch(library); m != nil {
				families[m[1]] = true
			}
		}
		if b.Framework == "" && !part {
			b.Framework = framework
		}
	}
	b.Standalone = b.Framework == ""
	if len(families) == 1 {
		for family := range families {
			b.CUDA = family
		}
	}
	failed.Add(s.torch.pair(b, h, s, r, linked))
	return failed.Err()
}
