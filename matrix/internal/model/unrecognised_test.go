package model

import "testing"

// TestMeantName tells misspellings from packages that are called so.
func TestMeantName(t *testing.T) {
	for name, want := range map[string]string{"pytorch": "torch", "tourch": "torch", "troch": "torch", "vlm": "vllm", "vlmm": "vllm",
		"flashattn": "flash-attn", "flash-atn": "flash-attn", "tensorflw": "tensorflow", "torch": "", "vllm": "", "torchx": "", "llm": "",
		"fastapi": "", "joblib": "", "openai": "", "max": "", "ajax": "", "jax": "", "touch": "", "torchvision": "", "flash-attn": ""} {
		if got := meantName(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
