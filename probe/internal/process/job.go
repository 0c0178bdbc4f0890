package process

import (
	"bytes"
	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/gpu"
	"cudacompat/probe/internal/source"
	"strconv"
	"strings"
)

// ReadJob reads how long the machine runs, whether this process belongs to a scheduler's job and on how many nodes that
// runs, and whether the persistence daemon keeps the GPUs initialised.
func ReadJob(h *host.Host) (source.Update, error) {
	line, err := h.ReadLine("/proc/uptime") // "350735.47 234388.90"
	if err != nil {
		return nil, err
	}
	first, _, _ := strings.Cut(line, " ")
	uptime, _ := strconv.ParseFloat(first, 64)
	job, nodes, gpus := scheduler(h), nodeCount(h), gpuVariable(h)
	persistenced := gpu.MayBePresent(h) && h.Running("nvidia-persistenced") == "yes"
	installing := ""
	if gpu.MayBePresent(h) || uptime < firstBootSeconds {
		installing = installer(h)
	}
	return func(f *facts.Facts) {
		f.Machine.Uptime, f.Machine.Job, f.Machine.Nodes, f.Machine.Persistenced = uptime, job, nodes, persistenced
		f.Machine.JobGPUs, f.Machine.Installing = gpus, installing
	}, nil
}

// firstBootSeconds is how many seconds after boot user data may still install a driver for a GPU that is not on the bus
// yet.
const firstBootSeconds = 1800

// installers are the processes that install or build a driver. unattended-upgr waits for a shutdown and always runs, so
// it does not count.
var installers = []string{"dkms", "dpkg", "apt-get", "apt", "rpm", "dnf", "dnf5", "yum", "zypper", "rpm-ostree", "akmods", "nvidia-installer", "cloud-init"}

// installerLocks are the files that a package manager locks while it changes packages.
var installerLocks = []struct{ file, manager string }{
	{"/var/lib/dpkg/lock-frontend", "dpkg"}, {"/var/lib/dpkg/lock", "dpkg"},
	{"/var/lib/rpm/.rpm.lock", "rpm"}, {"/usr/lib/sysimage/rpm/.rpm.lock", "rpm"},
}

// installer returns a process or a package manager that installs or builds a driver now, "" if none was seen. A lock is
// seen where other users' processes are hidden, too.
func installer(h *host.Host) string {
	for _, name := range installers {
		if h.Running(name) == "yes" {
			return name
		}
	}
	locked := lockedInodes(h.ReadQuietly("/proc/locks"))
	if len(locked) == 0 {
		return ""
	}
	for _, lock := range installerLocks {
		if n := inode(h, lock.file); n != 0 && locked[n] {
			return lock.manager
		}
	}
	return ""
}

// writeLock matches a lock that lets nobody else in, with the inode of the file:
//
//	1: POSIX  ADVISORY  WRITE 2711 103:01:258113 0 EOF
var writeLock = lazyregexp.New(`(?m)^\d+: (?:POSIX|FLOCK|OFDLCK) +\S+ +WRITE +-?\d+ +[0-9a-f]+:[0-9a-f]+:(\d+) `)

// lockedInodes returns the inodes in /proc/locks.
func lockedInodes(locks []byte) map[uint64]bool {
	inodes := map[uint64]bool{}
	for _, m := range writeLock.FindAllSubmatch(locks, -1) {
		if n, err := strconv.ParseUint(string(m[1]), 10, 64); err == nil {
			inodes[n] = true
		}
	}
	return inodes
}

// jobVariables lists what schedulers set for the processes of a job. Only their presence is read.
var jobVariables = []struct{ variable, scheduler string }{
	{"SLURM_JOB_ID", "slurm"}, {"SLURM_JOBID", "slurm"}, {"PBS_JOBID", "pbs"}, {"LSB_JOBID", "lsf"},
	{"JOB_ID", "grid-engine"}, {"RAY_JOB_ID", "ray"},
	{"_CONDOR_SLOT", "htcondor"}, {"FLUX_JOB_ID", "flux"}, {"OAR_JOB_ID", "oar"},
}

// scheduler returns the scheduler whose job this process belongs to, or "".
func scheduler(h *host.Host) string {
	for _, v := range jobVariables {
		if h.Var(v.variable) != "" {
			return v.scheduler
		}
	}
	if isAdopted(h) {
		return "slurm"
	}
	return ""
}

// gpuVariable returns the variable that gives a job's step its GPUs, or "". It ignores a job's own variables
// (SLURM_JOB_GPUS), because every step inherits them, even one started with --gres=none. PBS_GPUFILE names a file with
// a line for each GPU.
func gpuVariable(h *host.Host) string {
	if h.Var("SLURM_STEP_GPUS") != "" {
		return "SLURM_STEP_GPUS"
	}
	if n, err := strconv.Atoi(h.Var("SLURM_GPUS_ON_NODE")); err == nil && n > 0 {
		return "SLURM_GPUS_ON_NODE"
	}
	if file := h.Var("PBS_GPUFILE"); strings.HasPrefix(file, "/") {
		if size, err := h.Size(file); err == nil && size > 0 {
			return "PBS_GPUFILE"
		}
	}
	return ""
}

// isAdopted reports whether this process is in one of Slurm's control groups, as an ssh login to the node of one's job
// is. Such a process has the job's devices and none of its variables:
//
//	0::/system.slice/slurmstepd.scope/job_88/step_extern/user/task_special
//	5:devices:/slurm/uid_1000/job_88/step_extern
func isAdopted(h *host.Host) bool {
	groups := h.ReadQuietly("/proc/self/cgroup")
	return bytes.Contains(groups, []byte("/slurmstepd.scope/")) || bytes.Contains(groups, []byte("/slurm/"))
}

// nodeVariables lists the variables in which launchers and schedulers give the number of nodes in a job: a count, or
// the number of ranks and of those on one node. Only the count is kept.
var nodeVariables = []struct{ all, local string }{
	{"WORLD_SIZE", "LOCAL_WORLD_SIZE"}, {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
	{"PET_NNODES", ""}, {"SLURM_STEP_NUM_NODES", ""}, {"SLURM_JOB_NUM_NODES", ""},
}

var leadNumber = lazyregexp.New(`^\d{1,6}`)

// nodeCount returns how many nodes this process's job has, or 0 if no variable says. PET_NNODES may be a range, "1:4".
func nodeCount(h *host.Host) int {
	number := func(name string) int {
		n, _ := strconv.Atoi(leadNumber.FindString(h.Var(name)))
		return n
	}
	for _, s := range nodeVariables {
		all, local := number(s.all), 1
		if s.local != "" {
			local = number(s.local)
		}
		if all > 0 && local > 0 {
			return (all + local - 1) / local
		}
	}
	return 0
}
