package framework

import (
	"errors"
	"fmt"
	"io/fs"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/distname"
	"cudacompat/probe/internal/loader"
	"cudacompat/probe/internal/pyenv"
)

// torchBuild reads a PyTorch from its version.py, which has more than the wheel's metadata: in PyPI's wheels only it
// names the CUDA.
func torchBuild(h *host.Host, s *pyenv.Site) (*facts.Build, error) {
	dir := s.PackageDir(h, "torch")
	name := dir + "/version.py"
	data, err := h.ReadFile(name)
	dist := s.Dist("torch")
	if err != nil {
		switch {
		case s.Elsewhere(h, "torch/version.py"):
			return nil, err
		case dist == nil && h.Exists(dir+"/lib") && len(h.GlobIn(dir, "lib/libtorch*.so"))+len(h.GlobIn(dir, "version.*pyc")) > 0:
			return nil, fmt.Errorf("%s: it has PyTorch's libraries and no version.py, so its release is unknown", dir)
		case dist == nil:
			return nil, err
		}
		b := &facts.Build{Name: "torch", Version: dist.Version, Path: dist.Path, From: dist.Path}
		switch {
		case errors.Is(err, fs.ErrPermission):
			b.Hindrances = append(b.Hindrances, pyenv.ClosedFile(h, b.Name+" "+b.Version, name))
		case s.Index(h).At(dist.Path).Record().Has("torch/version.py"):
			b.Missing, b.Looked = []string{"torch/version.py"}, true
		}
		// no %w: absent is a failure here
		return b, fmt.Errorf("%s: %v: the installation is editable or damaged", name, host.Plain(err))
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
	b.Python = pyenv.ExtensionPython(h, dir+"/_C.cpython-*.so")
	if b.Accelerator == "cpu" || b.Accelerator == "" && err != nil {
		if h.Exists(dir + "/lib/libtorch_cuda.so") {
			b.Accelerator = "cuda" // an old source build without a line for CUDA, or a file that is damaged
		}
	}
	b.Origin = torchOrigin(h, s, b.Version)
	failed := host.Errors{}
	failed.Add(err)
	if dist != nil {
		m, err := readWheel(s.Index(h).At(dist.Path))
		takeMetadata(b, m)
		failed.Add(err)
	}
	if b.Accelerator == "cuda" {
		code := loader.ReadCode(h, dir+"/lib", "libtorch_cuda.so", "libtorch_cuda_c*.so")
		loads := loader.TorchLoads(b, h, s)
		failed.Add(code(b))
		failed.Add(loads)
	}
	return b, failed.Err()
}

// takeMetadata adds what METADATA pins: cuDNN and NCCL come as wheels of their own.
func takeMetadata(b *facts.Build, m wheel) {
	b.Requires, b.Glibc, b.Arch = m.pins, m.Glibc, m.Arch
	for _, major := range []string{"11", "12", "13"} {
		if v := m.pins["nvidia-cudnn-cu"+major]; v != "" {
			b.CuDNN = v
		}
		if v := m.pins["nvidia-nccl-cu"+major]; v != "" {
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
func parseTorchVersion(data []byte) *facts.Build {
	fields := map[string]string{}
	for _, m := range pythonAssignment.FindAllSubmatch(data, pyenv.MaxMatches) {
		fields[string(m[1])] = string(m[2])
	}
	b := &facts.Build{Name: "torch", Version: fields["__version__"], CUDA: fields["cuda"]}
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

// torchOrigin returns who built an installed PyTorch. The tables describe only PyTorch's own wheels.
func torchOrigin(h *host.Host, s *pyenv.Site, version string) string {
	if origin := distname.LocalOrigin(version); origin != "" {
		return origin
	}
	if s.Conda != "" {
		if record := pyenv.CondaFind(h, s.Conda, "pytorch"); record != nil {
			return distname.CondaOrigin(record.Build)
		}
	}
	return distname.PlainOrigin(version)
}
