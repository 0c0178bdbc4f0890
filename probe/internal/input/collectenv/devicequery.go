package collectenv

import (
	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
)

// What deviceQuery of CUDA's samples prints of a GPU. The second of the two versions is that of the sample itself.
//
//	Device 0: "Tesla T4"
//	  CUDA Driver Version / Runtime Version          12.2 / 11.8
//	  CUDA Capability Major/Minor version number:    7.5
var (
	queryDevice     = lazyregexp.New(`^[\s>]*Device \d+: "([^"]+)"\s*$`)
	queryCUDA       = lazyregexp.New(`^[\s>]*CUDA Driver Version / Runtime Version\s+(\d{1,2}\.\d) / \d{1,2}\.\d\b`)
	queryCapability = lazyregexp.New(`^[\s>]*CUDA Capability Major/Minor version number:\s+(\d{1,2}\.\d)\s*$`)
)

// fromQuery is where its facts come from.
const fromQuery = "deviceQuery"

// readQuery reads a line of it. A GPU that a report names, too, is the same one.
func (r *reportReader) readQuery(line string) bool {
	if m := queryDevice.FindStringSubmatch(line); m != nil {
		r.queried = m[1]
		if !HasGPUNamed(r.GPUs, m[1]) {
			r.GPUs = append(r.GPUs, facts.GPU{Name: m[1], From: []string{fromQuery}})
		}
		return true
	}
	if m := queryCUDA.FindStringSubmatch(line); m != nil {
		if r.Driver.CUDA == "" {
			r.Driver.CUDA, r.Driver.CUDAFrom = m[1], fromQuery
		}
		return true
	}
	m := queryCapability.FindStringSubmatch(line)
	if m == nil {
		return false
	}
	for i := range r.GPUs {
		if r.GPUs[i].Name == r.queried {
			r.GPUs[i].Capability = m[1]
		}
	}
	return true
}
