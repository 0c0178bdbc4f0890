// Package build contains the rules that compare a CUDA build with the driver and the GPUs: whether the driver is new
// enough for its CUDA, whether its code covers the GPUs, and whether the compilers that it starts at run time know
// them.
//
// The libraries that a build loads are judged in package library, and its import by Python in package python.
package build

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/matrix/internal/cudaof"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/internal/rules/container"
	"cudacompat/matrix/internal/rules/python"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// openTorch reports whether a package brings a torch whose release the file does not fix.
func openTorch(n *model.Requested) bool {
	return n.Torch == "" && !n.Companion && len(n.Rows) > 0 && len(n.Rows[0].Torch) > 0 && !n.NamesFramework("torch")
}

// isBaseImage reports whether the build stands for everything that may be built on a CUDA base image.
func isBaseImage(b *model.Build) bool { return b.Named != nil && b.Named.Base() }

// inImage reports whether a build is part of an image, or is installed over an image, that brings a cuda-compat library
// for the build's CUDA or a newer one. Every NVIDIA image does. A release without a row may.
func inImage(m *model.Machine, b *model.Build) bool {
	return b.Origin == "image" || slices.ContainsFunc(m.Requested, func(n *model.Requested) bool {
		brings := n.CUDANumber.Known() && !n.CUDANumber.LessShort(b.CUDANumber) || !n.CUDANumber.Known() && strings.HasPrefix(n.Name, "nvcr.io/nvidia/")
		return n.Origin == "image" && n.Environment == b.Env.Environment && brings
	})
}

// DriverTooOld reports a build whose CUDA needs a newer driver, if no cuda-compat library makes up for it. The CUDA
// runtime refuses to start below the minimum driver of its major version (error 35), so the finding is an error. The
// minimums are 450.80.02 for 11.x, 525.60.13 for 12.x and 580 for 13.x (NVIDIA's page on minor-version compatibility).
// Before 11, each toolkit has its own minimum (minor_compat.csv, cuda.csv).
func DriverTooOld(m *model.Machine, b *model.Build) []*rule.Result {
	switch r := reachFor(m, b); {
	case r == nil:
		return nil
	case r.missing.IsMissing():
		lacks := &rule.Result{Subject: b.Subject, Missing: r.missing, Need: r.need, Decides: true}
		if !m.Driver().Version.Known() {
			lacks.Rests = []verdict.LinkName{verdict.LinkModule} // no driver is there to have a version
		}
		return []*rule.Result{lacks}
	// Report one error for one cause: the framework's pin helps its extension, too.
	case r.state == hardware.FloorBelow && tooOldWith(m, b):
		return []*rule.Result{{Subject: b.Subject, Implied: true}}
	case r.state == hardware.FloorBelow:
		f := tooOld(m, b, r.cuda, r.need, r.source)
		return []*rule.Result{{Subject: b.Subject, Finding: &f, Row: floorRow(m, r.cuda)}}
	}
	return rule.PassJudged(b.Subject)
}

// deviceName returns a device as its vendor writes it.
func deviceName(device string) string {
	if device == "rocm" {
		return "ROCm"
	}
	return strings.ToUpper(device)
}

// openOnL4T returns the question that a Jetson's driver leaves open about a build, or nil. NVIDIA publishes which CUDA
// belongs to an L4T release, and no driver minimum for a newer one.
func openOnL4T(m *model.Machine, b *model.Build) verdict.MissingFact {
	switch driver := m.Driver(); {
	case !b.CUDANumber.Known() || b.Device != "cuda" && b.Device != "":
		return verdict.MissingFact{}
	case m.Target.Driver != "" && hasCode(m, b): // otherwise the code decides
		return verdict.Question("whether the driver of the Jetson's L4T release runs CUDA " + b.CUDANumber.Short()).Because(verdict.OnJetson)
	case driver.CUDASeen && driver.CUDA.Major() < b.CUDANumber.Major():
		return verdict.Question("whether the driver of the Jetson's L4T release, which reports CUDA " + driver.CUDA.Short() +
			", runs CUDA " + b.CUDANumber.Short()).Because(verdict.OnJetson)
	}
	return verdict.MissingFact{}
}

// hasCode reports whether a build is known to have code for every GPU.
func hasCode(m *model.Machine, b *model.Build) bool {
	return !slices.ContainsFunc(m.GPUs, func(g hardware.GPU) bool {
		covered, _, _ := m.Code(b, g)
		return covered < version.ByPTX
	})
}

// floorRow returns the table row with the minimum driver of a CUDA.
func floorRow(m *model.Machine, cuda version.Number) string {
	if m.Tables.Family(cuda) != nil {
		return fmt.Sprintf("CUDA %d in minor_compat.csv", cuda.Major())
	}
	return "CUDA " + cuda.Short() + " in cuda.csv"
}

// reach is the result of comparing the driver with what a build needs.
type reach struct {
	state   hardware.FloorState
	cuda    version.Number // the build's, or of its rows the one that decides
	need    string
	source  []string
	missing verdict.MissingFact // the fact without which state means nothing
}

// reachFor compares the driver with what a build needs. It returns nil if the question does not arise. The order of the
// cases matters: first what makes the question moot, then missing facts, and the comparison last.
func reachFor(m *model.Machine, b *model.Build) *reach {
	lacks := func(fact verdict.MissingFact) *reach { return &reach{missing: fact} }
	switch {
	// A CPU build needs no driver.
	case b.Device == "cpu":
		return nil
	// The driver belongs to an L4T release, so driver branches say nothing about it.
	case m.L4T():
		if fact := openOnL4T(m, b); fact.IsMissing() {
			return lacks(fact)
		}
		return nil
	// companion-mismatch and extension-mismatch say why the build does not load. A newer driver would not change that.
	case len(b.Unmet) > 0:
		return nil // it loads on no driver
	// ROCm or XPU: unknown. cudacompat does not look for AMD's or Intel's drivers, and the build may well run.
	case b.Device != "cuda" && b.Device != "":
		return lacks(verdict.Question("what a build for " + deviceName(b.Device) + " needs").Because(verdict.NotCUDA))
	// The answer is unknown, but the report still shows which driver the build needs. If a torch saw the GPU, its
	// driver is new enough.
	case !m.DriverTold():
		if sawGPU(m) && b.Name == "torch" {
			return &reach{state: hardware.FloorFull}
		}
		if !b.CUDANumber.Known() {
			return lacks(verdict.NoDriver)
		}
		r := reachOf(m, b.CUDANumber)
		r.missing = verdict.NoDriver
		return r
	// Whether cuda-compat applies decides which minimum holds, so nothing can be decided without it.
	case m.Forward().State == hardware.ForwardUndecided || m.Forward().State == hardware.ForwardUndecidedGPU:
		return lacks(m.Forward().Lacks)
	// Nothing else represents a package that needs no framework, so silence would look like a good answer.
	case !b.CUDANumber.Known() && b.Standalone && !b.GoesOn() && b.Name != "triton": // whose ptxas is judged
		return lacks(verdict.Question("which CUDA it is built for"))
	case !b.CUDANumber.Known() && b.Extension:
		return nil // its framework is judged
	case !b.CUDANumber.Known():
		return reachOfEvery(m, b)
	}
	r := reachOf(m, b.CUDANumber)
	switch {
	// The tables have no minimum driver for this CUDA. The driver's own CUDA version would decide instead, but it is
	// not known.
	case r.state == hardware.FloorUnknown:
		return lacks(verdict.Question("which driver CUDA " + b.CUDANumber.Short() + " needs"))
	case r.state == hardware.FloorBelow:
		r.missing = belowFloorQuestion(m, b, r.need)
	}
	return r
}

// tooOldWith reports whether the driver is also too old for the build that an extension belongs to. The fix for that
// build then fixes the extension.
func tooOldWith(m *model.Machine, b *model.Build) bool {
	return b.Extension && slices.ContainsFunc(m.Builds, func(o *model.Build) bool {
		with := !o.Extension && !b.Standalone || b.PartOf != "" && o.Name == b.PartOf
		state, _, _ := m.Floor(o.CUDANumber)
		return o != b && o.Env == b.Env && with && o.CUDANumber.Known() && state == hardware.FloorBelow
	})
}

func reachOf(m *model.Machine, cuda version.Number) *reach {
	r := reach{cuda: cuda}
	r.state, r.need, r.source = m.Floor(cuda)
	return &r
}

// sawGPU reports whether a report shows that its torch reached the GPU. The driver is then new enough for that torch,
// whichever it is.
func sawGPU(m *model.Machine) bool {
	seen := m.Facts.Observed.CUDAAvailable
	return seen != nil && *seen && m.Target.Driver == ""
}

// belowFloorQuestion returns the questions about a build that may run below its minimum driver, or nil. What a program
// saw on the machine is stronger evidence than any table.
func belowFloorQuestion(m *model.Machine, b *model.Build, need string) verdict.MissingFact {
	// A collect_env report records what the program saw. If it contradicts the table, the table may be wrong.
	if sawGPU(m) {
		return verdict.Question("why the report says that CUDA is available although " + m.DriverWords() + " does not meet " + need)
	}
	// Images of nvidia/cuda and NGC bring cuda-compat, but only the running container shows whether the loader takes
	// it. Packages installed over an image load the same libcuda.
	if inImage(m, b) && m.LetIn(b) {
		runs := "may run it"
		if m.CompatPackage(b.CUDANumber) != nil {
			runs = "runs it"
		}
		return verdict.Question("whether the image's own cuda-compat library is loaded, which " + runs + " on " + m.DriverWords()).Because(verdict.OwnCompat)
	}
	return verdict.MissingFact{}
}

// reachOfEvery judges a build whose variant is unknown. If every variant of the release needs a newer driver, so does
// this one. If every variant fits, this one fits.
func reachOfEvery(m *model.Machine, b *model.Build) *reach {
	missing := &reach{missing: verdict.Question("which CUDA it was built with").Because(m.Unsaid(b))}
	if len(b.Rows) == 0 {
		return missing
	}
	lowest := slices.MinFunc(b.Rows, func(x, y model.Row) int { return x.CUDA.Compare(y.CUDA) }).CUDA
	highest := slices.MaxFunc(b.Rows, func(x, y model.Row) int { return x.CUDA.Compare(y.CUDA) }).CUDA
	// The minimum driver rises with CUDA. So the lowest variant decides whether all are too new, and the highest,
	// below, whether all fit.
	if r := reachOf(m, lowest); r.state == hardware.FloorBelow {
		return r
	}
	if r := reachOf(m, highest); r.state == hardware.FloorFull || r.state == hardware.FloorMinor {
		return r
	}
	return missing
}

// tooOld returns the finding for the CUDA that decides: the build's own, or the lowest of a release whose variant is
// open.
func tooOld(m *model.Machine, b *model.Build, cuda version.Number, need string, source []string) verdict.Finding {
	f := verdict.Finding{Severity: verdict.Error, Subject: b.Subject, Need: need, Source: source,
		Message:  fmt.Sprintf("CUDA %s needs %s; this is %s", cuda.Short(), strings.TrimPrefix(need, "a "), m.DriverWords()),
		Evidence: append([]verdict.Evidence{m.EvidenceDriver()}, b.Evidence()...)}
	// Show the driver's CUDA as evidence only if the driver was asked. The CUDA of the branch's row was not read on
	// this machine.
	if m.Driver().CUDASeen {
		f.Evidence = append(f.Evidence, verdict.Evidence{Fact: "driver CUDA", Value: m.Driver().CUDA.String(),
			From: cmp.Or(m.Facts.Driver.CUDAFrom, m.Driver().From)})
	}
	// The steps are ordered by cost. Another build changes only the environment. Another driver takes root and a
	// reboot. A cuda-compat package works only on data-centre GPUs and must come first on the loader's path.
	f.Pins, f.Steps = pins.ForBuild(m, b)
	// A cuda-compat library is loaded, but the CUDA that it supports is still too old.
	if m.Forward().State == hardware.ForwardWorks {
		f.Evidence = append(f.Evidence, m.EvidenceCompat())
	}
	f.Pins = append(f.Pins, pins.DriverPins(m, cuda)...)
	compat, steps := pins.Compat(m, cuda)
	f.Pins, f.Steps = append(f.Pins, compat...), append(f.Steps, steps...)
	f.Steps = append(f.Steps, pins.DriverSteps(m, cuda)...)
	if len(f.Pins) > 0 && len(f.Steps) > 0 { // why no other build is named stands beside the driver
		f.Steps[0].Or = true
	}
	return f
}

// MinorCompat notes that a build runs by minor-version compatibility, which has limits. NVIDIA supports it, so this is
// a note. It is worth saying because people and tools take the "CUDA Version" of nvidia-smi for a ceiling, which it is
// not.
func MinorCompat(m *model.Machine, b *model.Build) []*rule.Result {
	// The framework already has this note. One for each extension would be noise.
	part := b.Extension && b.Origin != "image"
	// With a cuda-compat library loaded, the forward-compat rules say how the build runs.
	if b.Device != "cuda" || part || !b.CUDANumber.Known() || m.L4T() || m.Forward().State != hardware.ForwardNone {
		return nil
	}
	state, need, source := m.Floor(b.CUDANumber)
	// Minor-version compatibility holds within one major version. An older driver beside newer libraries is the subject
	// of driver-mismatch.
	if state != hardware.FloorMinor || !m.Driver().CUDA.Known() || b.CUDANumber.Major() > m.Driver().CUDA.Major() {
		return nil
	}
	f := verdict.Finding{Severity: verdict.Note, Subject: b.Subject, Need: need, Source: source,
		Message: fmt.Sprintf("works: NVIDIA supports CUDA %s builds on this driver, whose CUDA is %s (minor-version compatibility); only PTX compiled at run time and newer driver APIs (CUDA error 36) can fail", b.CUDANumber.Short(),
			m.Driver().CUDA.Short()),
		Evidence: append([]verdict.Evidence{m.EvidenceDriver()}, b.Evidence()...)}
	return []*rule.Result{{Subject: b.Subject, Finding: &f, Answer: verdict.WorksMinorVersion}}
}

// CPUOnly reports a framework that `python3` starts here but that cannot use the GPU that is present. It is an
// error because the framework silently computes on the CPU, and no driver, toolkit or variable changes that.
func CPUOnly(m *model.Machine, b *model.Build) []*rule.Result {
	// A CPU build is right if there is no GPU, or none that this process may use.
	if len(m.GPUs) == 0 || m.Shown.Hidden {
		return nil
	}
	// ROCm and XPU builds are for other accelerators, so they are neither right nor wrong here.
	if b.Device != "cpu" {
		if b.Device == "cuda" {
			return rule.PassJudged(b.Subject)
		}
		return nil
	}
	f := verdict.Finding{Severity: verdict.Error, Subject: b.Subject,
		Message: fmt.Sprintf("%s %s is a CPU build and cannot use %s", b.Name, b.Version, m.GPUs[0].Label),
		Need:    "a CUDA build of " + b.Name, Evidence: append(b.Evidence(),
			verdict.Evidence{Fact: "GPU", Value: m.GPUs[0].Label, From: m.GPUs[0].From})}
	f.Pins, f.Steps = pins.ForBuild(m, b)
	f.Source = []string{"https://pytorch.org/get-started/locally/"}
	// On Arm the usual cause is the default index, so the message says where the CUDA wheels are.
	if m.Platform == "linux_aarch64" && b.Name == "torch" {
		f.Message += "; on aarch64 PyPI's wheel was for CPUs up to 2.10, the CUDA wheels are on PyTorch's own index"
	}
	// No pin helps here: on Windows, newer TensorFlow has CUDA only under WSL2.
	if b.By == cudaof.Platform {
		f.Message += "; 2.10 was TensorFlow's last release with CUDA for Windows"
		f.Pins, f.Steps = nil, []pin.Step{pin.Say("run `" + pin.Install{Packages: []string{"tensorflow[and-cuda]"}}.Commands(pin.Place{})["pip"] + "` in WSL2")}
		f.Source = []string{"https://github.com/tensorflow/tensorflow/releases/tag/v2.11.1"}
	}
	switch {
	// No build can use the GPU without a driver. If one is wanted, driver-missing says so.
	case undriven(m):
		f.Severity, f.Pins, f.Steps = verdict.Note, nil, []pin.Step{pin.Say("to use the GPU, install the NVIDIA driver, then the CUDA build; until then it runs on the CPU")}
	// An environment that was merely found may be meant for the CPU: tests, tools, a login node.
	case b.Standing == model.Searched, chosenByNobody(b) && elsewhereCUDA(m, b):
		f.Severity = verdict.Note
	// A CUDA build of one framework does not show that the CPU build of another was chosen: an install may have
	// replaced it.
	case besideCUDA(m, b):
		f.Severity = verdict.Warning
	}
	return rule.ReportFinding(f)
}

// undriven reports whether no NVIDIA driver runs on this host. Its GPU then drives a screen at most.
func undriven(m *model.Machine) bool {
	return m.Here() && m.Host() && m.OnPCI() && !m.Driver().Loaded && m.Facts.Driver.NVML.Status != "ok" && !m.WantsGPU()
}

// besideCUDA reports whether another framework of the same environment is a CUDA build.
func besideCUDA(m *model.Machine, b *model.Build) bool {
	return slices.ContainsFunc(m.Builds, func(o *model.Build) bool {
		return o.Env == b.Env && o != b && o.Device == "cuda" && !o.Extension
	})
}

// elsewhereCUDA reports whether a framework of another environment is a CUDA build.
func elsewhereCUDA(m *model.Machine, b *model.Build) bool {
	return slices.ContainsFunc(m.Builds, func(o *model.Build) bool {
		return o.Env != b.Env && o.Device == "cuda" && !o.Extension
	})
}

// chosenByNobody reports whether a build is judged only because no environment is active or named.
func chosenByNobody(b *model.Build) bool { return b.Counts && !b.Env.Active && !b.Env.Named }

// openTorchMissing is the open question about a package that brings the newest torch, whichever that is.
var openTorchMissing = verdict.Question("which torch it brings").Because(verdict.FileReason("names no release of it"))

// lackedGPU returns the fact that a build lacks if there is no GPU to compare it with. If something keeps programs from
// every GPU that is present, it names that.
func lackedGPU(m *model.Machine) verdict.MissingFact {
	every := func(kept func(facts.GPU) bool) bool {
		return m.Here() && len(m.Facts.GPUs) > 0 && !slices.ContainsFunc(m.Facts.GPUs, func(g facts.GPU) bool { return !kept(g) })
	}
	switch {
	case every(func(g facts.GPU) bool { return g.Excluded }):
		return verdict.MissingFact{Missing: "a GPU that the driver's options do not leave out", Reason: "excluded",
			Why: "the driver's options leave out every GPU here (NVreg_ExcludedGpus)"}
	case every(func(g facts.GPU) bool { return g.Drained }):
		return verdict.MissingFact{Missing: "a GPU that is not drained", Reason: "excluded",
			Why: "an administrator drained every GPU here (nvidia-smi drain)"}
	case every(hardware.ToVM):
		return verdict.MissingFact{Missing: "a GPU that is not held for a virtual machine by " + m.Facts.GPUs[0].Bound, Reason: "held",
			Why: "every GPU here is held for a virtual machine by " + m.Facts.GPUs[0].Bound}
	}
	if m.Jetson() && m.Here() {
		return verdict.Question("which Jetson module this is").WithFlag("--gpu")
	}
	return verdict.NoGPU
}

// GPUArchMissing reports a build that has no code for any visible GPU. It also reports a required part of a build that
// has none.
func GPUArchMissing(m *model.Machine, b *model.Build) []*rule.Result {
	results := codeFor(m, b)
	for _, r := range results {
		r.Without = r.Finding != nil && b.Optional()
	}
	return append(results, unsupportedGPUs(m, b)...)
}

// unsupportedGPUs checks whether the projects of the packages beside a torch support the GPUs. SGLang, for example,
// raises an error below 7.5 whatever code torch has. It skips a package that is a build of its own, because that is
// judged separately.
func unsupportedGPUs(m *model.Machine, b *model.Build) []*rule.Result {
	if b.Name != "torch" || len(m.GPUs) == 0 {
		return nil
	}
	var results []*rule.Result
	for _, p := range pins.Beside(b.Env) {
		least, source := m.Tables.LeastCapability(p.Name, p.Number)
		own := slices.ContainsFunc(m.Builds, func(o *model.Build) bool { return o.Env == b.Env && o.Name == p.Name })
		if !least.Known() || own {
			continue
		}
		subject := p.Name + " " + p.Version + model.PlaceOf(b.Env.Environment)
		below := slices.DeleteFunc(slices.Clone(m.GPUs), func(g hardware.GPU) bool {
			return !g.Capability.Known() || g.Capability.AtLeast(least)
		})
		if len(below) == 0 {
			results = append(results, rule.Pass(subject)...)
			continue
		}
		f := verdict.Finding{Severity: verdict.Error, Subject: subject, Source: source,
			Need:    fmt.Sprintf("a GPU of compute capability %s or newer", least),
			Message: fmt.Sprintf("%s %s does not support %s", p.Name, p.Version, below[0].Label),
			Evidence: []verdict.Evidence{{Fact: p.Name, Value: p.Version, From: p.Path},
				{Fact: "GPU", Value: below[0].Label, From: below[0].From},
				{Fact: "least compute capability", Value: least.String(), From: "trait.csv"}},
			Steps: []pin.Step{pin.Say("take a GPU of compute capability " + least.String() + " or newer")}}
		switch {
		case !m.Tables.Trait("pins-torch", p.Name, p.Number) && b.Env.Kind != "requirements" &&
			(b.Path != "" || !m.Tables.Trait("only-kernels", p.Name, p.Number)):
			f.Severity = verdict.Warning // TensorRT is there for those who ask for it
		case len(below) < len(m.GPUs):
			f.Severity = verdict.Warning
			f.Steps = []pin.Step{hideGPUs(m, below, "hides the GPUs that it does not support")}
		}
		results = append(results, rule.ReportFinding(f)...)
	}
	return results
}

// codeFor checks whether a build has code for the GPUs.
func codeFor(m *model.Machine, b *model.Build) []*rule.Result {
	if b.Foreign != "" {
		return foreignCode(m, b)
	}
	if !ComparesCode(b) {
		return nil
	}
	switch {
	case hasNoKernels(b):
		return nil // its libraries hold no kernels of their own
	case isBaseImage(b):
		return container.JudgeBaseImage(m, b)
	// The code is torch's, so it depends on the release of torch that the installer picks.
	case b.Named != nil && openTorch(b.Named):
		return rule.ReportUndecided(b.Subject, openTorchMissing)
	}
	if len(m.GPUs) == 0 {
		return rule.ReportUndecided(b.Subject, lackedGPU(m))
	}
	without, proof, missing := findUncovered(m, b)
	// The GPU that cannot be judged may be the one that works, so it is not decided whether this is an error or a
	// warning.
	if len(without) < len(m.GPUs) && missing.IsMissing() {
		return rule.ReportUndecided(b.Subject, missing)
	}
	r := rule.Result{Subject: b.Subject, Need: "machine code or PTX for the GPU", Row: codeFrom(b), Source: b.Source()}
	// A part that other packages can do without matters only if it serves none of the GPUs.
	if len(without) == len(m.GPUs) || len(without) > 0 && !b.Optional() {
		f := archMissing(m, b, without, proof)
		r.Finding = &f
	}
	r.Judged = r.Finding == nil
	return []*rule.Result{&r}
}

// codeFrom returns the source that describes the machine code of a build.
func codeFrom(b *model.Build) string {
	switch {
	case len(b.SASS)+len(b.PTX) > 0:
		return "the build itself"
	case len(b.Rows) > 0:
		r := b.Rows[0]
		return strings.TrimSpace(fmt.Sprintf("%s %s %s in %s.csv", r.Release, r.Variant, r.Platform, r.Framework))
	}
	return "gpu.csv"
}

// foreignCode judges a build whose files cannot load on the target at all. The tables can prove that the same release
// has no code for the GPUs there. They cannot prove that this installation works. An x86-64 environment on a GB10 or
// g5g is judged by what an installation there would get.
func foreignCode(m *model.Machine, b *model.Build) []*rule.Result {
	if ComparesCode(b) && len(b.Rows) > 0 && len(m.GPUs) > 0 {
		if without, proof, _ := findUncovered(m, b); len(without) == len(m.GPUs) {
			return rule.ReportFinding(archMissing(m, b, without, proof))
		}
	}
	return rule.ReportUndecided(b.Subject, verdict.Question(fmt.Sprintf("what its build for %s holds: this one is for %s",
		strings.TrimPrefix(m.Platform, "linux_"), b.Foreign)))
}

// hasNoKernels reports whether all libraries of a program or package were read and none contains kernels.
func hasNoKernels(b *model.Build) bool {
	return (b.Program() || b.Extension && b.Named == nil && b.Path != "") && len(b.SASS)+len(b.PTX) == 0 && b.Damaged == ""
}

// ComparesCode reports whether a build has code of its own that must match the GPU.
func ComparesCode(b *model.Build) bool {
	return (b.Device == "cuda" || b.Device == "") && !b.CompilesLater() && !(b.Either() && len(b.SASS) == 0)
}

// findUncovered returns the GPUs for which a build, or a part of it, has no code, with the proof. missing is the fact
// that is needed to judge one of the other GPUs.
func findUncovered(m *model.Machine, b *model.Build) (without []hardware.GPU, proof verdict.Evidence, missing verdict.MissingFact) {
	for _, g := range m.GPUs {
		c, by, lack := m.Code(b, g)
		switch p := model.Unserved(b.Parts(), g.Capability); {
		case c == version.Uncovered:
			without, proof = append(without, g), m.EvidenceCode(b, by)
		case c == version.Unsure:
			missing = lack
		// If all kernels of a section have the same targets, the section itself must support the GPU. TensorFlow 2.20
		// has PTX for an RTX 5090 in .nv_fatbin, but its MLIR kernels in .rodata have none, and the first
		// multiplication fails with CUDA_ERROR_INVALID_PTX.
		case p != nil:
			without, proof = append(without, g), p.Evidence(b)
		}
	}
	return without, proof, missing
}

func archMissing(m *model.Machine, b *model.Build, without []hardware.GPU, code verdict.Evidence) verdict.Finding {
	f := verdict.Finding{Severity: verdict.Error, Subject: b.Subject, Need: "code or PTX for " + without[0].Capability.SM(),
		Message:  strings.TrimSpace(b.Name+" "+b.Version) + " has no code for " + without[0].Label,
		Evidence: append(b.Evidence(), verdict.Evidence{Fact: "GPU", Value: without[0].Label, From: without[0].From}, code),
		Source:   b.Source()}
	if p := model.Unserved(b.Parts(), without[0].Capability); p != nil {
		f.Message += " in " + p.String()
	}
	own, by, _ := m.OwnCode(b, without[0])
	if by == model.Unsupported {
		least, source := m.Tables.LeastCapability(b.Name, b.Release.Number)
		f.Need, f.Source = fmt.Sprintf("a GPU of compute capability %s or newer", least), source
	}
	brought := b.BringsTorch() && own != version.Uncovered
	if brought {
		f.Message = fmt.Sprintf("%s %s brings torch %s, which has no code for %s", b.Name, b.Version, b.Named.Torch,
			without[0].Label)
	}
	// CUDA orders the GPUs by speed, so a program may get one without code by default. That is a warning, not an error.
	if len(without) < len(m.GPUs) {
		f.Severity = verdict.Warning
		f.Steps = []pin.Step{hideGPUs(m, without, "hides the GPUs that it has no code for")}
		return f
	}
	// Examples are xFormers, FlashAttention 3, and SGLang's Hopper kernels on an A10G: the package that installed them
	// uses other kernels there.
	if b.Optional() && !brought {
		f.Severity = verdict.Note
		if b.PartOf != "" {
			f.Message += "; it was installed with " + b.PartOf + ", whose parts that need it fail"
		}
	}
	f.Pins, f.Steps = pins.ForBuild(m, b)
	// No table knows such a build, so the source is NVIDIA's page about the chip's capability.
	if len(f.Source) == 0 && without[0].Chip != nil {
		f.Source = without[0].Chip.Source
	}
	return f
}

// GPUArchPTXOnly reports a build whose PTX the driver must compile before the first start. The build runs afterwards
// and the result is cached on disk, so this is a warning, although the first start of a framework takes minutes.
func GPUArchPTXOnly(m *model.Machine, b *model.Build) []*rule.Result {
	if b.Device != "cuda" {
		return nil
	}
	if f := codeIgnored(m, b); f != nil {
		return rule.ReportFinding(*f)
	}
	for _, g := range m.GPUs {
		if c, _, _ := m.Code(b, g); c == version.ByPTX {
			severity := verdict.Warning
			// An extension compiles a few kernels on first use. A framework compiles thousands when it starts.
			if b.Extension {
				severity = verdict.Note
			}
			return rule.ReportFinding(verdict.Finding{Severity: severity, Subject: b.Subject, Need: "machine code for " + g.Capability.SM(),
				Message: fmt.Sprintf("%s %s has only PTX for %s: the driver compiles it, so the first start is slow", b.Name,
					b.Version, g.Label),
				Evidence: append(b.Evidence(), verdict.Evidence{Fact: "GPU", Value: g.Label, From: g.From}, m.EvidenceCode(b, "")),
				Source:   b.Source(),
				Steps:    []pin.Step{pin.Say("keep the compiled code between starts: a CUDA_CACHE_PATH that persists, CUDA_CACHE_MAXSIZE=4294967296")}})
		}
	}
	return nil
}

// codeIgnored reports a variable that makes the driver ignore the only code that a build has for a GPU: its PTX
// (CUDA_DISABLE_PTX_JIT), or its machine code (CUDA_FORCE_PTX_JIT, often set for a test and forgotten). It is an error
// if no GPU remains.
func codeIgnored(m *model.Machine, b *model.Build) *verdict.Finding {
	var f *verdict.Finding
	served := false
	for _, g := range m.GPUs {
		name, why := ignores(m, b, g)
		if name == "" {
			served = true
		} else if f == nil {
			f = &verdict.Finding{Severity: verdict.Error, Subject: b.Subject, Need: name + " unset",
				Message:  fmt.Sprintf("%s %s has %s", b.Name, b.Version, why),
				Evidence: append(b.Evidence(), verdict.Evidence{Fact: "GPU", Value: g.Label, From: g.From}, m.EvidenceCode(b, ""), rule.VariableEvidence(m, name)),
				Source:   []string{"https://docs.nvidia.com/cuda/archive/13.4.3/cuda-programming-guide/05-appendices/environment-variables.html"},
				Steps:    []pin.Step{rule.UnsetStep(m, name)}}
		}
	}
	if f != nil && served {
		f.Severity = verdict.Warning
	}
	return f
}

// ignores returns the variable that disables a build's code for a GPU, and how. It returns "" if the code runs.
func ignores(m *model.Machine, b *model.Build, g hardware.GPU) (variable, why string) {
	c, _, _ := m.Code(b, g)
	switch {
	case c == version.ByPTX && isSet(m, "CUDA_DISABLE_PTX_JIT"):
		return "CUDA_DISABLE_PTX_JIT", "only PTX for " + g.Label + ", and CUDA_DISABLE_PTX_JIT=1 keeps the driver from compiling it"
	case c == version.BySASS && isSet(m, "CUDA_FORCE_PTX_JIT") &&
		version.Cover(nil, b.PTX, g.Capability) == version.Uncovered:
		return "CUDA_FORCE_PTX_JIT", "no PTX for " + g.Label + ", and CUDA_FORCE_PTX_JIT=1 makes the driver ignore its machine code"
	}
	return "", ""
}

// isSet reports whether a CUDA switch is on for the programs that are judged.
func isSet(m *model.Machine, variable string) bool {
	return m.Starts() && m.Facts.Variables[variable] == "1"
}

// PythonUnsupported reports a release that has no wheel for this Python.
func PythonUnsupported(m *model.Machine, b *model.Build) []*rule.Result {
	// A Python named for the target replaces the environment's own Python, which these files are for.
	if results := python.ReportOtherPythons(b); results != nil && m.Target.Python == "" {
		return results
	}
	python := version.ShortPython(b.Interpreter)
	// What the reporter imported works with his Python, whatever the table lists.
	if python == "" || len(b.Rows) == 0 || m.Facts.Observed.Imported && m.Target.Python == "" {
		return nil
	}
	// The tag of the modules on disk is proof. The release's row only matters for a build that is named and not
	// installed.
	if b.Python != "" {
		// "3.13t" is the free-threaded build of 3.13. Reports often omit the letter.
		if b.Python == python || strings.TrimSuffix(b.Python, "t") == python {
			return rule.Pass(b.Subject)
		}
		return rule.ReportFinding(noPython(m, b, fmt.Sprintf("the installed %s %s is for Python %s, and this is Python %s", b.Name, b.Version, b.Python, python)))
	}
	// One variant for this Python is enough. A row without a list of Pythons excludes none.
	for _, r := range b.Rows {
		if len(r.Python) == 0 || slices.Contains(r.Python, python) {
			return rule.Pass(b.Subject)
		}
	}
	return rule.ReportFinding(noPython(m, b, fmt.Sprintf("%s %s has no build for Python %s: its wheels are for Python %s", b.Name, b.Version, python,
		strings.Join(b.Rows[0].Python, ", "))))
}

// noPython pins a release that has a build for this Python. The alternative, another Python, comes last because it
// means making the whole environment anew.
func noPython(m *model.Machine, b *model.Build, message string) verdict.Finding {
	f := verdict.Finding{Severity: verdict.Error, Subject: b.Subject, Message: message,
		Need: "a Python that the release supports", Source: b.Source(),
		Evidence: append(b.Evidence(), verdict.Evidence{Fact: "Python", Value: b.Interpreter, From: cmp.Or(b.Env.Path, "--python")})}
	f.Pins, f.Steps = pins.ForBuild(m, b)
	if len(b.Rows) > 0 && len(b.Rows[0].Python) > 0 {
		// A release that is older than a Python never gets a wheel for it. To keep the release, change the Python.
		newest := b.Rows[0].Python[len(b.Rows[0].Python)-1]
		f.Steps = append(f.Steps, pin.Run(pin.Command("uv", "venv", "--python", strings.TrimSuffix(newest, "t"))).Explained(
			"keeps the release, in a new environment with another Python").Instead())
	}
	return f
}

// GlibcTooOld reports a wheel whose tag requires a newer C library than the system has. It is an error: the loader
// refuses the library at import (version `GLIBC_2.28' not found). glibc cannot be upgraded by itself, because every
// program of the distribution needs it, so the steps name a container or a newer distribution.
func GlibcTooOld(m *model.Machine, b *model.Build) []*rule.Result {
	have, need := m.Libc, b.GlibcNumber
	// What the libraries themselves ask for goes before the release's row.
	if !need.Known() && len(b.Rows) > 0 {
		need = b.Rows[0].Glibc
	}
	// An import that worked proves the C library. Only Linux has glibc.
	if !need.Known() || m.Facts.Observed.Imported || !strings.HasPrefix(m.Platform, "linux") ||
		m.Target.Instance != "" && m.Facts.System.Libc == "" {
		return nil
	}
	// musl runs no manylinux wheel, whatever version it is of (PEP 656).
	if m.Facts.System.Libc != "musl" && !have.Known() {
		return nil
	}
	// musl's version is not compared: have is unknown there, and less than any need.
	if !have.Less(need) {
		return rule.Pass(b.Subject)
	}
	f := verdict.Finding{Severity: verdict.Error, Subject: b.Subject, Need: "glibc >= " + need.String(),
		Source:   []string{"https://peps.python.org/pep-0600/"},
		Message:  fmt.Sprintf("%s %s is built for glibc %s; this system has %s", b.Name, b.Version, need, m.Facts.System.Libc),
		Evidence: append(b.Evidence(), verdict.Evidence{Fact: "libc", Value: m.Facts.System.Libc, From: m.Facts.System.LibcFrom})}
	f.Pins, f.Steps = pins.ForBuild(m, b)
	f.Steps = append(f.Steps, pin.Say("run it in a container, or on a newer release of the distribution, with glibc >= "+need.String()).Instead())
	return rule.ReportFinding(f)
}
