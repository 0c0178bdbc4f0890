package libversion

import (
	"path/filepath"
	"testing"

	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"
)

// TestReadCuDNN reads the version number that a part exports, also for the front library beside it. The numbers are
// those of the wheels 9.10.2.21 and 8.9.2.26.
func TestReadCuDNN(t *testing.T) {
	root := t.TempDir()
	hosttest.Compile(t, root,
		hosttest.Library{Name: "nine/libcudnn.so.9", Source: "int cudnnCreate(void) { return 0; }\n"},
		hosttest.Library{Name: "nine/libcudnn_graph.so.9", Source: "const int cudnn_graph_version = 0x090a02;\n"},
		hosttest.Library{Name: "nine/libcudnn_ops.so.9", Source: "const int cudnn_ops_infer_version = 0x090a02;\n",
			Flags: []string{"-Wl,--hash-style=sysv"}},
		hosttest.Library{Name: "nine/libcudnn_cnn.so.9", Source: "int f(void) { return 0; }\n"},
		hosttest.Library{Name: "eight/libcudnn.so.8", Source: "int cudnnCreate(void) { return 0; }\n"},
		hosttest.Library{Name: "eight/libcudnn_ops_infer.so.8", Source: "int cudnn_ops_infer_version = 0x080902;\n"},
		hosttest.Library{Name: "alone/libcudnn.so.9", Source: "int cudnnCreate(void) { return 0; }\n"},
		hosttest.Library{Name: "wrong/libcudnn_graph.so.9",
			Source: "int cudnn_graph_versions = 1; int x_cudnn_graph_version = 2;\n"})
	hosttest.Write(t, filepath.Join(root, "damaged/libcudnn_graph.so.9"), "\x7fELF\x02\x01\x01")
	for name, want := range map[string]string{
		"nine/libcudnn.so.9": "9.10.2", "nine/libcudnn_graph.so.9": "9.10.2", "nine/libcudnn_ops.so.9": "9.10.2",
		"nine/libcudnn_cnn.so.9": "9.10.2",
		"eight/libcudnn.so.8":    "8.9.2", "alone/libcudnn.so.9": "", "wrong/libcudnn_graph.so.9": "",
		"damaged/libcudnn_graph.so.9": "",
	} {
		got, err := CuDNN((&host.Host{Root: root}).Files(), "/"+name)
		if got != want || (err != nil) != (name == "damaged/libcudnn_graph.so.9") {
			t.Errorf("%s is cuDNN %q (%v), want %q", name, got, err, want)
		}
	}
}
