package probe

import (
	"fmt"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/host"
)

// torchBuild reads a PyTorch from its version.py, which knows more than the wheel's metadata: PyPI's wheels carry
// their CUDA there alone.
func torchBuild(h *Host, s *site) (*Build, error) {
	dir := s.packageDir(h, "torch")
	name := dir + "/version.py"
	data, err := h.ReadFile(name)
	dist := s.dist("torch")
	if err != nil {
		if dist == nil || s.elsewhere(h, "torch/version.py") {
			return nil, err
		}
		b := &Build{Name: "torch", Version: dist.Version, Path: dist.Path, From: dist.Path}
		return b, fmt.Errorf("%s: %v: the installation is editable or damaged", name, host.Plain(err)) // no %w: absent is a failure here
	}
	b := parseTorchVersion(data)
	b.Path, b.From = dir, name
	if b.Version == "" {
		err = host.Damaged(name, "no __version__ in it")
		if dist == nil {
			return nil, err
		}
		b.Version = dist.Version
	}
	b.Python = extensionPython(h, dir+"/_C.cpython-*.so")
	if b.Accelerator == "cpu" && h.Exists(dir+"/lib/libtorch_cuda.so") {
		b.Accelerator = "cuda" // an old source build without a line for CUDA
	}
	b.Origin = torchOrigin(h, s, b.Version)
	failed := host.Errors{}
	failed.Add(err)
	if dist != nil {
		m, err := readMetadata(h, dist)
		takeMetadata(b, m)
		failed.Add(err)
	}
	if b.Accelerator == "cuda" {
		failed.Add(readCode(b, h, dir+"/lib", "libtorch_cuda.so", "libtorch_cuda_c*.so"))
		failed.Add(torchLoads(b, h, s))
	}
	return b, failed.Err()
}

// takeMetadata adds what METADATA pins: cuDNN and NCCL come as wheels of their own.
func takeMetadata(b *Build, m metadata) {
	b.Requires, b.Glibc = m.requires, m.glibc
	for _, major := range []string{"11", "12", "13"} {
		if v := m.requires["nvidia-cudnn-cu"+major]; v != "" {
			b.CuDNN = v
		}
		if v := m.requires["nvidia-nccl-cu"+major]; v != "" {
			b.NCCL = v
		}
	}
	if b.Origin == "" && m.pip {
		b.Origin = "wheel"
	}
}

var pythonAssignment = lazyregexp.New(`(?m)^(__version__|cuda|hip|xpu)\s*(?::[^=\n]*)?=\s*(?:['"]([^'"\n]+)['"]|None)\s*$`)

// parseTorchVersion reads torch/version.py, whose lines are annotated since 2.x:
//
//	__version__ = '2.4.0+cu121'
//	cuda: Optional[str] = '12.1'
//	hip: Optional[str] = None
func parseTorchVersion(data []byte) *Build {
	fields := map[string]string{}
	for _, m := range pythonAssignment.FindAllSubmatch(data, -1) {
		fields[string(m[1])] = string(m[2])
	}
	b := &Build{Name: "torch", Version: fields["__version__"], CUDA: fields["cuda"]}
	_, said := fields["cuda"]
	switch {
	case b.CUDA != "":
		b.Accelerator = "cuda"
	case fields["hip"] != "":
		b.Accelerator = "rocm"
	case fields["xpu"] != "":
		b.Accelerator = "xpu"
	case said:
		b.Accelerator = "cpu"
	}
	return b
}

var (
	wheelLocal  = lazyregexp.New(`\+(cu\d+|cpu|rocm[\d.]+|xpu)(\.with\.pypi\.cudnn)?$`)
	ngcLocal    = lazyregexp.New(`\+.*\.?nv\d+\.\d+`)
	sourceLocal = lazyregexp.New(`\+(git)?[0-9a-f]{6,}`)
	distroLocal = lazyregexp.New(`\+(debian|dfsg|ds\d*)$`)
	plainNew    = lazyregexp.New(`^([2-9]|1\.13)\.[0-9.]+$`)
)

// localOrigin tells who built a PyTorch by its local version, empty when that says nothing.
func localOrigin(version string) string {
	switch {
	case ngcLocal.MatchString(version):
		return "ngc"
	case wheelLocal.MatchString(version):
		return "wheel"
	case distroLocal.MatchString(version):
		return "distribution"
	case sourceLocal.MatchString(version):
		return "source"
	}
	return ""
}

// torchOrigin tells who built an installed PyTorch; the tables speak of PyTorch's own wheels alone.
func torchOrigin(h *Host, s *site, version string) string {
	if origin := localOrigin(version); origin != "" {
		return origin
	}
	if s.conda != "" {
		if record := condaFind(h, s.conda, "pytorch"); record != nil {
			return condaOrigin(record.build)
		}
	}
	return plainOrigin(version)
}

// condaOrigin tells the pytorch channel's builds, py3.10_cuda12.4_cudnn9.1.0_0, from conda-forge's.
func condaOrigin(build string) string {
	if strings.HasPrefix(build, "py3") {
		return "conda"
	}
	return "conda-forge"
}

// plainOrigin judges a version without a local part: PyTorch's own wheels have carried one since 1.13.
func plainOrigin(version string) string {
	if plainNew.MatchString(version) {
		return "source"
	}
	return ""
}
