package container

import (
	"fmt"

	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
)

var visibleSource = []string{
	"https://docs.nvidia.com/cuda/archive/13.4.3/cuda-programming-guide/05-appendices/environment-variables.html",
}

// gpusHiddenOnPurpose reports whether a program may hide GPUs from this process on purpose: a scheduler, or a launcher
// that numbers its ranks (LOCAL_RANK, RANK).
func gpusHiddenOnPurpose(m *model.Machine) bool {
	_, rank := m.Facts.Variables["LOCAL_RANK"]
	_, other := m.Facts.Variables["RANK"]
	return len(m.Facts.Container.Schedulers) > 0 || rank || other
}

// VisibleDevices reports a CUDA_VISIBLE_DEVICES that names a missing GPU or hides all. NVML and nvidia-smi ignore the
// variable, so nvidia-smi shows GPUs that no program gets. In a container the numbers start at 0, whatever they are on
// the host.
func VisibleDevices(m *model.Machine) []*rule.Result {
	list, set := m.Facts.Variables["CUDA_VISIBLE_DEVICES"]
	if m.Facts.Image != nil {
		return hiddenByImage(m, list)
	}
	if !m.Here() || !set || m.Facts.Driver.NVML.Status != "ok" || len(m.Listed()) == 0 {
		return nil
	}
	f := verdict.Finding{Subject: "CUDA_VISIBLE_DEVICES", Source: visibleSource, Need: "a list of GPUs that exist",
		Evidence: []verdict.Evidence{{Fact: "CUDA_VISIBLE_DEVICES", Value: fmt.Sprintf("%q", list), From: "environment"},
			{Fact: "GPUs", Value: fmt.Sprint(len(m.Listed())), From: m.NVMLFrom()}}}
	switch {
	// With driver 580.159.04, cuInit was seen to fail with CUDA_ERROR_INVALID_DEVICE.
	case m.Shown.Twice != "":
		f.Severity, f.Need = verdict.Error, "a list that names each GPU once"
		f.Message = fmt.Sprintf("CUDA_VISIBLE_DEVICES=%s names %s again: CUDA shows no GPU of a list that names one twice (error 101)",
			list, m.Shown.Twice)
		f.Steps = []pin.Step{pin.Say("name each GPU once in it"),
			pin.Run("unset CUDA_VISIBLE_DEVICES").Explained("shows every GPU").Instead()}
		return []*rule.Result{{Subject: f.Subject, Finding: &f, TakesGPU: func(hardware.GPU) bool { return true }}}
	// CUDA stops reading the list at the first entry that it does not know (Programming Guide, environment variables).
	case m.Shown.Absent != "":
		f.Severity = verdict.Error
		f.Message = fmt.Sprintf("CUDA_VISIBLE_DEVICES=%s names %s, which does not exist: CUDA hides it and every GPU after it in the list", list, m.Shown.Absent)
		f.Steps = []pin.Step{pin.Say(fmt.Sprintf("name GPUs from 0 to %d in it", len(m.Listed())-1)),
			pin.Run("unset CUDA_VISIBLE_DEVICES").Explained("shows every GPU").Instead()}
		return []*rule.Result{{Subject: f.Subject, Finding: &f, TakesGPU: func(hardware.GPU) bool { return m.Shown.Hidden || m.Shown.Count == 0 }}}
	// NVML may not show MIG devices. Without CUDA_DEVICE_ORDER=PCI_BUS_ID, the numbers of different GPUs are not known.
	case m.Shown.Missing.IsMissing():
		return rule.ReportMissing(f.Subject, m.Shown.Missing)
	case !m.Shown.Hidden:
		return rule.Pass(f.Subject)
	// Slurm, Ray and launchers hide GPUs from a process on purpose.
	case gpusHiddenOnPurpose(m) || !m.JudgesCUDA():
		return nil
	}
	// This is a note: an empty list is a usual way to keep a program on the CPU. The link devices makes the outcome
	// inconclusive.
	f.Severity, f.Message = verdict.Note, fmt.Sprintf("CUDA_VISIBLE_DEVICES=%q hides every GPU from this process", list)
	f.Steps = []pin.Step{pin.Run("unset CUDA_VISIBLE_DEVICES").Explained("where the GPUs are wanted")}
	return rule.ReportFinding(f)
}

// hiddenByImage reports an image whose configuration hides every GPU. It is a note, because an empty list is a usual
// way to keep a program on the CPU.
func hiddenByImage(m *model.Machine, list string) []*rule.Result {
	if !m.Shown.Hidden || !m.JudgesCUDA() {
		return nil
	}
	return rule.ReportFinding(verdict.Finding{Severity: verdict.Note, Subject: "CUDA_VISIBLE_DEVICES", Source: visibleSource, Need: "a list of GPUs that exist",
		Message:  fmt.Sprintf("the image sets CUDA_VISIBLE_DEVICES=%q, which hides every GPU from what is started from it", list),
		Evidence: []verdict.Evidence{{Fact: "CUDA_VISIBLE_DEVICES", Value: fmt.Sprintf("%q", list), From: rule.ImageConfiguration}},
		Steps: []pin.Step{pin.Say("build the image without this variable if the GPUs are wanted"),
			pin.Say("start its containers with another value: CUDA_VISIBLE_DEVICES=0").Instead()}})
}

// WorldSize reports more ranks on this node than GPUs. It is an error: by convention rank n uses GPU n, and ranks
// without one fail at their first call.
func WorldSize(m *model.Machine) []*rule.Result {
	// WORLD_SIZE counts the ranks of all nodes, so it says nothing about this one (torchrun's manual).
	ranks := m.Count("LOCAL_WORLD_SIZE")
	usable := m.Shown.Count
	// Ranks that see no GPU belong to a CPU job (gloo).
	if !m.Here() || ranks < 1 || usable == 0 || m.Facts.Driver.NVML.Status != "ok" || m.Partitioned() || !m.JudgesCUDA() {
		return nil
	}
	oneEach := usable == 1 && (len(m.Facts.Container.Schedulers) > 0 || len(m.Listed()) >= ranks) // every task was given its own
	// With one GPU for each task, each rank sees one, whatever LOCAL_WORLD_SIZE is.
	if ranks <= usable || oneEach {
		return rule.Pass("job")
	}
	return rule.ReportFinding(verdict.Finding{Severity: verdict.Error, Subject: "job", Need: fmt.Sprintf("%d GPUs", ranks),
		Message: fmt.Sprintf("%d ranks run on this node (LOCAL_WORLD_SIZE), but %d GPU%s can be seen: ranks that find none of their own fail (error 101)",
			ranks, usable, verdict.Plural(usable, "", "s")),
		Evidence: []verdict.Evidence{{Fact: "LOCAL_WORLD_SIZE", Value: fmt.Sprint(ranks), From: "environment"},
			{Fact: "GPUs", Value: fmt.Sprint(usable), From: m.NVMLFrom()}},
		Steps: []pin.Step{pin.Say(fmt.Sprintf("start %d rank%s on this node (torchrun --nproc-per-node=%d)", usable,
			verdict.Plural(usable, "", "s"), usable)), pin.Say("give it more GPUs").Instead()},
		Source: []string{"https://docs.pytorch.org/docs/stable/elastic/run.html"}})
}

// shmEnough is the size in bytes below which NCCL and the data loaders of several GPUs run out of shared memory.
// Docker's and Kubernetes' default is 64 MiB.
const shmEnough = 1 << 30

// ShmTooSmall reports several GPUs with little shared memory for their processes. It is a warning, since only some
// programs need more. If it fills up, a bus error kills the writer.
func ShmTooSmall(m *model.Machine) []*rule.Result {
	usable := len(m.GPUs)
	if m.Facts.Driver.NVML.Status == "ok" {
		usable = m.Shown.Count
	}
	// WSL's /dev/shm is half of its memory.
	if !m.Here() || m.Facts.Devices.Shared == 0 || usable == 0 || m.Facts.System.WSL {
		return nil
	}
	if m.Facts.Devices.Shared >= shmEnough {
		return rule.Pass("/dev/shm")
	}
	size := fmt.Sprintf("%d MiB", m.Facts.Devices.Shared>>20)
	f := verdict.Finding{Severity: verdict.Note, Subject: "/dev/shm", Need: "1 GiB or more",
		Message:  "/dev/shm has " + size + ": data loaders with several workers can fill it",
		Evidence: []verdict.Evidence{{Fact: "/dev/shm", Value: size, From: "/dev/shm"}},
		Steps:    sharedSteps(m),
		Source:   []string{"https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html"}}
	// NCCL uses shared memory between ranks. With one GPU, only data loaders with workers do.
	if usable > 1 {
		f.Severity = verdict.Warning
		f.Message = fmt.Sprintf("/dev/shm has %s for %d GPUs: NCCL and data loaders share memory there and fail when it is full (bus error)", size, usable)
	}
	return rule.ReportFinding(f)
}

// sharedSteps returns the steps that enlarge shared memory: an option of the container engine, or mount(8) on a host.
func sharedSteps(m *model.Machine) []pin.Step {
	if m.Facts.System.Container != "" {
		return []pin.Step{pin.Say("start the container with `docker run --shm-size=8g` (or --ipc=host); in Kubernetes with an emptyDir of medium Memory at /dev/shm")}
	}
	return []pin.Step{pin.Run(pins.HostSystem(m).AsRoot("mount", "-o", "remount,size=8G", "/dev/shm")).Explained(
		"until the next boot; then by a line in /etc/fstab")}
}

// LaunchBlocking notes a debugging aid that was left on: the CPU waits for every kernel. It is a note, because the
// results are the same.
func LaunchBlocking(m *model.Machine) []*rule.Result {
	value := m.Facts.Variables["CUDA_LAUNCH_BLOCKING"]
	if value == "" || value == "0" {
		return nil
	}
	return rule.ReportFinding(verdict.Finding{Severity: verdict.Note, Subject: "CUDA_LAUNCH_BLOCKING",
		Need:     "CUDA_LAUNCH_BLOCKING unset, except for debugging",
		Source:   visibleSource,
		Message:  "CUDA_LAUNCH_BLOCKING=" + value + " makes every kernel launch wait until it ends: good for finding errors, slow for work",
		Evidence: []verdict.Evidence{rule.VariableEvidence(m, "CUDA_LAUNCH_BLOCKING")},
		Steps:    []pin.Step{rule.UnsetStep(m, "CUDA_LAUNCH_BLOCKING")}})
}
