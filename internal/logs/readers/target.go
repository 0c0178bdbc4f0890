package readers

import (
	"fmt"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/finding"
	"cudacompat/internal/logs/record"
	"cudacompat/internal/tables"
	"cudacompat/internal/version"
)

// capabilityOf matches a compiler's target: compute_86, sm_90a, compute_120f.
var capabilityOf = lazyregexp.New(`^(?:compute|sm)_(\d+)(\d)[a-z]?$`)

// variants maps the letter of a target's variant, for one chip or for its family, to the first toolkit that knows it.
var variants = map[byte]string{'a': "12.0", 'f': "12.9"}

// readTarget says whether a target is newer than the toolkit that does not know it, or was dropped: toolkits after a
// chip's last one no longer compile for it. A word that is no target is the build's own mistake.
func readTarget(f *finding.Finding) bool {
	arch := f.Group("arch")
	m := capabilityOf.FindStringSubmatch(arch)
	if m == nil {
		explainNoTarget(f, arch)
		return true
	}
	first, last := toolkitsFor(m[1] + "." + m[2])
	if since, _ := version.Parse(variants[arch[len(arch)-1]]); first.LessShort(since) {
		first = since
	}
	switch {
	case last.Known():
		f.Because = fmt.Sprintf("This nvcc does not know %s: CUDA %s was the last that did.", arch, last.Short())
		f.Do = []string{
			"if no such GPU is to run it, leave " + arch + " out: TORCH_CUDA_ARCH_LIST, CMAKE_CUDA_ARCHITECTURES",
			"if one is, build with CUDA " + last.Short() + " or older, and point CUDA_HOME and PATH to it"}
	case first.Known():
		f.Because = fmt.Sprintf("This nvcc does not know %s: CUDA %s is the first that does, and the one that is taken is older.",
			arch, first.Short())
		f.Do = []string{
			"run `which -a nvcc; nvcc --version`: the first nvcc on PATH is taken, which is the older one here",
			"install CUDA " + first.Short() + " or newer, and put its bin first: `export CUDA_HOME=/usr/local/cuda-" + first.Short() +
				" PATH=/usr/local/cuda-" + first.Short() + "/bin:$PATH`, in an empty build directory",
			"if no such GPU is to run it, leave " + arch + " out: TORCH_CUDA_ARCH_LIST, CMAKE_CUDA_ARCHITECTURES"}
	}
	return true
}

// explainNoTarget judges a word that a build passed as a target: one that an older nvcc does not know, or the output of
// a program that found no GPU.
func explainNoTarget(f *finding.Finding, arch string) {
	const name = "name the GPU to build for: `cmake -DCMAKE_CUDA_ARCHITECTURES=86`, or TORCH_CUDA_ARCH_LIST=8.6, with its own capability"
	if strings.Contains(arch, "No CUDA devices") {
		f.Because = "The build takes the target from the GPU that is there, and there is none: an image is built without one."
		f.Do = []string{name}
		return
	}
	if arch == "native" || arch == "compute_native" {
		f.Because = "This nvcc is older than the option -arch=native."
	}
	f.Do = []string{name,
		"install a newer toolkit, and put its bin first on PATH: a distribution's nvidia-cuda-toolkit is often old"}
}

// toolkitsFor returns the first toolkit that compiles for a capability, and the last one if later ones do not.
func toolkitsFor(capability string) (first, last version.Number) {
	for _, c := range tables.Rows[tables.Chip](record.Tables()) {
		if c.Capability.String() != capability {
			continue
		}
		if !first.Known() || c.FirstCUDA.LessShort(first) {
			first = c.FirstCUDA
		}
		if last = c.LastCUDA; !last.Known() {
			return first, last
		}
	}
	return first, last
}

// readLink names the driver library that exists but lacks the name by which Triton looks for it.
func readLink(f *finding.Finding) bool {
	file := f.Group("file")
	f.Because = fmt.Sprintf("The driver's library is there (%s), and the link libcuda.so to it is not.", file)
	r := record.Record{Slots: map[string]string{"file": file, "link": file[:strings.LastIndexByte(file, '/')+1] + "libcuda.so"}}
	f.Do = r.FillSteps([]string{"make the link: `sudo ln -s {file} {link}`",
		"without root: `mkdir -p ~/cuda && ln -s {file} ~/cuda/libcuda.so && export TRITON_LIBCUDA_PATH=~/cuda`"})
	return true
}
