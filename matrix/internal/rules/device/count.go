package device

import (
	"fmt"
	"slices"
	"strings"

	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// givenCount compares the number of GPUs in NVML with the number that a container or job was given. Fewer GPUs can be
// intended. None cannot: CUDA fails with error 100 ("no CUDA-capable device is detected"), and nvidia-smi prints "No
// devices were found".
func givenCount(m *model.Machine) []*rule.Result {
	if m.NVMLCountsNone() {
		given, asked := m.AskedGPU()
		if !asked || nodesShut(m) && len(m.GPUNodes()) > 0 { // device-permission says why
			return nil
		}
		f := noneCounted(m, given)
		return []*rule.Result{{Subject: f.Subject, Finding: &f, Link: verdict.LinkGPU, Proven: true}}
	}
	if f := fewerCounted(m); f != nil {
		return rule.ReportFinding(*f)
	}
	own := m.Facts.System.Container != "" && m.Facts.Container.OwnDevices == "yes" && len(m.GPUNodes()) > 0
	if m.DriverAnswers() && (own || m.Facts.Machine.JobGPUs != "") {
		return rule.Pass("GPUs")
	}
	return nil
}

// noneCounted returns the finding for a container or job that has lost all its GPUs.
func noneCounted(m *model.Machine, given verdict.Evidence) verdict.Finding {
	place := "container"
	if m.Facts.System.Container == "" {
		place = "job"
	}
	f := verdict.Finding{Severity: verdict.Error, Subject: "GPUs", Need: "a GPU that NVML counts",
		Message:  fmt.Sprintf("no devices were found: NVML answers and counts no GPU, although this %s was given one (%s)", place, given.Value),
		Evidence: []verdict.Evidence{{Fact: "GPUs that NVML counts", Value: "0", From: m.NVMLFrom()}, given},
		Source:   []string{"https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html", "https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html"}}
	switch given.Fact {
	case "--require":
		f.Message = fmt.Sprintf("no devices were found: NVML answers and counts no GPU in this %s, and --require asks for one", place)
	case "NVIDIA_VISIBLE_DEVICES":
		f.Message = fmt.Sprintf("no devices were found: NVML answers and counts no GPU, although NVIDIA_VISIBLE_DEVICES=%s asks for one", given.Value)
	case "given to this container":
	default: // a step's variable
		f.Message = fmt.Sprintf("no devices were found: NVML answers and counts no GPU, although %s says that this %s has one", given.Fact, place)
	}
	f.Steps = []pin.Step{pin.Say("on the host, run `nvidia-smi -L` and `sudo dmesg | grep -iE 'nvrm|xid'`: they show whether the GPU still answers there, and why not")}
	if place == "job" {
		f.Steps = append(f.Steps, pin.Say("if the host shows it, ask the scheduler for a GPU (Slurm: `srun --gpus=1`)"))
	} else {
		f.Steps = append(f.Steps, pin.Say("if the host shows it, start the container again with its GPU (`docker run --gpus all`); if not, reset the GPU or reboot the host"))
	}
	return f
}

// fewerCounted returns the finding for a container that has the device nodes of more GPUs than NVML counts, or nil. A
// pod on GKE has the nodes of all GPUs and may use only some, so without evidence about the GPU it is a note.
func fewerCounted(m *model.Machine) *verdict.Finding {
	nodes, counted := len(m.GPUNodes()), m.Facts.Devices.Counted
	if m.Facts.System.Container == "" || m.Facts.Container.OwnDevices != "yes" || !m.DriverAnswers() ||
		counted == 0 || nodes <= counted || m.Partitioned() {
		return nil
	}
	f := &verdict.Finding{Severity: verdict.Note, Subject: "GPUs", Need: "nothing, if this container is to use only some of the GPUs",
		Message: fmt.Sprintf("this container has the nodes of %s, and NVML counts %d", gpus(nodes), counted),
		Evidence: []verdict.Evidence{{Fact: "GPUs that NVML counts", Value: fmt.Sprint(counted), From: m.NVMLFrom()},
			{Fact: "nodes of GPUs", Value: fmt.Sprint(nodes), From: "/dev"}},
		Steps: []pin.Step{pin.Say("if it is to use all of them, run `nvidia-smi -L` on the host: it shows whether one is missing there, too")}}
	for _, g := range onBus(m) {
		line := failureInLog(m, g.Bus)
		if line == "" || listedByNVML(g) {
			continue
		}
		f.Severity, f.Need = verdict.Warning, "an answer from every GPU that was given"
		f.Message += fmt.Sprintf("; the kernel log has a fault of the GPU at %s", g.Bus)
		f.Evidence = append(f.Evidence, verdict.Evidence{Fact: "kernel log", Value: line, From: m.Facts.Driver.KernelFrom})
		f.Steps = LostGPUSteps(m)
		break
	}
	return f
}

// failureInLog returns the kernel log line which says that the GPU at an address failed, or "".
func failureInLog(m *model.Machine, bus string) string {
	lines, place := slices.Concat(m.Facts.Driver.Kernel, m.Facts.Machine.Xids), strings.TrimSuffix(bus, ".0")
	if i := slices.IndexFunc(lines, func(line string) bool { // "GPU 0000:00:1e.0: RmInitAdapter failed", "Xid (PCI:0000:00:1e)"
		return place != "" && strings.Contains(strings.ToLower(line), place)
	}); i >= 0 {
		return lines[i]
	}
	return ""
}

func listedByNVML(g facts.GPU) bool { return slices.Contains(g.From, "NVML") }
