package triage

import (
	"cmp"
	"strings"

	"cudacompat/internal/lazyregexp"
)

// frame is one call of a traceback. The line is empty where only the source around it is shown; a cell has only itself.
type frame struct{ path, line, function string }

// frameLine is a call as Python prints it, and as IPython does:
//
//	File "/opt/venv/lib/python3.11/site-packages/torch/cuda/__init__.py", line 310, in _lazy_init
//	File ~/venv/lib/python3.10/site-packages/accelerate/launchers.py:87, in notebook_launcher(function, args)
//	/opt/conda/lib/python3.7/site-packages/torch/nn/modules/module.py in _call_impl(self, *input)
//	│ /usr/src/server/text_generation_server/utils/weights.py:275 in get_sharded   │
//
// A cell of a notebook has no file:
//
//	Cell In[7], line 1
//	Input In [181], in <cell line: 6>()
//	c:\project\run.ipynb Cell 10 line 4
var frameLine = lazyregexp.New(`^ *File (?:"([^"]+)", line (\d+)(?:, in (\S+))?|` +
	`((?:[A-Za-z]:)?[^\s:"][^:"]*):(\d+)(?:, in (?:[\w<>]+\.)*([\w<>]+))?)|` +
	`^(?:│ )?(\S+\.pyx?|<ipython-input-[\w-]+>|<timed \w+>)(?::(\d+))? in (\w+|<[\w: ]+>|\?)(?:\(| |$)|` +
	`^(?:(?:Cell|Input) In ?\[\d+\], (?:line \d+|in <[\w: ]+>)|(?:[A-Za-z]:)?[^:"]*\.ipynb Cell \d+ line \d)`)

// raised is the line on which a traceback ends. Of what stands before the class, its module is dropped.
//
//	torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB
var raised = lazyregexp.New(`^(?:\[[^\]]*\]:? *)?(?:Original error: |Exception: |(?:LoadError: )+|` +
	`UnhandledException: )?(?:(?:[A-Za-z_]\w*\.)*([A-Z]\w*(?:Error|Exception|Exit|Interrupt|Iteration|Timeout|` +
	`Failure|Died|NotFound|Mismatch|Closed))(?:: ?(.*))?$|` +
	`(?:[a-z_]\w*\.)+([A-Z]\w+): (.*)|(?:[A-Za-z_]\w*\.)*([A-Z]\w*Error)\(['"](.*)['"],?\)$)`)

// thrown is how programs in other languages end: C++ (what():), Rust, Go, Java, .NET.
var thrown = lazyregexp.New(`^ *what\(\): +(?P<message>.+)|thread '[^']*' panicked at '(?P<rust>[^']+)'|` +
	`thread '[^']*'(?: \(\d+\))? panicked at [^']\S*:$|^Fatal error:$|^panic: ` +
	`(?P<go>.+)|` +
	`^(?:Exception in thread "[^"]*"|Caused by:|Unhandled [Ee]xception[.:]) (?:[\w$]+\.)*(?P<class>\w+)(?:: (?P<jav` +
	`a>.*))?`)

// worker is how vLLM passes on what one of its processes said.
var worker = lazyregexp.New(`^Worker failed with error ['"](.*)['"],? please check`)

// halved is what a text says twice; empty when it does not.
func halved(text string) string {
	if half := text[:len(text)/2]; half+half == text {
		return half
	}
	return ""
}

// exception is the record of an exception's last line, in a traceback or quoted without it.
func exception(l logLine) *record {
	text := message(l.text)
	class, said := "", ""
	if m := raised.FindStringSubmatch(text); m != nil {
		class, said = m[1]+m[3]+m[5], m[2]+m[4]+m[6]
	} else if m := thrown.FindStringSubmatch(text); m != nil {
		class, said = cmp.Or(m[4], "exception"), m[1]+m[2]+m[3]+m[5]
	} else {
		return nil
	}
	if once := halved(class); once != "" { // of two processes that wrote at once
		class, said = once, cmp.Or(halved(strings.TrimPrefix(said, ": ")), said)
	}
	if m := worker.FindStringSubmatch(said); m != nil {
		said = m[1]
	}
	return &record{kind: "exception", slots: map[string]string{"class": class, "message": strings.TrimSpace(said)},
		line: l.number, text: l.text, notice: informs(l.text)}
}

// tracebacks are the calls of every traceback, by the number of the line on which it ends.
func tracebacks(lines []logLine) map[int][]frame {
	calls := map[int][]frame{}
	for i := 0; i < len(lines); i++ {
		if strings.Contains(lines[i].text, "Traceback (most recent call last)") {
			frames, end := traceback(lines[i+1:])
			if end >= 0 {
				calls[lines[i+1+end].number] = frames
			}
		}
	}
	return calls
}

// maxStrange is how many lines may stand between two calls: IPython and Rich show the source around each.
const maxStrange = 24

// traceback reads the calls below a traceback's first line and says on which line it ends; -1 when it does not. Under a
// call stands its source, which may look like anything.
func traceback(lines []logLine) (frames []frame, end int) {
	strange := 0
	for i := 0; i < len(lines) && strange < maxStrange; i++ {
		text := lines[i].text
		if m := frameLine.FindStringSubmatch(text); m != nil {
			frames = append(frames, frame{m[1] + m[4] + m[7], m[2] + m[5] + m[8], m[3] + m[6] + m[9]})
			strange = 0
			continue
		}
		if strings.Contains(text, "Traceback (most recent call last)") {
			return nil, -1
		}
		if raised.MatchString(message(text)) {
			return frames, i
		}
		strange++
	}
	return nil, -1
}

// installed is the directory of a distribution in a path, or of a model's own code that was downloaded with it.
var installed = lazyregexp.New(`(?:(?:site|dist)-packages|[/\\]torch[/\\]hub)[/\\]([^/\\]+)|` +
	`[/\\](transformers_modules)[/\\]`)

// pythonsOwn is where Python keeps its own library, and eggName the name of a distribution whose directory holds more.
var (
	pythonsOwn = lazyregexp.New(`lib(?:64)?/python\d|(?i:[\\/]lib[\\/][^\\/]+\.py$|[\\/]lib[\\/](?:asyncio|` +
		`importlib|multiprocessing|concurrent|json|subprocess|unittest)[\\/])|^<frozen`)
	eggName = lazyregexp.New(`^[\w]+`)
)

// owner is the package that a call belongs to: "python" for its own library, empty for the program itself.
func (f frame) owner() string {
	if m := installed.FindStringSubmatch(f.path); m != nil {
		return eggName.FindString(m[1] + m[2])
	}
	if pythonsOwn.MatchString(f.path) {
		return "python"
	}
	return ""
}

// checkout is the directory of a known project in a path: a clone of it, or an installation from one. Generated is a source
// that is no file: what Python makes of a dataclass.
var (
	checkout = lazyregexp.New(`(?i)[/\\](vllm|sglang|transformers|diffusers|accelerate|peft|trl|deepspeed|megatron(?:-lm)?|ms-swift|` +
		`swift|llama-?factory|verl|openrlhf|axolotl|unsloth|comfyui|stable-diffusion-webui|text-generation-webui|detectron2|` +
		`mmdetection\w*|mmcv|mmengine|fairseq|nerfstudio|ultralytics|tensorrt[_-]llm|flash-attention|xformers|pytorch|` +
		`agentlightning|lm-evaluation-harness|lm_eval|nemo)[/\\]`)
	generated = lazyregexp.New(`^<`)
)

// project is whose code a call is of that is not the user's: an installed package, a checkout of a known project, or what
// Python generated.
func (f frame) project() string {
	if m := checkout.FindStringSubmatch(f.path); m != nil && f.owner() == "" {
		return m[1]
	}
	if generated.MatchString(f.path) && !strings.HasPrefix(f.path, "<ipython") && f.owner() == "" {
		return "python"
	}
	return f.owner()
}

// last is the call that raised the exception, Python's own too: _execute_child starts another program.
func (r *record) last() frame {
	if len(r.frames) == 0 {
		return frame{}
	}
	return r.frames[len(r.frames)-1]
}

// place is the last call of the program's own in a traceback, as a step names it.
func (r *record) place() string {
	const last = "the last line of your own code in the traceback"
	if at, found := r.ownPlace(); found {
		return at + ", " + last
	}
	return last
}

// ownPlace is the file and line of that call, where there is one.
func (r *record) ownPlace() (at string, found bool) {
	for i := len(r.frames) - 1; i >= 0; i-- {
		if f := r.frames[i]; f.line != "" && f.owner() == "" && f.project() == "" {
			return f.path[strings.LastIndexAny(f.path, `/\\`)+1:] + ", line " + f.line, true
		}
	}
	return "", false
}

// theirPlace is the file and the project of the deepest call of a traceback that is a project's.
func (r *record) theirPlace() (file, project string) {
	for i := len(r.frames) - 1; i >= 0; i-- {
		f := r.frames[i]
		if p := f.project(); p != "" && p != "python" && !passes.MatchString(f.function) {
			return f.path[strings.LastIndexAny(f.path, `/\\`)+1:], p
		}
	}
	return "", ""
}

// passes are the calls of libraries that only pass on what the call above them asked.
var passes = lazyregexp.New(`^__getattr|^_(?:wrapped_)?call_impl$|^decorate_context$|^error_handler$`)

// deepest is the package of the last call that is not Python's own.
func (r *record) deepest() string {
	for i := len(r.frames) - 1; i >= 0; i-- {
		if passes.MatchString(r.frames[i].function) {
			continue // the one above asked for what is not there, or called with these arguments
		}
		if owner := r.frames[i].owner(); owner != "python" {
			return owner
		}
	}
	return ""
}
