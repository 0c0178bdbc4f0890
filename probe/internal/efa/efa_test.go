package efa

import (
	"os"
	"path/filepath"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

func TestPluginNames(t *testing.T) {
	for _, tt := range []struct {
		value string
		set   bool
		want  []string
	}{
		{"", false, []string{"libnccl-net.so"}},
		{"ofi", true, []string{"ofi", "libnccl-net-ofi.so"}},
		{"libnccl-net-ofi.so", true, []string{"libnccl-net-ofi.so"}},
		{"/opt/a/net.so,spcx", true, []string{"/opt/a/net.so", "spcx", "libnccl-net-spcx.so"}},
		{"None", true, nil},
		{"", true, nil},
	} {
		if diff := cmp.Diff(tt.want, pluginNames(tt.value, tt.set)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.value, diff)
		}
	}
}

// TestPlugin finds it where the loader looks, beside Conda's NCCL, and nowhere.
func TestPlugin(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"usr/lib64/libnccl-net.so", "opt/conda/lib/libnccl-net-ofi.so",
		"opt/aws-ofi-nccl/lib/libnccl-net.so"} {
		hosttest.Must(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		hosttest.Must(t, os.WriteFile(filepath.Join(root, name), hosttest.EmptyLibrary(t), 0o644))
	}
	for _, tt := range []struct {
		env  map[string]string
		want facts.EFA
	}{
		{nil, facts.EFA{Names: []string{"libnccl-net.so"}, Plugin: "/usr/lib64/libnccl-net.so"}},
		{map[string]string{"NCCL_NET_PLUGIN": "ofi", "CONDA_PREFIX": "/opt/conda"},
			facts.EFA{Names: []string{"ofi", "libnccl-net-ofi.so"}, Plugin: "/opt/conda/lib/libnccl-net-ofi.so"}},
		{map[string]string{"NCCL_NET_PLUGIN": "none"}, facts.EFA{Elsewhere: "/opt/aws-ofi-nccl/lib/libnccl-net.so"}},
	} {
		h := &host.Host{Root: root, Rest: true, Env: tt.env}
		apply, err := Read(h)
		hosttest.Must(t, err)
		var f facts.Facts
		apply(&f)
		if diff := cmp.Diff(tt.want, f.Machine.EFA); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.env, diff)
		}
	}
}
