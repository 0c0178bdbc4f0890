package coverage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/rules/device"
	"cudacompat/matrix/internal/rules/driver"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// RequiredMissing reports something that the caller required with --require and that is missing. Without the flag
// nothing is required: a machine without a GPU may be a build host or a login node. The flag is for places where nobody
// reads the report: first boot, a health check, an image pipeline.
func RequiredMissing(m *model.Machine) []*rule.Result {
	var results []*rule.Result
	for _, want := range m.Policy.Require {
		present, couldNot := hasRequired(m, want)
		switch {
		case present:
			results = append(results, rule.Pass(want)...)
		// It may be there, but nobody could look. The result is unknown, which leaves the outcome open.
		case couldNot != "":
			results = append(results, rule.ReportOpen(want, verdict.Statement(couldNot))...)
		default:
			f := lackingRequired(m, want)
			r := rule.Result{Subject: f.Subject, Finding: &f}
			if want == "driver" || want == "gpu" {
				r.Rests = verdict.MachineLinks
			}
			results = append(results, &r)
		}
	}
	return results
}

// lackingRequired describes a required thing that is missing. A GPU that is only hidden from this process is not
// missing.
func lackingRequired(m *model.Machine, want string) verdict.Finding {
	name := requiredNames[want]
	f := verdict.Finding{Severity: verdict.Error, Subject: want, Message: "no " + name + " was found, but one is required", Need: name,
		Steps: requiredSteps[want]}
	switch nvml := m.Facts.Driver.NVML; {
	case (want == "driver" || want == "gpu") && refusedByNVML(m):
		f.Message = "the driver does not answer, but a working " + strings.TrimPrefix(name, "NVIDIA ") + " is required: " + nvml.Message
		f.Evidence = []verdict.Evidence{{Fact: "NVML", Value: cmp.Or(nvml.Message, fmt.Sprint("error ", nvml.Code)), From: m.NVMLFrom()}}
		if nvml.Code == hardware.NVMLUnknown {
			f.Steps = []pin.Step{device.ReloadUVMStep(m)}
		} else {
			f.Steps = nil
		}
		f.Steps = append(f.Steps, pin.Say("run `sudo dmesg | grep -iE 'nvrm|xid'`, which may say why it fails; then load the driver again, or reboot"))
	case want == "gpu" && m.NVMLCountsNone() && m.OnPCI():
		f.Message = "NVML counts no GPU, but one is required; the PCI bus lists one that the driver does not have"
		f.Evidence = []verdict.Evidence{{Fact: "GPUs that NVML counts", Value: "0", From: m.NVMLFrom()}}
	}
	// Other processes see it. Starting the container again would not help.
	if want == "gpu" && m.Shown.Hidden {
		f.Message = fmt.Sprintf("a GPU is required, but CUDA_VISIBLE_DEVICES=%q hides every one", m.Shown.List)
		f.Evidence = []verdict.Evidence{{Fact: "CUDA_VISIBLE_DEVICES", Value: fmt.Sprintf("%q", m.Shown.List), From: "environment"}}
		f.Steps = []pin.Step{pin.Run("unset CUDA_VISIBLE_DEVICES"),
			pin.Say("name GPUs that are there in CUDA_VISIBLE_DEVICES (`nvidia-smi -L` lists them)").Instead()}
	}
	return f
}

// requiredNames describes the things of Requirements, as parts of a sentence.
var requiredNames = map[string]string{
	"driver": "NVIDIA driver", "gpu": "GPU", "efa": "EFA adapter", "build": "build that uses CUDA",
}

// requiredSteps lists the steps for a machine that nobody has looked at yet: first boot, a health check.
var requiredSteps = map[string][]pin.Step{
	"driver": {pin.Say("install the NVIDIA driver and reboot (`cudacompat probe` shows where it was looked for)"),
		pin.Say("start the container with its GPU: `docker run --gpus all`").Instead()},
	"gpu": {pin.Say("start this on a GPU instance (`cudacompat probe` shows where a GPU was looked for)"),
		pin.Say("start the container with its GPU: `docker run --gpus all`").Instead()},
	"efa": {pin.Say("launch the instance with an EFA network interface and install EFA's driver"),
		pin.Say("give the container its devices (/dev/infiniband; in Kubernetes the limit vpc.amazonaws.com/efa)").Instead()},
	"build": {pin.Say("install a CUDA build of PyTorch, TensorFlow or JAX"), pin.Say("name its environment with --env").Instead()},
}

// hasRequired reports whether a required thing is present and healthy, or why that could not be determined.
func hasRequired(m *model.Machine, want string) (present bool, couldNot string) {
	switch want {
	case "driver":
		// At rest nothing is loaded. A driver that the booting kernel will load counts.
		there := m.Driver().Loaded || m.Facts.System.Rest && m.Driver().Version.Known()
		return there && !refusedByNVML(m), cmp.Or(m.ProbeFailure("proc-driver"), m.Unseen("proc-driver"), slowNVML(m))
	case "gpu":
		return hasGPU(m)
	case "efa":
		return m.HasEFA()
	case "build":
		// A place that was not read may contain the required build.
		return m.AnyWants(func(b *model.Build) bool { return b.Counts }), cmp.Or(driver.ReasonUnread(m), m.ProbeFailure("python"))
	}
	return false, "how to look for " + want
}

// slowNVML returns why NVML did not answer, if more time might have helped. Eight GPUs without persistence take 25 to
// 30 s to initialise, so a late answer is not absence.
func slowNVML(m *model.Machine) string {
	if s := m.Facts.Driver.NVML.Status; s == "timeout" || s == "crashed" {
		return m.Facts.Driver.NVML.Message
	}
	return ""
}

// refusedByNVML reports whether NVML answered with an error about this machine: the driver or its GPUs are not well.
func refusedByNVML(m *model.Machine) bool {
	return m.Here() && m.Facts.Driver.NVML.Status == "error" && !m.Facts.System.WSL && !m.Jetson()
}

// hasGPU reports whether a program here has a GPU. NVML's count decides. Without NVML, as in a container with only the
// capability compute, the device nodes and libcuda decide. The PCI bus never does: it belongs to the host, and lists a
// GPU that the driver has lost.
func hasGPU(m *model.Machine) (present bool, couldNot string) {
	nvml := m.Facts.Driver.NVML
	switch {
	case m.Shown.Hidden || len(m.GPUs) == 0 && m.Target.Named():
		return false, slowNVML(m)
	case m.Target.Named(), m.DriverAnswers(), slices.ContainsFunc(m.GPUs, hardware.GPU.Answers):
		return true, ""
	case m.Facts.Devices.Node("/dev/dxg") != nil, m.Jetson():
		return len(m.GPUs) > 0, slowNVML(m)
	case m.Facts.System.Rest && len(m.GPUs) > 0:
		return false, "whether the driver counts a GPU: nothing runs here"
	case nvml.Status == "ok" && nvml.Message == "", nvml.Status == "error":
		return false, slowNVML(m)
	case len(m.GPUs) == 0: // a bus that could not be listed may have one
		return false, cmp.Or(slowNVML(m), m.ProbeFailure("pci"), m.Unseen("pci"), m.Unseen("devices"))
	case slowNVML(m) != "":
		return false, slowNVML(m)
	case nvml.Status == "ok":
		return false, nvml.Message
	case canOpenGPU(m):
		return true, ""
	case nvml.Status == "absent" && m.Facts.System.Container != "":
		return false, cmp.Or(m.Unseen("devices"), m.Unseen("driver-libraries"))
	}
	return false, "whether the driver counts a GPU: NVML was not asked"
}

// canOpenGPU reports whether a program may open a GPU's node and finds libcuda.
func canOpenGPU(m *model.Machine) bool {
	own := m.Facts.System.Container == "" || m.Facts.Container.OwnDevices != "no"
	return own && driver.LoadsLibcuda(m) && slices.ContainsFunc(m.GPUNodes(), func(n facts.Node) bool { return n.Access == "ok" })
}

// Requirements returns the things that can be required, in the order of the documentation.
func Requirements() []string { return []string{"driver", "gpu", "build", "efa"} }
