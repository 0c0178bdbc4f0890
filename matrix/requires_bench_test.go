package matrix

import (
	"testing"

	"cudacompat/probe"
)

// BenchmarkRequires works out what a release and a Dockerfile need of every kind of host.
func BenchmarkRequires(b *testing.B) {
	for name, text := range map[string]string{
		"torch":      "torch==2.9.0\n",
		"Dockerfile": "FROM nvidia/cuda:12.8.1-runtime-ubuntu24.04\nRUN pip install torch==2.9.0 vllm\n",
	} {
		b.Run(name, func(b *testing.B) {
			f, err := probe.Given([]byte(text))
			if err != nil {
				b.Fatal(err)
			}
			t := Embedded()
			for b.Loop() {
				Requires(b.Context(), t, f, "")
			}
		})
	}
}
