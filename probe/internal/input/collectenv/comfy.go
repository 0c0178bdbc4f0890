package collectenv

import (
	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
)

// comfyDevice matches the line of ComfyUI's log, or of its report, that names a GPU:
// "Device: cuda:0 NVIDIA GeForce RTX 4070 SUPER : cudaMallocAsync".
var comfyDevice = lazyregexp.New(`^[\s>*-]*(?:Device|Name)\**:\**\s+cuda:\d+ (NVIDIA [^:]{1,80}?) : \w+\s*$`)

// deviceName matches what people print of torch.cuda.get_device_name: "Device name: NVIDIA GeForce RTX 5060 Ti".
var deviceName = lazyregexp.New(`(?i)^[\s>*-]*Device name\**:\**\s+(NVIDIA [^:]{1,80}?)\s*$`)

// readComfy takes a GPU that ComfyUI or a script names. A log names it at each start: PyTorch has opened it by then.
func (r *reportReader) readComfy(line string) bool {
	m := comfyDevice.FindStringSubmatch(line)
	if m == nil {
		m = deviceName.FindStringSubmatch(line)
	}
	if m == nil {
		return false
	}
	r.available("True")
	if !HasGPUNamed(r.GPUs, m[1]) {
		r.GPUs = append(r.GPUs, facts.GPU{Name: m[1], From: []string{From}})
	}
	r.brief = true
	return true
}
