package process

import (
	"testing"

	"cudacompat/probe/host"
)

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
		if got := nodesOf(&host.Host{Env: tt.env}); got != tt.want {
			t.Errorf("%v: %d nodes, want %d", tt.env, got, tt.want)
		}
	}
}
