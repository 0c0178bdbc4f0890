// Package distname knows what the name and version of a Python distribution mean, wherever they were read: in an
// environment, a lock file or a pasted report.
package distname

import (
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
)

// Names are distributions' names, or patterns of path.Match. Every distribution of an environment is compared with
// them.
type Names []string

// Match reports whether a name is one of them.
func (n Names) Match(name string) bool {
	return slices.ContainsFunc(n, func(pattern string) bool {
		literal, _, isPattern := strings.Cut(pattern, "*")
		if !isPattern || !strings.HasPrefix(name, strings.TrimSuffix(literal, "[0-9]")) {
			return name == pattern
		}
		ok, _ := path.Match(pattern, name) // a test holds that every pattern is sound
		return ok
	})
}

// Companions are the distributions that matter beside a framework. Everything else in an environment is private.
var Companions = Names{"nvidia-*", "cuda-*", "torch", "torchvision", "torchaudio", "triton", "pytorch-triton", "numpy", "protobuf",
	"tensorflow*", "tf-nightly*", "jax", "jaxlib", "jax-cuda[0-9]*-plugin", "jax-cuda[0-9]*-pjrt", "flash-attn",
	"xformers", "bitsandbytes", "vllm", "deepspeed", "onnxruntime", "onnxruntime-gpu", "cupy-cuda*", "ctranslate2",
	"transformer-engine*"}

// Reported are the distributions that environment reports and people name in a line of their own, "vllm: 0.10.2".
var Reported = Names{"torchvision", "torchaudio", "torchcodec", "torchao", "triton", "numpy", "vllm", "sglang", "sgl-kernel", "sglang-kernel",
	"flashinfer", "flashinfer-python", "flash-attn", "xformers", "bitsandbytes", "deepspeed", "lmdeploy", "onnxruntime", "onnxruntime-gpu",
	"ctranslate2", "transformer-engine", "faiss-gpu", "faiss-gpu-cu11", "faiss-gpu-cu12", "llama-cpp-python", "tensorrt", "tensorrt-llm"}

// Normal returns PEP 503's form of a distribution's name: each run of "-", "_" and "." is one hyphen.
func Normal(name string) string {
	normal := []byte(strings.ToLower(name))
	n := 0
	for _, c := range normal {
		if c == '_' || c == '.' {
			c = '-'
		}
		if c != '-' || n == 0 || normal[n-1] != '-' {
			normal[n] = c
			n++
		}
	}
	return string(normal[:n])
}

// JAXPlugin matches the distributions that bring CUDA to JAX, and the CUDA family that they are for.
var JAXPlugin = lazyregexp.New(`^jax-cuda(\d+)-plugin$`)

// PipName returns pip's name for one of conda's packages.
func PipName(name string) string {
	if twin := condaTwins[name]; twin != "" {
		return twin
	}
	return Normal(name)
}

// condaTwins are conda's names for what pip calls otherwise.
var condaTwins = map[string]string{"pytorch": "torch", "pytorch-gpu": "torch", "tensorflow-base": "tensorflow"}

// JAXPart matches what a JAX is made of.
var JAXPart = lazyregexp.New(`^jax(lib|-cuda\d+-(plugin|pjrt))?$`)
