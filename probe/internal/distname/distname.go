// Package distname knows what the name and the version of a Python distribution tell, wherever they were read: in an
// environment, in a lock, in a pasted report.
package distname

import (
	"strings"

	"cudacompat/internal/lazyregexp"
)

// Companions are the distributions worth knowing beside a framework; everything else in an environment is private.
var Companions = lazyregexp.New(`^(nvidia-.*|cuda-.*|torch|torchvision|torchaudio|triton|pytorch-triton|numpy|` +
	`tensorflow.*|tf-nightly.*|jax|jaxlib|jax-cuda\d+-(plugin|pjrt)|flash-attn|xformers|bitsandbytes|vllm|deepspeed|` +
	`onnxruntime-gpu|cupy-cuda.*|ctranslate2|transformer-engine.*)$`)

var nameSeparators = lazyregexp.New(`[-_.]+`)

// Normal is PEP 503's form of a distribution's name.
func Normal(name string) string {
	return nameSeparators.ReplaceAllString(strings.ToLower(name), "-")
}

// JAXPlugin matches the distributions that bring CUDA to JAX, and the CUDA family that they are for.
var JAXPlugin = lazyregexp.New(`^jax-cuda(\d+)-plugin$`)
