package artefact

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// tensorflowRows returns the row of TensorFlow's own Linux wheel. Its build_info.py lists the code that it was built
// for, and its library must hold just that.
func tensorflowRows(_ *Source, _ context.Context, r *Reading) ([]Row, error) {
	if r.Build.Name == "" {
		return nil, &Empty{"it holds no TensorFlow, only requirements"}
	}
	if r.Build.Accelerator != "cuda" {
		return nil, &Empty{"its build_info.py says that it is no CUDA build"}
	}
	sass, ptx, _ := r.code(buildList)
	if len(sass) == 0 {
		return nil, errors.New("there is no machine code in it, though it is for CUDA")
	}
	cells := map[string]string{
		"release": r.Tag.Version, "variant": "gpu", "platform": r.Tag.Platform, "cuda": r.Build.CUDA, "cudnn": r.Build.CuDNN,
		"python": "", "glibc": r.glibc(),
	}
	setCode(cells, sass, ptx)
	cells["groups"] = r.groups()
	packages := r.extra("and-cuda")
	if len(packages) > 0 {
		cells["packages"] = strings.Join(packages, " ")
	}
	for _, p := range packages {
		if name, version, ok := strings.Cut(p, "=="); ok && strings.HasPrefix(name, "nvidia-nccl-") {
			cells["nccl"] = version
		}
	}
	if numpy := r.loosest("numpy"); numpy != "" {
		cells["numpy"] = numpy
	}
	return []Row{r.newRow("tensorflow", slices.Concat([]string{"METADATA", "build_info.py"}, r.libraries()), cells)}, nil
}

// Empty says why a wheel makes no row, though it could be read.
type Empty struct{ why string }

func (e *Empty) Error() string { return e.why }
