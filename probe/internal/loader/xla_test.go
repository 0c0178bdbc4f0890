package loader

import (
	"slices"
	"testing"
)

// TestNVRTCRelease checks what the number of an NVRTC says about its CUDA: all from 11.2 to 11.8 have the soname of
// 11.2.
func TestNVRTCRelease(t *testing.T) {
	for version, want := range map[string]string{"12.8.93": "12.8", "11.8.89": "11.8", "13.0.88": "13.0",
		"11.1": "11.1", "11.2": "", "12": "", "": "", "10.2.89": ""} {
		got := ""
		if m := nvrtcRelease.FindStringSubmatch(version); m != nil {
			got = m[1] + m[2]
		}
		if got != want {
			t.Errorf("NVRTC %q is of CUDA %q, want %q", version, got, want)
		}
	}
}

func TestParseJAXPreloads(t *testing.T) {
	const init = `def _load_nvidia_libraries():
  _load("cublas", ["libcublas.so.12", "libcublasLt.so.12"])
  _load("cudnn", ["libcudnn.so.9"])
    _load("deeper", ["libdeeper.so.1"])
  _load(name, ["libother.so.1"])
  _load("nothing", [])
`
	want := []string{"cublas/lib/libcublas.so.12", "cublas/lib/libcublasLt.so.12", "cudnn/lib/libcudnn.so.9"}
	if got := parseJAXPreloads([]byte(init)); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
