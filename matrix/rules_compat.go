package matrix

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"cudacompat/pin"
)

// forwardUnsupported: the cuda-compat library that is taken refuses one of the GPUs, with error 804. NVIDIA allows
// forward compatibility on data-centre GPUs, certain RTX boards and Jetson. The program may well run with the driver's
// own libcuda, so the step is to get the library out of the way and not another driver.
func forwardUnsupported(m *machine) []*result {
	f := m.forward()
	switch f.state {
	// A library that does not fit the driver is forward-compat-not-applicable's (803), whatever the GPUs.
	case forwardNone, forwardStale, forwardUndecided:
		return nil
	case forwardUndecidedGPU:
		return unknown("libcuda "+f.Version, f.why)
	case forwardWorks:
		return holds("libcuda " + f.Version)
	}
	finding := m.forwardFinding(fmt.Sprintf("the loader takes libcuda %s from a cuda-compat package, and %s: CUDA will not start (error 804)", f.Version, f.why),
		"the driver's own libcuda, or only data-centre GPUs")
	finding.Evidence = append(finding.Evidence, Evidence{Fact: "GPU", Value: f.wrong[0].label, From: f.wrong[0].from})
	// One visible GPU of the wrong kind is enough for error 804, so hiding it is enough, too.
	if len(f.wrong) < len(m.gpus) {
		finding.Steps = append(finding.Steps, m.exporting(m.showing(func(g gpu) bool { return !slices.Contains(f.wrong, g) }),
			"hides the GPUs that it does not support").Instead())
	}
	return found(finding)
}

// forwardNotApplicable: the cuda-compat library that is taken does not fit this driver: error 803. Typical of an image
// whose host got a newer driver later. The branches are those of the library's ELF note, which NVIDIA writes from 575
// on; for older ones a row of the table can prove that the pair works, and nothing can prove that it does not.
func forwardNotApplicable(m *machine) []*result {
	f := m.forward()
	switch f.state {
	// A GPU that the library refuses is forward-compat-unsupported's (804).
	case forwardNone, forwardWrongGPU:
		return nil
	case forwardUndecided:
		return unknown("libcuda "+f.Version, f.why)
	case forwardWorks, forwardUndecidedGPU:
		return holds("libcuda " + f.Version)
	}
	return found(m.forwardFinding(fmt.Sprintf("the loader takes libcuda %s from a cuda-compat package, and %s: CUDA will not start (error 803)", f.Version, f.why),
		"the driver's own libcuda, or a cuda-compat package that supports driver branch "+fmt.Sprint(f.base.version.Major())))
}

func (m *machine) forwardFinding(message, need string) Finding {
	f := m.forward()
	return Finding{Severity: Error, Subject: "libcuda " + f.Version, Message: message, Need: need, Source: f.source,
		Evidence: []Evidence{m.evidenceDriver(), m.evidenceCompat()}, Steps: []pin.Step{pin.Say(m.leaveCompat())}}
}

// leaveCompat is how the loader comes to take the driver's own libcuda again.
func (m *machine) leaveCompat() string {
	dir := path.Dir(m.forward().Path)
	switch {
	// Before 1.17.4 (its release notes) the container toolkit mounts it over the driver's own file, so its path does not
	// say compat.
	case !strings.Contains(dir, "compat"):
		return "remove the cuda-compat package from the image, or update nvidia-container-toolkit to 1.17.4 or newer: an older one mounts it over the driver's libcuda"
	case m.forward().Reason == "LD_LIBRARY_PATH":
		return "remove " + pin.Word(dir) + " from LD_LIBRARY_PATH"
	}
	return "remove " + pin.Word(dir) + " from /etc/ld.so.conf.d and run ldconfig"
}

// forwardInUse: the build runs on this driver because a cuda-compat library stands in for its user space. Worth a note:
// in a shell, service or container where the loader finds the driver's own libcuda first, the same build is
// driver-too-old.
func forwardInUse(m *machine, b *build) []*result {
	if m.forward().state != forwardWorks || b.accelerator != "cuda" || b.Extension || !b.cuda.Known() {
		return nil
	}
	// The driver would run the build without it.
	if state, _, _ := m.floorOn(m.forward().base, b.cuda); state == floorFull {
		return nil
	}
	// The library is too old for the build, too: that is driver-too-old's.
	if state, _, _ := m.floor(b.cuda); state != floorFull && state != floorMinor {
		return nil
	}
	l := m.forward()
	f := Finding{Severity: Note, Subject: b.subject, Source: l.source,
		Need:     "libcuda " + l.Version + " on the loader's path",
		Message:  fmt.Sprintf("works by forward compatibility: CUDA %s is newer than driver %s supports, and libcuda %s (CUDA %s) from a cuda-compat package takes its place; OpenGL and Vulkan interoperation do not work", b.cuda.Short(), l.base.version, l.Version, l.cuda),
		Evidence: append([]Evidence{m.evidenceDriver(), m.evidenceCompat()}, b.evidence()...)}
	return []*result{{subject: b.subject, finding: &f, says: WorksForward}}
}
