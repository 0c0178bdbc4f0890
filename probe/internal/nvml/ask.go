//go:build linux && cgo

package nvml

import (
	"fmt"
	"os"
	"strings"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/libversion"

	"github.com/NVIDIA/go-nvml/pkg/dl"
	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

const (
	builtIn = true
	noNVML  = ""
)

// askNVML asks the driver's management library, and says what identifies the machine before it asks on: what follows
// is less needed and has more that can go wrong. Whose memory is taken is asked in a child only: go-nvml's list of
// processes grows for as long as the library calls it too short.
func askNVML(child bool, say func(Answer)) {
	lib := nvml.New()
	if why := open(lib); why.Status != "ok" {
		say(Answer{NVML: why, Whole: true})
		return
	}
	// No Shutdown: the process ends, and a driver in trouble can hang in it.
	a := Answer{NVML: facts.NVML{Status: "ok"}}
	s := &session{lib, &a, machineWide}
	a.CUDA = cudaOf(s)
	if s.has("nvmlSystemGetDriverVersion") {
		if version, ret := lib.SystemGetDriverVersion(); s.succeeded("nvmlSystemGetDriverVersion", ret) {
			a.Driver = version
		}
	}
	a.Confidential = confidentialOf(s)
	devices, trouble := a.list(s)
	for _, device := range devices {
		a.GPUs = append(a.GPUs, gpuOf(device, s.about(device.index)))
	}
	a.Drained = drainedGPUs(s, &host.Host{Root: "/"}, a.GPUs)
	if trouble != "" {
		a.note(trouble)
	} else {
		a.Peers = peersOf(devices, s)
		a.Named = namedDevices(devices, s, os.Getenv("CUDA_VISIBLE_DEVICES"))
	}
	if child {
		say(a)
		a.memory(devices, s)
	}
	a.Whole = true
	say(a)
}

// handle is a GPU that can be asked, by NVML's number.
type handle struct {
	nvml.Device
	index int
}

// open loads the library and initialises it. Without its first function no call is safe: go-nvml's symbols are resolved
// lazily, and an undefined one ends the process with status 127.
func open(lib nvml.Interface) facts.NVML {
	const name = "libnvidia-ml.so.1"
	first := dl.New(name, dl.RTLD_LAZY|dl.RTLD_GLOBAL)
	switch err := first.Open(); {
	case err != nil && strings.Contains(err.Error(), name+": cannot open shared object file: No such file or directory"):
		return notFound
	case err != nil: // it is there, and cannot be loaded: cut short, or no descriptor or memory is left
		return facts.NVML{Status: "error", Code: int(nvml.ERROR_LIBRARY_NOT_FOUND), Message: name + " cannot be loaded: " + lastLine(err.Error())}
	case first.Lookup("nvmlInit_v2") != nil && first.Lookup("nvmlInit") != nil:
		return facts.NVML{Status: "error", Message: name + " has no nvmlInit"}
	}
	if ret := lib.Init(); ret != nvml.SUCCESS {
		return initFailure(ret)
	}
	return facts.NVML{Status: "ok"}
}

// initText explains the codes of nvmlInit that people meet (nvml.h, nvmlReturn_t).
var initText = map[nvml.Return]string{
	nvml.ERROR_DRIVER_NOT_LOADED:       "driver not loaded (NVML error 9)",
	nvml.ERROR_NO_PERMISSION:           "no permission to talk to the driver (NVML error 4)",
	nvml.ERROR_LIB_RM_VERSION_MISMATCH: "driver/library version mismatch (NVML error 18)",
	nvml.ERROR_UNKNOWN:                 "unknown error (NVML error 999)",
	nvml.ERROR_GPU_IS_LOST:             "a GPU has fallen off the bus (NVML error 15)",
}

func initFailure(ret nvml.Return) facts.NVML {
	text := initText[ret]
	if text == "" {
		text = fmt.Sprintf("nvmlInit failed with code %d", int(ret))
	}
	return facts.NVML{Status: "error", Code: int(ret), Message: text}
}

// cudaOf asks the user-mode driver for its CUDA version. The _v2 call asks the libcuda that is taken; the older one
// answers a constant of NVML's.
func cudaOf(s *session) string {
	if s.has("nvmlSystemGetCudaDriverVersion_v2") {
		if v, ret := s.lib.SystemGetCudaDriverVersion_v2(); s.succeeded("nvmlSystemGetCudaDriverVersion_v2", ret) {
			return libversion.CUDA(v)
		}
	}
	if s.has("nvmlSystemGetCudaDriverVersion") {
		if v, ret := s.lib.SystemGetCudaDriverVersion(); s.succeeded("nvmlSystemGetCudaDriverVersion", ret) {
			return libversion.CUDA(v)
		}
	}
	return ""
}

// maxGPUs is far above any machine; a library that counts more is broken.
const maxGPUs = 1024

// countGPUs is the function without whose answer nothing is known of any GPU.
const countGPUs = "nvmlDeviceGetCount_v2"

// list finds the GPUs that this process may see, and says what kept it from seeing one.
func (a *Answer) list(s *session) (devices []handle, trouble string) {
	if !s.has(countGPUs) || !s.has("nvmlDeviceGetHandleByIndex_v2") {
		a.noteUnanswered(countGPUs, machineWide, nvml.ERROR_FUNCTION_NOT_FOUND)
		return nil, "this NVML cannot list GPUs (it has no nvmlDeviceGetCount_v2 or nvmlDeviceGetHandleByIndex_v2)"
	}
	count, ret := s.lib.DeviceGetCount()
	if ret != nvml.SUCCESS { // whatever the code: without a count nothing is known of any GPU
		a.noteUnanswered(countGPUs, machineWide, ret)
		return nil, fmt.Sprintf("GPUs could not be counted (NVML error %d)", int(ret))
	}
	if count < 0 || count > maxGPUs {
		a.noteUnanswered(countGPUs, machineWide, ret)
		return nil, fmt.Sprintf("NVML counts %d GPUs", count)
	}
	a.Counted = count
	for i := range count {
		device, ret := s.lib.DeviceGetHandleByIndex(i)
		if ret != nvml.SUCCESS {
			trouble = fmt.Sprintf("GPU %d cannot be asked (NVML error %d)", i, int(ret))
			if ret == nvml.ERROR_GPU_IS_LOST {
				a.NVML.Code = int(ret)
			}
			a.noteFailed(i, ret)
			continue
		}
		devices = append(devices, handle{device, i})
	}
	return devices, trouble
}

// gpuOf asks for what identifies a model, and for nothing that identifies the board: no serial number, no UUID.
func gpuOf(device nvml.Device, s *session) facts.GPU {
	gpu := facts.GPU{From: []string{"NVML"}}
	if s.has("nvmlDeviceGetName") {
		if name, ret := device.GetName(); s.succeeded("nvmlDeviceGetName", ret) {
			gpu.Name = name
		}
	}
	if s.has("nvmlDeviceGetCudaComputeCapability") {
		if major, minor, ret := device.GetCudaComputeCapability(); s.succeeded("nvmlDeviceGetCudaComputeCapability", ret) && 0 < major && major < 100 &&
			0 <= minor && minor < 10 {
			gpu.Capability = fmt.Sprintf("%d.%d", major, minor)
		}
	}
	gpu.Bus, gpu.PCIID = pciOf(device, s)
	gpu.Health = healthOf(device, s)
	gpu.Minor, gpu.Licence = minorOf(device, s), licenceOf(device, s)
	readState(device, s, &gpu)
	return gpu
}

// pciOf returns a GPU's address and its ids.
func pciOf(device nvml.Device, s *session) (bus, id string) {
	if !s.has("nvmlDeviceGetPciInfo_v3") {
		return "", ""
	}
	pci, ret := device.GetPciInfo()
	if !s.succeeded("nvmlDeviceGetPciInfo_v3", ret) || pci.Bus > 0xff || pci.Device > 0x1f {
		return "", ""
	}
	return fmt.Sprintf("%04x:%02x:%02x.0", pci.Domain, pci.Bus, pci.Device),
		strings.ToLower(fmt.Sprintf("%04x:%04x", pci.PciDeviceId&0xffff, pci.PciDeviceId>>16))
}
