package finding

import (
	"cmp"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/record"
	"cudacompat/internal/logs/traceback"
	"cudacompat/internal/tables"
)

// ofTheCheckout matches names that programs give their own modules. If one is missing, the working directory is wrong.
var ofTheCheckout = lazyregexp.New(`^(?:utils?|models?|src|configs?|data|datasets?|lib|core|modules|tools|common|` +
	`networks?|train\w*|test\w*|helpers?|scripts?|args|options|layers|loss\w*|engine|eval\w*|main|app|my\w*|__\w+)$`)

// packagesByModule maps widely imported modules to their packages, if the names differ or are known to be the same.
var packagesByModule = map[string]string{"cv2": "opencv-python", "PIL": "Pillow", "yaml": "PyYAML", "sklearn": "scikit-learn",
	"skimage": "scikit-image", "git": "GitPython", "pkg_resources": "'setuptools<81'", "dotenv": "python-dotenv",
	"bs4": "beautifulsoup4", "Crypto": "pycryptodome", "serial": "pyserial", "usb": "pyusb",
	"OpenSSL": "pyOpenSSL", "dateutil": "python-dateutil", "attr": "attrs", "pynvml": "nvidia-ml-py",
	"tensorboardX": "tensorboardX", "numpy": "numpy", "scipy": "scipy", "pandas": "pandas", "matplotlib": "matplotlib",
	"tqdm": "tqdm", "einops": "einops", "safetensors": "safetensors", "transformers": "transformers",
	"diffusers": "diffusers", "accelerate": "accelerate", "timm": "timm", "peft": "peft", "datasets": "datasets",
	"sentencepiece": "sentencepiece", "wandb": "wandb", "typing_extensions": "typing_extensions", "six": "six",
	"setuptools": "setuptools", "requests": "requests", "insightface": "insightface", "omegaconf": "omegaconf",
	"hydra": "hydra-core", "onnx": "onnx", "kornia": "kornia", "h5py": "h5py", "nltk": "nltk", "numba": "numba"}

func weighModule(r *record.Record, _ *tables.Tables) string {
	module := r.Slot("module")
	root, _, _ := strings.Cut(module, ".")
	switch {
	case slices.ContainsFunc(r.Frames, func(f traceback.Frame) bool { return f.Function == "_import_module_from_library" }):
		return "jit-module"
	case unpickles(r) && !stack.MatchString(root):
		return "module-of-sender"
	case module == "triton":
		r.Slots["package"] = "triton"
		return "module-triton"
	case raisingWords.MatchString(module):
		return "extension"
	case root != module && strings.Contains(r.Text, "'"+module+"'") && !ofTheCheckout.MatchString(root):
		r.Slots["root"] = root // Python names the first part that it does not find: the one before it is there
		return "module-part"
	case !stack.MatchString(root) && (r.Frames == nil && !r.Final || ofTheCheckout.MatchString(root)):
		return ""
	case packagesByModule[root] != "":
		r.Slots["package"] = packagesByModule[root]
		return "module-of"
	}
	return "module"
}

// unpickles reports whether a module was missing while Python loaded an object that another process or run had written.
func unpickles(r *record.Record) bool {
	return r.Slot("class") == "RaySystemError" || strings.Contains(r.Slot("source"), "pickle.load") || strings.Contains(r.Slot("source"), "unpickler.load") ||
		slices.ContainsFunc(r.Frames, func(f traceback.Frame) bool { return f.Function == "deserialize_objects" })
}

// The words that show an exception's side if no grammar read more from it.
var (
	// NoModule matches Python's message about a module that it does not find.
	NoModule     = lazyregexp.New(`(?:^|: )No module named '?([\w.]+)'?`)
	raisingWords = lazyregexp.New(`(?i)(?:_cuda|_C|_ext|_cpp|_kernels?|_ops|_cpu|_gpu|Cuda|CUDA)$|` +
		`^(?:flash_attn|apex|amp_C|xformers|triton|bitsandbytes|deepspeed|mamba|causal_conv1d|selective_scan|` +
		`pointnet|spconv|MinkowskiEngine|torch_scatter|torch_sparse|torch_cluster|pytorch3d|nvdiffrast|` +
		`tinycudann|gsplat|diff_gaussian|simple_knn|natten|cupy|pycuda|tensorrt|transformer_engine|vllm|` +
		`sageattention)`)
	shapeWords = lazyregexp.New(`(?i)\bshapes?\b|size of tensor|sizes? (?:of|mismatch|must)|dimensions?\b|` +
		`mat1 and mat2|size mismatch|must match|broadcast|stride|numel|\bdims?\b|batch size|num_classes|` +
		`number of (?:channels|classes|features|elements|heads)|divisible|\bview\(|out of (?:bounds|range)|` +
		`channels?\b`)
	argument = lazyregexp.New(`(?i)dtype|scalar type|expected .* (?:but|got|to be)|must be (?:a |an |one |` +
		`of |in |either |the |positive|set|on)|got an? (?:unexpected|invalid)|unexpected key|missing key|` +
		`state_dict|require[s_ ]grad|inplace|in-place|leaf variable|element 0 of tensors|backward|contiguous|` +
		`same device|on device|cuda:\d|is on cpu|NaN|\bInf\b|label|target|token|vocab|pad_token|tensor|` +
		`gradient|optimizer|not iterable|positional argument|keyword argument|has no len|not callable|not ` +
		`subscriptable|could not broadcast|invalid literal|nan\b|loss`)
	envWords = lazyregexp.New(`(?i)driver|libcuda|\.so\b|\.dll|nvcc|CUDA_HOME|toolkit|compiled with|` +
		`compiled without|not compiled|not built|not installed|is required|please install|pip install|no ` +
		`CUDA|CUDA (?:is )?not|GPU (?:is )?not|nvidia-smi|\bversion [<>=\d]|incompatible|too old|not ` +
		`supported (?:on|by) (?:this|your)|sm_\d+|compute capability|permission denied|kernel image|not ` +
		`available|cannot be found|not found|DLL|extension|plugin|symbol|Ninja|compiler|PTX|cudnn|nccl|` +
		`architecture`)
	clearlyProgram = lazyregexp.New(`(?i)modified by an in-?place operation|incompatible shapes|size mismatch ` +
		`for|^expected (?:object|tensor|scalar|all tensors|input)|shapes? .* (?:not aligned|cannot be ` +
		`multiplied|do not match)|mat1 and mat2|must match the size|exporting the operator .* not supported|` +
		`operator '?aten::|index out of range|out of bounds|element 0 of tensors|backward through the graph|` +
		`not implemented for '(?:Half|BFloat16|Long|Int|Float)'|forked subprocess|(?:not|be) (?:evenly )?(?:divisible ` +
		`by|a multiple of) |is greater than max_|mismatch between collectives|disagreement between rank|` +
		`^Deterministic behavior was enabled`)
	aboutTensor = lazyregexp.New(`(?i)tensor|torch|cuda|\bmat\d|dtype|\bconv\d|convol|embedding|\bbatch|logits|` +
		`\bloss\b|\bgrad|layer|\bweights?\b|input|\bmodel\b|token`)
	// stack matches packages of the stack that cudacompat judges. A missing module or failing call in one concerns the
	// stack.
	stack = lazyregexp.New(`^(?:torch\w*|functorch|tensorflow\w*|tf_keras|keras|jax\w*|flax|triton|` +
		`xformers|flash_attn\w*|apex|nvidia\w*|pynvml|cuda|cupy\w*|cudf|cuml|rmm|numba\w*|pycuda|` +
		`onnxruntime\w*|tensorrt\w*|polygraphy|vllm|sglang|sgl_kernel|lmdeploy|deepspeed|bitsandbytes|` +
		`auto_gptq|awq\w*|exllama\w*|mmcv\w*|mmdet\w*|detectron2|pytorch3d|spconv|pointnet\w*|` +
		`MinkowskiEngine|transformers|diffusers|accelerate|peft|timm|lightning|pytorch_lightning|fairseq|` +
		`megatron|transformer_engine|causal_conv1d|mamba_ssm|gsplat|nvdiffrast|tinycudann|kaolin|dgl|paddle|` +
		`theano|chainer|mxnet|faiss|llama_cpp|ctranslate2|horovod)$`)
	// programmers lists the exceptions with which Python and libraries reject a program's input. coders lists those
	// that are always the program's fault, unless their text speaks of something else.
	programmers = append([]string{"RuntimeError", "InvalidArgumentError", "FailedPreconditionError", "JaxRuntimeError",
		"XlaRuntimeError", "InternalError", "UnimplementedError"}, coders...)
	coders = []string{"KeyError", "NameError", "ZeroDivisionError", "UnboundLocalError", "OverflowError",
		"RecursionError", "JSONDecodeError", "FloatingPointError", "ValueError", "TypeError", "IndexError",
		"AssertionError", "NotImplementedError", "OutOfResources", "Unsupported"}
	// unsure matches a RuntimeError that only passes on another message.
	unsure = lazyregexp.New(`(?i)internal error|unknown error|cuda error|cuda runtime|driver error|time[d ]*out|status|` +
		`fail|worker|process|killed|terminat|died|exit|abort|backtrace|traceback|operation|` +
		`ordinal|attributes|missing|duplicate`)
	// carriers matches exceptions that pass on a message of another process or library.
	carriers = lazyregexp.New(`^(?:OS|IO|Import|Internal|XlaRuntime|JaxRuntime|System|Connection|Timeout|Permission` +
		`|Dist\w*|` +
		`Child\w*|Called\w*|HTTP\w*|URL|RayTask|Engine\w*|Runtime|FailedPrecondition|Unimplemented|NotFound|Unknown|` +
		`ModuleNotFound|Attribute|FileNotFound|Memory|Cuda\w*|NVRTC|NVML|Compilation|Compile|Build|Linker|Driver|EOF|` +
		`Client\w*|API|Process\w*|Worker\w*|Actor\w*|Rendezvous\w*|Unauthenticated|GatedRepo|RepositoryNotFound|` +
		`LocalEntryNotFound|Offline\w*|Socket\w*|Broken\w*|Syntax|Indentation|Aborted|Cancelled|Resource\w*|Root|` +
		`OutOfMemory|Backend\w*|Package\w*|Version\w*|InvalidArchive|Assertion)?(?:Error|Exception)$`)
	namesFault  = lazyregexp.New(`(?:Error|Exception)$`)
	moduleLacks = lazyregexp.New(`^'?module'? (?:object|'([\w.]+)') has no attribute`)
)

// weighException judges an exception and adds what the calls and the source line above it show.
func weighException(r *record.Record, _ *tables.Tables) string { return addDetails(r, weighRaised(r)) }

// weighRaised judges an exception by its class, its message and the code that raised it. What another grammar reads in
// the same line counts more.
func weighRaised(r *record.Record) string {
	class, text := r.Slot("class"), record.Paths.ReplaceAllString(r.Slot("message"), "")
	text = rootErrors.ReplaceAllString(text, "")
	r.Slots["sentence"] = strings.TrimSuffix(class+": "+stripArgumentTypes(rootErrors.ReplaceAllString(r.Slot("message"), "")), ": ")
	if answer, decided := judgeByClass(r, class, text); decided {
		return answer
	}
	if f := findRefusal(r); f != nil {
		if findCaller(r) == packageCaller && ofObject.MatchString(text) && !stack.MatchString(r.FindDeepestPackage()) {
			return "" // of a package outside the stack, the object may be the program's own
		}
		return f.answer
	}
	switch {
	case record.FindArea(text) == "context":
		return "context"
	case class == "AttributeError" || class == "FileNotFoundError":
		return "" // a wrong path or name, or a package of another release
	case envWords.MatchString(text) && record.AboutGPU.MatchString(text):
		return "environment"
	case shapeWords.MatchString(text) && isFromStack(r):
		return "shape"
	case argument.MatchString(text) && isFromStack(r):
		return "program"
	}
	return judgeByArea(r, class, text)
}

// rootErrors matches TensorFlow's count before the first of its errors.
var rootErrors = lazyregexp.New(`^\d+ root error\(s\) found\.\s*\(0\) (?:[A-Z][\w ]+: )?`)

// judgeByClass judges an exception from its class, a fixed message, or the function that raised it. The answer "" with
// decided set means that the exception blames nobody.
func judgeByClass(r *record.Record, class, text string) (answer string, decided bool) {
	if m := NoModule.FindStringSubmatch(text); m != nil {
		r.Slots["module"] = m[1]
		return weighModule(r, nil), true
	}
	last := r.RaisingFrame()
	switch {
	case class == "DistBackendError" || class == "DistNetworkError" || class == "ChildFailedError":
		return "", true
	case class == "PackageNotFoundError":
		r.Slots["module"], _, _ = strings.Cut(text, " ")
		return weighModule(r, nil), true
	case clearlyProgram.MatchString(text):
		return "program", true
	case class == "AttributeError" && judgeModule(r, text):
		return "packages-do-not-fit", true
	case class == "CompileException" || class == "TypingError":
		return "kernel-source", true
	case meansPeerLost(last, class):
		return "", true // the process at the other end died, of what its own lines say
	case loads.MatchString(last.Function) && findCaller(r) == packageCaller && !carries.MatchString(class):
		return "installation", true
	case class == "AttributeError" && strings.Contains(text, "NoneType") && wraps.MatchString(last.Path):
		return "extension", true
	case last.Function == "_execute_child" || class == "KeyError" && modelNames.MatchString(last.Path):
		return "environment", true
	}
	return "", false
}

// These patterns recognize an exception from a package's loader for its own compiled library.
var (
	// loads matches the name of a function that loads a compiled library.
	loads = lazyregexp.New(`^_?load_(?:shared_)?(?:library|lib|so|cuda\w*|extension)$`)
	// wraps matches the path of a Python module that wraps CUDA functions, "cuda/_functions.py".
	wraps = lazyregexp.New(`[/\\]cuda[/\\]_\w+\.py$`)
	// carries matches exception classes whose message names the actual error, so that the message decides the cause.
	carries = lazyregexp.New(`^(?:OSError|ImportError|RuntimeError|ModuleNotFoundError)$`)
)

// judgeByArea judges an exception by the subject of its message, and by how far its class shows that the program raised
// it.
func judgeByArea(r *record.Record, class, text string) string {
	about := record.FindArea(text)
	vague := about == "" || about == "input" || about == "given-file" || about == "usage" // said of so much
	switch {
	case r.Frames == nil && isRaisedAtEnd(r, about):
		return about
	case slices.Contains(ofAnyProgram, about) && r.Frames == nil && !vague && !record.AboutGPU.MatchString(text):
		return "" // of any program
	case !vague:
		return about
	case r.Frames == nil && (!aboutTensor.MatchString(text) || slices.Contains(coders[:anywhere], class)):
		return "" // a line alone may be of anything
	case slices.Contains(coders, class):
		return cmp.Or(about, "program")
	}
	own := class == "RuntimeError" || namesFault.MatchString(class) && !carriers.MatchString(class)
	if own && !unsure.MatchString(text) && (about != "" || aboutTensor.MatchString(text) || class == "RuntimeError") {
		return cmp.Or(about, "program")
	}
	return ""
}

// meansPeerLost reports whether a call belongs to the library through which Python processes communicate, and the
// exception means that one of them is gone.
func meansPeerLost(f traceback.Frame, class string) bool {
	return strings.Contains(f.Path, "multiprocessing") && lostPartner.MatchString(class)
}

var lostPartner = lazyregexp.New(`^(?:ConnectionResetError|ConnectionRefusedError|BrokenPipeError|EOFError)$`)

// ofObject matches an exception about an object that lacks an attribute.
var ofObject = lazyregexp.New(`^(?:type object )?'\w+'(?: object)? has no attribute`)

// modelNames matches the place where transformers keeps the names of the models it knows.
var modelNames = lazyregexp.New(`models[/\\]auto[/\\]`)

// anywhere is how many of coders any Python program can raise.
const anywhere = 8

// judgeModule reports whether a module lacks a requested name. The line by itself shows this only for a package of the
// stack. For PyTorch a typing error is likelier.
func judgeModule(r *record.Record, text string) bool {
	m := moduleLacks.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	root, _, _ := strings.Cut(m[1], ".")
	return r.Frames != nil || root == "" || root != "torch" &&
		(stack.MatchString(root) || raisingWords.MatchString(root) || besides.MatchString(root))
}

// besides matches modules, beside the stack or in Python's library, whose releases remove names. A program that uses
// such a name was written for an older release.
var besides = lazyregexp.New(`^(?:numpy|scipy|pandas|sklearn|PIL|cv2|skimage|google|huggingface_hub|tokenizers|` +
	`datasets|safetensors|einops|networkx|pkgutil|inspect|collections|importlib|` +
	`distutils|asyncio|ast|fractions|setuptools)$`)

// isFromStack reports whether a program's exception is about tensors or was raised by a tensor package.
func isFromStack(r *record.Record) bool {
	return slices.Contains(programmers, r.Slot("class")) &&
		(aboutTensor.MatchString(r.Slot("message")) || stack.MatchString(r.FindDeepestPackage()))
}
