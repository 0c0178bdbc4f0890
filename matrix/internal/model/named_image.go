package model

import (
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/cudaof"
	"cudacompat/probe/facts"
)

var (
	// pytorchTag matches PyTorch's own images, whose tag is a release and a variant of it: the wheel of that variant is in
	// the image.
	pytorchTag = lazyregexp.New(`^pytorch/pytorch:(\d+\.\d+\.\d+)-cuda\d+\.\d+-cudnn\d+-(?:runtime|devel)$`)
	// engineTag matches the images of an engine whose tag is its release: its wheel, and the torch that it asks for, are in
	// the image (https://github.com/vllm-project/vllm/blob/v0.11.2/docker/Dockerfile).
	engineTag = lazyregexp.New(`^(?:vllm/(vllm)-openai|lmsysorg/(sglang)):v(\d+(?:\.\d+)+(?:\.?(?:post|rc)\d+)?)(?:-|$)`)
	// gpuImage matches the names and tags of images that are for a GPU.
	gpuImage = lazyregexp.New(`(?i)^nvcr\.io/|nvidia|cuda|tensorrt|triton|vllm|sglang|lmdeploy|rapids|pytorch` +
		`|text-generation-inference|(?:^|[-:/])gpu(?:-|$)`)
	// gpuOrNot matches images that are the same with and without a GPU.
	gpuOrNot = lazyregexp.New(`^(?:ghcr\.io/)?(?:ollama/ollama$|ggml-org/llama\.cpp$)`)
	// plainImage matches the names of systems, languages and package managers, whoever publishes them.
	plainImage = lazyregexp.New(`(?:^|/)(?:python|ubuntu|debian|alpine|amazonlinux|rockylinux|almalinux|fedora|centos` +
		`|ubi\d*(?:-\w+)?|busybox|node|golang|rust|openjdk|uv|miniconda3?|miniforge3?|mambaforge|micromamba|anaconda3?)$`)
)

// requestedImage returns what is known of the image that a Dockerfile begins with: by the table of images, else by its
// tag. One that names no GPU asks for nothing by itself: what is installed over it is judged, and if that is nothing,
// it may hold anything.
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

// KnowsImage reports whether the tables, or its own tag, say what is in an image, "nvidia/cuda:12.6.3-base": where they
// do, a Dockerfile that begins with it is judged, and so is its name alone.
func KnowsImage(t *tables.Tables, reference string) bool {
	name, tag, tagged := strings.Cut(strings.TrimPrefix(reference, "docker.io/"), ":")
	m := Machine{Tables: t}
	n := m.requestedImage(&Requested{Requested: &facts.Requested{Name: name, Version: tag, Origin: "image"}})
	return tagged && n != nil && (n.CUDANumber.Known() || n.Torch != "")
}

// engineTorch returns the release of PyTorch that an engine's release pins; empty where the tables do not tell.
func (m *Machine) engineTorch(name, release string) string {
	for _, e := range tables.RowsOf[tables.Extension](m.Tables, name) {
		if version.SameRelease(e.Release, release) && len(e.Torch) == 1 && Exactly(e.Torch[0]).Known() {
			return Exactly(e.Torch[0]).String()
		}
	}
	return ""
}

// Base reports whether this is an image of CUDA without a program: what is built on it brings its own code.
func (n *Requested) Base() bool { return n.Origin == "image" && cudaof.IsCUDAImage(n.Name) }

// torchImage matches images that bring a PyTorch and nothing else that computes.
var torchImage = lazyregexp.New(`(?:^|/)(?:[\w-]+-)?pytorch(?:-(?:training|inference))?$`)

// SpokenFor reports whether an image is no build by itself: what the file installs over one of CUDA brings its own
// runtime, and another torch replaces that of an image of PyTorch, where the image's own does not fulfil what the file
// asks for. What the file installs is judged.
func (m *Machine) SpokenFor(n *Requested) bool {
	if n.Origin == "image" && torchImage.MatchString(n.Name) && n.NamesFramework("torch") {
		return !n.mayStay()
	}
	return n.Base() && slices.ContainsFunc(m.Builds, func(b *Build) bool {
		return b.Env.Environment == n.Environment && b.Device != "cpu"
	})
}

// TargetWords returns the machine that a file is judged for, for a sentence.
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
func (n *Requested) Require() *tables.ImageRequirement { return n.tables.RequirementOf(n.Image) }

// TargetProperties returns what the constraints are about where no container runs: each GPU by every brand that NVML
// may call it.
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

// brands returns the names that NVML may have for a GPU's brand, as NVIDIA_REQUIRE_CUDA writes them.
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
