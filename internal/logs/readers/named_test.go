package readers

import "testing"

func TestDebianPackage(t *testing.T) {
	t.Parallel()
	for soname, want := range map[string]string{"libgomp.so.1": "libgomp1", "libglib-2.0.so.0": "libglib-2.0-0", "libGL.so.1": "libgl1", "libnvvm.so": ""} {
		if got := debianPackage(soname); got != want {
			t.Errorf("%s: %q, want %q", soname, got, want)
		}
	}
}
