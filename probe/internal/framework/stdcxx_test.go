package framework

import (
	"path/filepath"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

// TestStandardLibrary checks a C++ library that has what torch needs, an older one through LD_LIBRARY_PATH, and Conda's
// through its interpreter's run path.
func TestStandardLibrary(t *testing.T) {
	const site = "opt/conda/lib/python3.12/site-packages/"
	root := t.TempDir()
	versions := func(text string) string {
		file := filepath.Join(t.TempDir(), "versions")
		hosttest.Write(t, file, text)
		return "-Wl,--version-script=" + file
	}
	script := versions("GLIBCXX_3.4.29 { global: *; };\n")
	newer := versions("GLIBCXX_3.4.29 { global: old; };\nGLIBCXX_3.4.30 { global: fresh; };\n")
	hosttest.Compile(t, root,
		hosttest.Library{Name: "opt/conda/lib/libstdc++.so.6",
			Source: "int old(void) { return 0; }\nint fresh(void) { return 1; }\n", Flags: []string{newer}},
		hosttest.Library{Name: "usr/lib64/libstdc++.so.6", Source: "int old(void) { return 0; }\n",
			Flags: []string{script}},
		hosttest.Library{Name: site + "torch/lib/libtorch_global_deps.so", Source: ""},
		hosttest.Library{Name: site + "torch/lib/libtorch_cuda.so",
			Source: "int fresh(void); int torch(void) { return fresh(); }\n",
			Needs:  []string{"opt/conda/lib/libstdc++.so.6"}},
		hosttest.Library{Name: "lib64/ld-linux-x86-64.so.2", Source: ""},
		hosttest.Library{Name: "opt/conda/bin/python3", Source: "",
			Flags: []string{"-Wl,--disable-new-dtags,-rpath,$ORIGIN/../lib",
				"-Wl,--dynamic-linker=/lib64/ld-linux-x86-64.so.2"}})
	hosttest.Write(t, filepath.Join(root, site+"torch/version.py"),
		"__version__ = '2.8.0'\ncuda: Optional[str] = '12.8'\n")
	hosttest.Write(t, filepath.Join(root, site+"torch-2.8.0.dist-info/METADATA"), "Name: torch\nVersion: 2.8.0\n")
	lacks := func(reason string) *facts.Stdcxx {
		return &facts.Stdcxx{Path: "/usr/lib64/libstdc++.so.6", Reason: reason, Missing: []string{"GLIBCXX_3.4.30"},
			By: "/" + site + "torch/lib/libtorch_cuda.so"}
	}
	for _, tt := range []struct {
		name, libraryPath string
		conda             bool
		want              *facts.Stdcxx
	}{
		{"system", "", false, lacks("default path")},
		{"library-path", "/opt/conda/lib", false,
			&facts.Stdcxx{Path: "/opt/conda/lib/libstdc++.so.6", Reason: "LD_LIBRARY_PATH"}},
		{"conda", "", true, &facts.Stdcxx{Path: "/opt/conda/lib/libstdc++.so.6",
			Reason: "DT_RPATH of /opt/conda/bin/python3"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.conda {
				hosttest.Write(t, filepath.Join(root, "opt/conda/conda-meta/python-3.12.3-h1_0.json"), "{}")
			}
			h := &host.Host{Root: root, Env: map[string]string{"LD_LIBRARY_PATH": tt.libraryPath}}
			found, err := Read(h, []string{"/opt/conda"})
			hosttest.Must(t, err)
			var f facts.Facts
			f.Environments = found.Environments
			if diff := cmp.Diff(tt.want, f.Environments[0].Builds[0].Stdcxx); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
