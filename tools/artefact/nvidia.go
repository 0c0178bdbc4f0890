package artefact

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/fatbin"
	"cudacompat/tools/artefact/reading"
)

// ncclRows returns the row of one NCCL for one CUDA family.
func ncclRows(_ *Source, _ context.Context, r *reading.Reading) ([]Row, error) {
	version, cuda, ok := strings.Cut(r.Banner, "+cuda")
	if !ok {
		return nil, errors.New("libnccl.so.2 says no version")
	}
	switch {
	case strings.HasPrefix(r.Tag.Version, version+".post"):
		return nil, &Empty{"a later build of " + version + " for CUDA " + cuda + "; frameworks ask for " + version +
			" itself, whose wheel makes the row"}
	case version != r.Tag.Version:
		return nil, fmt.Errorf("libnccl.so.2 says that it is %s", version)
	}
	sass, ptx, isa := r.ListCode(buildList) // 10 to 20 of some 180 containers are for sm_100f besides
	cells := map[string]string{"release": version, "cuda": r.Tag.FindFamily(), "built": cuda, "ptx_isa": isa}
	SetCode(cells, sass, ptx)
	return []Row{newRow(r, "nccl", r.NameLibraries(), cells)}, nil
}

// leastCapability returns the oldest GPU that machine code serves: "7.5" of sm_75 sm_80.
func leastCapability(sass []string) string {
	least := ""
	for _, target := range sass {
		digits := strings.Trim(target, "sm_af")
		capability := digits[:len(digits)-1] + "." + digits[len(digits)-1:]
		if least == "" || reading.CompareVersions(capability, least) < 0 {
			least = capability
		}
	}
	return least
}

// cudnnRows returns the row of one cuDNN for one CUDA. Its kernels are in many libraries; the one for convolutions has
// code for every supported GPU.
func cudnnRows(_ *Source, _ context.Context, r *reading.Reading) ([]Row, error) {
	parts := strings.Split(r.Tag.Version, ".")
	if len(parts) != 4 {
		return nil, fmt.Errorf("version %s has not four parts", r.Tag.Version)
	}
	cells := map[string]string{"release": strings.Join(parts[:3], "."), "cuda": r.Tag.FindFamily(), "build": r.Tag.Version}
	sass, ptx, isa := r.ListCode(fatbin.ServedKernels)
	if len(sass) == 0 {
		return nil, &Empty{"the libraries that are read hold no machine code"}
	}
	SetCode(cells, sass, ptx)
	cells["ptx_isa"], cells["capability_min"] = isa, leastCapability(sass)
	return []Row{newRow(r, "cudnn", slices.Compact(r.NameLibraries()), cells)}, nil
}
