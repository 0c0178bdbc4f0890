package finding

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/record"
	"cudacompat/internal/tables"
)

var optionalLibrary = lazyregexp.New(`^(?:libnvinfer|libnccl-net|libnccl-tuner|libibverbs|libsox|libsnpe|libGL|` +
	`libjpeg|libpng|libavutil|libtorchcodec|image\.so)`)

func weighLibrary(r *record.Record, t *tables.Tables) string {
	name := cmp.Or(r.Slot("library"), r.Slot("library2"), r.Slot("library3"))
	r.Slots["library"] = name
	if foundUnfit.MatchString(r.Text) {
		return "" // it is there: another form says what is wrong with it
	}
	switch known := t.Library(name); {
	case optionalLibrary.MatchString(name) && strings.Contains(r.Text, " W "):
		return ""
	case IsDriverLibrary(name):
		if strings.HasSuffix(name, ".so") {
			return "driver-link"
		}
		return "libcuda"
	case known != nil:
		r.Slots["what"], r.Slots["cuda"], r.Slots["pip"] = known.Library, strings.Join(known.CUDA, " or "), known.Pip[0]
		return chooseWheel(r, known)
	case strings.HasPrefix(name, "libc10") || strings.HasPrefix(name, "libtorch"):
		return "torch-library"
	case strings.HasSuffix(strings.ToLower(name), ".dll"):
		return "windows-library"
	}
	return "library"
}

// foundUnfit matches a loader's words about a library that it found but cannot use.
var foundUnfit = lazyregexp.New(`undefined\s*symbol|symbol \S+ version|symbol not found|wrong ELF class|file too short|invalid ELF header|static TLS`)

// commonCUDA is the CUDA whose wheels most programs bring.
const commonCUDA = "-cu12"

// chooseWheel returns the answer about a toolkit library whose wheel may differ by CUDA.
func chooseWheel(r *record.Record, known *tables.Library) string {
	if len(known.Pip) == 1 {
		return "cuda-library"
	}
	i := max(0, slices.IndexFunc(known.Pip, func(name string) bool { return strings.HasSuffix(name, commonCUDA) }))
	r.Slots["pip"] = known.Pip[i]
	r.Slots["others"] = strings.Join(slices.Concat(known.Pip[:i], known.Pip[i+1:]), ", ")
	return "cuda-library-of"
}

// IsDriverLibrary reports whether the NVIDIA driver installs a library, and not a toolkit or a wheel.
func IsDriverLibrary(name string) bool {
	return strings.HasPrefix(name, "libcuda.so") || strings.HasPrefix(name, "nvcuda") ||
		strings.HasPrefix(name, "libnvidia-") && !strings.HasPrefix(name, "libnvidia-container")
}

// cudaSymbols maps the beginning of a symbol to the NVIDIA library that has it.
var cudaSymbols = []struct{ prefix, what string }{
	{"cublasLt", "cuBLASLt"}, {"cublas", "cuBLAS"}, {"cudnn", "cuDNN"}, {"cufft", "cuFFT"}, {"cusparse", "cuSPARSE"},
	{"cusolver", "cuSOLVER"},
	{"nccl", "NCCL"}, {"__nvJitLink", "nvJitLink"}, {"nvJitLink", "nvJitLink"}, {"nvrtc", "NVRTC"}, {"__cuda",
		"the CUDA runtime"}, {"cuda", "the CUDA runtime"}, {"nvml", "NVML"},
}

// symbolOf returns the NVIDIA or PyTorch library that has a symbol, or "".
func symbolOf(name string) string {
	for _, s := range cudaSymbols {
		if strings.HasPrefix(name, s.prefix) {
			return s.what
		}
	}
	if ofTorch.MatchString(name) {
		return "PyTorch"
	}
	return ""
}

// ofTorch matches PyTorch's symbols, mangled and as linkers print them.
var ofTorch = lazyregexp.New(`c10|2at|5torch|^(?:at|torch)::|^THP|^aoti_torch`)

// weighUnresolved judges a symbol that the linker did not find in a program with a source tree. In a single file that
// was compiled by hand, the command lacks a -l option.
func weighUnresolved(r *record.Record, _ *tables.Tables) string {
	name := cmp.Or(r.Slot("symbol"), r.Slot("symbol2"), r.Slot("symbol3"))
	r.Slots["symbol"], r.Slots["what"] = name, cmp.Or(symbolOf(name), libraryOf(name))
	if r.Slots["what"] == "" || byHand.MatchString(r.Text) {
		return ""
	}
	return "unresolved"
}

// linkedLibraries maps the beginning of a symbol to a library that CUDA programs often link.
var linkedLibraries = []struct{ prefix, what string }{
	{"cv::", "OpenCV"}, {"boost::", "Boost"}, {"google::protobuf::", "protobuf"}, {"google::", "glog"},
	{"gflags::", "gflags"}, {"absl::", "Abseil"}, {"nvinfer1::", "TensorRT"}, {"tensorflow::", "TensorFlow"},
	{"tbb::", "TBB"}, {"TIFF", "libtiff"}, {"png_", "libpng"}, {"jpeg_", "libjpeg"}, {"H5", "HDF5"}, {"MPI_", "MPI"},
	{"ompi_", "Open MPI"}, {"cblas_", "BLAS"}, {"LAPACKE_", "LAPACK"}, {"fftw", "FFTW"}, {"omp_", "OpenMP"},
	{"GOMP_", "OpenMP"}, {"__kmpc_", "OpenMP"}, {"pthread_", "the threads library (-lpthread)"}, {"dlopen", "libdl"},
	{"dlsym", "libdl"}, {"dlclose", "libdl"}, {"glfw", "GLFW"}, {"glew", "GLEW"}, {"avcodec_", "FFmpeg"},
	{"avformat_", "FFmpeg"}, {"av_", "FFmpeg"}, {"sws_", "FFmpeg"}, {"Py_", "Python"}, {"std::filesystem::", "libstdc++"},
	{"std::__cxx11::", "libstdc++"}, {"curand", "cuRAND"}, {"nppi", "NPP"}, {"nvtx", "NVTX"},
}

// libraryOf returns the library among those that has a symbol, or the driver, in whose names a capital letter follows.
func libraryOf(name string) string {
	for _, l := range linkedLibraries {
		if strings.HasPrefix(name, l.prefix) {
			return l.what
		}
	}
	if ofDriver.MatchString(name) {
		return "the CUDA driver (libcuda)"
	}
	return ""
}

var ofDriver = lazyregexp.New(`^cu(?:Init|Ctx|Device|Mem|Module|Launch|Event|Stream|Driver|Get|Func|Link)[A-Z]?\w*$`)

// weighDeviceLink judges device code that was compiled for device linking and was not linked.
func weighDeviceLink(r *record.Record, _ *tables.Tables) string {
	r.Slots["symbol"] = demangle(cmp.Or(r.Slot("symbol"), r.Slot("symbol2"), r.Slot("symbol3")))
	return "device-link"
}

// byHand matches the object files of a command that compiles and links at once.
var byHand = lazyregexp.New(`/tmp/\S+\.o\b`)

func weighSymbol(r *record.Record, _ *tables.Tables) string {
	name := r.Slot("symbol")
	r.Slots["what"], r.Slots["symbol"] = symbolOf(name), demangle(name)
	switch r.Slots["what"] {
	case "":
		return "symbol"
	case "PyTorch":
		return "torch-symbol"
	}
	return "cuda-symbol"
}

func weighSymbolVersion(r *record.Record, _ *tables.Tables) string {
	switch r.Slot("set") {
	case "GLIBC":
		return "glibc"
	case "GLIBCXX", "CXXABI", "GCC":
		return "libstdcxx"
	case "FABRIC", "IBVERBS", "IBVERBS_PRIVATE", "RDMACM", "EFA", "MLX":
		return "rdma"
	}
	return "symbol-version"
}

// demangle returns a C++ name in readable form, as far as its nested name goes: "_ZN3c106detail14torchCheckFailE…"
// becomes c10::detail::torchCheckFail. Any other name stays unchanged.
func demangle(name string) string {
	rest, nested := strings.CutPrefix(name, "_ZN")
	if !nested {
		rest, nested = strings.CutPrefix(name, "_ZNK")
	}
	if !nested {
		if rest, nested = strings.CutPrefix(name, "_Z"); !nested {
			return name
		}
	}
	rest = strings.TrimLeft(rest, "KVRO")
	var parts []string
	for rest != "" && rest[0] >= '1' && rest[0] <= '9' && len(parts) < 16 {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		n, err := strconv.Atoi(rest[:min(digits, 4)])
		if err != nil || n > len(rest)-digits {
			break
		}
		parts, rest = append(parts, rest[digits:digits+n]), rest[digits+n:]
	}
	if len(parts) == 0 {
		return name
	}
	return strings.Join(parts, "::")
}
