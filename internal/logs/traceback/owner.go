package traceback

import (
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
)

// plugin matches the directory of a part that a server loads, and checkout that of a known project: a clone, or an
// installation from one. generated matches a source that is not a file, such as what Python generates for a dataclass.
var (
	plugin   = lazyregexp.New(`[/\\](?:custom_nodes|webui[/\\]extensions)[/\\]([^/\\]+)[/\\]`)
	checkout = lazyregexp.New(`(?i)[/\\](vllm|sglang|transformers|diffusers|accelerate|peft|trl|deepspeed|megatron(?:-lm)?|ms-swift|` +
		`swift|llama-?factory|verl|openrlhf|axolotl|unsloth|comfyui|stable-diffusion-webui|text-generation-webui|detectron2|` +
		`mmdetection\w*|mmcv|mmengine|fairseq|nerfstudio|ultralytics|tensorrt[_-]llm|flash-attention|xformers|pytorch|` +
		`agentlightning|lm-evaluation-harness|lm_eval|nemo|text_generation_server|lmdeploy|aphrodite(?:-engine)?|exllamav2|tabbyapi|` +
		`fastchat|invokeai|kohya_ss|sd-scripts|ai-toolkit|ktransformers|mlc-llm|torchtune|litgpt)[/\\]`)
	generatedSource = lazyregexp.New(`^<`)
	cythonSource    = lazyregexp.New(`^[^/\\].*\.px[id]$|^[^/\\]+[/\\].*\.pyx$`) // of a compiled module, as it was built
	generatedKernel = lazyregexp.New(`[/\\]\.cache[/\\](?:torch_extensions[/\\][^/\\]+[/\\])?(\w[\w-]*)[/\\].+\.(?:cuh?|cpp|cc|h)$`)
)

// Project returns the project whose code a call belongs to, unless it is the user's: an installed package, a checkout
// of a known project, or code that Python generated.
func (f Frame) Project() string {
	if owner := f.Owner(); owner != "" {
		return owner
	}
	if m := plugin.FindStringSubmatch(f.Path); m != nil {
		return m[1]
	}
	if m := checkout.FindStringSubmatch(f.Path); m != nil {
		return m[1]
	}
	if m := generatedKernel.FindStringSubmatch(f.Path); m != nil {
		return m[1]
	}
	if generatedSource.MatchString(f.Path) && !strings.HasPrefix(f.Path, "<ipython") || cythonSource.MatchString(f.Path) {
		return "python"
	}
	return ""
}

// between lists the directories that projects have between their own and that of their package.
var between = []string{"python", "src", "lib"}

// Layout returns the project whose directory layout a path has: alpa/alpa/api.py, sglang/python/sglang/srt.
func (f Frame) Layout() string {
	parts := strings.FieldsFunc(f.Path, func(r rune) bool { return r == '/' || r == '\\' })
	for i := 1; i < len(parts)-1; i++ {
		before := i - 1
		if slices.Contains(between, parts[before]) && before > 0 {
			before--
		}
		if strings.EqualFold(strings.ReplaceAll(parts[before], "-", "_"), parts[i]) {
			return parts[i]
		}
	}
	return ""
}

// File returns the name of a call's file, with its directory if the name says nothing.
func (f Frame) File() string {
	parts := strings.FieldsFunc(f.Path, func(r rune) bool { return r == '/' || r == '\\' })
	if n := len(parts); n > 1 && parts[n-1] == "__init__.py" {
		return parts[n-2] + "/" + parts[n-1]
	}
	return parts[max(0, len(parts)-1):][0]
}

// relays are the functions of libraries that only pass on what the call above them asked, and handsOn a call that has
// the arguments of its own function, whatever they are:
//
//	return convert_to_fp32(self.model_forward(*args, **kwargs))
var (
	relays  = lazyregexp.New(`^__getattr|^_(?:wrapped_)?call_impl$|^decorate_context$|^error_handler$`)
	handsOn = lazyregexp.New(`\(\*\w+, \*\*\w+\)`)
)

// OnlyForwards reports whether a call only passes on what the one above it requested.
func (f Frame) OnlyForwards() bool {
	return relays.MatchString(f.Function) || handsOn.MatchString(f.source)
}
