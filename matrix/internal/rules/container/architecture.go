package container

import (
	"cmp"
	"fmt"
	"strings"

	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
)

// ArchitectureMismatch reports an image that was made for another architecture than its target machine and therefore
// cannot start there. It looks at a machine image at rest, or at a container image that names its platform. A directory
// tree without either proves nothing; its builds are judged one by one. The finding is always an error, because no file
// of the image can run.
func ArchitectureMismatch(m *model.Machine) []*rule.Result {
	s, container := m.Facts.System, m.Facts.Image != nil
	// Without a named target, the image may be meant for either architecture.
	if !s.Rest || !s.Bootable && !container || s.Arch == "" || !m.Target.Named() || !strings.HasPrefix(m.Platform, "linux_") {
		return nil
	}
	// Arch comes from the tree's C library, because the running kernel may belong to a build machine. Platform comes
	// from the instance's row, or is aarch64 for a GPU that is only sold with an Arm processor (ArmGPU).
	want := strings.TrimPrefix(m.Platform, "linux_")
	if want == s.Arch {
		return rule.Pass("image")
	}
	f := verdict.Finding{Severity: verdict.Error, Subject: "image", Need: "an image for " + want,
		Message:  fmt.Sprintf("this image is for %s and cannot start on %s, which is %s", s.Arch, imagePurpose(m), want),
		Evidence: []verdict.Evidence{{Fact: "architecture", Value: s.Arch, From: s.LibcFrom}},
		Steps:    []pin.Step{pin.Say("build the image from a base for " + want), pin.Say("choose an instance type with " + s.Arch).Instead()},
		Source:   []string{"https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ComponentsAMIs.html"}}
	if container {
		f.Evidence[0].From = cmp.Or(s.LibcFrom, rule.ImageConfiguration)
		f.Steps[0] = pin.Say("build or copy the image for linux/" + goArch[want])
		f.Source = []string{"https://github.com/opencontainers/image-spec/blob/v1.1.0/config.md"}
	}
	return rule.ReportFinding(f)
}

// goArch maps a machine name to the name that container images use.
var goArch = map[string]string{"x86_64": "amd64", "aarch64": "arm64"}

// imagePurpose describes the target of the image in words.
func imagePurpose(m *model.Machine) string {
	if m.Target.Instance != "" {
		return m.Target.Instance
	}
	return strings.Join(m.Target.GPUs, ", ")
}
