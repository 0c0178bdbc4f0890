package device

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

var migSource = []string{"https://docs.nvidia.com/datacenter/tesla/mig-user-guide/"}

// admitsPrograms reports whether a GPU accepts programs in its mode: its compute mode is not "prohibited", and if it is
// divided by MIG, it has a MIG device. -1 instances mean that this process may not query the parent GPU, because Slurm
// and Kubernetes gave it only the MIG device.
func admitsPrograms(g facts.GPU) bool {
	return !(g.MIG == "on" && g.Instances == 0) && g.Mode != "prohibited"
}

// someOpen reports whether at least one GPU admits programs.
func someOpen(m *model.Machine) bool { return slices.ContainsFunc(m.Listed(), admitsPrograms) }

// openGPUsSetting returns the setting that shows programs only the GPUs that admit them.
func openGPUsSetting(m *model.Machine) string {
	return m.Showing(func(g hardware.GPU) bool {
		return slices.ContainsFunc(m.Facts.GPUs, func(f facts.GPU) bool { return f.Bus == g.Bus && admitsPrograms(f) })
	})
}

// MIGDevices reports a GPU in MIG mode that has no MIG device, MIG devices whose nodes were not given, and more MIG
// devices than one process can use. It is an error if nothing else is left to run on.
func MIGDevices(m *model.Machine) []*rule.Result {
	if !m.Here() || m.Facts.Driver.NVML.Status != "ok" {
		return nil
	}
	for _, g := range m.Facts.GPUs {
		if g.MIG == "on" && g.Instances == 0 {
			return rule.ReportFinding(cutWithoutPart(m, g))
		}
	}
	for _, g := range m.Facts.GPUs {
		if shut := closedMIGNodes(m, g); len(shut) > 0 {
			return rule.ReportFinding(partNotGiven(m, g, shut))
		}
	}
	if f := severalMIGDevices(m); f != nil {
		return rule.ReportFinding(*f)
	}
	if f := wholeGPUBesideMIG(m); f != nil {
		return rule.ReportFinding(*f)
	}
	if m.Partitioned() {
		return rule.Pass("MIG")
	}
	return nil
}

func cutWithoutPart(m *model.Machine, g facts.GPU) verdict.Finding {
	f := verdict.Finding{Severity: verdict.Error, Subject: "MIG", Need: "a compute instance, or MIG off", Source: migSource,
		Message: cmp.Or(g.Name, "a GPU") + " is in MIG mode but has no compute instance: no program can run on it",
		Evidence: []verdict.Evidence{{Fact: "MIG", Value: "on, 0 devices", From: m.NVMLFrom()},
			{Fact: "GPU", Value: g.Bus, From: m.NVMLFrom()}},
		Steps: []pin.Step{pin.Run("sudo nvidia-smi mig -cgi 0 -C").Explained("creates one (`nvidia-smi mig -lgip` lists the profiles)"),
			pin.Run("sudo nvidia-smi -mig 0").Explained("turns MIG off").Instead()}}
	if someOpen(m) {
		f.Severity = verdict.Warning
	}
	return f
}

// closedMIGNodes returns the device nodes of a GPU's MIG devices that this process was not given or may not open. It
// returns none if all nodes of one device are there, because the others then belong to other programs.
func closedMIGNodes(m *model.Machine, g facts.GPU) []string {
	if g.MIG != "on" || g.Instances <= 0 || m.Facts.Container.OwnDevices == "" || !m.Looked("devices") {
		return nil
	}
	shut := slices.DeleteFunc(slices.Clone(g.CapNodes), func(name string) bool {
		node := m.Facts.Devices.Node(name)
		return node != nil && node.Access == "ok"
	})
	if len(g.CapNodes)-len(shut) >= 2 { // a GPU instance's and a compute instance's
		return nil
	}
	return shut
}

func partNotGiven(m *model.Machine, g facts.GPU, shut []string) verdict.Finding {
	f := verdict.Finding{Severity: verdict.Error, Subject: "MIG", Source: migSource, Need: verdict.JoinAnd(shut),
		Message: "this process may not open the nodes of any MIG device of " + cmp.Or(g.Name, "the GPU") + ": " + verdict.JoinAnd(shut),
		Evidence: []verdict.Evidence{{Fact: "MIG", Value: fmt.Sprintf("on, %d %s", g.Instances, verdict.Plural(g.Instances, "device", "devices")),
			From: m.NVMLFrom()}},
		Steps: []pin.Step{pin.Say("start it with a MIG device: `docker run --gpus device=UUID`, with a UUID that `nvidia-smi -L` prints on the host; in Kubernetes with a limit of the resource that `kubectl describe node` lists, such as nvidia.com/mig-1g.10gb")}}
	if !slices.ContainsFunc(shut, func(name string) bool { return m.Facts.Devices.Node(name) != nil }) {
		f.Message = "no MIG device of " + cmp.Or(g.Name, "the GPU") + " was given to this container: " + verdict.JoinAnd(shut) + " " +
			verdict.Plural(len(shut), "is", "are") + " missing"
	}
	return f
}

// severalMIGDevices reports several MIG devices for one process. CUDA shows a process only one (MIG user guide), so all
// ranks of such a list would use the first.
func severalMIGDevices(m *model.Machine) *verdict.Finding {
	n := strings.Count(m.Facts.Variables["CUDA_VISIBLE_DEVICES"], "MIG-")
	if n < 2 {
		return nil
	}
	f := verdict.Finding{Severity: verdict.Note, Subject: "MIG", Need: "one MIG device for each process", Source: migSource,
		Message: fmt.Sprintf("CUDA_VISIBLE_DEVICES names %d MIG devices: a process uses only the first of them", n),
		Evidence: []verdict.Evidence{{Fact: "CUDA_VISIBLE_DEVICES", Value: m.Facts.Variables["CUDA_VISIBLE_DEVICES"],
			From: "environment"}},
		Steps: []pin.Step{pin.Say("start a process for each MIG device, with CUDA_VISIBLE_DEVICES set to that one")}}
	if m.Count("LOCAL_WORLD_SIZE") > 1 {
		f.Severity = verdict.Warning
	}
	return &f
}

// wholeGPUBesideMIG reports a whole GPU beside a MIG device. CUDA then shows no whole GPU (MIG user guide).
func wholeGPUBesideMIG(m *model.Machine) *verdict.Finding {
	part := slices.ContainsFunc(m.Listed(), func(g facts.GPU) bool { return g.MIG == "on" && g.Instances > 0 })
	whole := slices.ContainsFunc(m.Listed(), func(g facts.GPU) bool { return g.MIG == "off" })
	if !part || !whole || m.Shown.Set {
		return nil
	}
	return &verdict.Finding{Severity: verdict.Warning, Subject: "MIG", Source: migSource, Need: "CUDA_VISIBLE_DEVICES with what is meant",
		Message:  "there is a MIG device as well as whole GPUs: a program sees only the MIG device",
		Evidence: []verdict.Evidence{{Fact: "MIG", Value: "on and off", From: m.NVMLFrom()}},
		Steps:    []pin.Step{pin.Say("set CUDA_VISIBLE_DEVICES to the UUIDs of the whole GPUs where they are meant (`nvidia-smi -L` lists them)")}}
}

// ComputeMode reports a GPU that admits no program, or only through a daemon that is not running. An administrator sets
// the mode on purpose, so it is an error only if no GPU is left.
func ComputeMode(m *model.Machine) []*rule.Result {
	if !m.Here() || m.Facts.Driver.NVML.Status != "ok" {
		return nil
	}
	source := []string{"https://docs.nvidia.com/deploy/mps/"}
	for _, g := range m.Listed() {
		f := verdict.Finding{Severity: verdict.Warning, Subject: "compute mode", Source: source,
			Evidence: []verdict.Evidence{{Fact: "compute mode", Value: g.Mode, From: m.NVMLFrom()}},
			Need:     "compute mode default", Steps: []pin.Step{pin.Run("sudo nvidia-smi -c DEFAULT")}}
		switch {
		case g.Mode == "prohibited" && someOpen(m):
			f.Message = cmp.Or(g.Name, "a GPU") + " is in compute mode PROHIBITED: a program that takes the first GPU fails where that is this one"
			f.Steps = append(f.Steps, rule.ExportStep(m, openGPUsSetting(m), "leaves it out").Instead())
			return rule.ReportFinding(f)
		case g.Mode == "prohibited":
			f.Severity = verdict.Error
			f.Message = cmp.Or(g.Name, "a GPU") + " is in compute mode PROHIBITED: no program can use it"
			return rule.ReportFinding(f)
		// Exclusive mode with MPS is a common set-up. It fails only if the daemon is gone.
		case g.Mode == "exclusive" && m.Facts.Devices.MPS == "dead":
			f.Message = cmp.Or(g.Name, "a GPU") + " is in compute mode EXCLUSIVE, and the MPS daemon that shared it has died"
			f.Evidence = append(f.Evidence, verdict.Evidence{Fact: "MPS", Value: "dead", From: "nvidia-cuda-mps-control.pid"})
			f.Steps = append([]pin.Step{pin.Run("sudo nvidia-cuda-mps-control -d").Explained("starts it again")}, f.Steps[0].Instead())
			return rule.ReportFinding(f)
		}
	}
	if !slices.ContainsFunc(m.Listed(), func(g facts.GPU) bool { return g.Mode != "" }) {
		return nil
	}
	return rule.Pass("compute mode")
}

// GPUNotReady reports a GPU that CUDA refuses although it is whole and admits programs. With confidential computing,
// somebody must set the GPUs ready (error 802). A vGPU without its licence slows down, and CUDA may refuse it (error
// 102): a warning.
func GPUNotReady(m *model.Machine) []*rule.Result {
	if !m.Here() || m.Facts.Driver.NVML.Status != "ok" {
		return nil
	}
	if m.Facts.Driver.Confidential == "not ready" {
		return rule.ReportFinding(verdict.Finding{Severity: verdict.Error, Subject: "GPUs", Need: "the GPUs' ready state on",
			Message:  "confidential computing is on and the GPUs are not set ready: CUDA refuses to start (error 802)",
			Evidence: []verdict.Evidence{{Fact: "ready state", Value: m.Facts.Driver.Confidential, From: m.NVMLFrom()}},
			Steps:    []pin.Step{pin.Say("attest the GPUs"), pin.Run("sudo nvidia-smi conf-compute -srs 1")},
			Source:   []string{"https://docs.nvidia.com/deploy/nvml-api/620/api/group__nvmlConfidentialComputingDefs.html"}})
	}
	for _, g := range m.Listed() {
		if g.Licence == "unlicensed" {
			return rule.ReportFinding(verdict.Finding{Severity: verdict.Warning, Subject: "GPUs", Need: "a licence for this vGPU",
				Message:  cmp.Or(g.Name, "a vGPU") + " needs a licence and has none: it slows down, and CUDA may refuse it (error 102)",
				Evidence: []verdict.Evidence{{Fact: "licence", Value: g.Licence, From: m.NVMLFrom()}},
				Steps: []pin.Step{pin.Say("configure the licence client (/etc/nvidia/gridd.conf or its token)"),
					pin.Run("sudo systemctl restart nvidia-gridd").Explained("`nvidia-smi -q` shows the licence's state")},
				Source: []string{"https://docs.nvidia.com/vgpu/latest/grid-licensing-user-guide/"}})
		}
	}
	if m.Facts.Driver.Confidential == "ready" {
		return rule.Pass("GPUs")
	}
	return nil
}

// startSpace is an address-space limit in bytes with which nothing runs. libcuda maps 8.06 GiB when it starts, and 4
// GiB at 0x200000000 (a trace of cuInit with driver 580.159.04). With that driver and an H200, cuInit failed at 12 GiB,
// creating a context at 13 and each kernel at 16; torch ran at 18.
const startSpace = 16<<30 + 1

// ProcessLimits reports limits of the process that stop CUDA. CUDA reserves address space when it starts and for all
// memory of its GPUs, and it names its threads. These are warnings, because the program that runs later may have other
// limits and other needs: NCCL failed with up to 256 GiB.
func ProcessLimits(m *model.Machine) []*rule.Result {
	if !m.Here() || len(m.GPUs) == 0 {
		return nil
	}
	if f := spaceTooSmall(m); f != nil {
		return rule.ReportFinding(*f)
	}
	if m.Facts.Devices.Comm == "refused" && m.Driver().Version.Major() >= 570 {
		return rule.ReportFinding(verdict.Finding{Severity: verdict.Warning, Subject: "limits", Need: "threads that may write /proc/self/task/TID/comm",
			Message:  "a thread here may not write its own name, and drivers of 570 and newer fail on it (error 304)",
			Evidence: []verdict.Evidence{{Fact: "comm", Value: "refused", From: "/proc/self/task"}, m.EvidenceDriver()},
			Steps:    []pin.Step{pin.Say("mount /proc writable for this process, or let its security policy write to comm")},
			Source:   []string{"https://github.com/NVIDIA/NemoClaw/issues/4016"}})
	}
	if m.Facts.Devices.AddressSpace == -1 && m.Facts.Devices.Comm == "writable" {
		return rule.Pass("limits")
	}
	return nil
}

// spaceTooSmall describes what a limit of the address space (RLIMIT_AS, ulimit -v) stops.
func spaceTooSmall(m *model.Machine) *verdict.Finding {
	space := m.Facts.Devices.AddressSpace
	if space <= 0 || space >= max(startSpace, 2*largestMemory(m)) {
		return nil
	}
	what := "reserves more than a GPU's memory of it: NCCL and others fail with out of memory"
	if space < startSpace {
		what = "maps 12 GiB of it when it starts: every program fails with out of memory (error 2)"
	}
	return &verdict.Finding{Severity: verdict.Warning, Subject: "limits", Need: "no limit of the address space",
		Message:  fmt.Sprintf("the address space is limited to %s (ulimit -v), and CUDA %s", inGiB(space), what),
		Evidence: []verdict.Evidence{{Fact: "RLIMIT_AS", Value: fmt.Sprint(space), From: "/proc/self/limits"}},
		Steps: []pin.Step{pin.Run("ulimit -v unlimited"),
			pin.Say("set LimitAS=infinity in a systemd unit, and PropagateResourceLimitsExcept=AS in Slurm").Instead()},
		Source: []string{"https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#unified-virtual-address-space"}}
}

// inGiB formats a size in bytes, in MiB if it is below one GiB.
func inGiB(bytes int64) string {
	if bytes < 1<<30 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d GiB", bytes>>30)
}

// largestMemory returns the memory of the largest GPU here, in bytes, or 0 if none is known.
func largestMemory(m *model.Machine) int64 {
	var most uint64
	for _, g := range m.Facts.GPUs {
		if g.Memory != nil {
			most = max(most, g.Memory.Total)
		}
	}
	return int64(most)
}
