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
	// OtherImage matches images for other accelerators, or for none.
	OtherImage = lazyregexp.New(`(?i)rocm|cpu|xpu|neuron|habana|openvino`)
)

// IsCUDAImage reports whether a name is that of NVIDIA's CUDA image, in either of its registries.
func IsCUDAImage(name string) bool { return strings.TrimPrefix(name, "nvcr.io/") == CUDAImage }

// FindImage returns the CUDA of a container image: by its row in the table of images, otherwise by its tag, otherwise
// by the row of the release that the tag names. It also returns the image's own row, or nil.
func FindImage(t *tables.Tables, name, tag string) (Answer, *tables.Container) {
	if row := imageRow(t, name, tag); row != nil {
		return Exactly(row.CUDA, Image), row
	}
	if IsCUDAImage(name) {
		if f := baseCUDA.FindStringSubmatch(tag); f != nil {
			return Exactly(version.ParseOrZero(f[1]), Tag), nil
		}
		return Answer{}, nil
	}
	if f := imageCUDA.FindStringSubmatch(tag); f != nil {
		digits := strings.ReplaceAll(f[1], ".", "")
		return Exactly(version.ParseOrZero(digits[:2]+"."+digits[2:]), Tag), nil
	}
	if cuda := monthlyCUDA(t, name, tag); cuda.Known() {
		return Exactly(cuda, Image), nil
	}
	return Exactly(tensorflowCUDA(t, name, tag), Framework), nil
}

// imageRow returns the row of an image: that of its tag, otherwise that of the release at the start of the tag. A tag
// that also names a CUDA or another accelerator belongs to another image than the release's.
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

// monthlyCUDA returns the CUDA of an NVIDIA image from the row of another image of the same monthly release.
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

// tensorflowCUDA returns the CUDA of TensorFlow's own GPU image: that of its release.
func tensorflowCUDA(t *tables.Tables, name, tag string) version.Number {
	release := tensorflowTag.FindStringSubmatch(tag)
	if release == nil || name != "tensorflow/tensorflow" {
		return version.Number{}
	}
	if row := t.TensorFlow(version.ParseOrZero(release[1])); row != nil {
		return row.CUDA
	}
	return version.Number{}
}
