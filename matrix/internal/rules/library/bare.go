package library

import (
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// CompleteFiles lists the kinds of file that name everything pip installs. What such a file omits is absent unless the
// base image or the machine provides it.
var CompleteFiles = []string{"requirements", "pyproject.toml", "Dockerfile", "environment.yml", "pip list", "uv.lock",
	"poetry.lock", "Pipfile.lock", "pylock.toml", "conda-lock.yml", "pixi.lock", "plan"}

// cudaWheel matches the wheels that bring cuDNN, the one library of this list that no CUDA toolkit contains.
var cudaWheel = lazyregexp.New(`^(nvidia-)?cudnn\b`)

// cudnnImage matches the names of images that contain cuDNN.
var cudnnImage = lazyregexp.New(`cudnn|tensorflow|^nvcr\.io/`)

// JudgeRequestedLibraries reports a file that installs a wheel but none of the libraries that the wheel loads. Only the
// machine where the file gets installed can show whether the libraries are there.
func JudgeRequestedLibraries(m *model.Machine, b *model.Build) []*rule.Result {
	switch {
	case !namedAlone(m, b), slices.ContainsFunc(RequestedExtras(b), IsCUDAExtra):
		return nil
	case b.Planned && strings.HasPrefix(b.Env.Path, "/"):
		return judgeEnvironmentLibraries(b)
	case NamesCuDNNWheel(b):
		return nil
	}
	return AskForLibraries(b, verdict.Question("where it finds them").Because(verdict.Bare))
}

// namedAlone reports whether a file installs a wheel, and neither an image nor a torch in the same file brings the CUDA
// libraries that the wheel loads.
func namedAlone(m *model.Machine, b *model.Build) bool {
	return IsNamedOnSystem(b) && !slices.ContainsFunc(m.Builds, func(torch *model.Build) bool { return servedBy(b, torch) })
}

// IsNamedOnSystem reports whether a file installs a wheel on a system of which nothing says that it has the CUDA
// libraries, as a CUDA image would.
func IsNamedOnSystem(b *model.Build) bool {
	image := func(w facts.Requested) bool {
		return w.Origin == "image" && cudnnImage.MatchString(w.Name+":"+w.Version)
	}
	return b.Origin == "wheel" && (b.Planned || slices.Contains(CompleteFiles, b.Env.Kind)) &&
		!slices.ContainsFunc(b.Env.Requested, image)
}

// AskForLibraries returns the question whether the libraries that the build loads are installed.
func AskForLibraries(b *model.Build, missing verdict.MissingFact) []*rule.Result {
	need := "the libraries of CUDA"
	if cuda := b.CUDANumber; cuda.Known() {
		need += fmt.Sprintf(" %d", cuda.Major())
	}
	if cudnn := needsCuDNN(b); cudnn.Known() {
		need += fmt.Sprintf(" and cuDNN %d", cudnn.Major())
	}
	return []*rule.Result{{Subject: b.Subject, Missing: missing, Need: need, Decides: true}}
}

// needsCuDNN returns the cuDNN release that the build loads: from the file, otherwise from the build's row. It is
// unknown if neither says.
func needsCuDNN(b *model.Build) version.Number {
	switch {
	case b.CuDNNNumber.Known():
		return b.CuDNNNumber
	case len(b.Rows) > 0:
		return b.Rows[0].CuDNN
	case b.Named != nil && len(b.Named.Rows) > 0:
		return b.Named.Rows[0].CuDNN
	}
	return version.Number{}
}

// isOfOtherFamily reports whether a wheel's name says that it is for another CUDA than the build, such as
// nvidia-cudnn-cu12 beside a build for CUDA 11.
func isOfOtherFamily(name string, cuda version.Number) bool {
	m := wheelFamily.FindStringSubmatch(name)
	return m != nil && cuda.Known() && version.Int(m[1]) != cuda.Major()
}

// wheelFamily matches the CUDA version at the end of a wheel's name.
var wheelFamily = lazyregexp.New(`-cu(\d\d)$`)

// NamesCuDNNWheel reports whether the file names a wheel of the cuDNN that the build loads. Only the major version
// counts, because the loader looks for libcudnn.so.MAJOR.
func NamesCuDNNWheel(b *model.Build) bool {
	fits := func(name, release string) bool {
		have, want := version.ParseOrZero(release), needsCuDNN(b)
		return cudaWheel.MatchString(name) && !isOfOtherFamily(name, b.CUDANumber) && (!have.Known() || !want.Known() || have.Major() == want.Major())
	}
	return slices.ContainsFunc(b.Env.Requested, func(w facts.Requested) bool { return fits(w.Name, w.Version) }) ||
		slices.ContainsFunc(b.Env.Packages, func(p facts.Package) bool { return fits(p.Name, p.Version) })
}

// servedBy reports whether a torch in the same file brings the libraries that the build loads: the same CUDA major
// version and the same cuDNN major version. The loader never takes libcudnn.so.9 for libcudnn.so.8.
func servedBy(b *model.Build, torch *model.Build) bool {
	if torch.Name != "torch" || torch.Device == "cpu" || torch.Env.Environment != b.Env.Environment {
		return false
	}
	differ := func(have, want version.Number) bool {
		return have.Known() && want.Known() && have.Major() != want.Major()
	}
	return !differ(torch.CUDANumber, b.CUDANumber) && !differ(needsCuDNN(torch), needsCuDNN(b))
}

// openedLibraries lists the libraries that such a wheel loads, by the middle part of their wheels' names. ONNX
// Runtime's provider also links to NVRTC (wheels onnxruntime-gpu 1.20.2 and 1.21.1).
var openedLibraries = []string{"cublas", "cuda-nvrtc", "cuda-runtime", "cudnn", "cufft", "curand"}

// judgeEnvironmentLibraries judges a wheel that is added to an existing environment. Such a wheel loads the libraries
// for its own CUDA from the wheels in that environment.
func judgeEnvironmentLibraries(b *model.Build) []*rule.Result {
	family := fmt.Sprintf("-cu%d", b.CUDANumber.Major())
	for _, library := range openedLibraries {
		wheel := "nvidia-" + library
		if b.Env.Package(wheel+family) == nil && (b.CUDANumber.Major() < 13 || b.Env.Package(wheel) == nil) {
			return AskForLibraries(b, verdict.Question("where it finds its libraries of CUDA "+b.CUDANumber.String()).Because(verdict.Bare))
		}
	}
	return nil
}

// RequestedExtras returns the extras that a file asks for.
func RequestedExtras(b *model.Build) []string {
	if b.Named != nil {
		return b.Named.Extras
	}
	return b.Extras
}

// IsCUDAExtra reports whether an extra brings the CUDA libraries: TensorFlow's and-cuda, ONNX Runtime's cuda and cudnn.
func IsCUDAExtra(extra string) bool {
	return extra == "and-cuda" || extra == "cuda" || extra == "cudnn"
}
