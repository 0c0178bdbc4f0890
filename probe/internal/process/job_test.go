package process

import (
	"path/filepath"
	"testing"

	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"
)

// TestJobGPUsOf reads what says that a job's step has GPUs; the job's own variables are inherited by every step.
func TestJobGPUsOf(t *testing.T) {
	root := t.TempDir()
	hosttest.Write(t, filepath.Join(root, "var/spool/pbs/aux/7.gpu"), "node1-gpu0\n")
	hosttest.Write(t, filepath.Join(root, "var/spool/pbs/aux/8.gpu"), "")
	for _, tt := range []struct{ name, value, want string }{
		{"SLURM_STEP_GPUS", "0,1", "SLURM_STEP_GPUS"},
		{"SLURM_GPUS_ON_NODE", "2", "SLURM_GPUS_ON_NODE"},
		{"SLURM_GPUS_ON_NODE", "0", ""},
		{"SLURM_JOB_GPUS", "0,1", ""},
		{"PBS_GPUFILE", "/var/spool/pbs/aux/7.gpu", "PBS_GPUFILE"},
		{"PBS_GPUFILE", "/var/spool/pbs/aux/8.gpu", ""},
		{"PBS_GPUFILE", "/var/spool/pbs/aux/9.gpu", ""},
	} {
		if got := gpuVariable(&host.Host{Root: root, Env: map[string]string{tt.name: tt.value}}); got != tt.want {
			t.Errorf("%s=%s: %q, want %q", tt.name, tt.value, got, tt.want)
		}
	}
}

func TestNodesOf(t *testing.T) {
	for _, tt := range []struct {
		env  map[string]string
		want int
	}{
		{map[string]string{"WORLD_SIZE": "16", "LOCAL_WORLD_SIZE": "8", "SLURM_JOB_NUM_NODES": "4"}, 2},
		{map[string]string{"WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "8", "SLURM_JOB_NUM_NODES": "4"}, 1},
		{map[string]string{"WORLD_SIZE": "4"}, 0}, // Kubeflow counts pods so
		{map[string]string{"OMPI_COMM_WORLD_SIZE": "9", "OMPI_COMM_WORLD_LOCAL_SIZE": "8"}, 2},
		{map[string]string{"PET_NNODES": "1:4"}, 1},
		{map[string]string{"SLURM_STEP_NUM_NODES": "1", "SLURM_JOB_NUM_NODES": "4"}, 1},
		{map[string]string{"SLURM_JOB_NUM_NODES": "many"}, 0},
		{nil, 0},
	} {
		if got := nodeCount(&host.Host{Env: tt.env}); got != tt.want {
			t.Errorf("%v: %d nodes, want %d", tt.env, got, tt.want)
		}
	}
}
