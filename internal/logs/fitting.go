package logs

import (
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/logtext"
	"cudacompat/matrix/pin"
)

// forWhom matches the program or system that a step is for, in its first words.
var forWhom = lazyregexp.New(`^(?:or )?(?:for|on|with|under) (Windows|PyCUDA|OpenMM|PEFT|Triton|Podman|OpenShift|TensorRT)\b`)

// onLinux lists paths that show that a log was written on Linux.
var onLinux = []string{"/home/", "/usr/", "/opt/", "/root/", "/mnt/", "/data/", "/proc/", "/dev/", "/lib/python3"}

// keepStepsForSystem moves steps for a program or system that the log does not show behind the others, and removes
// those for Windows from a Linux log.
func (d *Diagnosis) keepStepsForSystem(logs [][]logtext.Line, windows bool) {
	var own, others []string
	for _, step := range d.Do {
		m := forWhom.FindStringSubmatch(step)
		switch {
		case m == nil, m[1] == "Windows" && windows, m[1] != "Windows" && mentions(logs, m[1]):
			own = append(own, step)
		case m[1] != "Windows" || !containAny(logs, onLinux):
			others = append(others, step)
		}
	}
	if d.Do = append(own, others...); d.Do == nil {
		d.Do = []string{}
	}
}

// mentions reports whether a line of the logs contains a name, in any case.
func mentions(logs [][]logtext.Line, name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(logs, func(lines []logtext.Line) bool {
		return slices.ContainsFunc(lines, func(l logtext.Line) bool { return strings.Contains(strings.ToLower(l.Text), name) })
	})
}

// tegra lists marks of a log that was written on a Jetson.
var tegra = []string{"-tegra", "Jetson", "JetPack", "jetpack", "L4T", "l4t-", "nv_tegra", "Orin (nvgpu)", "(nvgpu)"}

// ofBuild lists the causes that concern which build of a package is installed.
var ofBuild = []string{"driver-too-old", "gpu-arch-missing", "cpu-only-build", "symbol-not-in-module", "ptx-newer-than-driver"}

// onJetson lists the steps for them on a Jetson, whose driver no package brings and for which PyPI has no builds.
var onJetson = []string{
	pin.ForJetson,
	"run `cat /etc/nv_tegra_release`: it names the L4T release, whose driver and CUDA come with JetPack and are updated with it",
	"PyPI's wheels for Arm are for servers (SBSA): where no build for JetPack is published, build the package on the board",
}

// useJetPack returns the steps for a package's build if the log was written on a Jetson or in a Bazel build.
func (j *judging) useJetPack(d *Diagnosis) ([]string, string) {
	switch {
	case slices.Contains(ofBuild, d.Cause) && containAny(j.kept, tegra):
		return onJetson, ""
	case slices.Contains(ofLoader, d.Cause) && containAny(j.kept, tegra):
		return mountedOnJetson, ""
	case slices.Contains(ofLoader, d.Cause) && len(d.Lines) > 0 && strings.Contains(d.Lines[0].Text, "bazel-out/"):
		return inBazel, ""
	}
	return nil, ""
}

// ofLoader lists the causes for a CUDA library that a loader did not find. mountedOnJetson are the steps for them on a
// Jetson, and inBazel those in a Bazel build.
var (
	ofLoader        = []string{"cuda-library-not-found", "cudnn-not-found"}
	mountedOnJetson = []string{
		"in a container, and in `docker build`, make nvidia docker's default runtime: \"default-runtime\": \"nvidia\" in /etc/docker/daemon.json, then restart docker; it mounts JetPack's CUDA (up to JetPack 5)",
		"on the board itself, and in an image for JetPack 6, install JetPack's own: `sudo apt-get install nvidia-jetpack`",
		"run `ldconfig -p | grep -i -e cuda -e cudnn`: it shows what the loader finds",
	}
	inBazel = []string{
		"hand the path on to what bazel runs, which gets an environment of its own: `--action_env=LD_LIBRARY_PATH --host_action_env=LD_LIBRARY_PATH`",
		"or put the library's directory into a file of /etc/ld.so.conf.d, and run `sudo ldconfig`; `ldconfig -p` then lists it",
		"use the release of bazel that the project's instructions name",
	}
)

// wsl lists marks of a log that was written in WSL2.
var wsl = []string{"microsoft-standard-WSL", "/usr/lib/wsl/", "-WSL2"}

// inWSL lists the steps for an unreachable driver in WSL2. It is the Windows driver, and no module is built for it.
var inWSL = []string{
	"in Windows, install NVIDIA's newest driver, then run `wsl --update` and `wsl --shutdown`",
	"run `ls -l /usr/lib/wsl/lib/libcuda.so.1`: it is Windows' driver; remove a Linux driver that was installed in WSL beside it",
	"a preview of Windows may be without the GPU in WSL: take the release before or after it",
}

// useWindowsDriver returns the steps for an unreachable driver if the log was written in WSL2.
func (j *judging) useWindowsDriver(d *Diagnosis) ([]string, string) {
	if d.Blame == Environment && slices.Contains(unreachableDriver, d.Cause) && containAny(j.kept, wsl) {
		return inWSL, "Programs in WSL2 do not reach the driver, which is that of Windows."
	}
	return nil, ""
}

// unreachableDriver lists the causes of a driver that does not answer.
var unreachableDriver = []string{"driver-not-loaded", "no-driver", "driver-missing", "cuda-init-failed"}

// builtFrom lists programs that are compiled where they run: a mark of the line in which one says that it has no code
// for the GPU, and how to compile it for that GPU.
var builtFrom = []struct {
	mark string
	do   []string
}{
	{"OpenCV(", []string{
		"build OpenCV again with `-DCUDA_ARCH_BIN=X.Y`, the GPU's capability, in an empty build directory",
		"run `nvidia-smi --query-gpu=name,compute_cap --format=csv`: it shows the capability",
		"see that the program loads that build: `ldd PROGRAM | grep opencv`, `python -c 'import cv2; print(cv2.__file__)'`"}},
	{"ggml", []string{
		"build it again for this GPU: `cmake -B build -DGGML_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES=native`, in an empty build directory",
		"or download a release that was built for a CUDA that knows the GPU"}},
}

// rebuildForGPU returns the steps if a program other than PyTorch says that it has no code for the GPU.
func (j *judging) rebuildForGPU(d *Diagnosis) ([]string, string) {
	if d.Cause != "gpu-arch-missing" || len(d.Lines) == 0 {
		return nil, ""
	}
	for _, b := range builtFrom {
		if strings.Contains(d.Lines[0].Text, b.mark) {
			return b.do, ""
		}
	}
	return nil, ""
}
