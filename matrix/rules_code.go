package matrix

import (
	"fmt"
	"slices"
	"strings"
)

// ptxSource is NVIDIA's list of PTX versions by toolkit and driver.
const ptxSource = "https://docs.nvidia.com/cuda/parallel-thread-execution/index.html#release-notes"

// ptxNewer: for a GPU the build has PTX alone, of a version that the driver's compiler does not know: error 222. Where
// another visible GPU is served the build runs there, and it is a note.
func ptxNewer(m *machine, b *build) []*result {
	if b.accelerator != "cuda" {
		return nil
	}
	var hit []gpu
	var isa Version
	only, missing := 0, ""
	for _, g := range m.gpus {
		if c, _ := m.code(b, g); c != byPTX {
			continue
		}
		only++
		v := b.ptxFor(g.capability)
		switch newer, why := m.newerPTX(b, v); {
		case why != "":
			missing = why
		case newer:
			hit, isa = append(hit, g), v
		}
	}
	switch {
	case len(hit) > 0:
		return found(m.ptxFinding(b, hit, isa))
	case missing != "":
		return unknown(b.subject, missing)
	case only > 0:
		return holds(b.subject)
	}
	return nil
}

// ptxFor is the version of the PTX that the driver would compile for a GPU, that of the nearest target; the zero
// Version when it was not read.
func (b *build) ptxFor(gpu Capability) Version {
	var nearest Capability
	var isa Version
	for _, text := range b.PTX {
		if c, ok := parseCode(text); ok && c.serves(gpu) && c.atLeast(nearest) {
			nearest, isa = c.Capability, version(b.PTXISA[text])
		}
	}
	return isa
}

// newerPTX compares a PTX version with those that the driver's compiler knows; why says what is missing.
func (m *machine) newerPTX(b *build, isa Version) (newer bool, why string) {
	low, high := m.t.ptxKnown(m.driver.cuda)
	switch {
	case !isa.Known() && b.cuda.count > 1 && m.driver.cuda.Known() && !m.driver.cuda.lessShort(b.cuda):
		return false, "" // no compiler writes newer PTX than its CUDA knows; older, for instance TensorFlow's, it may be
	case !isa.Known():
		return false, "the PTX version of the build's code"
	case !m.driver.cuda.Known():
		return false, "the CUDA that the driver speaks"
	case low.Known() && !low.Less(isa):
		return false, ""
	case high.Known() && high.Less(isa):
		return true, ""
	}
	return false, "the PTX version that a driver for CUDA " + m.driver.cuda.short() + " knows"
}

// ptxKnown is the newest PTX version of the CUDA that a driver speaks: between what the next lower and the next higher
// toolkit write, which are the same where the table has that very CUDA.
func (t *Tables) ptxKnown(cuda Version) (low, high Version) {
	for _, row := range must(t.cuda()) {
		switch {
		case !row.PTX.Known():
		case !cuda.lessShort(row.Release):
			low = row.PTX
			if !row.Release.lessShort(cuda) {
				high = row.PTX
			}
		case !high.Known():
			high = row.PTX
		}
	}
	return low, high
}

func (m *machine) ptxFinding(b *build, hit []gpu, isa Version) Finding {
	cuda := m.t.cudaOfPTX(isa)
	f := Finding{Severity: Error, Subject: b.subject, Need: fmt.Sprintf("a driver that speaks CUDA %s, or machine code for %s", cuda.short(), hit[0].capability.sm()), Source: []string{ptxSource},
		Message: fmt.Sprintf("for %s the build has PTX alone, of version %s, which %s (CUDA %s) cannot compile: error 222",
			hit[0].label, isa, m.driverWords(), m.driver.cuda.short()),
		Evidence: append([]Evidence{m.evidenceDriver(), {Fact: "GPU", Value: hit[0].label, From: hit[0].from}, m.evidenceCode(b, ""),
			{Fact: "PTX version", Value: isa.String(), From: cmpOr(b.Path, b.From)}}, b.evidence()...)}
	if len(hit) < len(m.gpus) {
		f.Severity = Note
		f.Do = []string{m.hideGPUs(hit)}
		return f
	}
	f.Pins, f.Do = m.pins(b)
	m.addSpeaking(&f, cuda)
	return f
}

// hideGPUs is how a program is kept off the GPUs that it does not run on.
func (m *machine) hideGPUs(bad []gpu) string {
	return "hide the GPUs that it does not run on from the program: " + m.showing(func(g gpu) bool { return !slices.Contains(bad, g) })
}

// cudaOfPTX is the first CUDA whose compiler knows a PTX version.
func (t *Tables) cudaOfPTX(isa Version) Version {
	rows := must(t.cuda())
	i := slices.IndexFunc(rows, func(c CUDA) bool { return c.PTX.Known() && !c.PTX.Less(isa) })
	if i < 0 {
		return Version{}
	}
	return rows[i].Release
}

// addSpeaking pins what makes the user-mode driver speak a CUDA itself: a newer driver, or a cuda-compat package.
func (m *machine) addSpeaking(f *Finding, cuda Version) {
	if !cuda.Known() || m.windowsNumbers() || m.jetson() {
		return
	}
	if b := m.driverBranch(func(b *Branch) bool { return b.CUDA.Known() && !b.CUDA.lessShort(cuda) }); b != nil {
		f.Pins = append(f.Pins, Pin{Package: "driver", Version: b.Newest.String(), Why: "speaks CUDA " + b.CUDA.short() + "; " + m.reboot(), Commands: m.driverCommands(*b)})
	}
	pins, do := m.compatPins(cuda)
	f.Pins, f.Do = append(f.Pins, pins...), append(f.Do, do...)
}

// zstdCUDA is the CUDA whose driver reads fat binaries that are compressed with zstd, 550.54.14 and newer.
var zstdCUDA = version("12.4")

// fatbinZstd: the driver cannot decompress the machine code that a GPU would load. CUDA 13 builds need a newer driver
// anyway; the older LZ4 compression is read by every driver.
func fatbinZstd(m *machine, b *build) []*result {
	if b.accelerator != "cuda" || len(b.Zstd) == 0 || b.cuda.Major() >= 13 {
		return nil
	}
	hit := slices.DeleteFunc(slices.Clone(m.gpus), func(g gpu) bool { return !b.loadsZstd(g.capability) })
	switch {
	case len(hit) == 0:
		return nil
	case !m.driver.cuda.Known():
		return unknown(b.subject, "the CUDA that the driver speaks")
	case !m.driver.cuda.lessShort(zstdCUDA):
		return holds(b.subject)
	}
	f := Finding{Severity: Error, Subject: b.subject, Need: "driver >= 550.54.14", Source: []string{"https://docs.rapids.ai/api/rapids-cmake/stable/command/rapids_cuda_enable_fatbin_compression"},
		Message: fmt.Sprintf("its code for %s is compressed with zstd, which drivers before 550.54.14 cannot read; this is %s", hit[0].label, m.driverWords()),
		Evidence: append([]Evidence{m.evidenceDriver(), {Fact: "GPU", Value: hit[0].label, From: hit[0].from},
			{Fact: "zstd-compressed code", Value: strings.Join(b.Zstd, " "), From: cmpOr(b.Path, b.From)}}, b.evidence()...)}
	if len(hit) < len(m.gpus) {
		f.Severity, f.Do = Warning, []string{m.hideGPUs(hit)}
		return found(f)
	}
	m.addSpeaking(&f, zstdCUDA)
	if len(f.Pins)+len(f.Do) == 0 {
		f.Do = []string{"install a driver of 550.54.14 or newer, or a build that was made without zstd (nvcc --compress-mode=speed)"}
	}
	return found(f)
}

// loadsZstd says that an entry which the GPU would load is compressed with zstd: of the machine code the nearest, with
// and without a suffix; of the PTX, where there is no machine code, the nearest.
func (b *build) loadsZstd(gpu Capability) bool {
	nearest, zstd, sass := Capability{}, false, false
	for _, text := range slices.Concat(b.SASS, b.PTX, b.Zstd) {
		c, ok := parseCode(text)
		if !ok || !c.serves(gpu) || c.ptx && sass {
			continue
		}
		if !c.ptx && !sass || c.Capability != nearest && c.atLeast(nearest) {
			nearest, zstd = c.Capability, false
		}
		sass = sass || !c.ptx
		zstd = zstd || c.Capability == nearest && slices.Contains(b.Zstd, text)
	}
	return zstd
}
