package toolkit

import (
	"path"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/source"
)

// ReadBuilding reads what compiles CUDA extensions and Triton kernels here: the compiler, and the libcuda that Triton
// links.
func ReadBuilding(h *host.Host) (source.Update, error) {
	b := facts.Building{Compiler: findCompiler(h), Named: h.Var("TRITON_LIBCUDA_PATH") != ""}
	b.LibCUDA = tritonCUDA(h)
	if b == (facts.Building{}) {
		return nil, host.ErrAbsent
	}
	return func(f *facts.Facts) { f.Building = b }, nil
}

// tritonCUDA looks for libcuda as Triton does: in the list of `ldconfig -p`, and in LD_LIBRARY_PATH only if that lists
// none. A listed file must exist.
func tritonCUDA(h *host.Host) string {
	const name = "libcuda.so.1"
	var files []string
	if cache := h.Loader().Cache; cache != nil {
		for _, e := range cache.Entries {
			if strings.Contains(e.Name, name) {
				files = append(files, path.Join(path.Dir(e.Path), name))
			}
		}
	}
	if len(files) == 0 {
		for _, dir := range host.SplitPath(h.Var("LD_LIBRARY_PATH")) {
			files = append(files, path.Join(dir, name))
		}
	}
	return h.FirstThere(files...)
}

// findCompiler chooses the C compiler as Triton and setuptools do.
func findCompiler(h *host.Host) facts.Compiler {
	if cc := h.Var("CC"); cc != "" {
		file := strings.Fields(cc + " x")[0]
		if !strings.Contains(file, "/") {
			file = h.OnPath(file)
		}
		return describeCompiler(h, file, "CC")
	}
	if file := h.OnPath("gcc"); file != "" {
		return describeCompiler(h, file, "PATH")
	}
	return describeCompiler(h, h.OnPath("clang"), "PATH")
}

// compilerName matches the names of real compilers: "x86_64-linux-gnu-gcc-13", "gcc", "clang-18".
var compilerName = lazyregexp.New(`^(?:[\w.]+-linux-gnu-)?(gcc|g\+\+|clang)(?:\+\+)?(?:-(\d+(?:\.\d+)*))?$`)

// describeCompiler reads a compiler's version from its file name, as on Debian, or, for gcc, from its only library
// directory, as on Red Hat.
func describeCompiler(h *host.Host, file, from string) facts.Compiler {
	if file == "" || !h.Exists(file) {
		return facts.Compiler{}
	}
	c := facts.Compiler{Path: file, From: from}
	real, _ := h.Resolve(file)
	m := compilerName.FindStringSubmatch(path.Base(real))
	if m == nil {
		return c
	}
	c.Name, c.Version = strings.Replace(m[1], "g++", "gcc", 1), m[2]
	if c.Name == "gcc" && c.Version == "" {
		c.Version = gccByLibraries(h, path.Dir(path.Dir(real)))
	}
	return c
}

// gccByLibraries returns the only version under PREFIX/lib/gcc/TRIPLET (lib64 on SUSE), or "" if there are several.
func gccByLibraries(h *host.Host, prefix string) string {
	version := ""
	for _, name := range h.GlobIn(prefix, "lib*/gcc/*/[0-9]*") {
		if v := path.Base(name); version != "" && v != version {
			return ""
		} else if h.Exists(name+"/cc1") || h.Exists(name+"/libgcc.a") {
			version = v
		}
	}
	return version
}
