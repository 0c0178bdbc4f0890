package cudaof

import (
	"testing"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
)

// TestOf has a package for each kind of evidence, and the pairs of which the stronger one decides.
func TestOf(t *testing.T) {
	numbers := func(list ...string) func() []version.Number {
		return func() (out []version.Number) {
			for _, text := range list {
				out = append(out, version.ParseOrZero(text))
			}
			return out
		}
	}
	rows := func(cudas ...string) []tables.Extension {
		var list []tables.Extension
		for _, cuda := range cudas {
			list = append(list, tables.Extension{CUDA: []string{cuda}})
		}
		return list
	}
	for _, c := range []struct {
		name         string
		p            Package
		device, cuda string
		by           By
	}{
		{"nothing", Package{Name: "foo"}, "", "", Unknown},
		{"files before its local version", Package{Name: "torch", Version: "2.9.0+cu126", Said: "13.0"}, "cuda", "13.0", Files},
		{"a report of a build for ROCm", Package{Name: "torch", Accelerator: "rocm"}, "rocm", "", Files},
		{"a report that says cuda, and a local version that says which", Package{Name: "torch", Version: "2.9.0+cu126", Accelerator: "cuda"}, "cuda", "12.6", Local},
		{"a report that says cuda beside a local version for CPUs", Package{Name: "torch", Version: "2.9.0+cpu", Accelerator: "cuda"}, "cuda", "", Files},
		{"the old name of CPU builds", Package{Name: "torch", Version: "2.5.1+cpu.cxx11.abi"}, "cpu", "", Local},
		{"flash-attn's name", Package{Name: "flash-attn", Version: "2.8.3+cu12torch2.8cxx11abiTRUE"}, "cuda", "12", Local},
		{"PaddlePaddle's post-release", Package{Name: "paddlepaddle-gpu", Version: "2.6.1.post120"}, "cuda", "12.0", Local},
		{"JAX on Windows", Package{Name: "jax", Version: "0.6.2", Platform: "win_amd64"}, "cpu", "", Platform},
		{"TensorFlow on Windows", Package{Name: "tensorflow", Version: "2.19.0", Platform: "win_amd64"}, "cpu", "", Platform},
		{"its local version before its row", Package{Name: "foo", Version: "1.0+cu126", Rows: rows("12.8")}, "cuda", "12.6", Local},
		{"the oldest of its rows", Package{Name: "foo", Rows: rows("12.8", "12.6")}, "cuda", "12.6", Row},
		{"one row of no CUDA and one of some", Package{Name: "foo", Rows: rows("12.8", "none")}, "cuda", "12.8", Row},
		{"a row of no CUDA", Package{Name: "foo", Rows: rows("none")}, "cpu", "", Row},
		{"the runtime linked in: the family of its row", Package{Name: "foo", Rows: rows("12.8", "12.6"), Linked: true}, "cuda", "12", Row},
		{"the runtime linked in, and rows of two families", Package{Name: "foo", Rows: rows("11.8", "12.6"), Linked: true,
			PTX: map[string]string{"compute_90": "8.0"}}, "cuda", "12", Code},
		{"the row of its framework", Package{Name: "jax", Version: "0.6.2", Frameworks: numbers("12.9", "12.9")}, "cuda", "12.9", Framework},
		{"rows of its framework that differ", Package{Name: "torch", Version: "2.9.0", Frameworks: numbers("12.6", "13.0")}, "", "", Unknown},
		{"the index's build", Package{Name: "torchvision", Version: "0.24.0", Index: DefaultIndex, Platform: "linux_x86_64"}, "cuda", "12.8", Index},
		{"the index's build for Windows", Package{Name: "torchvision", Version: "0.24.0", Index: DefaultIndex, Platform: "win_amd64"}, "cpu", "", Index},
		{"PyTorch's own index", Package{Name: "torchvision", Version: "0.24.0", Index: "cu130"}, "cuda", "13.0", Local},
		{"an index that nobody named", Package{Name: "torchvision", Version: "0.24.0", Platform: "linux_x86_64"}, "", "", Unknown},
		{"its name", Package{Name: "cupy-cuda11x", Installed: true}, "cuda", "11", Name},
		{"a name with a release", Package{Name: "nvidia-dali-cuda120", Installed: true}, "cuda", "12", Name},
		{"an old name with a release", Package{Name: "mxnet-cu112"}, "cuda", "11.2", Name},
		{"its extra", Package{Name: "foo", Extras: []string{"gpu", "cuda12"}}, "cuda", "12", Extra},
	} {
		c.p.Release, _ = version.ParseRelease(c.p.Version)
		a := Find(tables.Embedded(), c.p)
		cuda := ""
		if a.CUDANumber.Known() {
			cuda = a.CUDANumber.String()
		}
		if a.Device != c.device || cuda != c.cuda || a.By != c.by {
			t.Errorf("%s: %q %q by %q, want %q %q by %q", c.name, a.Device, cuda, a.By, c.device, c.cuda, c.by)
		}
	}
}

// TestOfImage has an image for each kind of evidence.
func TestOfImage(t *testing.T) {
	for _, c := range []struct {
		name, tag, cuda string
		by              By
	}{
		{"pytorch/pytorch", "99.0.0-cuda12.6-cudnn9-runtime", "12.6", Tag},
		{"nvidia/cuda", "99.6.3-runtime-ubuntu24.04", "99.6.3", Tag},
		{"nvidia/cuda", "latest", "", Unknown},
		{"ubuntu", "24.04", "", Unknown},
	} {
		a, _ := FindImage(tables.Embedded(), c.name, c.tag)
		if got := a.CUDANumber.String(); got != c.cuda || a.By != c.by {
			t.Errorf("%s:%s: %q by %q, want %q by %q", c.name, c.tag, got, a.By, c.cuda, c.by)
		}
	}
}
