package artefact

import (
	"context"
	"errors"
	"slices"
	"strings"

	"cudacompat/tools/artefact/reading"
)

// tensorflowRows returns the row of TensorFlow's own Linux wheel. Its build_info.py lists the code that it was built
// for, and its library must hold just that.
func tensorflowRows(_ *Source, _ context.Context, r *reading.Reading) ([]Row, error) {
	if r.Build.Name == "" {
		return nil, &Empty{"it holds no TensorFlow, only requirements"}
	}
	if r.Build.Accelerator != "cuda" {
		return nil, &Empty{"its build_info.py says that it is no CUDA build"}
	}
	sass, ptx, _ := r.ListCode(buildList)
	if len(sass) == 0 {
		return nil, errors.New("there is no machine code in it, though it is for CUDA")
	}
	cells := map[string]string{
		"release": r.Tag.Version, "variant": "gpu", "platform": r.Tag.Platform, "cuda": r.Build.CUDA, "cudnn": r.Build.CuDNN,
		"python": "", "glibc": r.FindGlibc(),
	}
	SetCode(cells, sass, ptx)
	cells["groups"] = r.FormatGroups()
	packages := r.ListExtra("and-cuda")
	if len(packages) > 0 {
		cells["packages"] = strings.Join(packages, " ")
	}
	for _, p := range packages {
		if name, version, ok := strings.Cut(p, "=="); ok && strings.HasPrefix(name, "nvidia-nccl-") {
			cells["nccl"] = version
		}
	}
	if numpy := r.FindLoosest("numpy"); numpy != "" {
		cells["numpy"] = numpy
	}
	return []Row{newRow(r, "tensorflow", slices.Concat([]string{"METADATA", "build_info.py"}, r.NameLibraries()), cells)}, nil
}

// Empty says why a wheel makes no row, though it could be read.
type Empty struct{ why string }

// Error returns the reason.
func (e *Empty) Error() string { return e.why }
