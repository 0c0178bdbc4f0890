package framework

import (
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/loader"
	"cudacompat/probe/internal/pydist"
	"cudacompat/probe/internal/pyenv"
	"cudacompat/probe/internal/pyimport"
)

// librariesOf lists the libraries of a distribution that are worth reading. If its name mentions the GPU or it requires
// torch, small ones are, too: the modules of RAPIDS have a few hundred kilobytes each, and their paths show nothing
// ("cuvs/neighbors/ivf_pq.….so").
func librariesOf(b *facts.Build, h *host.Host, s *pyenv.Site, record *pydist.Record) []string {
	small := record.Libraries(func(name []byte, size int64) bool {
		return size >= pydist.NamedSize && pydist.LibraryFile.Match(name)
	})
	if len(small) == 0 || pydist.CUDAWords.MatchString(b.Name) || pydist.NamedForCUDA.MatchString(b.Name) || requiredFramework(s, h, b) == "torch" {
		return small
	}
	return record.LargeLibraries()
}

// loadedOf drops the libraries that are for another CUDA. bitsandbytes ships one for each, libbitsandbytes_cuda128.so,
// loads that of torch's, and since 0.50 else another of the same major; fussim has _cuda_cu128.cpython-311-….so.
func loadedOf(names []string, cuda string) []string {
	major, minor, _ := strings.Cut(cuda, ".")
	minor, _, _ = strings.Cut(minor, ".")
	isFor := func(name, minor string) bool {
		m := pydist.FamilyFile.FindStringSubmatch(name)
		return m == nil || m[1] == major && (minor == "" || m[2] == minor)
	}
	own := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !isFor(name, minor) })
	if slices.ContainsFunc(own, pydist.FamilyFile.MatchString) || !slices.ContainsFunc(names, pydist.FamilyFile.MatchString) {
		return own
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !isFor(name, "") })
}

// torchFile matches the libraries that say for which torch they are, "libtorch_c_dlpack_addon_torch24-cuda.so".
var torchFile = lazyregexp.New(`torch(\d)(\d{1,2})[-_.]`)

// keepLibrariesForTorch drops libraries for other torch releases than the present one. A package with one library for
// each torch opens only the matching one.
func keepLibrariesForTorch(names []string, torch *facts.Build) []string {
	return slices.DeleteFunc(names, func(name string) bool {
		m := torchFile.FindStringSubmatch(path.Base(name))
		return m != nil && (torch == nil || !strings.HasPrefix(torch.Version, m[1]+"."+m[2]+"."))
	})
}

// frameworkIn returns the framework that one of the libraries belongs to, or "".
func frameworkIn(needed []string) string {
	for _, library := range needed {
		if m := loader.FrameworkLibrary.FindStringSubmatch(library); m != nil {
			return loader.FrameworkOf[m[1]]
		}
	}
	return ""
}

// mayLoad reports whether importing a package may load a library that links to a framework. If the sources name none of
// its libraries, it may load any for a framework that they import or METADATA requires. A library for another framework
// is an optional part: deepmd-kit has one for TensorFlow and one for torch, and its import opens neither.
func mayLoad(s *pyenv.Site, h *host.Host, r pyimport.LazyTrace, names []string, name, required, framework string) bool {
	if !slices.Contains(r.Now().Loads(names), name) {
		return false
	}
	return required != "" || r.Now().Names(name) || needs(s, h, r, framework)
}

// readLibraries reads the code of a package's libraries, and what they need.
func readLibraries(b *facts.Build, h *host.Host, s *pyenv.Site, r pyimport.LazyTrace, names []string) error {
	var failed host.Errors
	var linked []string // those that need a library of torch's
	families, required := map[string]bool{}, b.Framework
	for _, name := range names {
		full := path.Join(s.Dir, name)
		failed.Add(loader.AddCode(b, h, full))
		needed := loader.NeededBy(h, full)
		framework := frameworkIn(needed)
		part := framework != "" && !loader.IsMain(name) && !mayLoad(s, h, r, names, name, required, framework)
		if !part && slices.ContainsFunc(needed, loader.TorchLibrary.MatchString) {
			linked = append(linked, full)
		}
		for _, library := range needed {
			if m := loader.FamilyName.FindStringSubmatch(library); m != nil {
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
	certain := func(name string) bool {
		now := r.Now()
		return now != nil && slices.Contains(now.Certain, name)
	}
	failed.Add(loader.PairWithTorch(s.Torch, b, h, s, certain, linked))
	return failed.Err()
}
