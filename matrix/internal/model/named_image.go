package model

import (
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/probe/facts"
)

// CUDAImage is the image that holds CUDA itself: other images are built on it.
const CUDAImage = "nvidia/cuda"

// ofCUDA reports whether a name is that image's, in either registry that has it.
func ofCUDA(name string) bool { return strings.TrimPrefix(name, "nvcr.io/") == CUDAImage }

var (
	// imageCUDA matches tags that tell a CUDA release: "2.9.0-cuda12.6-cudnn9-runtime", "2.5.1-gpu-py311-cu124".
	imageCUDA = lazyregexp.New(`(?:^|-)cu(?:da)?(\d\d\.?\d)`)
	// pytorchTag matches PyTorch's own images, whose tag is a release and a variant of it: the wheel of that variant is in
	// the image.
	pytorchTag = lazyregexp.New(`^pytorch/pytorch:(\d+\.\d+\.\d+)-cuda\d+\.\d+-cudnn\d+-(?:runtime|devel)$`)
	// engineTag matches the images of an engine whose tag is its release: its wheel, and the torch that it asks for, are in
	// the image (https://github.com/vllm-project/vllm/blob/v0.11.2/docker/Dockerfile).
	engineTag = lazyregexp.New(`^(?:vllm/(vllm)-openai|lmsysorg/(sglang)):v(\d+(?:\.\d+)+(?:\.?(?:post|rc)\d+)?)(?:-|$)`)
	// ngcTag matches the tags of NVIDIA's own images for frameworks: one monthly release has one CUDA in all of them
	// (https://docs.nvidia.com/deeplearning/frameworks/support-matrix/index.html). Images of other engines, and those for
	// Jetson, have a word more.
	ngcTag = lazyregexp.New(`^(\d\d\.\d\d)(?:-tf[12])?-py3(?:-min|-sdk)?$`)
	// tensorflowTag matches TensorFlow's own images for a GPU: the wheel of that release is in the image.
	tensorflowTag = lazyregexp.New(`^(\d+\.\d+\.\d+)-gpu(?:-jupyter)?$`)
	// baseCUDA matches the tags of nvidia/cuda: "12.6.3-runtime-ubuntu24.04".
	baseCUDA = lazyregexp.New(`^(\d+\.\d+(?:\.\d+)?)(?:-|$)`)
	// gpuImage matches the names and tags of images that are for a GPU.
	gpuImage = lazyregexp.New(`(?i)^nvcr\.io/|nvidia|cuda|tensorrt|triton|vllm|sglang|lmdeploy|rapids|pytorch` +
		`|text-generation-inference|(?:^|[-:/])gpu(?:-|$)`)
	// gpuOrNot matches images that are the same with and without a GPU.
	gpuOrNot = lazyregexp.New(`^(?:ghcr\.io/)?(?:ollama/ollama$|ggml-org/llama\.cpp$)`)
	// plainImage matches the names of systems, languages and package managers, whoever publishes them.
	plainImage = lazyregexp.New(`(?:^|/)(?:python|ubuntu|debian|alpine|amazonlinux|rockylinux|almalinux|fedora|centos` +
		`|ubi\d*(?:-\w+)?|busybox|node|golang|rust|openjdk|uv|miniconda3?|miniforge3?|mambaforge|micromamba|anaconda3?)$`)
	// otherImage matches those for other accelerators, or for none.
	otherImage = lazyregexp.New(`(?i)rocm|cpu|xpu|neuron|habana|openvino`)
)

// requestedImage is what is known of the image that a Dockerfile begins with: by the table of images, else by its tag. One
// that names no GPU asks for nothing by itself: what is installed over it is judged, and if that is nothing, it may
// hold anything.
func (m *Machine) requestedImage(n *RequestedPackage) *RequestedPackage {
	n.Image = m.imageOf(n.Name, n.Version)
	name := n.Name + ":" + n.Version
	switch tag := imageCUDA.FindStringSubmatch(n.Version); {
	case n.Image != nil:
		n.CUDANumber, n.Uses = n.Image.CUDA, "gpu"
	case ofCUDA(n.Name):
		if f := baseCUDA.FindStringSubmatch(n.Version); f != nil {
			n.CUDANumber = version.Of(f[1])
		}
		n.Uses = "gpu"
	case tag != nil:
		digits := strings.ReplaceAll(tag[1], ".", "")
		n.CUDANumber, n.Uses = version.Of(digits[:2]+"."+digits[2:]), "gpu"
		if own := pytorchTag.FindStringSubmatch(name); own != nil {
			n.Torch = own[1]
		}
	case m.ngcCUDA(n.Name, n.Version).Known():
		n.CUDANumber, n.Uses = m.ngcCUDA(n.Name, n.Version), "gpu"
	case m.tensorflowCUDA(n.Name, n.Version).Known():
		n.CUDANumber, n.Uses = m.tensorflowCUDA(n.Name, n.Version), "gpu"
	case gpuOrNot.MatchString(n.Name):
		n.Uses = "either"
	case gpuImage.MatchString(name) && !otherImage.MatchString(name):
		n.Uses = "gpu"
	case strings.Contains(n.Name, "/") && !plainImage.MatchString(n.Name) && !otherImage.MatchString(name):
		n.Uses = "unsaid"
	default:
		return nil // an official image: a system, a language
	}
	if engine := engineTag.FindStringSubmatch(name); engine != nil && n.Uses == "gpu" {
		n.Torch = m.engineTorch(engine[1]+engine[2], engine[3])
	}
	return n
}

// KnowsImage reports whether the tables, or its own tag, say what is in an image, "nvidia/cuda:12.6.3-base": where they
// do, a Dockerfile that begins with it is judged, and so is its name alone.
func KnowsImage(t *tables.Tables, reference string) bool {
	name, tag, tagged := strings.Cut(strings.TrimPrefix(reference, "docker.io/"), ":")
	m := Machine{Tables: t}
	n := m.requestedImage(&RequestedPackage{Requested: &facts.Requested{Name: name, Version: tag, Origin: "image"}})
	return tagged && n != nil && (n.CUDANumber.Known() || n.Torch != "")
}

// ngcCUDA returns the CUDA of one of NVIDIA's images by the row of another image of its release.
func (m *Machine) ngcCUDA(name, tag string) version.Number {
	release := ngcTag.FindStringSubmatch(tag)
	if release == nil || !strings.HasPrefix(name, "nvcr.io/nvidia/") {
		return version.Number{}
	}
	for _, c := range tables.Rows[tables.Container](m.Tables) {
		if own := ngcTag.FindStringSubmatch(c.Tag); own != nil && own[1] == release[1] && strings.HasPrefix(c.Image, "nvcr.io/nvidia/") {
			return c.CUDA
		}
	}
	return version.Number{}
}

// tensorflowCUDA returns the CUDA of TensorFlow's own image for a GPU: that of its release.
func (m *Machine) tensorflowCUDA(name, tag string) version.Number {
	release := tensorflowTag.FindStringSubmatch(tag)
	if release == nil || name != "tensorflow/tensorflow" {
		return version.Number{}
	}
	if row := m.Tables.TensorFlow(version.Of(release[1])); row != nil {
		return row.CUDA
	}
	return version.Number{}
}

// engineTorch is the release of PyTorch that an engine's release pins; empty where the tables do not tell.
func (m *Machine) engineTorch(name, release string) string {
	for _, e := range tables.RowsOf[tables.Extension](m.Tables, name) {
		if version.SameRelease(e.Release, release) && len(e.Torch) == 1 && Exactly(e.Torch[0]).Known() {
			return Exactly(e.Torch[0]).String()
		}
	}
	return ""
}

// imageOf is the table's row of an image: of its tag, else of the release that the tag begins with. A tag that names a
// CUDA or another accelerator besides is of another image than its release's.
func (m *Machine) imageOf(name, tag string) *tables.Container {
	release, rest, _ := strings.Cut(tag, "-")
	if imageCUDA.MatchString(rest) || otherImage.MatchString(rest) {
		release = tag
	}
	rows := tables.Rows[tables.Container](m.Tables)
	for _, want := range []string{tag, release} {
		if i := slices.IndexFunc(rows, func(c tables.Container) bool { return c.Image == name && c.Tag == want }); i >= 0 {
			return &rows[i]
		}
	}
	return nil
}

// Base reports whether this is an image of CUDA without a program: what is built on it brings its own code.
func (n *RequestedPackage) Base() bool { return n.Origin == "image" && ofCUDA(n.Name) }

// torchImage matches images that bring a PyTorch and nothing else that computes.
var torchImage = lazyregexp.New(`(?:^|/)(?:[\w-]+-)?pytorch(?:-(?:training|inference))?$`)

// SpokenFor reports whether an image is no build by itself: what the file installs over one of CUDA brings its own
// runtime, and another torch replaces that of an image of PyTorch, where the image's own does not fulfil what the file
// asks for. What the file installs is judged.
func (m *Machine) SpokenFor(n *RequestedPackage) bool {
	if n.Origin == "image" && torchImage.MatchString(n.Name) && n.NamesFramework("torch") {
		return !n.mayStay()
	}
	return n.Base() && slices.ContainsFunc(m.Builds, func(b *Build) bool {
		return b.Env.Environment == n.Environment && b.Device != "cpu"
	})
}

// TargetWords is the machine that a file is judged for, for a sentence.
func (m *Machine) TargetWords() string {
	words := m.DriverWords()
	if m.Driver().CUDA.Known() {
		words += " (CUDA " + m.Driver().CUDA.Short() + ")"
	}
	if len(m.GPUs) > 0 {
		words += " with " + m.GPUs[0].Label
	}
	return words
}

// LetIn reports whether an image may run on a driver that is too old for its CUDA: with the cuda-compat library that is
// in it, where NVIDIA lists the driver's branch, or the image itself does.
func (m *Machine) LetIn(b *Build) bool {
	if m.CompatPackage(b.CUDANumber) != nil {
		return true
	}
	if b.Named == nil || b.Named.Image == nil || b.Named.Image.Require == "" || len(m.GPUs) == 0 {
		return false
	}
	require := b.Named.Require()
	refuses := func(p []version.Properties) bool { return OnEither(require.Expression, p) != version.Met }
	return require.Err == nil && !slices.ContainsFunc(m.GPUs, func(g GPU) bool { return g.DataCentre() != Yes }) &&
		!slices.ContainsFunc(m.TargetProperties(), refuses)
}

// Require returns the NVIDIA_REQUIRE_CUDA of the image that n names.
func (n *RequestedPackage) Require() *tables.ImageRequirement { return n.tables.RequirementOf(n.Image) }

// TargetProperties is what the constraints are about where no container runs: each GPU by every brand that NVML may
// call it.
func (m *Machine) TargetProperties() [][]version.Properties {
	base := version.Properties{CUDA: m.Driver().CUDA, Driver: m.Driver().Version, NoGPU: len(m.GPUs) == 0}
	list := [][]version.Properties{}
	for _, g := range m.GPUs {
		var one []version.Properties
		for _, brand := range g.brands() {
			p := base
			p.NoGPU, p.Brand, p.Arch = false, brand, g.Capability.Number()
			one = append(one, p)
		}
		list = append(list, one)
	}
	if len(list) == 0 {
		list = append(list, []version.Properties{base})
	}
	return list
}

// brands are the names that NVML may have for a GPU's brand, as NVIDIA_REQUIRE_CUDA writes them.
func (g GPU) brands() []string {
	switch {
	case g.DataCentre() == Yes:
		return []string{"tesla", "nvidia"}
	case g.DataCentre() == No:
		return []string{"geforce", "geforcertx", "titan", "titanrtx"}
	}
	return []string{"quadro", "quadrortx", "nvidiartx"}
}

// OnEither judges an expression where one of several properties holds: they must agree.
func OnEither(expression version.Requirement, alternatives []version.Properties) version.Truth {
	first := expression.On(alternatives[0])
	if slices.ContainsFunc(alternatives[1:], func(p version.Properties) bool { return expression.On(p) != first }) {
		return version.Unsaid
	}
	return first
}
