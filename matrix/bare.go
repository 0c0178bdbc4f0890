package matrix

import (
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/version"
	"cudacompat/probe/facts"
)

// installsWhole are the kinds of file that name all that pip installs, so that what they leave out is not there unless
// the image or the machine has it.
var installsWhole = []string{"requirements", "pyproject.toml", "Dockerfile", "environment.yml", "pip list", "uv.lock",
	"poetry.lock", "Pipfile.lock", "pylock.toml", "conda-lock.yml", "pixi.lock", "plan"}

// cudaWheel matches the packages that bring cuDNN, the one library of those that no toolkit has.
var cudaWheel = lazyregexp.New(`^(nvidia-)?cudnn\b`)

// cudnnImage matches the images with cuDNN in them.
var cudnnImage = lazyregexp.New(`cudnn|tensorflow|^nvcr\.io/`)

// bare: a file that installs a wheel and none of the libraries that the wheel opens. Only where it is installed can be
// seen whether they are there.
func (m *machine) bare(b *build) []*result {
	env := b.env
	image := func(w facts.Wanted) bool { return w.Origin == "image" && cudnnImage.MatchString(w.Name+":"+w.Version) }
	switch {
	case b.Origin != "wheel" || !slices.Contains(installsWhole, env.Kind) && !b.planned, slices.ContainsFunc(b.extras(), isCUDA):
		return nil
	case slices.ContainsFunc(env.Wanted, image), slices.ContainsFunc(m.builds, b.servedBy):
		return nil
	case b.planned && strings.HasPrefix(env.Path, "/"):
		return b.bareBeside()
	case b.broughtByWheel():
		return nil
	}
	return b.lacksLibraries("where it finds them" + Bare)
}

// lacksLibraries: whether the libraries that the build opens are there is not known.
func (b *build) lacksLibraries(missing string) []*result {
	need := "the libraries of CUDA"
	if cuda := b.cuda; cuda.Known() {
		need += fmt.Sprintf(" %d", cuda.Major())
	}
	if cudnn := b.needsCuDNN(); cudnn.Known() {
		need += fmt.Sprintf(" and cuDNN %d", cudnn.Major())
	}
	return []*result{{subject: b.subject, missing: missing, need: need, decides: true}}
}

// needsCuDNN is the release of cuDNN that the build opens, by its row where the file does not tell; unknown where
// neither does.
func (b *build) needsCuDNN() version.Number {
	if b.cudnn.Known() || len(b.rows) == 0 {
		return b.cudnn
	}
	return b.rows[0].CuDNN
}

// broughtByWheel reports whether the file names a wheel of the cuDNN that the build opens: the loader knows it by its
// major version alone.
func (b *build) broughtByWheel() bool {
	fits := func(name, release string) bool {
		have, want := version.Of(release), b.needsCuDNN()
		return cudaWheel.MatchString(name) && (!have.Known() || !want.Known() || have.Major() == want.Major())
	}
	return slices.ContainsFunc(b.env.Wanted, func(w facts.Wanted) bool { return fits(w.Name, w.Version) }) ||
		slices.ContainsFunc(b.env.Packages, func(p facts.Package) bool { return fits(p.Name, p.Version) })
}

// servedBy reports whether a torch of the same file brings the libraries that the build opens: those of its CUDA family
// and with its cuDNN's major version. No libcudnn.so.9 is taken for libcudnn.so.8.
func (b *build) servedBy(torch *build) bool {
	if torch.Name != "torch" || torch.accelerator == "cpu" || torch.env.Environment != b.env.Environment {
		return false
	}
	differ := func(have, want version.Number) bool {
		return have.Known() && want.Known() && have.Major() != want.Major()
	}
	return !differ(torch.cuda, b.cuda) && !differ(torch.needsCuDNN(), b.needsCuDNN())
}

// opened are the libraries that such a wheel opens, by the middle of their wheels' names.
var opened = []string{"cublas", "cuda-runtime", "cudnn", "cufft", "curand"}

// bareBeside: what comes into an environment that is there finds the libraries of its own CUDA there, each in its wheel.
func (b *build) bareBeside() []*result {
	family := fmt.Sprintf("-cu%d", b.cuda.Major())
	for _, library := range opened {
		wheel := "nvidia-" + library
		if b.env.Package(wheel+family) == nil && (b.cuda.Major() < 13 || b.env.Package(wheel) == nil) {
			return b.lacksLibraries("where it finds its libraries of CUDA " + b.cuda.String() + Bare)
		}
	}
	return nil
}

// extras are those that a file asks for.
func (b *build) extras() []string {
	if b.named != nil {
		return b.named.Extras
	}
	return b.Extras
}

// isCUDA reports whether an extra brings CUDA's libraries: TensorFlow's and-cuda, ONNX Runtime's cuda and cudnn.
func isCUDA(extra string) bool { return extra == "and-cuda" || extra == "cuda" || extra == "cudnn" }
