package rules

import (
	"fmt"
	"strings"

	"cudacompat/matrix/internal/verdict"
	"cudacompat/matrix/internal/world"
	"cudacompat/pin"
)

// architectureMismatch: a machine's image at rest is for another architecture than the instance type that it is meant
// for, and cannot start there. A container's image says nothing of the kind: what is in it is judged build by build. An
// error without a milder form: no file of the image can run there.
func architectureMismatch(m *world.Machine) []*Result {
	s := m.Facts.System
	// Only a tree with a kernel is a machine's image. Without a target it may be meant for either architecture.
	if !s.Rest || !s.Bootable || s.Arch == "" || !m.Target.Named() || !strings.HasPrefix(m.Platform, "linux_") {
		return nil
	}
	// Arch comes from the C library of the tree: the kernel that runs here may be that of a builder. The platform is that
	// of the instance's row, or aarch64 for a GPU that is sold with an Arm processor only (ArmGPU).
	want := strings.TrimPrefix(m.Platform, "linux_")
	if want == s.Arch {
		return holds("image")
	}
	return found(verdict.Finding{Severity: verdict.Error, Subject: "image", Need: "an image for " + want,
		Message:  fmt.Sprintf("this image is for %s and cannot start on %s, which is %s", s.Arch, meant(m), want),
		Evidence: []verdict.Evidence{{Fact: "architecture", Value: s.Arch, From: s.LibcFrom}},
		Steps:    []pin.Step{pin.Say("build the image from a base for " + want), pin.Say("choose an instance type with " + s.Arch).Instead()},
		Source:   []string{"https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ComponentsAMIs.html"}})
}

// meant is what the image is meant for, in words.
func meant(m *world.Machine) string {
	if m.Target.Instance != "" {
		return m.Target.Instance
	}
	return strings.Join(m.Target.GPUs, ", ")
}
