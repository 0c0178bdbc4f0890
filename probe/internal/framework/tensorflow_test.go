package framework

import (
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

func TestParseBuildInfo(t *testing.T) {
	for _, tt := range []struct {
		name, data string
		want       *facts.Build
	}{
		{"2.20", "import collections\n\n" +
			"build_info = collections.OrderedDict([('cpu_compiler', 'clang 18'), ('cuda_compute_capabilities', " +
			"['sm_60', 'sm_70', 'sm_80', 'sm_89', 'compute_90']), ('cuda_version', '12.5.1'), ('cudnn_version', " +
			"'9'), ('is_cuda_build', True), ('is_rocm_build', False), ('is_tensorrt_build', False)])\n",
			&facts.Build{Name: "tensorflow", Accelerator: "cuda", CUDA: "12.5.1", CuDNN: "9",
				SASS: []string{"sm_60", "sm_70", "sm_80", "sm_89", "sm_90"}, PTX: []string{"compute_90"}}},
		{"dictionary", `build_info = {"cuda_version": "11.2", "cudnn_version": "8", "is_cuda_build": True, ` +
			`"is_rocm_build": False}`,
			&facts.Build{Name: "tensorflow", Accelerator: "cuda", CUDA: "11.2", CuDNN: "8"}},
		{"cpu", "build_info = collections.OrderedDict([('is_cuda_build', False), ('is_rocm_build', False), " +
			"('is_tensorrt_build', False)])\n",
			&facts.Build{Name: "tensorflow", Accelerator: "cpu"}},
		{"rocm", "build_info = collections.OrderedDict([('is_cuda_build', False), ('is_rocm_build', True)])\n",
			&facts.Build{Name: "tensorflow", Accelerator: "rocm"}},
		{"1.15", "is_rocm_build = False\nis_cuda_build = True\n\ncuda_version_number = '10'\ncudnn_version_number = '7'\n",
			&facts.Build{Name: "tensorflow", Accelerator: "cuda", CUDA: "10", CuDNN: "7"}},
		{"cut", "build_info = collections.OrderedDict([('cuda_version', '12.5.1'), ('is_cuda_build', Tr", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseBuildInfo([]byte(tt.data))
			if diff := cmp.Diff(tt.want, got); diff != "" || (err == nil) != (tt.want != nil) {
				t.Errorf("%v; -want +got:\n%s", err, diff)
			}
		})
	}
}

var sassName = regexp.MustCompile(`^sm_\d+[af]?$`)

func FuzzParseBuildInfo(f *testing.F) {
	f.Add([]byte("build_info = collections.OrderedDict([('cuda_compute_capabilities', ['sm_60', 'compute_90']), " +
		"('cuda_version', '12.5.1'), ('cudnn_version', '9'), ('is_cuda_build', True), ('is_rocm_build', False)])"))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := parseBuildInfo(data)
		if (b == nil) == (err == nil) {
			t.Fatalf("%+v, %v", b, err)
		}
		if b != nil && slices.ContainsFunc(b.SASS, func(s string) bool { return !sassName.MatchString(s) }) {
			t.Errorf("SASS %q", b.SASS)
		}
	})
}

// TestProtobufOfTensorflow checks the METADATA lines of 2.20.0 and 2.15.1 with protobuf releases below, in and above
// their ranges. Only the lower bound counts.
func TestProtobufOfTensorflow(t *testing.T) {
	const old = "Requires-Dist: protobuf (!=4.21.0,!=4.21.1,!=4.21.2,!=4.21.3,!=4.21.4,!=4.21.5,<5.0.0dev,>=3.20.3)\n"
	for _, c := range []struct{ requires, protobuf, want string }{
		{"Requires-Dist: protobuf>=5.28.0\n", "4.25.8", "protobuf>=5.28.0"},
		{"Requires-Dist: protobuf>=5.28.0\n", "5.28.3", ""},
		{"Requires-Dist: protobuf>=5.28.0\n", "7.34.0", ""},
		{old, "3.19.6", "protobuf>=3.20.3"},
		{old, "3.20.0", ""},
		{old, "5.29.5", ""},
		{"Requires-Dist: protobuf>=5.28.0\n", "", ""},
	} {
		root := t.TempDir()
		files := map[string]string{
			"tensorflow/python/platform/build_info.py": "build_info = collections.OrderedDict([('is_cuda_build', False)])\n",
			"tensorflow-2.20.0.dist-info/METADATA":     "Name: tensorflow\nVersion: 2.20.0\n" + c.requires,
		}
		if c.protobuf != "" {
			files["protobuf-"+c.protobuf+".dist-info/METADATA"] = "Name: protobuf\n"
		}
		for name, text := range files {
			hosttest.Write(t, filepath.Join(root, hosttest.Site+name), text)
		}
		hosttest.Write(t, filepath.Join(root, "opt/venv/pyvenv.cfg"), "version = 3.12.3\n")
		found, err := Read(&host.Host{Root: root}, []string{"/opt/venv"})
		if err != nil || len(found.Environments[0].Builds) != 1 {
			t.Fatalf("%v, builds are %+v", err, found.Environments[0].Builds)
		}
		got := ""
		for _, h := range found.Environments[0].Builds[0].Hindrances {
			if h.Kind == facts.HindranceRelease && h.Of == "protobuf "+c.protobuf {
				got = h.By
			}
		}
		if got != c.want {
			t.Errorf("%s beside %s: %q, want %q", c.requires, c.protobuf, got, c.want)
		}
	}
}
