package build

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
)

// ForwardCompatUnsupported reports a cuda-compat library that refuses one of the GPUs with error 804. NVIDIA allows
// forward compatibility on data-centre GPUs, certain RTX boards and Jetson. The program may well run with the driver's
// own libcuda, so the step takes the library off the loader's path instead of changing the driver.
func ForwardCompatUnsupported(m *model.Machine) []*rule.Result {
	f := m.Forward()
	switch f.State {
	// forward-compat-not-applicable (803) reports a library that does not fit the driver, whatever the GPUs.
	case hardware.ForwardNone, hardware.ForwardStale, hardware.ForwardUndecided:
		return nil
	case hardware.ForwardUndecidedGPU:
		return rule.ReportMissing("libcuda "+f.Version, f.Lacks)
	case hardware.ForwardWorks:
		return rule.Pass("libcuda " + f.Version)
	}
	finding := forwardFinding(m, fmt.Sprintf("the loader takes libcuda %s from a cuda-compat package, and %s: CUDA will not start (error 804)", f.Version, f.Why),
		"the driver's own libcuda, or only data-centre GPUs")
	finding.Evidence = append(finding.Evidence, verdict.Evidence{Fact: "GPU", Value: f.Wrong[0].Label, From: f.Wrong[0].From})
	// One visible GPU of the wrong kind causes error 804, so hiding that GPU is enough.
	if len(f.Wrong) < len(m.GPUs) {
		finding.Steps = append(finding.Steps, rule.ExportStep(m, m.Showing(func(g hardware.GPU) bool { return !slices.Contains(f.Wrong, g) }),
			"hides the GPUs that it does not support").Instead())
	}
	return rule.ReportFinding(finding)
}

// ForwardCompatNotApplicable reports a cuda-compat library that does not fit this driver: error 803. It is typical of
// an image whose host got a newer driver later. NVIDIA writes the accepted branches into the library's ELF note from
// 575 on. For an older library a table row can prove that the pair works, but nothing can prove that it does not.
func ForwardCompatNotApplicable(m *model.Machine) []*rule.Result {
	f := m.Forward()
	switch f.State {
	// forward-compat-unsupported (804) reports a GPU that the library refuses.
	case hardware.ForwardNone, hardware.ForwardWrongGPU:
		return nil
	case hardware.ForwardUndecided:
		return rule.ReportMissing("libcuda "+f.Version, f.Lacks)
	case hardware.ForwardWorks, hardware.ForwardUndecidedGPU:
		return rule.Pass("libcuda " + f.Version)
	}
	return rule.ReportFinding(forwardFinding(m, fmt.Sprintf("the loader takes libcuda %s from a cuda-compat package, and %s: CUDA will not start (error 803)", f.Version, f.Why),
		"the driver's own libcuda, or a cuda-compat package that supports driver branch "+fmt.Sprint(f.Base.Version.Major())))
}

func forwardFinding(m *model.Machine, message, need string) verdict.Finding {
	f := m.Forward()
	return verdict.Finding{Severity: verdict.Error, Subject: "libcuda " + f.Version, Message: message, Need: need, Source: f.Source,
		Evidence: []verdict.Evidence{m.EvidenceDriver(), m.EvidenceCompat()}, Steps: []pin.Step{pin.Say(stepToDropCompat(m))}}
}

// stepToDropCompat returns the step that removes the cuda-compat library, so that the loader finds the driver's own
// libcuda.
func stepToDropCompat(m *model.Machine) string {
	dir := path.Dir(m.Forward().Path)
	switch {
	// Container toolkits before 1.17.4 (see its release notes) mount it over the driver's own file, so its path does
	// not contain "compat".
	case !strings.Contains(dir, "compat"):
		return "remove the cuda-compat package from the image, or update nvidia-container-toolkit to 1.17.4 or newer: an older one mounts it over the driver's libcuda"
	case m.Forward().Reason == "LD_LIBRARY_PATH":
		return "remove " + pin.Word(dir) + " from LD_LIBRARY_PATH"
	}
	return "remove " + pin.Word(dir) + " from /etc/ld.so.conf.d and run ldconfig"
}

// ForwardCompatInUse notes that a build runs on this driver only because a cuda-compat library replaces the driver's
// libcuda. In a shell, service or container where the loader finds the driver's own libcuda first, the same build is
// driver-too-old.
func ForwardCompatInUse(m *model.Machine, b *model.Build) []*rule.Result {
	if m.Forward().State != hardware.ForwardWorks || b.Device != "cuda" || b.Extension || !b.CUDANumber.Known() {
		return nil
	}
	// The driver would also run the build without it.
	if state, _, _ := m.FloorOn(m.Forward().Base, b.CUDANumber); state == hardware.FloorFull {
		return nil
	}
	// The library is too old for the build, too. driver-too-old reports that.
	if state, _, _ := m.Floor(b.CUDANumber); state != hardware.FloorFull && state != hardware.FloorMinor {
		return nil
	}
	l := m.Forward()
	f := verdict.Finding{Severity: verdict.Note, Subject: b.Subject, Source: l.Source,
		Need:     "libcuda " + l.Version + " on the loader's path",
		Message:  fmt.Sprintf("works by forward compatibility: CUDA %s is newer than driver %s supports, and %s from a cuda-compat package takes its place; OpenGL and Vulkan interoperation do not work", b.CUDANumber.Short(), l.Base.Version, compatName(l)),
		Evidence: append([]verdict.Evidence{m.EvidenceDriver(), m.EvidenceCompat()}, b.Evidence()...)}
	return []*rule.Result{{Subject: b.Subject, Finding: &f, Answer: verdict.WorksForward}}
}

// compatName names a cuda-compat library: "libcuda 580.95.05 (CUDA 13.0)", or "libcuda of CUDA 13.0" if a text shows
// only that.
func compatName(f *hardware.Forward) string {
	if !f.Number.Known() {
		return "libcuda " + f.Version
	}
	return fmt.Sprintf("libcuda %s (CUDA %s)", f.Version, f.CUDANumber)
}
