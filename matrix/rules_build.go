package matrix

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/pin"
	"cudacompat/probe/facts"
)

// driverTooOld: the build's CUDA needs a newer driver than this, and no cuda-compat library lifts it. The CUDA runtime
// refuses to start below the floor of its family (error 35), which is why this is an error and not a limit. The floors
// are 450.80.02 for 11.x, 525.60.13 for 12.x and 580 for 13.x (NVIDIA's page on minor-version compatibility); before 11
// each toolkit needs its own driver (minor_compat.csv, cuda.csv).
func driverTooOld(m *machine, b *build) []*result {
	switch r := m.reach(b); {
	case r == nil:
		return nil
	case r.missing != "":
		lacks := &result{subject: b.subject, missing: r.missing, need: r.need, decides: true}
		if !m.driver().version.Known() {
			lacks.rests = []LinkName{LinkModule} // no driver is there to have a version
		}
		return []*result{lacks}
	// One cause, one error: the framework's pin helps its extension, too.
	case r.state == floorBelow && m.tooOldWith(b):
		return []*result{{subject: b.subject, implied: true}}
	case r.state == floorBelow:
		f := m.tooOld(b, r.cuda, r.need, r.source)
		return []*result{{subject: b.subject, finding: &f, row: m.floorRow(r.cuda)}}
	}
	return compared(b.subject)
}

// floorRow is the row of the tables that has the floor of a CUDA.
func (m *machine) floorRow(cuda version.Number) string {
	if m.t.Family(cuda) != nil {
		return fmt.Sprintf("CUDA %d in minor_compat.csv", cuda.Major())
	}
	return "CUDA " + cuda.Short() + " in cuda.csv"
}

// reach is how the driver stands to what a build needs of it.
type reach struct {
	state   floorState
	cuda    version.Number // the build's, or of its rows the one that decides
	need    string
	source  []string
	missing string // the fact without which state means nothing
}

// reach compares the driver with what a build needs; nil where the question does not arise. The order matters: what
// makes the question moot comes first, then the facts that are missing, and the comparison last.
func (m *machine) reach(b *build) *reach {
	lacks := func(fact string) *reach { return &reach{missing: fact} }
	switch {
	// A CPU build needs no driver. Jetson's belongs to its L4T release, so branches say nothing of it.
	case b.accelerator == "cpu" || m.jetson():
		return nil
	// companion-mismatch and extension-mismatch say why it does not load; a newer driver would not change that.
	case len(b.Unmet) > 0:
		return nil // it loads on no driver
	// ROCm or XPU: unknown, since nothing here looks for AMD's or Intel's drivers, and the build may well run.
	case b.accelerator != "cuda" && b.accelerator != "":
		return lacks("what a build for " + b.accelerator + " needs: the tables cover CUDA only")
	// The answer is unknown, but what the build needs of a driver is still shown.
	case !m.driver().version.Known() && !m.driver().cuda.Known():
		if !b.cuda.Known() {
			return lacks("the driver's version")
		}
		r := m.reachOf(b.cuda)
		r.missing = "the driver's version"
		return r
	// Whether cuda-compat lifts the driver decides the floor, so without that the floor decides nothing.
	case m.forward().state == forwardUndecided || m.forward().state == forwardUndecidedGPU:
		return lacks(m.forward().why)
	// Nothing else stands for a package that needs no framework, so silence would read as an answer.
	case !b.cuda.Known() && b.Standalone && !b.goesOn() && b.Name != "triton": // whose ptxas is judged
		return lacks("which CUDA it is built for")
	case !b.cuda.Known() && b.Extension:
		return nil // its framework is judged
	case !b.cuda.Known():
		return m.reachOfEvery(b)
	}
	r := m.reachOf(b.cuda)
	switch {
	// The tables have no floor for this CUDA, and the driver's own CUDA, which would decide instead, is not known.
	case r.state == floorUnknown:
		return lacks("which driver CUDA " + b.cuda.Short() + " needs")
	case r.state == floorBelow:
		r.missing = m.doubtful(b, r.need)
	}
	return r
}

// tooOldWith reports whether the driver is too old, too, for the build that an extension is loaded into or came along
// with: what helps there helps here.
func (m *machine) tooOldWith(b *build) bool {
	return b.Extension && slices.ContainsFunc(m.builds, func(o *build) bool {
		with := !o.Extension && !b.Standalone || b.PartOf != "" && o.Name == b.PartOf
		state, _, _ := m.floor(o.cuda)
		return o != b && o.env == b.env && with && o.cuda.Known() && state == floorBelow
	})
}

func (m *machine) reachOf(cuda version.Number) *reach {
	r := reach{cuda: cuda}
	r.state, r.need, r.source = m.floor(cuda)
	return &r
}

// doubtful is why a build may run below the driver's floor; empty where it does not. What a program saw on the machine
// is stronger evidence than any table.
func (m *machine) doubtful(b *build, need string) string {
	// A collect_env report holds what the program saw. Where it contradicts the table, the table may be wrong.
	if seen := m.f.Observed.CUDAAvailable; seen != nil && *seen && m.target.Driver == "" {
		return "why the report says that CUDA is available although " + m.driverWords() + " does not meet " + need
	}
	// Images of nvidia/cuda and NGC bring cuda-compat; only the running container shows whether the loader takes it. What
	// is installed over an image loads the same libcuda.
	if m.inImage(b) && m.letIn(b) {
		return "whether the image's own cuda-compat library is loaded, which runs it on " + m.driverWords()
	}
	return ""
}

// reachOfEvery judges a build whose variant is not known: when every variant of the release is above the driver, so
// is this one; when every one fits, this one does.
func (m *machine) reachOfEvery(b *build) *reach {
	missing := &reach{missing: "which CUDA it was built with" + m.unsaid(b)}
	if len(b.rows) == 0 {
		return missing
	}
	lowest := slices.MinFunc(b.rows, func(x, y row) int { return x.CUDA.Compare(y.CUDA) }).CUDA
	highest := slices.MaxFunc(b.rows, func(x, y row) int { return x.CUDA.Compare(y.CUDA) }).CUDA
	// Floors rise with CUDA, so the lowest variant decides for all of them, and the highest below.
	if r := m.reachOf(lowest); r.state == floorBelow {
		return r
	}
	if r := m.reachOf(highest); r.state == floorFull || r.state == floorMinor {
		return r
	}
	return missing
}

// tooOld is about the CUDA that decides: the build's own, or of a release whose variant is open the lowest.
func (m *machine) tooOld(b *build, cuda version.Number, need string, source []string) Finding {
	f := Finding{Severity: Error, Subject: b.subject, Need: need, Source: source,
		Message:  fmt.Sprintf("CUDA %s needs %s; this is %s", cuda.Short(), strings.TrimPrefix(need, "a "), m.driverWords()),
		Evidence: append([]Evidence{m.evidenceDriver()}, b.evidence()...)}
	// As evidence only where the user space was asked: the CUDA of the branch's row was not read on this machine.
	if m.driver().cudaSaw {
		f.Evidence = append(f.Evidence, Evidence{Fact: "driver CUDA", Value: m.driver().cuda.String(),
			From: cmp.Or(m.f.Driver.CUDAFrom, m.driver().from)})
	}
	// In the order of what they cost: another build, which changes the environment only; another driver, which takes root
	// and a reboot; a cuda-compat package, which is for data-centre GPUs and has to come first on the loader's path.
	f.Pins, f.Steps = m.pins(b)
	// A cuda-compat library is loaded, and the CUDA that it supports is still too old.
	if m.forward().state == forwardWorks {
		f.Evidence = append(f.Evidence, m.evidenceCompat())
	}
	f.Pins = append(f.Pins, m.driverPins(cuda)...)
	pins, steps := m.compatPins(cuda)
	f.Pins, f.Steps = append(f.Pins, pins...), append(f.Steps, steps...)
	if len(f.Pins) > 0 && len(f.Steps) > 0 { // why no other build is named stands beside the driver
		f.Steps[0].Or = true
	}
	return f
}

// minorCompat: it runs, by minor-version compatibility, whose limits are worth knowing. A note, since NVIDIA supports
// it; said at all because people and tools read the "CUDA Version" of nvidia-smi as a ceiling, which it is not.
func minorCompat(m *machine, b *build) []*result {
	// Its framework has the note already; one for each extension would be noise.
	part := b.Extension && b.Origin != "image"
	// With a cuda-compat library loaded, the forward-compat rules say how the build runs.
	if b.accelerator != "cuda" || part || !b.cuda.Known() || m.jetson() || m.forward().state != forwardNone {
		return nil
	}
	state, need, source := m.floor(b.cuda)
	// Minor versions are those of one major: a driver of an older CUDA beside newer libraries is driver-mismatch's.
	if state != floorMinor || !m.driver().cuda.Known() || b.cuda.Major() > m.driver().cuda.Major() {
		return nil
	}
	f := Finding{Severity: Note, Subject: b.subject, Need: need, Source: source,
		Message: fmt.Sprintf("works: NVIDIA supports CUDA %s builds on this driver, whose CUDA is %s (minor-version compatibility); only PTX compiled at run time and newer driver APIs (CUDA error 36) can fail", b.cuda.Short(),
			m.driver().cuda.Short()),
		Evidence: append([]Evidence{m.evidenceDriver()}, b.evidence()...)}
	return []*result{{subject: b.subject, finding: &f, says: WorksMinorVersion}}
}

// cpuOnlyBuild: the framework that `python3` starts here cannot use the GPU that is there. Where another framework of
// the environment can, the CPU build is taken for a choice. An error because it computes on the CPU in silence, and no
// driver, toolkit or variable can change that.
func cpuOnlyBuild(m *machine, b *build) []*result {
	// A CPU build is the right one where there is no GPU, or none for this process.
	if len(m.gpus) == 0 || m.shown.hidden {
		return nil
	}
	// ROCm and XPU builds are neither right nor wrong here: they are for other accelerators.
	if b.accelerator != "cpu" {
		if b.accelerator == "cuda" {
			return compared(b.subject)
		}
		return nil
	}
	f := Finding{Severity: Error, Subject: b.subject,
		Message: fmt.Sprintf("%s %s is a CPU build and cannot use %s", b.Name, b.Version, m.gpus[0].label),
		Need:    "a CUDA build of " + b.Name, Evidence: append(b.evidence(),
			Evidence{Fact: "GPU", Value: m.gpus[0].label, From: m.gpus[0].from})}
	f.Pins, f.Steps = m.pins(b)
	f.Source = []string{"https://pytorch.org/get-started/locally/"}
	// There the usual cause is not a choice but the default index, so the message says where CUDA wheels are.
	if m.platform == "linux_aarch64" && b.Name == "torch" {
		f.Message += "; on aarch64 PyPI's wheel was for CPUs up to 2.10, the CUDA wheels are on PyTorch's own index"
	}
	// No pin can help there: newer TensorFlow has CUDA only for Linux, which WSL2 runs.
	if m.cpuOnWindows(b.Name, b.release) {
		f.Message += "; 2.10 was TensorFlow's last release with CUDA for Windows"
		f.Pins, f.Steps = nil, []pin.Step{pin.Say("in WSL2: `" + pin.Install{Packages: []string{"tensorflow[and-cuda]"}}.Commands(pin.Place{})["pip"] + "`")}
		f.Source = []string{"https://github.com/tensorflow/tensorflow/releases/tag/v2.11.1"}
	}
	switch {
	// No build could use the GPU before a driver is there, which driver-missing says where one is wanted.
	case m.undriven():
		f.Severity, f.Pins, f.Steps = Note, nil, []pin.Step{pin.Say("to use the GPU, install the NVIDIA driver, then the CUDA build; until then it runs on the CPU")}
	// An environment that was only found may be meant for the CPU: tests, tools, a login node. The same holds for a CPU
	// build beside a CUDA build of another framework.
	case b.standing == searched, m.otherCUDA(b):
		f.Severity = Note
	}
	return found(f)
}

// undriven reports whether no NVIDIA driver runs on this host: its GPU is for the screen, if for anything.
func (m *machine) undriven() bool {
	return m.here() && m.host() && m.onPCI() && !m.driver().loaded && m.f.Driver.NVML.Status != "ok" && !m.wantsGPU()
}

// otherCUDA reports whether another framework is there for the GPU: in the same environment or, where nobody chose
// one, in any.
func (m *machine) otherCUDA(b *build) bool {
	all := b.counts && !b.env.Active && !b.env.Named // where nobody chose one
	return slices.ContainsFunc(m.builds, func(o *build) bool {
		return (o.env == b.env || all) && o != b && o.accelerator == "cuda" && !o.Extension
	})
}

// openTorchMissing is what is not known of a package that brings whichever torch is the newest.
const openTorchMissing = "which torch it brings: the file names no release of it"

// excludedMissing is what a machine lacks of which each GPU is left out by an option of the driver's module.
const excludedMissing = "a GPU that the driver's options do not leave out"

// heldMissing, and the driver that holds them, is what a machine lacks whose every GPU is for a virtual machine.
const heldMissing = "a GPU that is not held for a virtual machine by "

// lackedGPU is what a build lacks where there is no GPU to compare it with: where each one that is here is kept from
// programs, what keeps it.
func (m *machine) lackedGPU() string {
	every := func(kept func(facts.GPU) bool) bool {
		return m.here() && len(m.f.GPUs) > 0 && !slices.ContainsFunc(m.f.GPUs, func(g facts.GPU) bool { return !kept(g) })
	}
	switch {
	case every(func(g facts.GPU) bool { return g.Excluded }):
		return excludedMissing
	case every(toVM):
		return heldMissing + m.f.GPUs[0].Bound
	}
	return "a GPU to compare with"
}

// gpuArchMissing: no code in the build, or in a part of it that nothing stands in for, for any visible GPU.
func gpuArchMissing(m *machine, b *build) []*result {
	results := m.codeFor(b)
	for _, r := range results {
		r.without = r.finding != nil && b.optional()
	}
	return results
}

// codeFor asks whether a build has code for the GPUs.
func (m *machine) codeFor(b *build) []*result {
	if b.foreign != "" {
		return m.foreignCode(b)
	}
	if !b.comparesCode() {
		return nil
	}
	switch {
	case b.kernelless():
		return nil // its libraries hold no kernels of their own
	case b.base():
		return m.baseCode(b)
	// The code is torch's, so the release of torch that the installer picks decides.
	case b.named != nil && b.named.openTorch():
		return undecidable(b.subject, openTorchMissing)
	}
	if len(m.gpus) == 0 {
		return undecidable(b.subject, m.lackedGPU())
	}
	without, proof, missing := m.codeless(b)
	// The GPU that cannot be judged may be the one that is served, so error or warning is not decided yet.
	if len(without) < len(m.gpus) && missing != "" {
		return undecidable(b.subject, missing)
	}
	r := result{subject: b.subject, need: "machine code or PTX for the GPU", row: b.codeFrom(), source: b.source()}
	// A part that others install and do without is not missed where it serves one of the GPUs.
	if len(without) == len(m.gpus) || len(without) > 0 && !b.optional() {
		f := m.archMissing(b, without, proof)
		r.finding = &f
	}
	r.judged = r.finding == nil
	return []*result{&r}
}

// codeFrom is where the machine code of a build is told.
func (b *build) codeFrom() string {
	switch {
	case len(b.SASS)+len(b.PTX) > 0:
		return "the build itself"
	case len(b.rows) > 0:
		r := b.rows[0]
		return strings.TrimSpace(fmt.Sprintf("%s %s %s in %s.csv", r.Release, r.Variant, r.Platform, r.framework))
	}
	return "gpu.csv"
}

// foreignCode judges a build of which no file loads on the target. The tables can prove that the same release has no
// code there for the GPUs, either; that it has some does not make this installation work. A GB10 or g5g with an x86-64
// environment is judged by what an installation there would get.
func (m *machine) foreignCode(b *build) []*result {
	if b.comparesCode() && len(b.rows) > 0 && len(m.gpus) > 0 {
		if without, proof, _ := m.codeless(b); len(without) == len(m.gpus) {
			return found(m.archMissing(b, without, proof))
		}
	}
	return undecidable(b.subject, fmt.Sprintf("what its build for %s holds: this one is for %s",
		strings.TrimPrefix(m.platform, "linux_"), b.foreign))
}

// kernelless reports whether the libraries of a program or a package, all of them read, hold no kernels of their own.
func (b *build) kernelless() bool {
	return (b.program() || b.Extension && b.named == nil && b.Path != "") && len(b.SASS)+len(b.PTX) == 0 && b.Damaged == ""
}

// comparesCode reports whether a build has code of its own that a GPU must take.
func (b *build) comparesCode() bool {
	return (b.accelerator == "cuda" || b.accelerator == "") && !b.compilesLater() && !(b.either() && len(b.SASS) == 0)
}

// codeless are the GPUs that a build, or a part of it, has no code for, with what proves it; missing is the fact that
// one of the others lacks.
func (m *machine) codeless(b *build) (without []gpu, proof Evidence, missing string) {
	for _, g := range m.gpus {
		c, why := m.code(b, g)
		switch p := unserved(b.parts(), g.capability); {
		case c == version.Uncovered:
			without, proof = append(without, g), m.evidenceCode(b, why)
		case c == version.Unsure:
			missing = why
		// A section whose kernels all have one set of targets must serve the GPU by itself: TensorFlow 2.20 has PTX for an
		// RTX 5090 in .nv_fatbin, and its MLIR kernels in .rodata have nothing (CUDA_ERROR_INVALID_PTX at the first
		// multiplication).
		case p != nil:
			without, proof = append(without, g), p.evidence(b)
		}
	}
	return without, proof, missing
}

func (m *machine) archMissing(b *build, without []gpu, code Evidence) Finding {
	f := Finding{Severity: Error, Subject: b.subject, Need: "code or PTX for " + without[0].capability.SM(),
		Message:  strings.TrimSpace(b.Name+" "+b.Version) + " has no code for " + without[0].label,
		Evidence: append(b.evidence(), Evidence{Fact: "GPU", Value: without[0].label, From: without[0].from}, code),
		Source:   b.source()}
	if p := unserved(b.parts(), without[0].capability); p != nil {
		f.Message += " in " + p.String()
	}
	own, why := m.ownCode(b, without[0])
	if why == unsupported {
		least, source := m.t.LeastCapability(b.Name, b.release.Number)
		f.Need, f.Source = fmt.Sprintf("a GPU of compute capability %s or newer", least), source
	}
	brought := b.bringsTorch() && own != version.Uncovered
	if brought {
		f.Message = fmt.Sprintf("%s %s brings torch %s, which has no code for %s", b.Name, b.Version, b.named.torch,
			without[0].label)
	}
	// CUDA orders the GPUs by speed, so the ones without code can be chosen by default: worth a warning, no error.
	if len(without) < len(m.gpus) {
		f.Severity = Warning
		f.Steps = []pin.Step{m.hideGPUs(without, "hides the GPUs that it has no code for")}
		return f
	}
	// xFormers, FlashAttention 3, SGLang's Hopper kernels on an A10G: what installed them takes other kernels there.
	if b.optional() && !brought {
		f.Severity = Note
		if b.PartOf != "" {
			f.Message += "; it was installed with " + b.PartOf + ", whose parts that need it fail"
		}
	}
	f.Pins, f.Steps = m.pins(b)
	// No table knows such a build, so the source is NVIDIA's page on what the chip can run.
	if len(f.Source) == 0 && without[0].chip != nil {
		f.Source = without[0].chip.Source
	}
	return f
}

// gpuArchPTXOnly: the driver must compile the build's PTX before the first start. It runs afterwards, and the result is
// cached on disk: a warning, although the first start of a framework takes minutes.
func gpuArchPTXOnly(m *machine, b *build) []*result {
	if b.accelerator != "cuda" {
		return nil
	}
	if f := m.codeIgnored(b); f != nil {
		return found(*f)
	}
	for _, g := range m.gpus {
		if c, _ := m.code(b, g); c == version.ByPTX {
			severity := Warning
			// Extensions compile a few kernels when they are used; a framework compiles thousands at its start.
			if b.Extension {
				severity = Note
			}
			return found(Finding{Severity: severity, Subject: b.subject, Need: "machine code for " + g.capability.SM(),
				Message: fmt.Sprintf("%s %s has only PTX for %s: the driver compiles it, so the first start is slow", b.Name,
					b.Version, g.label),
				Evidence: append(b.evidence(), Evidence{Fact: "GPU", Value: g.label, From: g.from}, m.evidenceCode(b, "")),
				Source:   b.source(),
				Steps:    []pin.Step{pin.Say("keep the compiled code between starts: a CUDA_CACHE_PATH that persists, CUDA_CACHE_MAXSIZE=4294967296")}})
		}
	}
	return nil
}

// codeIgnored: a variable of this process makes the driver ignore the only code that the build has for a GPU: its PTX
// (CUDA_DISABLE_PTX_JIT), or its machine code (CUDA_FORCE_PTX_JIT, set to try a program out and left behind). An error
// where that leaves it none of the GPUs.
func (m *machine) codeIgnored(b *build) *Finding {
	var f *Finding
	served := false
	for _, g := range m.gpus {
		variable, why := m.ignores(b, g)
		if variable == "" {
			served = true
		} else if f == nil {
			f = &Finding{Severity: Error, Subject: b.subject, Need: variable + " unset",
				Message: fmt.Sprintf("%s %s has %s", b.Name, b.Version, why),
				Evidence: append(b.evidence(), Evidence{Fact: "GPU", Value: g.label, From: g.from}, m.evidenceCode(b, ""),
					Evidence{Fact: variable, Value: m.f.Variables[variable], From: "environment"}),
				Source: []string{"https://docs.nvidia.com/cuda/archive/13.4.3/cuda-programming-guide/05-appendices/environment-variables.html"},
				Steps:  []pin.Step{pin.Run("unset " + variable)}}
		}
	}
	if f != nil && served {
		f.Severity = Warning
	}
	return f
}

// ignores is the variable that keeps a build's code from a GPU, and how; empty where it runs.
func (m *machine) ignores(b *build, g gpu) (variable, why string) {
	c, _ := m.code(b, g)
	switch {
	case c == version.ByPTX && m.isSet("CUDA_DISABLE_PTX_JIT"):
		return "CUDA_DISABLE_PTX_JIT", "only PTX for " + g.label + ", and CUDA_DISABLE_PTX_JIT=1 keeps the driver from compiling it"
	case c == version.BySASS && m.isSet("CUDA_FORCE_PTX_JIT") && len(b.PTX) > 0 &&
		version.Cover(nil, b.PTX, g.capability) == version.Uncovered:
		return "CUDA_FORCE_PTX_JIT", "no PTX for " + g.label + ", and CUDA_FORCE_PTX_JIT=1 makes the driver ignore its machine code"
	}
	return "", ""
}

// isSet reports whether a switch of CUDA is on in this process's environment.
func (m *machine) isSet(variable string) bool { return m.here() && m.f.Variables[variable] == "1" }

// pythonUnsupported: no wheel of this release was made for this Python.
func pythonUnsupported(m *machine, b *build) []*result {
	// A Python that a target names replaces the environment's own, which these files are for.
	if results := b.otherPythons(); results != nil && m.target.Python == "" {
		return results
	}
	python := version.ShortPython(b.python)
	// What the reporter imported is for his Python, whatever the table lists.
	if python == "" || len(b.rows) == 0 || m.f.Observed.Imported && m.target.Python == "" {
		return nil
	}
	// The tag of the modules on disk is proof; the release's row is for what is only named.
	if b.Python != "" {
		// "3.13t" is the free-threaded build of 3.13; a report often leaves the letter out.
		if b.Python == python || strings.TrimSuffix(b.Python, "t") == python {
			return holds(b.subject)
		}
		return found(m.noPython(b, fmt.Sprintf("the installed %s %s is for Python %s, and this is Python %s", b.Name, b.Version, b.Python, python)))
	}
	// One variant for this Python is enough. A row without Pythons says nothing against it.
	for _, r := range b.rows {
		if len(r.Python) == 0 || slices.Contains(r.Python, python) {
			return holds(b.subject)
		}
	}
	return found(m.noPython(b, fmt.Sprintf("%s %s has no build for Python %s: its wheels are for Python %s", b.Name, b.Version, python,
		strings.Join(b.rows[0].Python, ", "))))
}

// noPython pins a release that has a build for this Python; the other way, another Python, comes last, because the
// whole environment would have to be made again.
func (m *machine) noPython(b *build, message string) Finding {
	f := Finding{Severity: Error, Subject: b.subject, Message: message,
		Need: "a Python that the release supports", Source: b.source(),
		Evidence: append(b.evidence(), Evidence{Fact: "Python", Value: b.python, From: cmp.Or(b.env.Path, "--python")})}
	f.Pins, f.Steps = m.pins(b)
	if len(b.rows) > 0 && len(b.rows[0].Python) > 0 {
		// A release that came out before a Python never gets a wheel for it: keeping the release means changing the Python.
		newest := b.rows[0].Python[len(b.rows[0].Python)-1]
		f.Steps = append(f.Steps, pin.Run(pin.Command("uv", "venv", "--python", strings.TrimSuffix(newest, "t"))).That(
			"keeps the release, in a new environment with another Python").Instead())
	}
	return f
}

// glibcTooOld: the wheel's tag asks for a newer C library than the system has. An error: the loader refuses the library
// at import (version `GLIBC_2.28' not found), and glibc cannot be upgraded by itself, because every program of the
// distribution needs it. Hence the steps name a container or a newer distribution.
func glibcTooOld(m *machine, b *build) []*result {
	have, need := m.libc, b.glibc
	// What the libraries themselves ask for goes before the release's row.
	if !need.Known() && len(b.rows) > 0 {
		need = b.rows[0].Glibc
	}
	// An import that worked proves the C library. Only Linux has glibc.
	if !need.Known() || m.f.Observed.Imported || !strings.HasPrefix(m.platform, "linux") ||
		m.target.Instance != "" && m.f.System.Libc == "" {
		return nil
	}
	// musl runs no manylinux wheel, whatever version it is of (PEP 656).
	if m.f.System.Libc != "musl" && !have.Known() {
		return nil
	}
	// musl's version is not compared: have is unknown there, and less than any need.
	if !have.Less(need) {
		return holds(b.subject)
	}
	f := Finding{Severity: Error, Subject: b.subject, Need: "glibc >= " + need.String(),
		Source:   []string{"https://peps.python.org/pep-0600/"},
		Message:  fmt.Sprintf("%s %s is built for glibc %s; this system has %s", b.Name, b.Version, need, m.f.System.Libc),
		Evidence: append(b.evidence(), Evidence{Fact: "libc", Value: m.f.System.Libc, From: m.f.System.LibcFrom})}
	f.Pins, f.Steps = m.pins(b)
	f.Steps = append(f.Steps, pin.Say("run it in a container, or on a newer release of the distribution, with glibc >= "+need.String()).Instead())
	return found(f)
}
