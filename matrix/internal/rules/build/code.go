package build

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
)

// ptxSource is NVIDIA's list of PTX versions by toolkit and driver.
const ptxSource = "https://docs.nvidia.com/cuda/parallel-thread-execution/index.html#release-notes"

// PTXNewerThanDriver reports a build, or a part of it, that has only PTX for a GPU, in a version that the driver's
// compiler does not know: error 222 (CUDA_ERROR_UNSUPPORTED_PTX_VERSION). Minor-version compatibility does not cover
// PTX, so a driver above the minimum can still fail. The version is the one in the entry's header and not the build's
// CUDA, because a compiler can write older PTX. If the build works on another visible GPU, this is a note.
func PTXNewerThanDriver(m *model.Machine, b *model.Build) []*rule.Result {
	if b.Device != "cuda" {
		return nil
	}
	hit, only, missing := newerPTX(m, b)
	switch {
	case len(hit.gpus) > 0:
		f := ptxFinding(m, b, hit)
		need := fmt.Sprintf("a driver that supports CUDA %s: all it has for the GPU is PTX %s", m.Tables.CUDAOfPTX(hit.isa).Short(), hit.isa)
		return []*rule.Result{{Subject: b.Subject, Finding: &f, Need: need, Row: "cuda.csv, driver_branch.csv"}}
	case missing.IsMissing():
		return rule.ReportMissing(b.Subject, missing)
	case only:
		return rule.Pass(b.Subject)
	}
	return nil
}

// newerPTX returns the PTX in a build that is newer than the driver, with the GPUs that have no other code. only
// reports whether PTX is the only code for one of them; missing is the fact that was not known.
func newerPTX(m *model.Machine, b *model.Build) (hit newPTX, only bool, missing verdict.MissingFact) {
	for _, g := range m.GPUs {
		one, lack := ptxFor(m, b, g)
		only = only || one != nil
		missing = cmp.Or(lack, missing)
		if one != nil && one.newer {
			hit.part, hit.isa, hit.gpus = one.part, one.isa, append(hit.gpus, g)
		}
	}
	return hit, only, missing
}

// severity returns the severity for PTX that the driver cannot compile. For a part of a build it is no error if other
// parts do the same work, as vLLM's other attention kernels do.
func (hit newPTX) severity(m *model.Machine, b *model.Build) verdict.Severity {
	switch {
	// Programs can choose a GPU that works.
	case len(hit.gpus) < len(m.GPUs):
		return verdict.Note
	// vLLM's _vllm_fa2_C has only sm_80 and PTX 8.8. vLLM has other attention kernels.
	case hit.part != nil && !b.IsFramework():
		return verdict.Warning
	}
	return verdict.Error
}

// newPTX is PTX that the driver must compile for a GPU, in a version newer than the driver.
type newPTX struct {
	part  *model.Part // nil: all that the build has
	isa   version.Number
	newer bool // than the driver's compiler
	gpus  []hardware.GPU
}

// ptxFor returns the PTX that the driver must compile for a GPU. It prefers a part whose PTX is too new. It returns nil
// if there is machine code. missing is the fact that is not known.
func ptxFor(m *model.Machine, b *model.Build, g hardware.GPU) (one *newPTX, missing verdict.MissingFact) {
	list := b.Parts()
	if c, _, _ := m.Code(b, g); c == version.ByPTX {
		list = append([]model.Part{{Group: version.Group{PTX: b.PTX, ISA: b.PTXVersions}}}, list...)
	}
	for i, p := range list {
		if p.Cover(g.Capability) != version.ByPTX {
			continue
		}
		found := newPTX{isa: p.PTXFor(g.Capability)}
		if p.Section != "" {
			found.part = &list[i]
		}
		newer, lack := m.NewerPTX(b.CUDANumber, found.isa)
		if found.newer = newer; newer {
			return &found, verdict.MissingFact{}
		}
		one, missing = &found, cmp.Or(missing, lack)
	}
	return one, missing
}

func ptxFinding(m *model.Machine, b *model.Build, hit newPTX) verdict.Finding {
	cuda, g := m.Tables.CUDAOfPTX(hit.isa), hit.gpus[0]
	what, code := "the build has", m.EvidenceCode(b, "")
	if hit.part != nil {
		what, code = "the kernels in "+hit.part.String()+" have", hit.part.Evidence(b)
	}
	f := verdict.Finding{Severity: hit.severity(m, b), Subject: b.Subject, Source: []string{ptxSource},
		Need: fmt.Sprintf("a driver that supports CUDA %s, or machine code for %s", cuda.Short(), g.Capability.SM()),
		Message: fmt.Sprintf("for %s %s only PTX, of version %s, which %s (CUDA %s) cannot compile: error 222",
			g.Label, what, hit.isa, m.DriverWords(), m.Driver().CUDA.Short()),
		Evidence: append([]verdict.Evidence{m.EvidenceDriver(), {Fact: "GPU", Value: g.Label, From: g.From}, code,
			{Fact: "PTX version", Value: hit.isa.String(), From: code.From}}, b.Evidence()...)}
	// Another GPU works with the build, so hiding these is enough. Nothing has to be installed.
	if f.Severity == verdict.Note {
		f.Steps = []pin.Step{hideGPUs(m, hit.gpus, hides)}
		return f
	}
	f.Pins, f.Steps = pins.ForBuild(m, b)
	addSpeaking(m, &f, cuda)
	return f
}

// hideGPUs returns the step that hides the GPUs on which a program does not run.
func hideGPUs(m *model.Machine, bad []hardware.GPU, that string) pin.Step {
	return rule.ExportStep(m, m.Showing(others(bad)), that)
}

const hides = "hides the GPUs that it cannot run on"

// addSpeaking pins what makes the user-mode driver itself support a CUDA: a newer driver, or a cuda-compat package. The
// minimum driver of the major version is not enough here, because an old compiler knows neither new PTX nor a new
// compression.
func addSpeaking(m *model.Machine, f *verdict.Finding, cuda version.Number) {
	// Jetson's driver belongs to L4T.
	if !cuda.Known() || m.Jetson() {
		return
	}
	if m.WindowsNumbers() {
		f.Steps = append(f.Steps, pins.SpeakingSteps(m, cuda)...)
		return
	}
	if b := pins.DriverBranch(m, func(b *tables.Branch) bool { return b.CUDA.Known() && !b.CUDA.LessShort(cuda) }); b != nil {
		f.Pins = append(f.Pins, pins.DriverPin(m, *b, "supports CUDA "+b.CUDA.Short()+"; "+pins.Reboot(m)))
	}
	compat, steps := pins.Compat(m, cuda)
	f.Pins, f.Steps = append(f.Pins, compat...), append(f.Steps, steps...)
}

// zstdCUDA is the CUDA whose driver first reads fat binaries compressed with zstd (550.54.14 and newer). It stays here
// because only this rule needs it.
var zstdCUDA = version.ParseOrZero("12.4")

// FatbinZstd reports machine code that the driver cannot decompress. Every driver reads the older LZ4 compression. It
// is an error even if the driver is above the minimum: the driver accepts the build's CUDA and then cannot read its
// code.
func FatbinZstd(m *model.Machine, b *model.Build) []*rule.Result {
	hit := loadingZstd(m, b)
	switch {
	case len(hit) == 0:
		return nil
	case !m.Driver().CUDA.Known():
		return rule.ReportMissing(b.Subject, verdict.NoCUDA)
	// From 12.8 on, nvcc writes zstd if asked to. The driver decompresses it, not the runtime.
	case !m.Driver().CUDA.LessShort(zstdCUDA):
		return rule.Pass(b.Subject)
	}
	f := verdict.Finding{Severity: verdict.Error, Subject: b.Subject, Need: "driver >= 550.54.14",
		Source:  []string{"https://docs.rapids.ai/api/rapids-cmake/stable/command/rapids_cuda_enable_fatbin_compression"},
		Message: fmt.Sprintf("its code for %s is compressed with zstd, which drivers before 550.54.14 cannot read; this is %s", hit[0].Label, m.DriverWords()),
		Evidence: append([]verdict.Evidence{m.EvidenceDriver(), {Fact: "GPU", Value: hit[0].Label, From: hit[0].From},
			{Fact: "zstd-compressed code", Value: strings.Join(b.Zstd, " "), From: cmp.Or(b.Path, b.From)}}, b.Evidence()...)}
	// Programs can choose a GPU whose code is not compressed in this way.
	if len(hit) < len(m.GPUs) {
		f.Severity, f.Steps = verdict.Warning, []pin.Step{hideGPUs(m, hit, hides)}
		return rule.ReportFinding(f)
	}
	addSpeaking(m, &f, zstdCUDA)
	if len(f.Pins)+len(f.Steps) == 0 {
		f.Steps = []pin.Step{pin.Say("install a driver of 550.54.14 or newer"), pin.Say("install a build that was made without zstd (nvcc --compress-mode=speed)").Instead()}
	}
	return []*rule.Result{{Subject: b.Subject, Finding: &f, Need: "driver >= 550.54.14, since its code is compressed with zstd",
		Row: strings.Join(b.Zstd, " ") + " in the build"}}
}

// loadingZstd returns the GPUs for which a build's code is compressed with zstd. It returns none for CUDA 13, whose
// minimum driver, 580, is newer than 550.54.14.
func loadingZstd(m *model.Machine, b *model.Build) []hardware.GPU {
	if b.Device != "cuda" || len(b.Zstd) == 0 || b.CUDANumber.Major() >= 13 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(m.GPUs), func(g hardware.GPU) bool { return !loadsZstd(b, g.Capability) })
}

// loadsZstd reports whether the entry that the GPU would load is compressed with zstd. The driver takes the nearest
// entry: of the machine code, with or without a suffix, or of the PTX if there is no machine code. A zstd entry for
// another GPU does no harm.
func loadsZstd(b *model.Build, gpu version.Capability) bool {
	nearest, zstd, sass := version.Capability{}, false, false
	for _, text := range slices.Concat(b.SASS, b.PTX, b.Zstd) {
		c, ok := version.ParseCode(text)
		if !ok || !c.Serves(gpu) || c.PTX && sass {
			continue
		}
		if !c.PTX && !sass || c.Capability != nearest && c.AtLeast(nearest) {
			nearest, zstd = c.Capability, false
		}
		sass = sass || !c.PTX
		zstd = zstd || c.Capability == nearest && slices.Contains(b.Zstd, text)
	}
	return zstd
}

// others returns the GPUs that are not among some.
func others(some []hardware.GPU) func(hardware.GPU) bool {
	among := map[hardware.GPU]bool{}
	for _, g := range some {
		among[g] = true
	}
	return func(g hardware.GPU) bool { return !among[g] }
}
