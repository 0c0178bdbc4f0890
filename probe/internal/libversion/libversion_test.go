package libversion

import "testing"

func TestCUDANumber(t *testing.T) {
	for n, want := range map[int]string{12040: "12.4", 13000: "13.0", 10020: "10.2", 9000: "9.0", 12080: "12.8", 0: "",
		-12040: "", 999: "", 1 << 40: ""} {
		if got := CUDA(n); got != want {
			t.Errorf("cudaNumber(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestSonameVersion(t *testing.T) {
	for name, want := range map[string]string{
		"/usr/lib/libcuda.so.535.183.01": "535.183.01", "libnccl.so.2.21.5": "2.21.5", "libcudart.so.11.0": "11.0",
		"libcuda.so.1": "", "libcuda.so": "", "libx.so.1.2.txt": "",
	} {
		if got := InName(name); got != want {
			t.Errorf("sonameVersion(%q) = %q, want %q", name, got, want)
		}
	}
}
