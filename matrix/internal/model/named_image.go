package model

import (
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/cudaof"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/probe/facts"
)

var (
	// pytorchTag matches PyTorch's own images. The tag is a release and its variant, and the image contains that wheel.
	pytorchTag = lazyregexp.New(`^pytorch/pytorch:(\d+\.\d+\.\d+)-cuda\d+\.\d+-cudnn\d+-(?:runtime|devel)$`)
	// engineTag matches an engine's images whose tag is its release. They contain its wheel and the torch that it
	// requires (https://github.com/vllm-project/vllm/blob/v0.11.2/docker/Dockerfile).
	engineTag = lazyregexp.New(`^(?:vllm/(vllm)-openai|lmsysorg/(sglang)):v(\d+(?:\.\d+)+(?:\.?(?:post|rc)\d+)?)(?:-|$)`)
	// gpuImage matches the names and tags of images for a GPU.
	gpuImage = lazyregexp.New(`(?i)^nvcr\.io/|nvidia|cuda|tensorrt|triton|vllm|sglang|lmdeploy|rapids|pytorch` +
		`|text-generation-inference|(?:^|[-:/])gpu(?:-|$)`)
	// gpuOrNot matches images that are the same with and without a GPU.
	gpuOrNot = lazyregexp.New(`^(?:ghcr\.io/)?(?:ollama/ollama$|ggml-org/llama\.cpp$)`)
	// plainImage matches the names of systems, languages and package managers, whoever publishes them.
	plainImage = lazyregexp.New(`(?:^|/)(?:python|ubuntu|debian|alpine|amazonlinux|rockylinux|almalinux|fedora|centos` +
		`|ubi\d*(?:-\w+)?|busybox|node|golang|rust|openjdk|uv|miniconda3?|miniforge3?|mambaforge|micromamba|anaconda3?)$`)
)

// requestedImage returns what is known of a Dockerfile's base image: by the table of images, otherwise by its tag. An
// image whose name shows no GPU has no requirement of its own. What the file installs over it is judged. If it installs
// nothing, the image may contain anything.
func (m *Machine) requestedImage(n *Requested) *Requested {
	n.Answer, n.Image = cudaof.FindImage(m.Tables, n.Name, n.Version)
	name := n.Name + ":" + n.Version
	switch {
	case n.Image != nil, n.Known(), cudaof.IsCUDAImage(n.Name):
		n.Uses = "gpu"
	case gpuOrNot.MatchString(n.Name):
		n.Uses = "either"
	case gpuImage.MatchString(name) && !cudaof.OtherImage.MatchString(name):
		n.Uses = "gpu"
	case strings.Contains(n.Name, "/") && !plainImage.MatchString(n.Name) && !cudaof.OtherImage.MatchString(name):
		n.Uses = "unsaid"
	default:
		return nil // an official image: a system, a language
	}
	if own := pytorchTag.FindStringSubmatch(name); own != nil && n.By == cudaof.Tag {
		n.Torch = own[1]
	}
	if engine := engineTag.FindStringSubmatch(name); engine != nil && n.Uses == "gpu" {
		n.Torch = m.engineTorch(engine[1]+engine[2], engine[3])
	}
	return n
}

// KnowsImage reports whether the tables, or the tag itself, say what an image such as "nvidia/cuda:12.6.3-base"
// contains. A Dockerfile that begins with such an image can be judged, and so can its name alone.
func KnowsImage(t *tables.Tables, reference string) bool {
	name, tag, tagged := strings.Cut(strings.TrimPrefix(reference, "docker.io/"), ":")
	m := Machine{Machine: hardware.Machine{Tables: t}}
	n := m.requestedImage(&Requested{Requested: &facts.Requested{Name: name, Version: tag, Origin: "image"}})
	return tagged && n != nil && (n.CUDANumber.Known() || n.Torch != "")
}

// engineTorch returns the PyTorch release that an engine's release pins, or "" if the tables do not say.
func (m *Machine) engineTorch(name, release string) string {
	for _, e := range tables.RowsOf[tables.Extension](m.Tables, name) {
		if version.SameRelease(e.Release, release) && len(e.Torch) == 1 && Exactly(e.Torch[0]).Known() {
			return Exactly(e.Torch[0]).String()
		}
	}
	return ""
}

// Base reports whether this is a CUDA image without a program. What is built on it brings its own code.
func (n *Requested) Base() bool { return n.Origin == "image" && cudaof.IsCUDAImage(n.Name) }

// torchImage matches images that contain a PyTorch and no other framework.
var torchImage = lazyregexp.New(`(?:^|/)(?:[\w-]+-)?pytorch(?:-(?:training|inference))?$`)

// SpokenFor reports whether an image is not judged as a build of its own, because the file's packages are. Packages
// installed over a CUDA image bring their own runtime. Another torch replaces that of a PyTorch image, unless the
// image's own satisfies what the file asks for.
func (m *Machine) SpokenFor(n *Requested) bool {
	if n.Origin == "image" && torchImage.MatchString(n.Name) && n.NamesFramework("torch") {
		return !n.mayStay()
	}
	return n.Base() && slices.ContainsFunc(m.Builds, func(b *Build) bool {
		return b.Env.Environment == n.Environment && b.Device != "cpu"
	})
}

// LetIn reports whether a build in an image may run on a driver that is too old for its CUDA, because the image
// contains a cuda-compat library and NVIDIA, or NVIDIA's images of that CUDA, list the driver's branch.
func (m *Machine) LetIn(b *Build) bool {
	if m.CompatPackage(b.CUDANumber) != nil {
		return true
	}
	if len(m.GPUs) == 0 || m.WindowsNumbers() || m.Jetson() || slices.ContainsFunc(m.GPUs, func(g hardware.GPU) bool { return g.DataCentre() != hardware.Yes }) {
		return false
	}
	return slices.ContainsFunc(m.Requested, func(n *Requested) bool {
		return n.isFromNVIDIA() && n.Environment == b.Env.Environment && !n.CUDANumber.LessShort(b.CUDANumber) && m.starts(n)
	})
}

// starts reports whether NVIDIA's images of a CUDA start on the driver: by the requirement of this image, or by the
// branches that cuda-compat's row lists.
func (m *Machine) starts(n *Requested) bool {
	if require := n.Require(); require != nil {
		refuses := func(p []version.Properties) bool { return hardware.OnEither(require.Expression, p) != version.Met }
		return require.Err == nil && !slices.ContainsFunc(m.TargetProperties(), refuses)
	}
	branch := strconv.Itoa(m.Driver().Version.Major())
	return slices.ContainsFunc(tables.Rows[tables.Forward](m.Tables), func(r tables.Forward) bool {
		dropped := slices.ContainsFunc(m.GPUs, func(g hardware.GPU) bool { return g.IsDropped(version.Int(r.Branch)) })
		return !dropped && r.CUDA.Short() == n.CUDANumber.Short() && slices.Contains(r.Image, branch)
	})
}

// isFromNVIDIA reports whether n is an image of NVIDIA's, which contains the cuda-compat library of its CUDA.
func (n *Requested) isFromNVIDIA() bool {
	return n.Origin == "image" && n.CUDANumber.Known() && (cudaof.IsCUDAImage(n.Name) || strings.HasPrefix(n.Name, "nvcr.io/nvidia/"))
}

// RequireRow returns the row of images that has n's NVIDIA_REQUIRE_CUDA, or nil. An nvidia/cuda image without a row has
// the requirement of another release of its CUDA.
func (n *Requested) RequireRow() *tables.Container {
	if n.Image != nil || !cudaof.IsCUDAImage(n.Name) || !n.CUDANumber.Known() {
		return n.Image
	}
	var nearest *tables.Container
	rows := tables.Rows[tables.Container](n.tables)
	for i := range rows {
		c := &rows[i]
		if c.Image == cudaof.CUDAImage && c.Tag == c.CUDA.String() && c.CUDA.Short() == n.CUDANumber.Short() {
			nearest = c
		}
	}
	return nearest
}

// Require returns the NVIDIA_REQUIRE_CUDA of the image that n names, or nil if the tables do not have it.
func (n *Requested) Require() *tables.ImageRequirement {
	if row := n.RequireRow(); row != nil && row.Require != "" {
		return n.tables.RequirementOf(row)
	}
	return nil
}
