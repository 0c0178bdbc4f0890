package distname

import (
	"path"
	"testing"
)

func TestNames(t *testing.T) {
	for name, want := range map[string]bool{"nvidia-cublas-cu12": true, "torch": true, "torchtext": false, "nvidia": false,
		"jax-cuda12-plugin": true, "jax-cuda13-pjrt": true, "jax-cuda-plugin": false, "jax-rocm7-plugin": false,
		"tensorflow": true, "tensorflow-cpu": true, "tf-nightly": true, "flash-attn": true, "numpy": true, "numpydoc": false,
		"transformer-engine-cu12": true, "transformers": false, "cupy-cuda12x": true, "cupy": false, "": false} {
		if got := Companions.Match(name); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
	for _, pattern := range Companions {
		if _, err := path.Match(pattern, ""); err != nil {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}

// TestNormal checks PEP 503's own examples, and names as files write them.
func TestNormal(t *testing.T) {
	for name, want := range map[string]string{"friendly-bard": "friendly-bard", "Friendly-Bard": "friendly-bard",
		"FRIENDLY-BARD": "friendly-bard", "friendly.bard": "friendly-bard", "friendly_bard": "friendly-bard",
		"friendly--bard": "friendly-bard", "FrIeNdLy-._.-bArD": "friendly-bard", "_x_": "-x-", "": "", "é.Ö": "é-ö"} {
		if got := Normal(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
