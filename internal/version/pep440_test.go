package version

import "testing"

// TestCompiled: local versions as the projects' own release pages have them.
func TestCompiled(t *testing.T) {
	for text, want := range map[string][2]string{
		"2.8.3+cu12torch2.8cxx11abiTRUE": {"12", "2.8"}, "2.1.2+pt28cu128": {"12.8", "2.8"},
		"0.21.0+torch280cu128": {"12.8", "2.8"}, "2.1.2+pt210cu128": {"12.8", "2.10"}, "2.1.1+pt113cu117": {"11.7", "1.13"},
		"2.2.0+cu128torch2.8.0.post3": {"12.8", "2.8"}, "2.9.0+cu126": {"", ""}, "2.8.3": {"", ""},
		"2.1.2+pt25cpu": {"", "2.5"}, "0.21.1+torch2100cu130": {"13.0", "2.10"},
	} {
		r, ok := ParseRelease(text)
		cuda, torch := r.Compiled()
		if !ok || cuda.String() != want[0] || torch.String() != want[1] {
			t.Errorf("%s: CUDA %q, PyTorch %q, want %q", text, cuda, torch, want)
		}
	}
}
