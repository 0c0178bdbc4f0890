package toolkit

import "testing"

func FuzzParseDefines(f *testing.F) {
	f.Add([]byte("#define NCCL_MAJOR 2\n#define NCCL_MINOR 21\n#define NCCL_PATCH 5\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		parseDefines(data, ncclDefines)
	})
}

func TestParseDefines(t *testing.T) {
	nccl := "#define NCCL_MAJOR 2\n#define NCCL_MINOR 21\n#define NCCL_PATCH 5\n#define NCCL_SUFFIX \"\"\n"
	cudnn := "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 1\n#define CUDNN_PATCHLEVEL 0\n" +
		"#define CUDNN_VERSION (CUDNN_MAJOR * 10000)\n"
	if got := parseDefines([]byte(nccl), ncclDefines); got != "2.21.5" {
		t.Errorf("nccl.h is %q", got)
	}
	if got := parseDefines([]byte(cudnn), cudnnDefines); got != "9.1.0" {
		t.Errorf("cudnn_version.h is %q", got)
	}
	if got := parseDefines([]byte(nccl[:40]), ncclDefines); got != "" {
		t.Errorf("a header that was cut off is %q", got)
	}
}
