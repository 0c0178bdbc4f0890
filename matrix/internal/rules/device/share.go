package device

import (
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// withoutPeers matches GPUs, by their names as NormalGPU writes them, that cannot write to another GPU over PCI
// Express. They are healthy without.
var withoutPeers = lazyregexp.New(`^(geforce|titan|gtx|l4$|a10g$)`)

// PeerToPeer reports that copies between GPUs go through the processor on bare metal, because of an IOMMU or of bridges
// with Access Control Services. That is slow, and on some machines it hangs or gives wrong data (pytorch issue 87363).
// It is a warning, because each GPU by itself works. NVML says which GPUs write to each other, and whether over PCI
// Express.
func PeerToPeer(m *model.Machine) []*rule.Result {
	bus := m.Facts.Machine.Bus
	alone := func(g facts.GPU) bool { return withoutPeers.MatchString(tables.NormalGPU(g.Name)) }
	peers := slices.DeleteFunc(m.Listed(), alone)
	guest := bus.Virtual == "yes" || m.Instance != nil && !strings.Contains(m.Instance.Instance, ".metal")
	// The hypervisor controls a guest's IOMMU, and EC2's guests are healthy. Off x86, files do not distinguish a guest
	// from bare metal. If NVML reports NVLink, the copies use it.
	if !m.Here() || guest || m.Facts.System.WSL || m.Facts.System.Arch != "x86_64" || m.Facts.Devices.Peers != "pcie" ||
		len(peers) < 2 {
		return nil
	}
	switch {
	case !m.Looked("peer-to-peer"):
		return nil
	case bus.Virtual == "":
		return rule.ReportMissing("GPUs", verdict.Question("whether this is a virtual machine"))
	case bus.ACS == "on" || bus.IOMMU == "translated":
		return rule.ReportFinding(peersFinding(m, bus))
	// Only root may read a bridge's extended configuration space.
	case bus.ACS == "":
		return rule.ReportMissing("GPUs", verdict.Question("whether the PCI bridges redirect what GPUs write to each other (root may read that)"))
	// The IOMMU modes off and passthrough are fine. The GPU's IOMMU group shows the mode.
	case bus.IOMMU == "":
		return rule.ReportMissing("GPUs", verdict.Question("whether an IOMMU stands between the GPUs"))
	}
	return rule.Pass("GPUs")
}

func peersFinding(m *model.Machine, bus facts.Bus) verdict.Finding {
	what := "the IOMMU translates what they write"
	if bus.ACS == "on" {
		what = "PCI bridges redirect it to the processor (Access Control Services)"
	}
	return verdict.Finding{Severity: verdict.Warning, Subject: "GPUs", Need: "direct writes between GPUs",
		Message: "these GPUs write to each other over PCI Express, and " + what +
			": copies between them are slow, and may hang or give wrong data",
		Evidence: []verdict.Evidence{{Fact: "IOMMU", Value: bus.IOMMU, From: "/sys/kernel/iommu_groups"},
			{Fact: "ACS", Value: bus.ACS, From: "/sys/bus/pci"},
			{Fact: "peer access", Value: m.Facts.Devices.Peers, From: m.NVMLFrom()}},
		Steps: []pin.Step{pin.Say("if the machine runs no virtual machines, switch the IOMMU (VT-d) off in the BIOS, and ACS off on PCI switches (setpci, after every boot)"),
			pin.Run("export NCCL_P2P_DISABLE=1").Explained("until then; it keeps NCCL to shared memory")},
		Source: []string{"https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html",
			"https://github.com/pytorch/pytorch/issues/87363"}}
}

// IMEXChannel reports a missing IMEX channel. The driver maps the memory of another node's GPUs through a channel whose
// node must be in the container. No channel exists by default or after a reboot (NVIDIA's IMEX guide). It is a warning,
// because everything within the node works.
func IMEXChannel(m *model.Machine) []*rule.Result {
	racked := slices.ContainsFunc(m.Present, func(g hardware.GPU) bool {
		return strings.Contains(g.Label, "GB200") ||
			strings.Contains(g.Label, "GB300")
	})
	if m.Facts.System.Container == "" || !m.NodesJudged() || !racked || !wantsMNNVL(m) {
		return nil
	}
	if slices.ContainsFunc(m.Facts.Devices.Nodes, func(n facts.Node) bool {
		return strings.HasPrefix(n.Path,
			"/dev/nvidia-caps-imex-channels/channel")
	}) {
		return rule.Pass("IMEX")
	}
	return rule.ReportFinding(verdict.Finding{Severity: verdict.Warning, Subject: "IMEX",
		Need:    "a node such as /dev/nvidia-caps-imex-channels/channel0",
		Message: "NVLink between nodes is wanted, but this container has no IMEX channel: CUDA refuses the memory of other nodes' GPUs (error 800)",
		Evidence: []verdict.Evidence{{Fact: "NCCL_MNNVL_ENABLE", Value: m.Facts.Variables["NCCL_MNNVL_ENABLE"], From: "environment"},
			{Fact: "channels", Value: "none", From: "/dev/nvidia-caps-imex-channels"}},
		Steps: []pin.Step{pin.Say("give the container a channel: NVIDIA_IMEX_CHANNELS=0 with NVIDIA's runtime, in Kubernetes a ComputeDomain of NVIDIA's DRA driver; on the host it must be created first, after every boot (mknod, see NVIDIA's guide)"),
			pin.Run("export NCCL_MNNVL_ENABLE=0").Explained("does without").Instead()},
		Source: []string{"https://docs.nvidia.com/multi-node-nvlink-systems/imex-guide/imexchannels.html"}})
}

// wantsMNNVL reports whether NVLink between nodes is requested, or NCCL will try it. In a job of several nodes NCCL
// does, unless NCCL_MNNVL_ENABLE is 0 (src/mnnvl.cc).
func wantsMNNVL(m *model.Machine) bool {
	enable := m.Facts.Variables["NCCL_MNNVL_ENABLE"]
	return enable != "0" && (enable == "1" || m.Facts.Machine.Nodes > 1 || m.Facts.Variables["NVIDIA_IMEX_CHANNELS"] != "")
}

// memoryMatters is the amount, in bytes, from which used memory is reported: more than a desktop takes.
const memoryMatters = 1 << 30

// MemoryInUse notes that processes outside this container or job use memory of its GPU. It is a note: sharing by
// time-slicing or MPS is a choice, and the program merely runs out of memory sooner.
func MemoryInUse(m *model.Machine) []*rule.Result {
	// A health check runs every minute beside the program whose memory it would report.
	if !m.Here() || m.Policy.Health || m.Shown.Any || m.Facts.System.Container == "" && m.Facts.Machine.Job == "" {
		return nil
	}
	var results []*rule.Result
	known := false
	// GPUs that are hidden from the program are for others to use.
	for _, g := range m.Facts.GPUs {
		shown := slices.ContainsFunc(m.GPUs, func(o hardware.GPU) bool { return o.Bus == g.Bus })
		// In a container NVML may report process ids of another namespace. Then nobody knows whose memory it is.
		if g.Memory == nil || g.Memory.Here < 0 || !shown {
			continue
		}
		known = true
		// NVML's figure excludes the driver's own memory (nvmlMemory_v2_t).
		others := int64(g.Memory.Used) - g.Memory.Here
		if others < memoryMatters {
			continue
		}
		results = append(results, rule.ReportFinding(verdict.Finding{Severity: verdict.Note, Subject: m.GPUFound(g).Label + " at " + g.Bus,
			Need: "free memory, if a program wants all of it",
			Message: fmt.Sprintf("processes outside this %s use %.1f GiB of its memory", placeWord(m),
				float64(others)/(1<<30)),
			Evidence: []verdict.Evidence{{Fact: "memory in use", Value: fmt.Sprintf("%d MiB", g.Memory.Used>>20), From: m.NVMLFrom()}},
			Steps:    []pin.Step{pin.Say("run nvidia-smi on the host, which names them; do nothing if the GPU is shared on purpose (time-slicing, MPS)")},
			Source:   []string{"https://docs.nvidia.com/deploy/nvml-api/structnvmlMemory__v2__t.html"}})...)
	}
	if !known || len(results) > 0 {
		return results
	}
	return rule.Pass("GPUs")
}

func placeWord(m *model.Machine) string {
	if m.Facts.System.Container != "" {
		return "container"
	}
	return "job"
}
