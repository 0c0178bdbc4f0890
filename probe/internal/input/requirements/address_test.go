package requirements

import (
	"testing"
)

// TestAddressName: what an address without a name before it installs.
func TestAddressName(t *testing.T) {
	for address, want := range map[string]string{
		"git+https://github.com/vllm-project/vllm.git":               "vllm",
		"git+https://github.com/Dao-AILab/flash-attention@v2.8.3":    "flash-attention",
		"git+ssh://git@example.com/a/b.git@main#egg=xformers&x=1":    "xformers",
		"https://example.com/flash_attn-2.8.3.tar.gz":                "flash_attn",
		"https://example.com/flash_attn-2.8.3+cu12torch2.8-x.whl#s=": "flash_attn",
		".[dev]": "", "./vllm[audio]": "vllm", "src/apex": "apex", "./vllm/": "vllm", ".": "", "..": "", "../": "", "/src/apex": "apex", "sgl_kernel-0.3.1.zip": "sgl_kernel",
	} {
		if got := addressName(address); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}
