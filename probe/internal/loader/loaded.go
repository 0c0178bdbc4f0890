package loader

import (
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/ldso"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/libversion"
	"cudacompat/probe/internal/pyenv"
)

// recordLoaded records the CUDA libraries that the process has mapped, and why these; cuDNN's parts if one does not
// lie next to it.
func recordLoaded(b *facts.Build, h *host.Host, p *ldso.Process, s *pyenv.Site) {
	var parts []facts.Taken
	cudnn, apart := "", false
	for _, o := range p.Objects {
		name := path.Base(o.Path)
		if strings.HasPrefix(name, "libcudnn.so.") {
			cudnn = path.Dir(o.Real)
		}
		if cudnnPart.MatchString(name) {
			parts = append(parts, loadedLibrary(h, "cudnn", o, s))
			apart = apart || path.Dir(o.Real) != cudnn
		}
		if m := CUDALibrary.FindStringSubmatch(name); m != nil {
			b.Taken = append(b.Taken, loadedLibrary(h, m[1], o, s))
		}
	}
	if apart {
		b.Taken = append(b.Taken, parts...)
	}
}

// loadedLibrary returns one mapped library with its version.
func loadedLibrary(h *host.Host, library string, o *ldso.Object, s *pyenv.Site) facts.Taken {
	taken := facts.Taken{Name: path.Base(o.Path), Path: o.Real, Reason: o.Reason.String()}
	taken.Version, taken.CUDA = loadedVersion(h, library, o.Real, s)
	return taken
}

// loadedVersion returns the version of a mapped library and the CUDA it is for: from its wheel, otherwise from its name
// or bytes.
func loadedVersion(h *host.Host, library, real string, s *pyenv.Site) (version, cuda string) {
	if inside, ok := strings.CutPrefix(real, s.Dir+"/nvidia/"); ok {
		if version, cuda := s.WheelVersion(pyenv.WheelOf(library), inside); version != "" {
			return version, cuda
		}
	}
	if library == "nccl" {
		version, cuda, _ = libversion.NCCL(h, real) // not known: its symbols still tell
		return version, cuda
	}
	if library == "nvrtc" {
		return nvrtcVersion(h, real), ""
	}
	if version = libversion.InName(real); version == "" && library == "cudnn" {
		version, _ = libversion.CuDNN(h.Files(), real)
	}
	return version, ""
}

// nvrtcVersion returns the release of an NVRTC. A toolkit's file name contains the full version
// ("libnvrtc.so.12.4.127"). Other file names contain only the soname, which is 11.2 for all from 11.2 to 11.8.
func nvrtcVersion(h *host.Host, real string) string {
	if v := libversion.InName(real); strings.Count(v, ".") == 2 {
		return v
	}
	f, err := h.Open(real)
	if err != nil {
		return ""
	}
	defer f.Close()
	v, _ := libversion.Compiler(f, libversion.NVRTC) // a damaged one is spoken of where its code is listed
	return v
}

// isUnpinned reports whether the installed wheel of a library is not the one that the build pins, so that its functions
// must be looked at.
func isUnpinned(b *facts.Build, s *pyenv.Site, library string) bool {
	twins := s.Twins(library)
	return len(twins) != 1 || b.Requires[twins[0].Name] != twins[0].Version || twins[0].Overwritten
}

// CUDALibrary matches the libraries whose origin decides whether a build works.
var CUDALibrary = lazyregexp.New(`^lib(cudart|cudnn|nccl|cublas|cublasLt|cufft|cusolver|cusparse|nvrtc|cuda)\.so`)

// cudnnPart matches the libraries that cuDNN opens.
var cudnnPart = lazyregexp.New(`^libcudnn_\w+\.so\.`)

// WheelHeld reports whether an installed wheel lists a library among its files.
func WheelHeld(s *pyenv.Site, h *host.Host, wheel, library string) bool {
	return slices.ContainsFunc(s.WheelsOf(wheel), func(p facts.Package) bool {
		return s.Index(h).At(p.Path).Record().Has("nvidia/"+strings.ReplaceAll(wheel, "-", "_")+"/lib/"+library) ||
			s.Index(h).At(p.Path).Record().Has("nvidia/cu13/lib/"+library)
	})
}

// doesWithout reports whether a library is a part that this cuDNN has not: no wheel of it lists one.
func doesWithout(s *pyenv.Site, h *host.Host, library string) bool {
	return strings.HasPrefix(library, "libcudnn_") && !WheelHeld(s, h, "cudnn", library)
}
