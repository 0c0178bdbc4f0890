package toolkit

import (
	"regexp"
	"testing"
)

var cudaVersion = regexp.MustCompile(`^\d+\.\d+(\.\d+)?$`)

func FuzzToolkitVersions(f *testing.F) {
	f.Add([]byte(`{"cuda":{"name":"CUDA SDK","version":"11.8.20220929"}}`))
	f.Add([]byte("CUDA Version 10.2.89\n"))
	f.Add([]byte("#define CUDA_VERSION 12040\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, got := range []string{parseVersionJSON(data), parseVersionTxt(data), parseCUDAHeader(data)} {
			if got != "" && !cudaVersion.MatchString(got) {
				t.Errorf("%q", got)
			}
		}
	})
}

func TestToolkitVersions(t *testing.T) {
	for _, tt := range []struct {
		name, data string
		parse      func([]byte) string
		want       string
	}{
		{"json", `{"cuda" : {"name" : "CUDA SDK", "version" : "12.4.1"}, "nvidia_driver" : {"version" : "550.54.15"}}`,
			parseVersionJSON, "12.4.1"},
		{"json-date", `{"cuda":{"version":"11.8.20220929"},"cuda_nvcc":{"version":"11.8.89"}}`, parseVersionJSON,
			"11.8"},
		{"json-two-parts", `{"cuda":{"version":"13.0"}}`, parseVersionJSON, "13.0"},
		{"json-without-cuda", `{"cuda_nvcc":{"version":"11.8.89"}}`, parseVersionJSON, ""},
		{"json-other-shape", `{"cuda":"12.4.1"}`, parseVersionJSON, ""},
		{"json-cut", `{"cuda":{"version":"12.4.1"`, parseVersionJSON, ""},
		{"json-huge", `{"cuda":{"version":"12.4.99999999999999999999"}}`, parseVersionJSON, "12.4"},
		{"txt", "CUDA Version 10.2.89\n", parseVersionTxt, "10.2.89"},
		{"txt-patch", "CUDA Version 10.1.105\nCUDA Patch Version 10.1.1\n", parseVersionTxt, "10.1.105"},
		{"txt-other", "CUDA 10.2.89\n", parseVersionTxt, ""},
		{"header", "/* The API version */\n#define CUDA_VERSION 12040\n", parseCUDAHeader, "12.4"},
		{"header-13", "#define CUDA_VERSION 13010\r\n", parseCUDAHeader, "13.1"},
		{"header-spaces", "#define  CUDA_VERSION\t11080  /* 11.8 */\n", parseCUDAHeader, "11.8"},
		{"header-old", "#define CUDA_VERSION 9020\n", parseCUDAHeader, "9.2"},
		{"header-no-version", "#define CUDA_VERSION 4\n", parseCUDAHeader, ""},
		{"header-overflow", "#define CUDA_VERSION 99999999999999999999999\n", parseCUDAHeader, ""},
		{"header-other", "#if CUDA_VERSION > 12040\n", parseCUDAHeader, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.parse([]byte(tt.data)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
