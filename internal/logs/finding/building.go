package finding

import (
	"cmp"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/record"
	"cudacompat/internal/tables"
)

// headerOf maps the beginning of a header's name to what it belongs to.
var headerOf = []struct{ prefix, what string }{
	{"cublas", "cuBLAS"}, {"cudnn", "cuDNN"}, {"cufft", "cuFFT"}, {"cusparse", "cuSPARSE"}, {"cusolver", "cuSOLVER"},
	{"curand", "cuRAND"}, {"nccl", "NCCL"},
	{"cuda", "the CUDA toolkit"}, {"nv", "the CUDA toolkit"}, {"cub/", "the CUDA toolkit"}, {"thrust",
		"the CUDA toolkit"}, {"crt/", "the CUDA toolkit"},
	{"driver_types", "the CUDA toolkit"}, {"vector_", "the CUDA toolkit"}, {"helper_", "the CUDA samples"}, {
		"cutlass", "CUTLASS"}, {"cute/", "CUTLASS"},
	{"Python.h", "Python"}, {"pyconfig", "Python"}, {"torch/", "PyTorch"}, {"ATen", "PyTorch"}, {"c10", "PyTorch"}, {
		"THC/", "an old PyTorch (before 1.11)"},
	{"NvInfer", "TensorRT"}, {"infiniband", "rdma-core"},
}

// otherHeader matches headers of libraries that CUDA programs are often built with, and that are never the program's
// own.
var otherHeader = lazyregexp.New(`^(?:opencv\w*|Eigen|boost|GL|GLFW|EGL|X11|vulkan|CL|glog|gflags|google|` +
	`pybind11|openssl|curl|yaml-cpp|gtest|tbb|numpy|pcl|libav\w+|rdma|spdlog|fmt|sys)/|` +
	`^(?:mpi|omp|numa|zlib|png|jpeglib|hdf5|H5Cpp|fftw3|cblas|std\w+|optix\w*|tiffio|sndfile|gmp|uuid)\.h`)

func weighHeader(r *record.Record, _ *tables.Tables) string {
	for _, h := range headerOf {
		if strings.HasPrefix(r.Slot("header"), h.prefix) {
			if r.Slots["what"] = h.what; h.what == "PyTorch" {
				return "torch-header"
			}
			return "header"
		}
	}
	if m := otherHeader.FindString(r.Slot("header")); m != "" {
		r.Slots["what"] = strings.Trim(m, "/")
		return "other-header"
	}
	return "" // not a header of the stack that is judged here, perhaps the program's own
}

func weighTool(r *record.Record, _ *tables.Tables) string {
	if strings.HasPrefix(r.Slot("tool"), "nvidia-") {
		return "driver-tool"
	}
	return "tool"
}

// compilerFor maps a part of GCC to the package to install; the packages are split by language.
var compilerFor = map[string]string{"cc1": "gcc", "cc1plus": "g++", "cc1obj": "gobjc", "f951": "gfortran", "as": "binutils",
	"ld": "binutils", "collect2": "gcc"}

// weighCompilerPart names the package for a part of the compiler that the compiler driver did not find.
func weighCompilerPart(r *record.Record, _ *tables.Tables) string {
	r.Slots["package"] = cmp.Or(compilerFor[r.Slot("part")], "gcc")
	return "compiler-part"
}

// pipNames maps names in messages to pip's names, if they differ.
var pipNames = map[string]string{"flash-attention": "flash-attn", "pytorch": "torch"}

func weighPackages(r *record.Record, _ *tables.Tables) string {
	if r.Slot("range") != "" {
		r.Slots["range"], r.Slots["package"] = strings.ReplaceAll(r.Slot("range"), " ", ""), strings.ToLower(r.Slot("package"))
		r.Slots["package"] = cmp.Or(pipNames[r.Slot("package")], r.Slot("package"))
		r.Slots["requirement"] = r.Slot("package") + r.Slot("range")
		return "package-range"
	}
	if r.Slot("wanted") != "" {
		return "wanted-package"
	}
	if ofSystem.MatchString(r.Text) {
		if kernelPackage.MatchString(r.Text) {
			return "kernel-packages"
		}
		return "system-packages"
	}
	return "packages"
}

// ofSystem matches what dnf, zypper and apt say about system packages that do not fit. kernelPackage matches what they
// say about the kernel's packages, or the driver's modules for it.
var (
	ofSystem = lazyregexp.New(`none of the providers can be installed|cannot install (?:both|the best) |\bDepends: .* but |` +
		`held broken packages|unmet dependencies|conflicting requests`)
	kernelPackage = lazyregexp.New(`\bk(?:ernel|mod)-|linux-(?:image|headers|modules)-`)
)

func weighVersion(r *record.Record, _ *tables.Tables) string {
	built, found := r.Slot("built"), r.Slot("found")
	switch {
	case built != "" && found != "" && built != found:
		of := findPair(r, built, found)
		r.Slots["needs"], r.Slots["has"] = strings.TrimSpace(of+" "+built), strings.TrimSpace(of+" "+found)
		if of == "CUDA" && ofToolkit.MatchString(r.Text) {
			return "toolkit-pair"
		}
		return "version-pair"
	case built != "":
		return ""
	case r.Slot("wanted") != "":
		return "version-wanted"
	}
	r.Slots["subject"] = cmp.Or(r.Slot("subject"), r.Slot("subject2"), r.Slot("subject3"), "driver")
	return "version"
}

// ofToolkit matches a build's line that compares the toolkit with the CUDA of PyTorch or another framework.
var ofToolkit = lazyregexp.New(`(?i)\b(?:torch|jax|tensorflow)\b.*\b(?:compiled|built)|\b(?:compiled|built)\b.*\b(?:torch|jax|tensorflow)\b`)

// findPair returns the part whose two releases a line gives: the one just before a number with the word version,
// otherwise the last one named before the number that was built for. PyTorch has no release 11.8.
func findPair(r *record.Record, built, found string) string {
	of := namedLast(r.Text[:strings.Index(r.Text, built)])
	if m := partVersion.FindStringSubmatch(r.Text); m != nil && (m[2] == built || m[2] == found) {
		return namedLast(m[1])
	}
	if major, _, _ := strings.Cut(built, "."); of == "PyTorch" && len(major) > 1 {
		return "CUDA"
	}
	return of
}

// partVersion matches a part with its version number.
var partVersion = lazyregexp.New(`(?i)\b(cudnn|nccl|tensorrt|numpy|glibc|python|driver|cuda)(?: toolkit| runtime)? version[ :=]*\(?(\d+(?:\.\d+)+)`)

// versionedParts are the parts for which lines give two versions, with their names in a sentence.
var (
	versionedParts = lazyregexp.New(`(?i)\b(?:cudnn|nccl|tensorrt|numpy|glibc|python|driver|(?:py)?torch|cuda)\b`)
	properly       = map[string]string{"cudnn": "cuDNN", "nccl": "NCCL", "tensorrt": "TensorRT", "numpy": "NumPy",
		"python": "Python", "torch": "PyTorch", "pytorch": "PyTorch", "cuda": "CUDA", "driver": "driver"}
)

// namedLast returns the part that is named last, or "".
func namedLast(words string) string {
	all := versionedParts.FindAllString(words, -1)
	if len(all) == 0 {
		return ""
	}
	last := strings.ToLower(all[len(all)-1])
	return cmp.Or(properly[last], last)
}

// The compiler errors that concern only the language, and the places of sources that somebody else wrote.
var (
	ofTheLanguage = lazyregexp.New(`error ?(?:C\d+)?: (?:identifier "\w+" is undefined|too (?:many|few) arguments|` +
		`expected |` +
		`no instance of (?:overloaded )?function|a value of type|argument of type|this declaration|` +
		`no operator ".*" matches|expression must|'\w+' was not declared|use of undeclared|redefinition of|` +
		`static assertion failed|unknown type name|cannot be implicitly captured|` +
		`calling a (?:constexpr )?__(?:host|device)__|a __\w+__ .* cannot|invalid (?:operands|conversion))`)
	ofOthers = lazyregexp.New(`(?i)(?:site|dist)-packages|/include/|/torch|aten|c10|csrc|/build|/tmp/|_ext\b|` +
		`third_party|` +
		`submodules|extensions?/|\.h(?:pp)?\W|\.cuh\W`)
)

// weighCompileError distinguishes a single file that the user wrote from a package that does not build here.
func weighCompileError(r *record.Record, _ *tables.Tables) string {
	if ofTheLanguage.MatchString(r.Text) && !ofOthers.MatchString(r.Text) {
		return "kernel-language"
	}
	return "compile-error"
}

// weighHostCompileError judges a compiler error in a source without GPU code. If it concerns only the language, it is
// the program's. Otherwise a library may have another release.
func weighHostCompileError(r *record.Record, _ *tables.Tables) string {
	if m := lacksIntrinsic.FindStringSubmatch(r.Text); m != nil {
		r.Slots["intrinsic"] = m[1]
		return "intrinsic"
	}
	if r.Slot("header") == "" && ofTheLanguage.MatchString(r.Text) && !ofOthers.MatchString(r.Text) {
		return "kernel-language"
	}
	return "" // a header is often of others than the source that includes it
}

// lacksIntrinsic matches a compiler's error about an unknown Arm vector intrinsic.
var lacksIntrinsic = lazyregexp.New(`implicit declaration of function [‘'](v[a-z]+\d?q?_[a-z]\d+(?:_x\d)?)[’']`)

// standard matches a C++ standard that a source requires.
var standard = lazyregexp.New(`C\+\+ ?\d\d`)

// weighBuildNeeds judges what a build lacks. A C++ standard is a flag, not a package.
func weighBuildNeeds(r *record.Record, _ *tables.Tables) string {
	if r.Slots["standard"] = standard.FindString(r.Text); r.Slots["standard"] != "" {
		return "language-standard"
	}
	return "build-needs"
}

// weighHeap judges the C library's abort after heap corruption. It is a compiled program's own fault if its log ends
// there. In Python, two incompatible libraries are as likely.
func weighHeap(r *record.Record, _ *tables.Tables) string {
	if !r.Final || r.Frames != nil || strings.Contains(r.Slot("program"), "python") {
		return ""
	}
	return "heap"
}
