package rules

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
)

// forwardUnsupported: the cuda-compat library that is taken refuses one of the GPUs, with error 804. NVIDIA allows
// forward compatibility on data-centre GPUs, certain RTX boards and Jetson. The program may well run with the driver's
// own libcuda, so the step is to get the library out of the way and not another driver.
func forwardUnsupported(m *model.Machine) []*Result {
	f := m.Forward()
	switch f.State {
	// A library that does not fit the driver is forward-compat-not-applicable's (803), whatever the GPUs.
	case model.ForwardNone, model.ForwardStale, model.ForwardUndecided:
		return nil
	case model.ForwardUndecidedGPU:
		return unknown("libcuda "+f.Version, f.Lacks)
	case model.ForwardWorks:
		return holds("libcuda " + f.Version)
	}
	finding := forwardFinding(m, fmt.Sprintf("the loader takes libcuda %s from a cuda-compat package, and %s: CUDA will not start (error 804)", f.Version, f.Why),
		"the driver's own libcuda, or only data-centre GPUs")
	finding.Evidence = append(finding.Evidence, verdict.Evidence{Fact: "GPU", Value: f.Wrong[0].Label, From: f.Wrong[0].From})
	// One visible GPU of the wrong kind is enough for error 804, so hiding it is enough, too.
	if len(f.Wrong) < len(m.GPUs) {
		finding.Steps = append(finding.Steps, exporting(m, m.Showing(func(g model.GPU) bool { return !slices.Contains(f.Wrong, g) }),
			"hides the GPUs that it does not support").Instead())
	}
	return oneFinding(finding)
}

// forwardNotApplicable: the cuda-compat library that is taken does not fit this driver: error 803. Typical of an image
// whose host got a newer driver later. The branches are those of the library's ELF note, which NVIDIA writes from 575
// on; for older ones a row of the table can prove that the pair works, and nothing can prove that it does not.
func forwardNotApplicable(m *model.Machine) []*Result {
	f := m.Forward()
	switch f.State {
	// A GPU that the library refuses is forward-compat-unsupported's (804).
	case model.ForwardNone, model.ForwardWrongGPU:
		return nil
	case model.ForwardUndecided:
		return unknown("libcuda "+f.Version, f.Lacks)
	case model.ForwardWorks, model.ForwardUndecidedGPU:
		return holds("libcuda " + f.Version)
	}
	return oneFinding(forwardFinding(m, fmt.Sprintf("the loader takes libcuda %s from a cuda-compat package, and %s: CUDA will not start (error 803)", f.Version, f.Why),
		"the driver's own libcuda, or a cuda-compat package that supports driver branch "+fmt.Sprint(f.Base.Version.Major())))
}

func forwardFinding(m *model.Machine, message, need string) verdict.Finding {
	f := m.Forward()
	return verdict.Finding{Severity: verdict.Error, Subject: "libcuda " + f.Version, Message: message, Need: need, Source: f.Source,
		Evidence: []verdict.Evidence{m.EvidenceDriver(), m.EvidenceCompat()}, Steps: []pin.Step{pin.Say(leaveCompat(m))}}
}

// leaveCompat returns how the loader comes to take the driver's own libcuda again.
func leaveCompat(m *model.Machine) string {
	dir := path.Dir(m.Forward().Path)
	switch {
	// Before 1.17.4 (its release notes) the container toolkit mounts it over the driver's own file, so its path does not
	// say compat.
	case !strings.Contains(dir, "compat"):
		return "remove the cuda-compat package from the image, or update nvidia-container-toolkit to 1.17.4 or newer: an older one mounts it over the driver's libcuda"
	case m.Forward().Reason == "LD_LIBRARY_PATH":
		return "remove " + pin.Word(dir) + " from LD_LIBRARY_PATH"
	}
	return "remove " + pin.Word(dir) + " from /etc/ld.so.conf.d and run ldconfig"
}

// forwardInUse: the build runs on this driver because a cuda-compat library stands in for its user space. Worth a note:
// in a shell, service or container where the loader finds the driver's own libcuda first, the same build is
// driver-too-old.
func forwardInUse(m *model.Machine, b *model.Build) []*Result {
	if m.Forward().State != model.ForwardWorks || b.Device != "cuda" || b.Extension || !b.CUDANumber.Known() {
		return nil
	}
	// The driver would run the build without it.
	if state, _, _ := m.FloorOn(m.Forward().Base, b.CUDANumber); state == model.FloorFull {
		return nil
	}
	// The library is too old for the build, too: that is driver-too-old's.
	if state, _, _ := m.Floor(b.CUDANumber); state != model.FloorFull && state != model.FloorMinor {
		return nil
	}
	l := m.Forward()
	f := verdict.Finding{Severity: verdict.Note, Subject: b.Subject, Source: l.Source,
		Need:     "libcuda " + l.Version + " on the loader's path",
		Message:  fmt.Sprintf("works by forward compatibility: CUDA %s is newer than driver %s supports, and %s from a cuda-compat package takes its place; OpenGL and Vulkan interoperation do not work", b.CUDANumber.Short(), l.Base.Version, compatName(l)),
		Evidence: append([]verdict.Evidence{m.EvidenceDriver(), m.EvidenceCompat()}, b.Evidence()...)}
	return []*Result{{Subject: b.Subject, Finding: &f, Answer: verdict.WorksForward}}
}

// compatName names a cuda-compat library: "libcuda 580.95.05 (CUDA 13.0)", or "libcuda of CUDA 13.0" where a text shows no
// more of it.
func compatName(f *model.Forward) string {
	if !f.Number.Known() {
		return "libcuda " + f.Version
	}
	return fmt.Sprintf("libcuda %s (CUDA %s)", f.Version, f.CUDANumber)
}
