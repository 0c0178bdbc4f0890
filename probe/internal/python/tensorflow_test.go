package python

import (
	"regexp"
	"slices"
	"testing"

	"cudacompat/probe/facts"

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
