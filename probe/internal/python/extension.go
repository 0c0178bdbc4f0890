package python

import (
	"io/fs"
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
)

// notExtensions are distributions that are judged otherwise, or whose code proves nothing: NVIDIA's libraries load and
// generate much of theirs when they run, but for DALI (nvidia-dali-cuda120).
var notExtensions = distname.Names{"nvidia-*", "cuda-*", "nccl-*", "nvshmem*", "tensorrt*", "cutensor*", "cuquantum*",
	"custatevec*", "cudensitymat*", "torch", "tensorflow*", "tf-nightly*", "jax", "jaxlib",
	"jax-cuda[0-9]*-*", "triton", "pytorch-triton"}

func notExtension(name string) bool {
	return notExtensions.Match(name) && !strings.HasPrefix(name, "nvidia-dali")
}

// importedAlone matches those of them that programs import by themselves: no other package speaks of their libraries.
var importedAlone = lazyregexp.New(`^tensorrt`)

// extensions reads every distribution that carries CUDA code or needs a CUDA library: flash-attn, vllm, XGBoost, or one
// that nobody else knows, beside a framework of a CUDA version or without one. Their RECORDs say which have libraries
// at all.
func extensions(h *host.Host, s *site, cuda string, failed *host.Errors) []facts.Build {
	entries, err := h.ReadDir(s.dir)
	if err != nil {
		return nil // distributions has said so
	}
	var list []facts.Build
	infos, owned := infosIn(h, s.dir, entries), owners{}
	var record []byte
	for _, i := range infos {
		damaged := importedAlone.MatchString(i.name) && !s.librariesAsShipped(h, i.path())
		if notExtension(i.name) && !s.orphan(i.name) && !damaged || s.hiding(h, i.name) {
			continue
		}
		if i.isDir {
			h.Listed(i.path())
		}
		b := &facts.Build{Name: i.name, Version: i.version, Accelerator: "cuda", Extension: true,
			Path: i.path(), From: i.path() + "/RECORD"}
		var libraries []string
		var r lazyReach
		if record, err = h.ReadInto(b.From, record); err == nil {
			libraries, r, err = readExtension(b, h, s, record, cuda)
		}
		failed.Add(err)
		owned.add(i, libraries)
		b.Hindrances = append(b.Hindrances, s.codeWithoutModule(h, b, r, record)...)
		if namedForCUDA.MatchString(b.Name) { // rmm-cu12 has no code and fails with another librmm
			failed.Add(s.otherRelease(h, b, libraries))
		}
		if usesCUDA(h, b) || damaged {
			failed.Add(readOpened(b, h, s))
			failed.Add(readAlone(b, h, s, r))
			failed.Add(s.readReached(b, h, r))
			names := modulesIn(record)
			s.hinder(h, b, b.Path, names)
			s.minorCUDA(h, b, names)
			if (b.CUDA != "" || !compilers[b.Name]) && (!damaged || len(b.Hindrances) > 0) {
				list = append(list, *b)
			}
		}
	}
	s.noteDisplaced(h, list, owned, infos)
	for _, b := range append(unownedPackages(h, s, entries, infos, cuda, failed), editables(h, s, infos, cuda, failed)...) {
		if !has(list, b.Name) {
			list = append(list, b)
		}
	}
	if len(list) > 0 {
		noteParts(h, s.dir, entries, list, failed)
	}
	return list
}

// noteDisplaced notes of each build what other distributions put in its place.
func (s *site) noteDisplaced(h *host.Host, list []facts.Build, owned owners, infos []info) {
	for i := range list {
		list[i].Hindrances = append(list[i].Hindrances, owned.overwritten(h, s, &list[i])...)
		list[i].Hindrances = append(list[i].Hindrances, s.displacedModules(h, &list[i], list, infos)...)
	}
}

// usesCUDA reports whether a distribution is judged: by its code, what its libraries need, or what hinders it. One that
// has none of CUDA, as torchtext, is where it was built for another torch.
func usesCUDA(h *host.Host, b *facts.Build) bool {
	return len(b.SASS)+len(b.PTX) > 0 || b.CUDA != "" || len(b.Unmet) > 0 || b.Damaged != "" && (forGPU(h, b) || damagedCUDA(b)) ||
		len(b.Hindrances) > 0 ||
		compilers[b.Name]
}

// compilers are packages whose code is made when they run: of them what they compile with is looked at.
var compilers = map[string]bool{"numba-cuda": true}

// jaxPart matches the distributions that hold JAX's CUDA code, which ask for no jaxlib by themselves.
var jaxPart = lazyregexp.New(`^jax-cuda\d+-(plugin|pjrt)$`)

// orphan reports whether a distribution is a part of JAX in an environment without it.
func (s *site) orphan(name string) bool { return jaxPart.MatchString(name) && s.dist("jaxlib") == nil }

// noteParts notes which of the extensions came along with another distribution. One that was installed from a
// directory or a repository is the user's own, and what it requires is the user's choice.
func noteParts(h *host.Host, dir string, entries []fs.DirEntry, list []facts.Build, failed *host.Errors) {
	var data []byte
	var err error
	for _, e := range entries {
		info := path.Join(dir, e.Name())
		stem, ok := strings.CutSuffix(e.Name(), ".dist-info")
		if !ok || h.Exists(info+"/direct_url.json") {
			continue
		}
		data, err = h.ReadInto(info+"/METADATA", data)
		if !host.Absent(err) {
			failed.Add(err)
		}
		by, _, _ := strings.Cut(stem, "-")
		for i := range list {
			b := &list[i]
			if b.PartOf == "" && b.Name != distname.Normal(by) &&
				(requires(data, b.Name, false) || mayComeByExtra(b, h) && requires(data, b.Name, true)) {
				b.PartOf = distname.Normal(by)
			}
		}
	}
}

// mayComeByExtra reports whether a package that goes without a framework may have come by another's extra, as CuPy by Ray's:
// pip marks what the user named; uv marks everything.
func mayComeByExtra(b *facts.Build, h *host.Host) bool {
	installer, _ := h.ReadLine(b.Path + "/INSTALLER")
	return openers[b.Name] != nil && !(installer == "pip" && h.Exists(b.Path+"/REQUESTED"))
}

// readExtension reads a distribution and the libraries that it would load beside a framework of a CUDA version, which
// it returns with what the import comes to. Most distributions have none and no code to compile, and what else they say decides nothing.
func readExtension(b *facts.Build, h *host.Host, s *site, record []byte, cuda string) ([]string, lazyReach, error) {
	worth := librariesOf(b, h, record)
	if len(worth) == 0 && !compilers[b.Name] {
		return nil, nil, nil
	}
	b.Framework = requiredFramework(h, b)
	if tag := wheelArch.FindSubmatch(h.ReadQuietly(b.Path + "/WHEEL")); tag != nil {
		b.Arch = string(tag[1])
	}
	libraries := ofTorch(loadedOf(worth, cuda), s.torch.build)
	// Of nearly all distributions nobody asks: what has no CUDA is not judged.
	r := sync.OnceValue(func() *reach { return s.readReach(h, b, record) })
	b.Hindrances = s.librariesGone(h, b, libraries)
	return libraries, r, readLibraries(b, h, s, r, libraries)
}

// minorCUDA takes the minor version of a build's CUDA from what its package says of itself, as PyTorch's do:
//
//	__version__ = '2.11.0+cu130'
func (s *site) minorCUDA(h *host.Host, b *facts.Build, modules []string) {
	for _, name := range modules {
		r, _ := version.ParseRelease(ownVersion(h, path.Join(s.dir, name)))
		if cuda, ok := r.LocalCUDA(); ok && b.CUDA == strconv.Itoa(cuda.Major()) {
			b.CUDA = cuda.String()
		}
	}
}

// requiredFramework is the framework that a distribution asks for, empty where it asks for none.
func requiredFramework(h *host.Host, b *facts.Build) string {
	metadata := h.ReadQuietly(b.Path + "/METADATA")
	if jaxPart.MatchString(b.Name) {
		return "jax"
	}
	for _, name := range []string{"torch", "tensorflow", "jax", "jaxlib"} {
		if requires(metadata, name, false) {
			return strings.TrimSuffix(name, "lib")
		}
	}
	return ""
}

// needs reports whether the import of a distribution is certain to need a framework: by its sources, or a library that
// it loads first. Where the sources tell nothing, what the distribution requires is believed.
func (s *site) needs(h *host.Host, read lazyReach, framework string) bool {
	r := read.now()
	if r == nil || !r.read {
		return true
	}
	return slices.Contains(r.modules, framework) || slices.ContainsFunc(r.certain, func(name string) bool {
		return slices.ContainsFunc(neededBy(h, path.Join(s.dir, name)), func(library string) bool {
			m := frameworkLibrary.FindStringSubmatch(library)
			return m != nil && frameworkOf[m[1]] == framework
		})
	})
}

// codeWithoutModule is that a distribution with CUDA code, or with a library that says by its name that it has some, or with a module
// and named for CUDA, needs what the environment does not have: the framework that it imports, or the distribution that
// holds its library.
func (s *site) codeWithoutModule(h *host.Host, b *facts.Build, r lazyReach, record []byte) []facts.Hindrance {
	if len(b.SASS)+len(b.PTX) == 0 && b.CUDA == "" && !slices.ContainsFunc(librariesIn(record), familyFile.MatchString) &&
		(!namedForCUDA.MatchString(b.Name) || len(librariesOf(b, h, record)) == 0) {
		return nil
	}
	lacks := s.libraryDist(h, b)
	if b.Framework != "" && !s.hasFramework(h, b.Framework) && s.needs(h, r, b.Framework) {
		lacks = b.Framework
	}
	if lacks == "" {
		return nil
	}
	return []facts.Hindrance{{Kind: facts.HindranceWithout, Of: b.Name + " " + b.Version, Path: b.From, By: lacks}}
}

// hasFramework reports whether a framework is in the environment, in whatever state, or in the working directory.
func (s *site) hasFramework(h *host.Host, framework string) bool {
	return slices.ContainsFunc(frameworkDists[framework], func(name string) bool { return s.dist(name) != nil }) ||
		slices.ContainsFunc(append(slices.Clone(s.path), s.here...), func(dir string) bool {
			return h.Exists(path.Join(dir, framework))
		})
}

// libraryWheel matches the distributions that hold the libraries of another: libcuvs-cu13 those of cuvs-cu13,
// nvidia-libnvcomp-cu12 one that libcudf-cu12 is linked to.
var libraryWheel = lazyregexp.New(`^(nvidia-)?lib\w+-cu\d+$`)

// libraryDist is a distribution with its libraries that one requires and the environment does not have.
func (s *site) libraryDist(h *host.Host, b *facts.Build) string {
	head := headerOf(h.ReadQuietly(b.Path + "/METADATA"))
	for _, m := range requiredName.FindAllSubmatch(head, -1) {
		name := distname.Normal(string(m[1]))
		if libraryWheel.MatchString(name) && !elsewhere.Match(m[2]) && s.infoOf(h, name) == "" {
			return name
		}
	}
	return ""
}

// mainModule matches the libraries with the kernels of a package for torch, "vllm/_C.abi3.so", which such packages load
// by code of which their sources tell little: torch.ops.load_library, or an import whose failure is only logged.
var mainModule = lazyregexp.New(`^\w+/_(moe_)?C(_stable_libtorch)?(\.[\w-]+)?\.so$`)

// optionalModule are the packages that are imported without theirs, and say so.
var optionalModule = distname.Names{"xformers", "torchao"}

// librariesGone is that a distribution's libraries are all gone, where their names or what it requires tell that they were for
// the GPU: what is left is its metadata. Or one is gone that has its kernels for torch, or that is its own module.
func (s *site) librariesGone(h *host.Host, b *facts.Build, names []string) []facts.Hindrance {
	there := func(name string) bool { return !absent(h, path.Join(s.dir, name)) }
	if own := slices.DeleteFunc(slices.Clone(names), bundledLibrary.MatchString); len(own) > 0 {
		names = own
	}
	some := slices.ContainsFunc(names, there)
	for _, name := range names {
		first := b.Framework == "torch" && mainModule.MatchString(name) || !strings.Contains(name, "/") && cudaNamed(b)
		if some && first && !there(name) && !optionalModule.Match(b.Name) {
			return []facts.Hindrance{{Kind: facts.HindranceSpoiled, Of: b.Name + " " + b.Version,
				Path: path.Join(s.dir, name), By: "it is gone"}}
		}
	}
	if len(names) == 0 || some {
		return nil
	}
	if b.Framework == "" && !slices.ContainsFunc(names, cudaWords.MatchString) && !forGPU(h, b) {
		return nil
	}
	return []facts.Hindrance{{Kind: facts.HindranceGone, Of: b.Name + " " + b.Version, Path: path.Join(s.dir, names[0])}}
}

// bundledLibrary matches the libraries of others that auditwheel puts into a wheel: "ezkl.libs/libcudart-c64a25f3.so.12".
var bundledLibrary = lazyregexp.New(`^[^/]+\.libs/`)

// damagedCUDA reports whether the library that could not be listed says by its name that it is for the GPU.
func damagedCUDA(b *facts.Build) bool {
	file, _, _ := strings.Cut(b.Damaged, ": ")
	return cudaWords.MatchString(path.Base(file))
}

// forGPU reports whether a distribution tells by its name or by what it requires that it is for the GPU.
func forGPU(h *host.Host, b *facts.Build) bool {
	return cudaNamed(b) || requiresCUDA.Match(h.ReadQuietly(b.Path+"/METADATA"))
}

// cudaNamed reports whether a distribution tells by its name that it is for the GPU.
func cudaNamed(b *facts.Build) bool {
	return cudaWords.MatchString(b.Name) || namedForCUDA.MatchString(b.Name)
}

// requiresCUDA matches a requirement of one of NVIDIA's libraries, "Requires-Dist: nvidia-nccl-cu12; …".
var requiresCUDA = lazyregexp.New(`(?m)^Requires-Dist: (nvidia-|cuda-)`)
