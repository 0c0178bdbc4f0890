package efa

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

// versioned returns a library that defines a function in the last of its symbol versions, and is linked with others.
func versioned(t *testing.T, name, source string, versions []string, needs ...string) hosttest.Library {
	t.Helper()
	script := filepath.Join(t.TempDir(), "versions")
	var text strings.Builder
	for i, v := range versions {
		symbols := "global: *;"
		if i < len(versions)-1 {
			symbols = ""
		}
		text.WriteString(v + " { " + symbols + " };\n")
	}
	hosttest.Write(t, script, text.String())
	return hosttest.Library{Name: name, Source: source, Needs: needs,
		Flags: []string{"-Wl,--version-script=" + script, "-Wl,--allow-shlib-undefined"}}
}

// TestPluginLacks follows the plugin's dependencies through libfabric and libefa to libibverbs: complete, with an older
// libfabric than the plugin was linked with, with an older libibverbs than libefa needs, and with a missing library.
// libcudart belongs to the program, and no driver of an adapter is opened.
func TestPluginLacks(t *testing.T) {
	root := t.TempDir()
	hosttest.Compile(t, root,
		versioned(t, "usr/lib64/libibverbs.so.1", "void verbs_register(void) {}",
			[]string{"IBVERBS_1.0", "IBVERBS_PRIVATE_34"}),
		versioned(t, "usr/lib64/libefa.so.1", "void verbs_register(void); void efadv(void) { verbs_register(); }",
			[]string{"EFA_1.3"}, "usr/lib64/libibverbs.so.1"),
		versioned(t, "usr/lib64/libfabric.so.1", "void efadv(void); void fi_getinfo(void) { efadv(); }",
			[]string{"FABRIC_1.0", "FABRIC_1.7"}, "usr/lib64/libefa.so.1"),
		hosttest.Library{Name: "build/libcudart.so.12", Source: "void cudaFree(void) {}"},
		hosttest.Library{Name: "usr/lib64/libnccl-net.so",
			Source: "void fi_getinfo(void), cudaFree(void); void ncclNet(void) { fi_getinfo(); cudaFree(); }",
			Needs:  []string{"usr/lib64/libfabric.so.1", "build/libcudart.so.12"}},
		versioned(t, "old/libfabric.so.1", "void fi_getinfo(void) {}", []string{"FABRIC_1.0", "FABRIC_1.6"}),
		versioned(t, "old/libibverbs.so.1", "void verbs_register(void) {}",
			[]string{"IBVERBS_1.0", "IBVERBS_PRIVATE_33"}),
		versioned(t, "hollow/libibverbs.so.1", "void other(void) {}", []string{"IBVERBS_1.0", "IBVERBS_PRIVATE_34"}))
	for _, tt := range []struct {
		name, path, gone string
		want             []facts.Unresolved
	}{
		{name: "whole"},
		{name: "older libfabric", path: "/old", want: []facts.Unresolved{{Version: "FABRIC_1.7", Library: "libfabric.so.1",
			By: "/usr/lib64/libnccl-net.so", Path: "/old/libfabric.so.1", Reason: "LD_LIBRARY_PATH"}}},
		{name: "older rdma-core", path: "/old", gone: "old/libfabric.so.1",
			want: []facts.Unresolved{{Version: "IBVERBS_PRIVATE_34", Library: "libibverbs.so.1",
				By: "/usr/lib64/libefa.so.1", Path: "/old/libibverbs.so.1", Reason: "LD_LIBRARY_PATH"}}},
		{name: "a function is gone", path: "/hollow",
			want: []facts.Unresolved{{Symbol: "verbs_register", Version: "IBVERBS_PRIVATE_34", Library: "libibverbs.so.1",
				By: "/usr/lib64/libefa.so.1", Path: "/hollow/libibverbs.so.1", Reason: "LD_LIBRARY_PATH"}}},
		{name: "nowhere", gone: "usr/lib64/libefa.so.1", want: []facts.Unresolved{{Library: "libefa.so.1",
			By: "/usr/lib64/libfabric.so.1", Reason: "default path"}}},
	} {
		if tt.gone != "" {
			hosttest.Must(t, os.Remove(filepath.Join(root, tt.gone)))
		}
		h := &host.Host{Root: root, Rest: true, Env: map[string]string{"LD_LIBRARY_PATH": tt.path}}
		apply, err := Read(h)
		hosttest.Must(t, err)
		var f facts.Facts
		apply(&f)
		if diff := cmp.Diff(tt.want, f.Machine.EFA.Unresolved); diff != "" || !f.Machine.EFA.Looked {
			t.Errorf("%s: looked %v (-want +got):\n%s", tt.name, f.Machine.EFA.Looked, diff)
		}
	}
}

// TestPluginInConda: in an active Conda environment its interpreter's run path leads to the environment's libfabric; in
// a virtual environment made beside it NCCL still finds the plugin, and the system's libfabric is taken.
func TestPluginInConda(t *testing.T) {
	root := t.TempDir()
	python := hosttest.Library{Name: "opt/conda/bin/python3", Source: "int main(void) { return 0; }",
		Flags: []string{"-Wl,--disable-new-dtags,-rpath,$ORIGIN/../lib"}}
	hosttest.Compile(t, root, python,
		versioned(t, "opt/conda/lib/libfabric.so.1", "void fi_getinfo(void) {}", []string{"FABRIC_1.0", "FABRIC_1.7"}),
		hosttest.Library{Name: "opt/conda/lib/libnccl-net.so", Source: "void fi_getinfo(void);" +
			"void ncclNet(void) { fi_getinfo(); }", Needs: []string{"opt/conda/lib/libfabric.so.1"}},
		versioned(t, "usr/lib64/libfabric.so.1", "void fi_getinfo(void) {}", []string{"FABRIC_1.0", "FABRIC_1.6"}))
	old := []facts.Unresolved{{Version: "FABRIC_1.7", Library: "libfabric.so.1", By: "/opt/conda/lib/libnccl-net.so",
		Path: "/usr/lib64/libfabric.so.1", Reason: "default path"}}
	for venv, want := range map[string][]facts.Unresolved{"": nil, "/opt/venv": old} {
		h := &host.Host{Root: root, Rest: true, Env: map[string]string{"CONDA_PREFIX": "/opt/conda", "VIRTUAL_ENV": venv}}
		apply, err := Read(h)
		hosttest.Must(t, err)
		var f facts.Facts
		apply(&f)
		if diff := cmp.Diff(want, f.Machine.EFA.Unresolved); diff != "" || !f.Machine.EFA.Looked {
			t.Errorf("VIRTUAL_ENV=%q: looked %v (-want +got):\n%s", venv, f.Machine.EFA.Looked, diff)
		}
	}
}
