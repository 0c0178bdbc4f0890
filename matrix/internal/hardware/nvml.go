package hardware

import (
	"fmt"
	"slices"
	"strings"

	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// Codes of nvmlReturn_t (nvml.h): NVML_ERROR_NO_PERMISSION, _DRIVER_NOT_LOADED, _GPU_IS_LOST, _LIB_RM_VERSION_MISMATCH,
// _UNKNOWN.
const (
	NVMLNoPermission = 4
	NVMLNotLoaded    = 9
	NVMLLost         = 15
	NVMLMismatch     = 18
	NVMLUnknown      = 999
)

// NVMLCountsNone reports whether NVML answered and counts no GPU. That outranks files and the PCI bus, because CUDA
// then finds no device (error 100).
func (m *Machine) NVMLCountsNone() bool {
	return m.Here() && countsNone(m.Facts)
}

// countsNone reports whether NVML answered and counts no GPU. It ignores WSL, whose NVML answers for Windows, and
// Jetson, whose NVML shows only a part of the GPU.
func countsNone(f *facts.Facts) bool {
	return f.Driver.NVML.Status == "ok" && f.Driver.NVML.Message == "" && f.Devices.Counted == 0 &&
		len(f.Driver.NVML.Failed) == 0 && !f.System.WSL && !f.System.Jetson && !slices.ContainsFunc(f.GPUs, listedByDriver)
}

// listedByDriver reports whether NVML, or a pasted nvidia-smi output, lists a GPU.
func listedByDriver(g facts.GPU) bool {
	return slices.Contains(g.From, "NVML") || slices.Contains(g.From, "nvidia-smi")
}

// notCounted reports whether NVML answered in a container or job and does not count a GPU that the host's bus lists. A
// GPU that NVML counts but cannot query is there. An NVML that reports no addresses cannot be compared with the bus.
func notCounted(f *facts.Facts, g facts.GPU) bool {
	if f.System.Rest || f.System.Container == "" && f.Machine.Job == "" || listedByDriver(g) {
		return false
	}
	unplaced := func(g facts.GPU) bool { return listedByDriver(g) && g.Bus == "" }
	whole := f.Driver.NVML.Status == "ok" && f.Driver.NVML.Message == "" && len(f.Driver.NVML.Failed) == 0
	return whole && !f.System.WSL && !f.System.Jetson && !slices.ContainsFunc(f.GPUs, unplaced)
}

// advisory lists the NVML functions whose failure breaks no link. It leads to a warning or a note at most.
var advisory = []string{"nvmlSystemGetDriverVersion", "nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion", "nvmlDeviceGetBrand",
	"nvmlDeviceGetPersistenceMode", "nvmlDeviceGetTotalEccErrors", "nvmlDeviceGetGpuFabricInfoV", "nvmlDeviceGetVirtualizationMode",
	"nvmlDeviceGetGridLicensableFeatures_v4", "nvmlDeviceGetP2PStatus", "nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetComputeRunningProcesses_v3"}

// NVMLUnanswered returns the call that failed although NVML answers, and whether it decides if programs get a GPU. Such
// calls list the GPUs or query one. It ignores WSL, whose NVML answers for Windows.
func (m *Machine) NVMLUnanswered() (missing verdict.MissingFact, decides bool) {
	nvml := m.Facts.Driver.NVML
	if nvml.Status != "ok" || m.Facts.System.WSL || m.Jetson() {
		return verdict.MissingFact{}, false
	}
	if m.Facts.Devices.Counted > 0 && len(nvml.Failed) == 0 && !slices.ContainsFunc(m.Facts.GPUs, listedByDriver) { // all are refused
		return verdict.Statement(nvml.Message), true
	}
	for _, failed := range nvml.Failed {
		if !IsSickGPU(failed.Code) {
			return verdict.Question(fmt.Sprintf("why NVML cannot ask GPU %d (NVML error %d)", failed.Index, failed.Code)), true
		}
	}
	for _, u := range nvml.Unanswered {
		if u.Function == "nvmlDeviceGetCount_v2" {
			return verdict.Statement(nvml.Message), true
		}
		if missing = unansweredCall(u); !slices.Contains(advisory, u.Function) {
			return missing, true
		}
	}
	return missing, false
}

// unansweredCall turns a failed call into a missing fact.
func unansweredCall(u facts.Unanswered) verdict.MissingFact {
	of := ""
	if u.GPU != nil {
		of = fmt.Sprintf(" of GPU %d", *u.GPU)
	}
	return verdict.Question(fmt.Sprintf("what %s%s would answer (NVML error %d)", u.Function, of, u.Code))
}

// IsSickGPU reports whether an NVML code describes a broken GPU: 8 is its power cable, 11 its interrupts, 15 means that
// it is lost, and 16 that it must be reset.
func IsSickGPU(code int) bool { return slices.Contains([]int{8, 11, NVMLLost, 16}, code) }

// AskedGPU returns the evidence that this container or job was given a GPU or requested one, or false.
// NVIDIA_VISIBLE_DEVICES=all requests nothing, because every CUDA image sets it. A job's variable by itself proves
// nothing, because every step inherits it. A process that hides every GPU from itself should have none.
func (m *Machine) AskedGPU() (shown verdict.Evidence, asked bool) {
	if hidden, hides := m.Facts.Variables["CUDA_VISIBLE_DEVICES"]; hides && slices.Contains(hiding, strings.TrimSpace(hidden)) {
		return m.requiredGPU()
	}
	if nodes := m.GPUNodes(); m.Facts.System.Container != "" && m.Facts.Container.OwnDevices != "no" && len(nodes) > 0 {
		return verdict.Evidence{Fact: "given to this container", Value: nodes[0].Path, From: "/dev"}, true
	}
	if list := m.Facts.Variables["NVIDIA_VISIBLE_DEVICES"]; m.Facts.System.Container != "" &&
		!slices.Contains([]string{"", "all", "void", "none"}, list) {
		return verdict.Evidence{Fact: "NVIDIA_VISIBLE_DEVICES", Value: list, From: "environment"}, true
	}
	if by := m.Facts.Machine.JobGPUs; by != "" {
		return verdict.Evidence{Fact: by, Value: "set", From: "environment"}, true
	}
	return m.requiredGPU()
}

// requiredGPU returns the evidence that --require asks for a GPU.
func (m *Machine) requiredGPU() (verdict.Evidence, bool) {
	if !slices.Contains(m.Policy.Require, "gpu") {
		return verdict.Evidence{}, false
	}
	return verdict.Evidence{Fact: "--require", Value: "gpu", From: "command line"}, true
}

// FabricWaits returns the state of a fabric that a GPU has not joined: "not started" or "in progress".
func (m *Machine) FabricWaits() string {
	for _, g := range m.Facts.GPUs {
		if g.Health != nil && (g.Health.Fabric == "not started" || g.Health.Fabric == "in progress") {
			return g.Health.Fabric
		}
	}
	return ""
}

// FabricPending returns the missing fact while a GPU may still join its fabric, that is, up to five minutes after the
// latest of boot, the loading of the module and the start of the fabric manager. A pasted report does not show when the
// machine was started.
func (m *Machine) FabricPending() verdict.MissingFact {
	state := m.FabricWaits()
	since, of := FabricSince(m.Facts)
	switch {
	case state == "" || since >= RegisterSeconds:
		return verdict.MissingFact{}
	case m.Facts.Machine.Uptime == 0:
		return verdict.Question("whether the GPUs will join the NVLink fabric, which is " + state + " (until then every program gets error 802)")
	}
	return verdict.Question("whether the GPUs will join the NVLink fabric within five minutes of " + of + "; now it is " + state)
}

// FabricSince returns how many seconds ago the GPUs could begin to join their fabric, and which event allowed it.
func FabricSince(f *facts.Facts) (seconds float64, since string) {
	uptime, loaded, started := f.Machine.Uptime, f.Machine.ModuleLoaded, f.Machine.Fabric.Started
	switch {
	case started > 0 && started >= loaded && started <= uptime:
		return uptime - started, "the fabric manager's start"
	case loaded > 0 && loaded <= uptime:
		return uptime - loaded, "the driver's load"
	}
	return uptime, "boot"
}

// NVMLFrom returns the source of NVML's answer: this program's child process, or a pasted nvidia-smi output.
func (m *Machine) NVMLFrom() string {
	if m.Looked("nvidia-smi") {
		return "nvidia-smi"
	}
	return "NVML"
}
