package framework

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/version"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/distname"
	"cudacompat/probe/internal/loader"
	"cudacompat/probe/internal/pydist"
	"cudacompat/probe/internal/pyenv"
	"cudacompat/probe/internal/pyimport"
)

// notExtensions are distributions that are judged in other ways, or whose code proves nothing: NVIDIA's libraries,
// which load and generate much code at run time, except DALI (nvidia-dali-cuda120).
var notExtensions = distname.Names{"nvidia-*", "cuda-*", "nccl-*", "nvshmem*", "tensorrt*", "cutensor*", "cuquantum*",
	"custatevec*", "cudensitymat*", "torch", "tensorflow*", "tf-nightly*", "jax", "jaxlib",
	"jax-cuda[0-9]*-*", "triton", "pytorch-triton"}

func notExtension(name string) bool {
	return notExtensions.Match(name) && !strings.HasPrefix(name, "nvidia-dali")
}

// importedAlone matches those of them that programs import directly, so that no other package reports their libraries.
var importedAlone = lazyregexp.New(`^tensorrt`)

// extensions reads every distribution that contains CUDA code or needs a CUDA library: flash-attn, vllm, XGBoost, or an
// unknown one, with or without a framework beside it. Their RECORDs show which have libraries at all.
func extensions(h *host.Host, s *pyenv.Site, cuda string, failed *host.Errors) []facts.Build {
	entries, err := h.ReadDir(s.Dir)
	if err != nil {
		return nil // distributions has said so
	}
	var list []facts.Build
	dists, _ := s.Index(h).In(s.Dir)
	owned := map[string][]string{} // by metadata directory, the libraries of each build
	for _, i := range dists {
		if i.Egg {
			continue
		}
		damaged := importedAlone.MatchString(i.Name) && !pyimport.LibrariesAsShipped(s, h, i.Path)
		if notExtension(i.Name) && !orphan(s, i.Name) && !damaged || s.Hiding(h, i.Name) {
			continue
		}
		if !i.Linked {
			h.Listed(i.Path)
		}
		b := &facts.Build{Name: i.Name, Version: i.Version, Accelerator: "cuda", Extension: true,
			Path: i.Path, From: i.Path + "/RECORD"}
		var libraries []string
		var r pyimport.LazyTrace
		if err = i.Record().Err(); err == nil {
			libraries, r, err = readExtension(b, h, s, i.Record(), cuda)
		}
		failed.Add(err)
		owned[i.Path] = libraries
		b.Hindrances = append(b.Hindrances, codeWithoutModule(s, h, b, r, i.Record())...)
		if pydist.NamedForCUDA.MatchString(b.Name) { // rmm-cu12 has no code and fails with another librmm
			failed.Add(pyimport.OtherRelease(s, h, b, libraries))
		}
		switch {
		case usesCUDA(s, h, b) || damaged:
			checkCode(h, s, b, r, i.Record(), failed)
			if (b.CUDA != "" || !compilers[b.Name]) && (!damaged || len(b.Hindrances) > 0) {
				list = append(list, *b)
			}
		case cudaNamed(b):
			failed.Add(checkNamed(s, h, b))
			if len(b.Hindrances) > 0 {
				list = append(list, *b)
			}
		}
	}
	for i := range list {
		pyimport.ReplacedFiles(s, h, &list[i], owned[list[i].Path], list)
	}
	for _, b := range append(unownedPackages(h, s, entries, dists, cuda, failed), editables(h, s, dists, cuda, failed)...) {
		if !pyenv.Has(list, b.Name) {
			list = append(list, b)
		}
	}
	if len(list) > 0 {
		noteParts(s, h, dists, list, failed)
	}
	return list
}

// checkCode notes what an extension opens and traces, and why it is not imported.
func checkCode(h *host.Host, s *pyenv.Site, b *facts.Build, r pyimport.LazyTrace, record *pydist.Record, failed *host.Errors) {
	failed.Add(loader.ReadOpened(b, h, s))
	failed.Add(readAlone(b, h, s, r, librariesOf(b, h, s, record)))
	failed.Add(pyimport.CheckTrace(s, b, h, r))
	names := record.Modules()
	pyimport.CheckImport(s, h, b, b.Path, names)
	minorCUDA(s, h, b, names)
}

// checkNamed notes why a distribution that is for the GPU by its name, and holds no code of CUDA, is not imported. It speaks of
// none that is as it was installed: nothing of it can be compared with a GPU.
func checkNamed(s *pyenv.Site, h *host.Host, b *facts.Build) error {
	pyimport.CheckImport(s, h, b, b.Path, s.Index(h).At(b.Path).Record().Modules())
	if len(b.Hindrances) == 0 {
		err := loader.CheckVersions(s, h, b, librariesOf(b, h, s, s.Index(h).At(b.Path).Record()))
		if err != nil {
			return err
		}
	}
	if len(b.Hindrances) > 0 || !pyimport.MayNotImport(s, h, b.Path) {
		return nil
	}
	return pyimport.CheckTrace(s, b, h, sync.OnceValue(func() *pyimport.ImportTrace {
		return pyimport.TraceImport(s, h, b, s.Index(h).At(b.Path).Record())
	}))
}

// usesCUDA reports whether a distribution is judged: because of its code, its libraries' needs, or a hindrance. A
// package without CUDA, such as torchtext, is judged if it was built for another torch.
func usesCUDA(s *pyenv.Site, h *host.Host, b *facts.Build) bool {
	return len(b.SASS)+len(b.PTX) > 0 || b.CUDA != "" || len(b.Unmet) > 0 || b.Damaged != "" && (forGPU(s, h, b) || damagedCUDA(b)) ||
		len(b.Hindrances) > 0 ||
		compilers[b.Name]
}

// compilers lists packages that compile code at run time. Their compilers are examined.
var compilers = map[string]bool{"numba-cuda": true}

// jaxPart matches the distributions that hold JAX's CUDA code, which ask for no jaxlib by themselves.
var jaxPart = lazyregexp.New(`^jax-cuda\d+-(plugin|pjrt)$`)

// orphan reports whether a distribution is a part of JAX in an environment without it.
func orphan(s *pyenv.Site, name string) bool {
	return jaxPart.MatchString(name) && s.Dist("jaxlib") == nil
}

// noteParts records which extensions were installed as a dependency of another distribution. If that one was installed
// from a directory or repository, it is the user's own, and so is the choice of its dependencies.
func noteParts(s *pyenv.Site, h *host.Host, dists []*pydist.Distribution, list []facts.Build, failed *host.Errors) {
	for _, d := range dists {
		if d.Egg || h.Exists(d.Path+"/direct_url.json") {
			continue
		}
		if err := d.Metadata().Err(); !host.Absent(err) {
			failed.Add(err)
		}
		for i := range list {
			b := &list[i]
			if b.PartOf == "" && b.Name != d.Name &&
				(d.Metadata().Names(b.Name, false) || mayComeByExtra(s, h, b) && d.Metadata().Names(b.Name, true)) {
				b.PartOf = d.Name
			}
		}
	}
}

// mayComeByExtra reports whether a package that works without a framework may have come through another's extra, as
// CuPy through Ray's. pip marks what the user named; uv marks everything.
func mayComeByExtra(s *pyenv.Site, h *host.Host, b *facts.Build) bool {
	if loader.Openers[b.Name] == nil {
		return false
	}
	installer, _ := s.Index(h).At(b.Path).Installer()
	return !(installer == "pip" && h.Exists(b.Path+"/REQUESTED"))
}

// readExtension reads a distribution and returns the libraries that it would load beside a framework of a CUDA version,
// and the result of its import. Most distributions have no libraries and compile nothing, so nothing else about them
// matters.
func readExtension(b *facts.Build, h *host.Host, s *pyenv.Site, record *pydist.Record, cuda string) ([]string, pyimport.LazyTrace, error) {
	worth := librariesOf(b, h, s, record)
	if len(worth) == 0 && !compilers[b.Name] {
		return nil, nil, nil
	}
	b.Framework = requiredFramework(s, h, b)
	b.Arch = s.Index(h).At(b.Path).Tags().Arch
	libraries := keepLibrariesForTorch(loadedOf(worth, cuda), s.Torch.Build)
	// This is rarely needed: a distribution without CUDA is not judged.
	r := sync.OnceValue(func() *pyimport.ImportTrace { return pyimport.TraceImport(s, h, b, record) })
	b.Hindrances = librariesGone(s, h, b, libraries)
	return libraries, r, readLibraries(b, h, s, r, libraries)
}

// minorCUDA takes the minor version of a build's CUDA from what its package says of itself, as PyTorch's do:
//
//	__version__ = '2.11.0+cu130'
func minorCUDA(s *pyenv.Site, h *host.Host, b *facts.Build, modules []string) {
	for _, name := range modules {
		r, _ := version.ParseRelease(ownVersion(h, path.Join(s.Dir, name)))
		if cuda, ok := r.LocalCUDA(); ok && b.CUDA == strconv.Itoa(cuda.Major()) {
			b.CUDA = cuda.String()
		}
	}
}

// requiredFramework returns the framework that a distribution requires, or "".
func requiredFramework(s *pyenv.Site, h *host.Host, b *facts.Build) string {
	metadata := s.Index(h).At(b.Path).Metadata()
	if jaxPart.MatchString(b.Name) {
		return "jax"
	}
	for _, name := range []string{"torch", "tensorflow", "jax", "jaxlib"} {
		if metadata.Names(name, false) {
			return strings.TrimSuffix(name, "lib")
		}
	}
	return ""
}

// needs reports whether importing a distribution certainly needs a framework, by its sources or a library that it loads
// first. If the sources show nothing, its requirements decide.
func needs(s *pyenv.Site, h *host.Host, read pyimport.LazyTrace, framework string) bool {
	r := read.Now()
	if r == nil || !r.Read {
		return true
	}
	return slices.Contains(r.Modules, framework) || slices.ContainsFunc(r.Certain, func(name string) bool {
		return slices.ContainsFunc(loader.NeededBy(h, path.Join(s.Dir, name)), func(library string) bool {
			m := loader.FrameworkLibrary.FindStringSubmatch(library)
			return m != nil && loader.FrameworkOf[m[1]] == framework
		})
	})
}

// codeWithoutModule returns the hindrance of a distribution that needs something the environment lacks: the framework
// that it imports, or the distribution with its library. The distribution must have CUDA code, a library or module
// named for CUDA, or a name for CUDA itself.
func codeWithoutModule(s *pyenv.Site, h *host.Host, b *facts.Build, r pyimport.LazyTrace, record *pydist.Record) []facts.Hindrance {
	if len(b.SASS)+len(b.PTX) == 0 && b.CUDA == "" && !slices.ContainsFunc(record.LargeLibraries(), pydist.FamilyFile.MatchString) &&
		(!pydist.NamedForCUDA.MatchString(b.Name) || len(librariesOf(b, h, s, record)) == 0) {
		return nil
	}
	lacks := libraryDist(s, h, b)
	if b.Framework != "" && !hasFramework(s, h, b.Framework) && needs(s, h, r, b.Framework) {
		lacks = b.Framework
	}
	if lacks == "" {
		return nil
	}
	return []facts.Hindrance{{Kind: facts.HindranceWithout, Of: b.Name + " " + b.Version, Path: b.From, By: lacks}}
}

// hasFramework reports whether a framework is in the environment, in whatever state, or in the working directory.
func hasFramework(s *pyenv.Site, h *host.Host, framework string) bool {
	return slices.ContainsFunc(pyimport.FrameworkDists[framework], func(name string) bool { return s.Dist(name) != nil }) ||
		slices.ContainsFunc(append(slices.Clone(s.Path), s.Here...), func(dir string) bool {
			return h.Exists(path.Join(dir, framework))
		})
}

// libraryWheel matches distributions that contain another's libraries: libcuvs-cu13 those of cuvs-cu13,
// nvidia-libnvcomp-cu12 one that libcudf-cu12 links to.
var libraryWheel = lazyregexp.New(`^(nvidia-)?lib\w+-cu\d+$`)

// libraryDist returns a distribution with its libraries that one requires and the environment does not have.
func libraryDist(s *pyenv.Site, h *host.Host, b *facts.Build) string {
	for _, r := range s.Index(h).At(b.Path).Requires() {
		if libraryWheel.MatchString(r.Name) && !r.Elsewhere() && s.Index(h).Find(r.Name) == nil {
			return r.Name
		}
	}
	return ""
}

// mainModule matches the kernel libraries of packages for torch, "vllm/_C.abi3.so". The sources show little about how
// they are loaded: through torch.ops.load_library, or an import whose failure is only logged.
var mainModule = lazyregexp.New(`^\w+/_(moe_)?C(_stable_libtorch)?(\.[\w-]+)?\.so$`)

// librariesGone returns the hindrance of a distribution that has lost all its libraries, if their names or its
// requirements show that they were for the GPU: only its metadata is left. Losing its kernels for torch, or its own
// module, also counts.
func librariesGone(s *pyenv.Site, h *host.Host, b *facts.Build, names []string) []facts.Hindrance {
	there := func(name string) bool { return !pyenv.Absent(h, path.Join(s.Dir, name)) }
	if own := slices.DeleteFunc(slices.Clone(names), bundledLibrary.MatchString); len(own) > 0 {
		names = own
	}
	some := slices.ContainsFunc(names, there)
	for _, name := range names {
		first := b.Framework == "torch" && mainModule.MatchString(name) || !strings.Contains(name, "/") && cudaNamed(b)
		if some && first && !there(name) && !pyimport.OptionalModule.Match(b.Name) {
			return []facts.Hindrance{{Kind: facts.HindranceSpoiled, Of: b.Name + " " + b.Version,
				Path: path.Join(s.Dir, name), By: "it is gone"}}
		}
	}
	if len(names) == 0 || some {
		return nil
	}
	if b.Framework == "" && !slices.ContainsFunc(names, pydist.CUDAWords.MatchString) && !forGPU(s, h, b) {
		return nil
	}
	return []facts.Hindrance{{Kind: facts.HindranceGone, Of: b.Name + " " + b.Version, Path: path.Join(s.Dir, names[0])}}
}

// bundledLibrary matches the libraries of others that auditwheel puts into a wheel: "ezkl.libs/libcudart-c64a25f3.so.12".
var bundledLibrary = lazyregexp.New(`^[^/]+\.libs/`)

// damagedCUDA reports whether the library that could not be listed says by its name that it is for the GPU.
func damagedCUDA(b *facts.Build) bool {
	file, _, _ := strings.Cut(b.Damaged, ": ")
	return pydist.CUDAWords.MatchString(path.Base(file))
}

// forGPU reports whether a distribution's name or requirements say that it is for the GPU.
func forGPU(s *pyenv.Site, h *host.Host, b *facts.Build) bool {
	return cudaNamed(b) || s.Index(h).At(b.Path).Metadata().NamesCUDA()
}

// cudaNamed reports whether a distribution tells by its name that it is for the GPU.
func cudaNamed(b *facts.Build) bool {
	return pydist.CUDAWords.MatchString(b.Name) || pydist.NamedForCUDA.MatchString(b.Name)
}
