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

// Read reads how long the machine runs, whether this process belongs to a scheduler's job and on how many
// nodes that runs, and whether the driver keeps its GPUs started.
func Read(h *host.Host) (source.Update, error) {
	line, err := h.ReadLine("/proc/uptime") // "350735.47 234388.90"
	if err != nil {
		return nil, err
	}
	first, _, _ := strings.Cut(line, " ")
	uptime, _ := strconv.ParseFloat(first, 64)
	job, nodes, jobGPUs := jobOf(h), nodesOf(h), jobGPUsOf(h)
	persistenced := gpu.MayBePresent(h) && h.Running("nvidia-persistenced") == "yes"
	return func(f *facts.Facts) {
		f.Machine.Uptime, f.Machine.Job, f.Machine.Nodes, f.Machine.Persistenced = uptime, job, nodes, persistenced
		f.Machine.JobGPUs = jobGPUs
	}, nil
}

// jobVariables are what schedulers set for the processes of a job; only that they are there is kept.
var jobVariables = []struct{ variable, scheduler string }{
	{"SLURM_JOB_ID", "slurm"}, {"SLURM_JOBID", "slurm"}, {"PBS_JOBID", "pbs"}, {"LSB_JOBID", "lsf"},
	{"JOB_ID", "grid-engine"}, {"RAY_JOB_ID", "ray"},
	{"_CONDOR_SLOT", "htcondor"}, {"FLUX_JOB_ID", "flux"}, {"OAR_JOB_ID", "oar"},
}

func jobOf(h *host.Host) string {
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

// jobGPUsOf returns the variable by which a job's step says that it has GPUs, "" if none does. A job's own variables
// (SLURM_JOB_GPUS) are not read: every step inherits them, also one that was started with --gres=none. PBS_GPUFILE names
// a file with a line for each GPU.
func jobGPUsOf(h *host.Host) string {
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

// isAdopted reports whether this process is in a control group of Slurm's, as a login by ssh to the node of one's job is.
// It has the job's devices and none of its variables:
//
//	0::/system.slice/slurmstepd.scope/job_88/step_extern/user/task_special
//	5:devices:/slurm/uid_1000/job_88/step_extern
func isAdopted(h *host.Host) bool {
	groups := h.ReadQuietly("/proc/self/cgroup")
	return bytes.Contains(groups, []byte("/slurmstepd.scope/")) || bytes.Contains(groups, []byte("/slurm/"))
}

// spans are the variables by which launchers and schedulers tell how many nodes a job has: a count, or the number of
// ranks with the number of those on one node. Only the count is kept.
var spans = []struct{ all, local string }{
	{"WORLD_SIZE", "LOCAL_WORLD_SIZE"}, {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
	{"PET_NNODES", ""}, {"SLURM_STEP_NUM_NODES", ""}, {"SLURM_JOB_NUM_NODES", ""},
}

var leadNumber = lazyregexp.New(`^\d{1,6}`)

// nodesOf is how many nodes this process's job has, 0 when nobody says. PET_NNODES may be a range, "1:4".
func nodesOf(h *host.Host) int {
	number := func(name string) int {
		n, _ := strconv.Atoi(leadNumber.FindString(h.Var(name)))
		return n
	}
	for _, s := range spans {
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
