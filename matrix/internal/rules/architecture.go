package rules

import (
	"cmp"
	"fmt"
	"strings"

	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
)

// architectureMismatch: an image is for another architecture than the machine that it is meant for, and cannot start
// there: a machine's image at rest, or a container's that says for which platform it was built. A tree without either
// says nothing of the kind: what is in it is judged build by build. An error without a milder form: no file of the image
// can run there.
func architectureMismatch(m *model.Machine) []*Result {
	s, container := m.Facts.System, m.Facts.Image != nil
	// Without a target it may be meant for either architecture.
	if !s.Rest || !s.Bootable && !container || s.Arch == "" || !m.Target.Named() || !strings.HasPrefix(m.Platform, "linux_") {
		return nil
	}
	// Arch comes from the C library of the tree: the kernel that runs here may be that of a builder. The platform is that
	// of the instance's row, or aarch64 for a GPU that is sold with an Arm processor only (ArmGPU).
	want := strings.TrimPrefix(m.Platform, "linux_")
	if want == s.Arch {
		return holds("image")
	}
	f := verdict.Finding{Severity: verdict.Error, Subject: "image", Need: "an image for " + want,
		Message:  fmt.Sprintf("this image is for %s and cannot start on %s, which is %s", s.Arch, imagePurpose(m), want),
		Evidence: []verdict.Evidence{{Fact: "architecture", Value: s.Arch, From: s.LibcFrom}},
		Steps:    []pin.Step{pin.Say("build the image from a base for " + want), pin.Say("choose an instance type with " + s.Arch).Instead()},
		Source:   []string{"https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ComponentsAMIs.html"}}
	if container {
		f.Evidence[0].From = cmp.Or(s.LibcFrom, imageConfiguration)
		f.Steps[0] = pin.Say("build or copy the image for linux/" + goArch[want])
		f.Source = []string{"https://github.com/opencontainers/image-spec/blob/v1.1.0/config.md"}
	}
	return oneFinding(f)
}

// goArch are the architectures as images write them.
var goArch = map[string]string{"x86_64": "amd64", "aarch64": "arm64"}

// imagePurpose returns what the image is meant for, in words.
func imagePurpose(m *model.Machine) string {
	if m.Target.Instance != "" {
		return m.Target.Instance
	}
	return strings.Join(m.Target.GPUs, ", ")
}
