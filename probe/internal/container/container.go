// Package container reads how a container gets its GPUs: the mounts that carry the driver, the container engines and
// their NVIDIA runtimes, and the CDI specifications.
package container

import (
	"path"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/source"
)

// schedulerMarks lists variables that schedulers set. Only their presence is read.
var schedulerMarks = []struct{ variable, name string }{
	{"SLURM_JOB_ID", "slurm"}, {"SLURM_PROCID", "slurm"}, {"RAY_JOB_ID", "ray"}, {"RAY_RAYLET_PID", "ray"},
	{"LSB_JOBID", "lsf"}, {"PBS_JOBID", "pbs"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "mpi"}, {"PMI_LOCAL_RANK", "mpi"},
}

// Read reads which mounts carry the driver, and which scheduler started this process.
func Read(h *host.Host) (source.Update, error) {
	var c facts.Container
	mounts, err := h.ReadFile("/proc/self/mountinfo")
	if err == nil || host.Absent(err) {
		c.Path, c.Injected = gpuPath(h, host.ParseMounts(string(mounts)))
		c.OwnDevices = ownDevices(h)
		err = nil
	}
	for _, mark := range schedulerMarks {
		if h.Var(mark.variable) != "" && (len(c.Schedulers) == 0 || c.Schedulers[len(c.Schedulers)-1] != mark.name) {
			c.Schedulers = append(c.Schedulers, mark.name)
		}
	}
	return func(f *facts.Facts) { f.Container = c }, err
}

var driverMount = lazyregexp.New(`^(libcuda|libnvidia-ml|libnvidia-ptxjitcompiler)\.so\.`)

// gpuPath returns how the driver came into the container, by what each way leaves: the hook mounts over
// /proc/driver/nvidia, and a CDI specification sets NVIDIA_VISIBLE_DEVICES to void, so that the hook does nothing.
func gpuPath(h *host.Host, mounts []host.Mount) (way string, injected bool) {
	covered := false
	for _, m := range mounts {
		covered = covered || m.Point == "/proc/driver/nvidia"
		injected = injected || driverMount.MatchString(path.Base(m.Point))
	}
	switch {
	case h.ContainerKind() == "":
		return "", injected
	case h.Exists("/dev/dxg"):
		return "wsl", injected
	case covered:
		return "legacy", injected
	case h.Var("NVIDIA_CTK_LIBCUDA_DIR") != "", injected && h.Var("NVIDIA_VISIBLE_DEVICES") == "void":
		return "cdi", injected
	case injected:
		return "mounted", true
	}
	return "", false
}

// ownDevices returns whether /dev is the container's own. Engines create a file system for it. Apptainer, Enroot and -v
// /dev:/dev pass the host's, and engines give a privileged container all of the host's nodes, including those tested
// here.
func ownDevices(h *host.Host) string {
	mount := host.At(h.Mounts(), "/dev")
	switch {
	case mount == nil:
		return ""
	case mount.Kind == "devtmpfs":
		return "no"
	case mount.Kind != "tmpfs":
		return ""
	}
	for _, name := range []string{"/dev/mem", "/dev/cpu_dma_latency", "/dev/vga_arbiter", "/dev/snapshot"} {
		if h.Exists(name) {
			return "no"
		}
	}
	return "yes"
}
