package loader

import (
	"errors"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/ldso"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/pydist"
	"cudacompat/probe/internal/pyenv"
)

// dlopens adds libraries that only a version shows: libnvrtc.so.12 of CUDA 12.8 opens libnvrtc-builtins.so.12.8
// (pytorch's issue 58101).
func dlopens(s *pyenv.Site, h *host.Host) func(*ldso.Object) []string {
	return func(o *ldso.Object) []string {
		if list := listNVRTCBuiltins(s, h)(o); list != nil {
			return list
		}
		return KnownDlopens[path.Base(o.Path)]
	}
}

// listNVRTCBuiltins returns what NVRTC opens when it compiles.
func listNVRTCBuiltins(s *pyenv.Site, h *host.Host) func(*ldso.Object) []string {
	return func(o *ldso.Object) []string {
		if !strings.HasPrefix(path.Base(o.Path), "libnvrtc.so.") {
			return nil
		}
		version, _ := loadedVersion(h, "nvrtc", o.Real, s)
		if m := nvrtcRelease.FindStringSubmatch(version); m != nil {
			return []string{nvrtcBuiltins + m[1] + m[2]}
		}
		return nil
	}
}

const nvrtcBuiltins = "libnvrtc-builtins.so."

// nvrtcRelease matches a version that shows the CUDA of an NVRTC, from 11 on. 11.2 by itself is the soname up to 11.8.
var nvrtcRelease = lazyregexp.New(`^(?:(1[1-9]\.\d+)\.\d|(11\.[01])$)`)

// torch/__init__.py opens some of the wheels' libraries by their paths, before the rest could take others (its issues
// 138460 and 145580): that of 2.8.0 in calls, that of 2.14.1 all that a list names.
//
//	_preload_cuda_deps("nvjitlink", "libnvJitLink.so.*[0-9]")
//	("cublas", "libcublasLt.so.*[0-9]"),
var (
	preloadCall = lazyregexp.New(`_preload_cuda_\w+\(\s*"(\w+)",\s*"(lib[\w-]+\.so\.)\*\[0-9\]"`)
	preloadItem = lazyregexp.New(`\(\s*"(\w+)",\s*"(lib[\w-]+\.so\.)\*\[0-9\]"`)
	preloadAll  = lazyregexp.New(`_preload_cuda_deps\((required=False)?\)`)
)

// ParsePreloads reads the directories and names out of torch/__init__.py.
func ParsePreloads(data []byte) [][2]string {
	pattern := preloadCall
	if preloadAll.Match(data) {
		pattern = preloadItem
	}
	var list [][2]string
	for _, m := range pattern.FindAllSubmatch(data, pyenv.MaxMatches) {
		list = append(list, [2]string{string(m[1]), string(m[2])})
	}
	return list
}

// torchPreloads opens what torch itself opens from the wheels once its cudart is one of them.
func torchPreloads(b *facts.Build, h *host.Host, p *ldso.Process, s *pyenv.Site) error {
	ofWheel := func(o *ldso.Object) bool {
		return CUDAStem(o.Path) == "libcudart" && strings.HasPrefix(o.Real, s.Dir+"/nvidia/")
	}
	if !slices.ContainsFunc(p.Objects, ofWheel) {
		return nil
	}
	data, err := h.ReadFile(b.Path + "/__init__.py")
	if err != nil {
		return err
	}
	major, _, _ := strings.Cut(b.CUDA, ".")
	for _, lib := range ParsePreloads(data) {
		names := s.InWheels(h, lib[0]+"/lib/"+lib[1]+"*[0-9]")
		names = append(names, s.InWheels(h, "cu"+major+"/lib/"+lib[1]+"*[0-9]")...)
		if len(names) == 0 {
			continue
		}
		if _, err := p.Open(names[0], nil, ldso.Local); err != nil {
			return err
		}
	}
	return nil
}

// findShadows looks whether CUDA libraries that are not the build's own serve those that need them, and are served by
// those that they need. It costs nothing where every one is of the wheels that the build pins.
func findShadows(b *facts.Build, h *host.Host, p *ldso.Process, s *pyenv.Site) error {
	if err := p.OpenKnown(dlopens(s, h)); err != nil {
		return err
	}
	for _, m := range p.Missing {
		if strings.HasPrefix(m.Name, nvrtcBuiltins) && errors.Is(m.Err, ldso.ErrNotFound) {
			b.Compared = true
			b.Unresolved = append(b.Unresolved,
				facts.Unresolved{By: m.By.Real, Library: m.Name, Reason: m.By.Reason.String()})
		}
	}
	return FindUnserved(b, h, p, s)
}

// FindUnserved compares the CUDA libraries of a process that are not the build's own with those that need them, and with
// those that they need.
func FindUnserved(b *facts.Build, h *host.Host, p *ldso.Process, s *pyenv.Site) error {
	foreign := foreignLibraries(b, h, p, s)
	if len(foreign) == 0 {
		return nil
	}
	b.Compared = true
	all := cudaLibraries(p)
	for _, o := range p.Objects {
		// Either side may differ from what the build was shipped with: a cuSPARSE 12.5 needs a newer nvJitLink than the
		// one pinned beside it.
		providers := foreign
		if foreign[o.ELF.Soname] == o {
			providers = all
		}
		if !slices.ContainsFunc(o.ELF.Needed, func(name string) bool { return providers[name] != nil }) {
			continue
		}
		if err := findUnresolved(b, p, o, providers); err != nil {
			return err
		}
	}
	return nil
}

// foreignLibraries returns the CUDA libraries, by soname, that may not fit: they are outside the build's packages, in a
// wheel of a version that the build does not pin, or not the files that their wheel brought. If the build has no CUDA
// wheels, nothing counts as foreign.
func foreignLibraries(b *facts.Build, h *host.Host, p *ldso.Process, s *pyenv.Site) map[string]*ldso.Object {
	wheels := slices.ContainsFunc(s.Dists, func(d facts.Package) bool { return strings.HasPrefix(d.Name, "nvidia-") })
	if !wheels || s.Conda != "" {
		return nil
	}
	list := map[string]*ldso.Object{}
	for _, o := range p.Objects {
		own := strings.HasPrefix(o.Real, s.Dir+"/") && !otherThanPinned(b, o.Real, s) && !notTheWheels(s, h, o)
		if CUDAStem(o.Path) != "" && !own {
			list[o.ELF.Soname] = o
			list[path.Base(o.Path)] = o // where another library lies in its place
		}
	}
	return list
}

// otherThanPinned reports whether a library belongs to a wheel of another version than the build's metadata pins, or
// for which the metadata allows many, as JAX's does.
func otherThanPinned(b *facts.Build, real string, s *pyenv.Site) bool {
	rest, ok := strings.CutPrefix(real, s.Dir+"/nvidia/")
	if !ok {
		return false
	}
	component, _, _ := strings.Cut(rest, "/")
	for _, wheel := range s.Twins(strings.ReplaceAll(component, "_", "-")) {
		if b.Requires[wheel.Name] != wheel.Version || wheel.Overwritten {
			return true
		}
	}
	return false
}

// notTheWheels reports whether a library has another size than in its wheel's RECORD.
func notTheWheels(s *pyenv.Site, h *host.Host, o *ldso.Object) bool {
	name := strings.TrimPrefix(o.Real, s.Dir+"/")
	stem := strings.TrimPrefix(CUDAStem(o.Path), "lib")
	for _, wheel := range s.WheelsOf(pyenv.WheelOf(stem)) {
		if s.Index(h).Intact(s.Index(h).At(wheel.Path), name).State == pydist.Altered {
			return true
		}
	}
	return false
}
