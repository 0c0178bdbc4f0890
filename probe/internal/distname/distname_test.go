package distname

import "testing"

func TestOrigins(t *testing.T) {
	for version, want := range map[string]string{
		"2.9.0+cu130": "wheel", "2.8.0+cpu": "wheel", "2.8.0+rocm6.4": "wheel", "2.8.0+xpu": "wheel",
		"1.13.1+cu117.with.pypi.cudnn": "wheel",
		"2.6.0a0+ecf3bae40a.nv25.1":    "ngc", "2.5.0a0+872d972e41.nv24.08": "ngc", "2.5.0a0+git1234567": "source",
		"2.11.0.dev20251201+cu130": "wheel", "2.7.1": "", "2.7.1-700": "",
		"2.6.0+debian": "distribution",
	} {
		if got := LocalOrigin(version); got != want {
			t.Errorf("LocalOrigin(%q) = %q, want %q", version, got, want)
		}
	}
	for build, want := range map[string]string{"py3.10_cuda12.4_cudnn9.1.0_0": "conda",
		"cuda129_mkl_py312_h5d0eb3e_302": "conda-forge", "cpu_mkl_py312_h0_0": "conda-forge"} {
		if got := CondaOrigin(build); got != want {
			t.Errorf("CondaOrigin(%q) = %q, want %q", build, got, want)
		}
	}
}
