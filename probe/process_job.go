package probe

import (
	"bytes"
	"strconv"
	"strings"
)

// readProcesses reads how long the machine runs, whether this process belongs to a scheduler's job and on how many
// nodes that runs, and whether the driver keeps its GPUs started.
func readProcesses(h *Host, _ Options) (writeFound, error) {
	line, err := h.ReadLine("/proc/uptime") // "350735.47 234388.90"
	if err != nil {
		return nil, err
	}
	first, _, _ := strings.Cut(line, " ")
	uptime, _ := strconv.ParseFloat(first, 64)
	job, nodes := jobOf(h), nodesOf(h)
	persistenced := mayHaveNVIDIA(h) && h.Running("nvidia-persistenced") == "yes"
	return func(f *Facts) {
		f.Machine.Uptime, f.Machine.Job, f.Machine.Nodes, f.Machine.Persistenced = uptime, job, nodes, persistenced
	}, nil
}

// jobVariables are what schedulers set for the processes of a job; only that they are there is kept.
var jobVariables = []struct{ variable, scheduler string }{
	{"SLURM_JOB_ID", "slurm"}, {"SLURM_JOBID", "slurm"}, {"PBS_JOBID", "pbs"}, {"LSB_JOBID", "lsf"},
	{"JOB_ID", "grid-engine"}, {"RAY_JOB_ID", "ray"},
	{"_CONDOR_SLOT", "htcondor"}, {"FLUX_JOB_ID", "flux"}, {"OAR_JOB_ID", "oar"},
}

func jobOf(h *Host) string {
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

// isAdopted reports whether this process is in a control group of Slurm's, as a login by ssh to the node of one's job is.
// It has the job's devices and none of its variables:
//
//	0::/system.slice/slurmstepd.scope/job_88/step_extern/user/task_special
//	5:devices:/slurm/uid_1000/job_88/step_extern
func isAdopted(h *Host) bool {
	groups := h.ReadQuietly("/proc/self/cgroup")
	return bytes.Contains(groups, []byte("/slurmstepd.scope/")) || bytes.Contains(groups, []byte("/slurm/"))
}
