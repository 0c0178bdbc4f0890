package model

// Codes of nvmlReturn_t (nvml.h): NVML_ERROR_NO_PERMISSION, _DRIVER_NOT_LOADED, _GPU_IS_LOST, _LIB_RM_VERSION_MISMATCH.
const (
	NVMLNoPermission = 4
	NVMLNotLoaded    = 9
	NVMLLost         = 15
	NVMLMismatch     = 18
)

// NVMLFrom is who put NVML's answer into words: this program's child process, or the nvidia-smi of pasted output.
func (m *Machine) NVMLFrom() string {
	if m.Looked("nvidia-smi") {
		return "nvidia-smi"
	}
	return "NVML"
}
