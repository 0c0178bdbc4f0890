package process

import (
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

// TestVariableNames checks that only the names in the contract pass, and none that usually holds a secret.
func TestVariableNames(t *testing.T) {
	h := &host.Host{Env: map[string]string{"CUDA_VISIBLE_DEVICES": "", "NVIDIA_DRIVER_CAPABILITIES": "all",
		"NCCL_DEBUG": "INFO", "LD_PRELOAD": "x.so", "LOCAL_WORLD_SIZE": "8",
		"NVIDIA_API_KEY": "x", "NVIDIA_APIKEY": "x", "NCCL_TOKEN": "x", "CUDA_PASSWORD": "x",
		"AWS_SECRET_ACCESS_KEY": "x", "PATH": "x", "USER": "x", "MY_CUDA_HOME": "x", "HOSTNAME": "x"}}
	apply, err := ReadVariables(h)
	hosttest.Must(t, err)
	var f facts.Facts
	apply(&f)
	want := map[string]string{"CUDA_VISIBLE_DEVICES": "", "NVIDIA_DRIVER_CAPABILITIES": "all", "NCCL_DEBUG": "INFO",
		"LD_PRELOAD": "x.so", "LOCAL_WORLD_SIZE": "8"}
	if diff := cmp.Diff(want, f.Variables); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
