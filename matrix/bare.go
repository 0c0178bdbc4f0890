package matrix

import (
	"slices"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
)

// installsWhole are the kinds of file that name all that pip installs, so that what they leave out is not there unless
// the image or the machine has it.
var installsWhole = []string{"requirements", "pyproject.toml", "Dockerfile", "environment.yml", "pip list", "uv.lock",
	"poetry.lock", "Pipfile.lock", "pylock.toml", "plan"}

// cudaWheel matches the packages that bring cuDNN, the one library of those that no toolkit has.
var cudaWheel = lazyregexp.New(`^(nvidia-)?cudnn\b`)

// cudnnImage matches the images with cuDNN in them.
var cudnnImage = lazyregexp.New(`cudnn|tensorflow|^nvcr\.io/`)

// bare: a file that installs a wheel and none of the libraries that the wheel opens. Only where it is installed can be
// seen whether they are there.
func (b *build) bare() []*result {
	env := b.env
	brings := func(w facts.Wanted) bool {
		return cudaWheel.MatchString(w.Name) || w.Origin == "image" && cudnnImage.MatchString(w.Name+":"+w.Version)
	}
	switch {
	case b.Origin != "wheel" || !slices.Contains(installsWhole, env.Kind) && !b.planned, slices.ContainsFunc(b.extras(), isCUDA):
		return nil
	case slices.ContainsFunc(env.Wanted, brings),
		slices.ContainsFunc(env.Packages, func(p facts.Package) bool { return cudaWheel.MatchString(p.Name) }),
		slices.ContainsFunc(env.Builds, func(o facts.Build) bool { return o.Name == "torch" && o.Accelerator != "cpu" }):
		return nil
	}
	return undecidable(b.subject, "where it finds them"+Bare)
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
