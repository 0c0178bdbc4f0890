package cudaof

import (
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/internal/version"
)

// CUDAImage is the image that holds CUDA itself: other images are built on it.
const CUDAImage = "nvidia/cuda"

var (
	// imageCUDA matches tags that tell a CUDA release: "2.9.0-cuda12.6-cudnn9-runtime", "2.5.1-gpu-py311-cu124".
	imageCUDA = lazyregexp.New(`(?:^|-)cu(?:da)?(\d\d\.?\d)`)
	// ngcTag matches the tags of NVIDIA's own images for frameworks: one monthly release has one CUDA in all of them
	// (https://docs.nvidia.com/deeplearning/frameworks/support-matrix/index.html). Images of other engines, and those for
	// Jetson, have a word more.
	ngcTag = lazyregexp.New(`^(\d\d\.\d\d)(?:-tf[12])?-py3(?:-min|-sdk)?$`)
	// tensorflowTag matches TensorFlow's own images for a GPU: the wheel of that release is in the image.
	tensorflowTag = lazyregexp.New(`^(\d+\.\d+\.\d+)-gpu(?:-jupyter)?$`)
	// baseCUDA matches the tags of nvidia/cuda: "12.6.3-runtime-ubuntu24.04".
	baseCUDA = lazyregexp.New(`^(\d+\.\d+(?:\.\d+)?)(?:-|$)`)
	// OtherImage matches those for other accelerators, or for none.
	OtherImage = lazyregexp.New(`(?i)rocm|cpu|xpu|neuron|habana|openvino`)
)

// IsCUDAImage reports whether a name is that of the image that holds CUDA itself, in either registry that has it.
func IsCUDAImage(name string) bool { return strings.TrimPrefix(name, "nvcr.io/") == CUDAImage }

// FindImage returns the CUDA of a container's image: by its row in the table of images, else by its tag, else by the row of
// what the tag names a release of. It returns the image's own row, too, or nil.
func FindImage(t *tables.Tables, name, tag string) (Answer, *tables.Container) {
	if row := imageRow(t, name, tag); row != nil {
		return Exactly(row.CUDA, Image), row
	}
	if IsCUDAImage(name) {
		if f := baseCUDA.FindStringSubmatch(tag); f != nil {
			return Exactly(version.Of(f[1]), Tag), nil
		}
		return Answer{}, nil
	}
	if f := imageCUDA.FindStringSubmatch(tag); f != nil {
		digits := strings.ReplaceAll(f[1], ".", "")
		return Exactly(version.Of(digits[:2]+"."+digits[2:]), Tag), nil
	}
	if cuda := monthlyCUDA(t, name, tag); cuda.Known() {
		return Exactly(cuda, Image), nil
	}
	return Exactly(tensorflowCUDA(t, name, tag), Framework), nil
}

// imageRow returns the table's row of an image: of its tag, else of the release that the tag begins with. A tag that
// names a CUDA or another accelerator besides is of another image than its release's.
func imageRow(t *tables.Tables, name, tag string) *tables.Container {
	release, rest, _ := strings.Cut(tag, "-")
	if imageCUDA.MatchString(rest) || OtherImage.MatchString(rest) {
		release = tag
	}
	rows := tables.Rows[tables.Container](t)
	for _, want := range []string{tag, release} {
		if i := slices.IndexFunc(rows, func(c tables.Container) bool { return c.Image == name && c.Tag == want }); i >= 0 {
			return &rows[i]
		}
	}
	return nil
}

// monthlyCUDA returns the CUDA of one of NVIDIA's images by the row of another image of its release.
func monthlyCUDA(t *tables.Tables, name, tag string) version.Number {
	release := ngcTag.FindStringSubmatch(tag)
	if release == nil || !strings.HasPrefix(name, "nvcr.io/nvidia/") {
		return version.Number{}
	}
	for _, c := range tables.Rows[tables.Container](t) {
		if own := ngcTag.FindStringSubmatch(c.Tag); own != nil && own[1] == release[1] && strings.HasPrefix(c.Image, "nvcr.io/nvidia/") {
			return c.CUDA
		}
	}
	return version.Number{}
}

// tensorflowCUDA returns the CUDA of TensorFlow's own image for a GPU: that of its release.
func tensorflowCUDA(t *tables.Tables, name, tag string) version.Number {
	release := tensorflowTag.FindStringSubmatch(tag)
	if release == nil || name != "tensorflow/tensorflow" {
		return version.Number{}
	}
	if row := t.TensorFlow(version.Of(release[1])); row != nil {
		return row.CUDA
	}
	return version.Number{}
}
