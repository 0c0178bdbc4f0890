package matrix

import (
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/pin"
)

// cudaImage is the image that holds CUDA itself: other images are built on it.
const cudaImage = "nvidia/cuda"

var (
	// imageCUDA matches tags that tell a CUDA release: "2.9.0-cuda12.6-cudnn9-runtime", "2.5.1-gpu-py311-cu124".
	imageCUDA = lazyregexp.New(`(?:^|-)cu(?:da)?(\d\d\.?\d)`)
	// pytorchTag matches PyTorch's own images, whose tag is a release and a variant of it: the wheel of that variant is in
	// the image.
	pytorchTag = lazyregexp.New(`^pytorch/pytorch:(\d+\.\d+\.\d+)-cuda\d+\.\d+-cudnn\d+-(?:runtime|devel)$`)
	// engineTag matches the images of an engine whose tag is its release: its wheel, and the torch that it asks for, are in
	// the image (https://github.com/vllm-project/vllm/blob/v0.11.2/docker/Dockerfile).
	engineTag = lazyregexp.New(`^(?:vllm/(vllm)-openai|lmsysorg/(sglang)):v(\d+(?:\.\d+)+(?:\.?(?:post|rc)\d+)?)(?:-|$)`)
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

// namedImage is what is known of the image that a Dockerfile begins with: by the table of images, else by its tag. One
// that names no GPU asks for nothing by itself: what is installed over it is judged, and if that is nothing, it may
// hold anything.
func (m *machine) namedImage(n *named) *named {
	n.image = m.imageOf(n.Name, n.Version)
	name := n.Name + ":" + n.Version
	switch tag := imageCUDA.FindStringSubmatch(n.Version); {
	case n.image != nil:
		n.cuda, n.uses = n.image.CUDA, "gpu"
	case n.Name == cudaImage:
		if f := baseCUDA.FindStringSubmatch(n.Version); f != nil {
			n.cuda = version.Of(f[1])
		}
		n.uses = "gpu"
	case tag != nil:
		digits := strings.ReplaceAll(tag[1], ".", "")
		n.cuda, n.uses = version.Of(digits[:2]+"."+digits[2:]), "gpu"
		if own := pytorchTag.FindStringSubmatch(name); own != nil {
			n.torch = own[1]
		}
	case gpuOrNot.MatchString(n.Name):
		n.uses = "either"
	case gpuImage.MatchString(name) && !otherImage.MatchString(name):
		n.uses = "gpu"
	case strings.Contains(n.Name, "/") && !plainImage.MatchString(n.Name) && !otherImage.MatchString(name):
		n.uses = "unsaid"
	default:
		return nil // an official image: a system, a language
	}
	if engine := engineTag.FindStringSubmatch(name); engine != nil && n.uses == "gpu" {
		n.torch = m.engineTorch(engine[1]+engine[2], engine[3])
	}
	return n
}

// engineTorch is the release of PyTorch that an engine's release pins; empty where the tables do not tell.
func (m *machine) engineTorch(name, release string) string {
	for _, e := range tables.RowsOf[tables.Extension](m.t, name) {
		if version.SameRelease(e.Release, release) && len(e.Torch) == 1 && exactly(e.Torch[0]).Known() {
			return exactly(e.Torch[0]).String()
		}
	}
	return ""
}

// imageOf is the table's row of an image: of its tag, else of the release that the tag begins with. A tag that names a
// CUDA or another accelerator besides is of another image than its release's.
func (m *machine) imageOf(name, tag string) *tables.Container {
	release, rest, _ := strings.Cut(tag, "-")
	if imageCUDA.MatchString(rest) || otherImage.MatchString(rest) {
		release = tag
	}
	rows := tables.Rows[tables.Container](m.t)
	for _, want := range []string{tag, release} {
		if i := slices.IndexFunc(rows, func(c tables.Container) bool { return c.Image == name && c.Tag == want }); i >= 0 {
			return &rows[i]
		}
	}
	return nil
}

// base reports whether this is an image of CUDA without a program: what is built on it brings its own code.
func (n *named) base() bool { return n.Origin == "image" && n.Name == cudaImage }

// base reports whether this stands for all that is built on an image of CUDA.
func (b *build) base() bool { return b.named != nil && b.named.base() }

// torchImage matches images that bring a PyTorch and nothing else that computes.
var torchImage = lazyregexp.New(`(?:^|/)(?:[\w-]+-)?pytorch(?:-(?:training|inference))?$`)

// spokenFor reports whether an image is no build by itself: what the file installs over one of CUDA brings its own
// runtime, and another torch replaces that of an image of PyTorch. What the file installs is judged.
func (m *machine) spokenFor(n *named) bool {
	if n.Origin == "image" && torchImage.MatchString(n.Name) && n.framework("torch") {
		return true
	}
	return n.base() && slices.ContainsFunc(m.builds, func(b *build) bool {
		return b.env.Environment == n.env && b.accelerator != "cpu"
	})
}

// baseCode: CUDA's own libraries and compiler in an image, where they no longer serve a GPU. What else runs in the
// image is not known.
func (m *machine) baseCode(b *build) []*result {
	for _, g := range m.gpus {
		if g.chip != nil && g.chip.LastCUDA.Known() && g.chip.LastCUDA.LessShort(b.cuda) {
			return undecidable(b.subject, fmt.Sprintf("whether what runs in the image has code for %s: CUDA %s itself has none, "+
				"%s was the last that did", g.label, b.cuda.Short(), g.chip.LastCUDA))
		}
	}
	return nil
}

// imageRequirements is what the images of a file say of the driver, as containerRequirements reads it in one that runs.
func (m *machine) imageRequirements() []*result {
	var results []*result
	for _, n := range m.names {
		if n.image == nil || n.image.Require == "" || !m.driver().version.Known() || m.windowsNumbers() || m.refused(n) {
			continue
		}
		r := requirement{name: "NVIDIA_REQUIRE_CUDA of " + n.Name + ":" + n.Version, text: requireCUDA(n.image),
			from: n.From, source: n.image.Source, host: m.targetWords(), of: m.targetProperties()}
		results = append(results, m.requires(r)...)
	}
	return results
}

// targetWords is the machine that a file is judged for, for a sentence.
func (m *machine) targetWords() string {
	words := m.driverWords()
	if m.driver().cuda.Known() {
		words += " (CUDA " + m.driver().cuda.Short() + ")"
	}
	if len(m.gpus) > 0 {
		words += " with " + m.gpus[0].label
	}
	return words
}

// refused reports whether the image's CUDA is above the driver's reach, which driver-too-old has said.
func (m *machine) refused(n *named) bool {
	return slices.ContainsFunc(m.builds, func(b *build) bool {
		state, _, _ := m.floor(b.cuda)
		return b.named == n && state == floorBelow && !m.letIn(b)
	})
}

// letIn reports whether an image may run on a driver that is too old for its CUDA: with the cuda-compat library that is
// in it, where NVIDIA lists the driver's branch, or the image itself does.
func (m *machine) letIn(b *build) bool {
	if m.compatPackage(b.cuda) != nil {
		return true
	}
	if b.named == nil || b.named.image == nil || b.named.image.Require == "" || len(m.gpus) == 0 {
		return false
	}
	expression, err := version.ParseRequirement(requireCUDA(b.named.image))
	refuses := func(p []version.Properties) bool { return onEither(expression, p) != version.Met }
	return err == nil && !slices.ContainsFunc(m.gpus, func(g gpu) bool { return g.dataCentre() != yes }) &&
		!slices.ContainsFunc(m.targetProperties(), refuses)
}

// inImage reports whether a build is an image's, or is installed over one that brings the cuda-compat library of the
// build's CUDA, or of a newer one, as every image of NVIDIA's does: that of a release which the tables do not have may.
func (m *machine) inImage(b *build) bool {
	return b.Origin == "image" || slices.ContainsFunc(m.names, func(n *named) bool {
		brings := n.cuda.Known() && !n.cuda.LessShort(b.cuda) || !n.cuda.Known() && strings.HasPrefix(n.Name, "nvcr.io/nvidia/")
		return n.Origin == "image" && n.env == b.env.Environment && brings
	})
}

// imageSteps names the newest image of CUDA that the driver runs.
func (m *machine) imageSteps() []pin.Step {
	var newest version.Number
	for _, c := range tables.Rows[tables.Container](m.t) {
		if c.Image == cudaImage && m.reached(c.CUDA) && newest.Less(c.CUDA) {
			newest = c.CUDA
		}
	}
	if !newest.Known() {
		return nil
	}
	return []pin.Step{pin.Say("build it on an image of CUDA " + newest.Short() + " or older, which this driver runs")}
}

// requireCUDA is the variable as the image sets it: "cuda>=12.6 brand=tesla,driver>=535,driver<536 …".
func requireCUDA(c *tables.Container) string {
	text := c.Require
	for _, branch := range c.Branches {
		if branch == "none" {
			continue
		}
		next := version.Int(branch) + 1
		for _, brand := range c.Brands {
			text += fmt.Sprintf(" brand=%s,driver>=%s,driver<%d", brand, branch, next)
		}
	}
	return text
}

// targetProperties is what the constraints are about where no container runs: each GPU by every brand that NVML may
// call it.
func (m *machine) targetProperties() [][]version.Properties {
	base := version.Properties{CUDA: m.driver().cuda, Driver: m.driver().version, NoGPU: len(m.gpus) == 0}
	list := [][]version.Properties{}
	for _, g := range m.gpus {
		var one []version.Properties
		for _, brand := range g.brands() {
			p := base
			p.NoGPU, p.Brand, p.Arch = false, brand, g.capability.Number()
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
func (g gpu) brands() []string {
	switch {
	case g.dataCentre() == yes:
		return []string{"tesla", "nvidia"}
	case g.dataCentre() == no:
		return []string{"geforce", "geforcertx", "titan", "titanrtx"}
	}
	return []string{"quadro", "quadrortx", "nvidiartx"}
}

// onEither judges an expression where one of several properties holds: they must agree.
func onEither(expression version.Requirement, alternatives []version.Properties) version.Truth {
	first := expression.On(alternatives[0])
	if slices.ContainsFunc(alternatives, func(p version.Properties) bool { return expression.On(p) != first }) {
		return version.Unsaid
	}
	return first
}

// requirement is one NVIDIA_REQUIRE_* with what it is held against: for each GPU the properties that it may have.
type requirement struct {
	name, text, from string
	source           []string
	host             string // for a sentence
	of               [][]version.Properties
}

// requires judges one variable for every GPU.
func (m *machine) requires(r requirement) []*result {
	expression, err := version.ParseRequirement(r.text)
	if err != nil {
		return unknown(r.name, "an expression that can be read: "+err.Error())
	}
	worst, but := version.Met, version.Properties{}
	for _, alternatives := range r.of {
		if got := onEither(expression, alternatives); got < worst {
			worst, but = got, alternatives[0]
		}
	}
	switch worst {
	case version.Met:
		return holds(r.name)
	case version.Unsaid:
		return unknown(r.name, m.unsureWhy(but))
	}
	return found(r.unmet(m, expression, but))
}

func (r requirement) unmet(m *machine, expression version.Requirement, but version.Properties) Finding {
	first, _, _ := strings.Cut(strings.TrimSpace(r.text), " ")
	f := Finding{Severity: Warning, Subject: r.name, Need: first, Source: append([]string{
		"https://github.com/NVIDIA/libnvidia-container/blob/5823754b8577d16fabf25a6ef6a1d58f7ff1e5dd/src/cli/dsl.c"},
		r.source...),
		Message: fmt.Sprintf("the image requires %s, but this is %s: a runtime in legacy mode refuses to start it", first,
			r.host),
		Evidence: []Evidence{{Fact: r.name, Value: r.text, From: r.from}, m.evidenceDriver()},
		Steps: []pin.Step{pin.Say("update the host's driver"), pin.Say("use an image of an earlier CUDA").Instead(),
			pin.Say("start it with NVIDIA_DISABLE_REQUIRE=1, which skips the check").Instead()}}
	if r.from == "environment" {
		f.Evidence = append(f.Evidence, Evidence{Fact: "brand", Value: but.Brand, From: "NVML"})
	}
	but.AnyBrand = true
	if expression.On(but) == version.Met {
		f.Severity = Note
		f.Message += "; it accepts this driver with GPUs of other brands, and the builds in the image are judged separately"
	}
	return f
}

// unsureWhy names the property that is not known.
func (m *machine) unsureWhy(p version.Properties) string {
	switch {
	case !p.Driver.Known():
		return "the driver's version"
	case !p.CUDA.Known():
		return "the driver's CUDA"
	case !p.NoGPU && p.Brand == "":
		return "the GPU's brand, which NVML tells"
	}
	return "a property that the requirement names"
}
