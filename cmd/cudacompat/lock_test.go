package main

import (
	"strings"
	"testing"
)

// TestCheckFiles judges the builds that a file would install, on a p5.48xlarge with driver 535.183.01.
func TestCheckFiles(t *testing.T) {
	cu130, cu126 := "--index-url https://download.pytorch.org/whl/cu130\n",
		"--index-url https://download.pytorch.org/whl/cu126\n"
	uv := "version = 1\n\n[[package]]\nname = \"torch\"\nversion = \"2.9.0+cu130\"\nsource = { registry = " +
		"\"https://download.pytorch.org/whl/cu130\" }\n"
	pylock := "lock-version = \"1.0\"\n\n[[packages]]\nname = \"torch\"\nversion = \"2.9.0+cu130\"\nindex = " +
		"\"https://download.pytorch.org/whl/cu130\"\n"
	for _, c := range []struct {
		name, file string
		code       int
		line       string // of -o line
	}{
		{"from-cu130", cu130 + "torch==2.9.0\n", 1, "FAIL driver-too-old"},
		{"from-cu126", cu126 + "torch==2.9.0\n", 0, "OK "},
		{"from-the-installers-index", "torch==2.9.0\n", 0, "OK "},                        // cu128
		{"newer-from-the-installers-index", "torch==2.11.0\n", 1, "FAIL driver-too-old"}, // cu130
		{"unpinned", "torch>=2.5\n", 3, "UNKNOWN"},
		{"unpinned-from-cu130", cu130 + "torch>=2.5\n", 1, "FAIL driver-too-old"},
		{"companion-of-another", cu126 + "torch==2.9.0\ntorchvision==0.19.0\n", 1, "FAIL companion-mismatch"},
		{"uv-lock", uv, 1, "FAIL driver-too-old"},
		{"uv-lock-cu126", strings.ReplaceAll(uv, "cu130", "cu126"), 0, "OK "},
		{"pylock", pylock, 1, "FAIL driver-too-old"},
		{"pylock-cu126", strings.ReplaceAll(pylock, "cu130", "cu126"), 0, "OK "},
		{"jax-cuda13", "jax[cuda13]==0.9.0\n", 1, "FAIL driver-too-old"},
		{"jax-cuda12", "jax[cuda12]==0.9.0\n", 0, "OK "},
		{"tensorflow", "tensorflow[and-cuda]==2.16.2\n", 0, "OK "},
		{"tensorflow-of-newer-ptx", "tensorflow[and-cuda]==2.18.0\n", 1, "FAIL ptx-newer-than-driver"},
		{"cpu", "--index-url https://download.pytorch.org/whl/cpu\ntorch==2.9.0\n", 1, "FAIL cpu-only-build"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := runs(t, c.file, "check", "-", "--instance", "p5.48xlarge", "--driver", "535.183.01", "-o", "line")
			if got.code != c.code || !strings.HasPrefix(got.out, c.line) {
				t.Errorf("exit %d, want %d and %q: %s%s", got.code, c.code, c.line, got.out, got.err)
			}
		})
	}
}

// TestCheckBrokenLock checks that the error names the place in the file.
func TestCheckBrokenLock(t *testing.T) {
	got := runs(t, "lock-version = \"1.0\"\n[[packages]\n", "check", "-")
	if got.code != 64 || !strings.Contains(got.err, "line 2") {
		t.Errorf("exit %d: %s", got.code, got.err)
	}
}
