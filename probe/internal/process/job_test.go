package process

import (
	"fmt"
	"path/filepath"
	"testing"

	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"
)

// TestJobGPUsOf checks the variables that give a job's step its GPUs. The job's own variables are inherited by every
// step.
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

// TestInstaller recognises an installer by its process, or by its lock if processes are hidden.
func TestInstaller(t *testing.T) {
	root := t.TempDir()
	h := func() *host.Host { return &host.Host{Root: root} }
	hosttest.Write(t, filepath.Join(root, "proc/1/comm"), "systemd\n")
	hosttest.Write(t, filepath.Join(root, "proc/77/comm"), "unattended-upgr\n")
	hosttest.Write(t, filepath.Join(root, "var/lib/dpkg/lock-frontend"), "")
	lock := func(kind string, n uint64) {
		hosttest.Write(t, filepath.Join(root, "proc/locks"), fmt.Sprintf("1: POSIX  ADVISORY  %s 2711 103:01:%d 0 EOF\n2: FLOCK  ADVISORY  WRITE 9 00:19:1 0 EOF\n", kind, n))
	}
	dpkg := inode(h(), "/var/lib/dpkg/lock-frontend")
	lock("WRITE", dpkg+1000000)
	if got := installer(h()); got != "" {
		t.Errorf("another file's lock: %q", got)
	}
	lock("READ ", dpkg)
	if got := installer(h()); got != "" {
		t.Errorf("a lock for reading: %q", got)
	}
	lock("WRITE", dpkg)
	if got := installer(h()); got != "dpkg" {
		t.Errorf("dpkg's lock: %q", got)
	}
	hosttest.Write(t, filepath.Join(root, "proc/88/comm"), "nvidia-installe\n")
	if got := installer(h()); got != "nvidia-installer" {
		t.Errorf("NVIDIA's installer: %q", got)
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
