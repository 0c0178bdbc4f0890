package framework

import (
	"errors"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/loader"
	"cudacompat/probe/internal/pyenv"
	"cudacompat/probe/internal/pyimport"
)

// tensorflowBuild reads a TensorFlow from its build_info.py.
func tensorflowBuild(h *host.Host, s *pyenv.Site) (*facts.Build, error) {
	dir := s.Dir + "/tensorflow"
	if h.Exists(s.Dir + "/tensorflow_core/python/platform/build_info.py") { // 1.15 to 2.1, of which tensorflow/ is a front
		dir = s.Dir + "/tensorflow_core"
	}
	name := dir + "/python/platform/build_info.py"
	data, err := h.ReadFile(name)
	if lost := pyimport.LostFiles(s, h, "tensorflow", strings.TrimPrefix(name, s.Dir+"/")); host.Absent(err) && len(lost) > 0 {
		b := &facts.Build{Name: "tensorflow", Path: dir, From: pyimport.FrameworkInfo(s, "tensorflow"), Hindrances: lost}
		return b, tensorflowDist(b, h, s)
	}
	if err != nil {
		return nil, err
	}
	b, err := parseBuildInfo(data)
	if err != nil {
		return nil, host.Damaged(name, err.Error())
	}
	b.Path, b.From = dir, name
	if s.Conda != "" && pyenv.CondaFind(h, s.Conda, "tensorflow") != nil {
		b.Origin = "conda-forge"
	}
	failed := host.Errors{}
	failed.Add(tensorflowDist(b, h, s))
	if b.Accelerator == "cuda" {
		failed.Add(loader.ReadCode(h, dir, "libtensorflow_cc.so.2")(b))
		failed.Add(loader.TensorflowLoads(b, h, s))
	}
	return b, failed.Err()
}

// tensorflowDist takes the version from the distribution that brought the directory.
func tensorflowDist(b *facts.Build, h *host.Host, s *pyenv.Site) error {
	for _, name := range pyimport.TensorflowDists {
		dist := s.Dist(name)
		if dist == nil {
			continue
		}
		b.Version = dist.Version
		m, err := readWheel(s.Index(h).At(dist.Path))
		b.Requires, b.Python, b.Glibc, b.Arch = m.pins, m.Python, m.Glibc, m.Arch
		if b.Origin == "" && m.pip {
			b.Origin = "wheel"
		}
		b.Hindrances = append(b.Hindrances, pyimport.TooOld(s, h, dist, "protobuf")...)
		return err
	}
	return nil
}

var (
	infoText  = lazyregexp.New(`['"]?(cuda_version|cudnn_version)(?:_number =|['"]\s*[,:])\s*['"]([^'"]*)['"]`)
	infoCUDA  = lazyregexp.New(`is_cuda_build(?: =|['"]\s*[,:])\s*(True|False)`)
	infoROCm  = lazyregexp.New(`is_rocm_build(?: =|['"]\s*[,:])\s*True`)
	infoCodes = lazyregexp.New(`['"]cuda_compute_capabilities['"]\s*[,:]\s*\[([^\]]*)\]`)
	infoCode  = lazyregexp.New(`(sm|compute)_\d+[af]?`)
)

var errNoCUDALine = errors.New("no is_cuda_build in it")

// parseBuildInfo reads TensorFlow's generated build_info.py, one long line:
//
//	build_info = collections.OrderedDict([('cuda_compute_capabilities', ['sm_60', …, 'compute_90']),
//	    ('cuda_version', '12.5.1'), ('cudnn_version', '9'), ('is_cuda_build', True), …])
//
// 1.15 has lines:
//
//	is_cuda_build = True
//	cuda_version_number = '10'
func parseBuildInfo(data []byte) (*facts.Build, error) {
	b := &facts.Build{Name: "tensorflow"}
	cuda := infoCUDA.FindSubmatch(data)
	switch {
	case cuda == nil:
		return nil, errNoCUDALine
	case string(cuda[1]) == "True":
		b.Accelerator = "cuda"
	case infoROCm.Match(data):
		b.Accelerator = "rocm"
	default:
		b.Accelerator = "cpu"
	}
	for _, m := range infoText.FindAllSubmatch(data, pyenv.MaxMatches) {
		if string(m[1]) == "cuda_version" {
			b.CUDA = string(m[2])
		} else {
			b.CuDNN = string(m[2])
		}
	}
	if codes := infoCodes.FindSubmatch(data); codes != nil {
		for _, code := range infoCode.FindAllString(string(codes[1]), -1) {
			if strings.HasPrefix(code, "sm_") {
				b.SASS = append(b.SASS, code)
			} else { // XLA's notation: compute_90 stands for machine code and PTX both
				b.SASS = append(b.SASS, "sm_"+strings.TrimPrefix(code, "compute_"))
				b.PTX = append(b.PTX, code)
			}
		}
	}
	return b, nil
}
