package logs

import "cudacompat/internal/lazyregexp"

// caller is whose code made the last call of a traceback that is not Python's own.
type caller string

const (
	anyone       caller = ""
	ownCaller    caller = "the program's own file"
	theirs       caller = "an installed distribution"
	clonedCaller caller = "a clone of a project that is not the user's"
	visible      caller = "whoever's call is shown"
	unseen       caller = "no call is shown"
	ending       caller = "no call is shown, and the log ends with it"
)

// refusal is what an exception means by its class, its words and whose call raised it.
type refusal struct {
	class  *lazyregexp.Regexp
	said   *lazyregexp.Regexp
	by     caller
	answer string // empty: the log does not say whose fault it is
}

func newRefusal(class, said string, by caller, answer string) refusal {
	return refusal{lazyregexp.New(`^(?:` + class + `)$`), lazyregexp.New(said), by, answer}
}

// wrongCall are the words in which Python refuses a call whose arguments the function does not have.
const wrongCall = `(?:got an unexpected keyword argument|missing \d+ required (?:positional|keyword-only) argument|` +
	`takes (?:from )?\d+ .*positional arguments? but \d+ |got multiple values for (?:keyword )?argument)`

// ofTheStackClasses are classes of distributions whose arguments change from release to release.
const ofTheStackClasses = `^(?:Training\w*|\w*Trainer|\w*TrainingArguments|Accelerator|\w*Plugin|LLM|\w*EngineArgs|` +
	`\w+Config|\w*Pipeline|\w*Rasterization\w*|\w*ForCausalLM|\w*Scheduler|\w*LRScheduler|\w*Tokenizer\w*|` +
	`\w*Attention\w*|\w*Processor|\w*Callback|\w*Logger|Trainer)\.__(?:init|new)__\(\) `

// ofLibraries are the ends of names of classes that come with distributions, which lose attributes from release to
// release.
const ofLibraries = `Config|Args|Arguments|Model|Tokenizer(?:Fast)?|Cache|Trainer|Pipeline|Processor|Output\w*|Tensor|` +
	`Module|Linear|Norm\w*|Attention\w*|Scheduler|Accelerator|Engine|LLM|Dataset|Loader|Array\w*|DataFrame|Series|` +
	`Session|Graph|Sequential|Optimizer|Adam\w*|SGD|Embeddings?|Image|Figure|Axes\w*|Index|Encoder|Decoder|` +
	`ForCausalLM|ForConditionalGeneration|ForSequenceClassification|Transformer|VAE|UNet\w*|Device|Generator|Client|` +
	`Completions?|Response|Request|Namespace|Logger|Handle|Stream|Event|Context|Metrics?|Callback|Plugin|Net|Layer`

// askedOfStack is a name that was asked of a module of the stack.
const askedOfStack = `^cannot import name .* from '?(?:torch|transformers|triton|diffusers|accelerate|peft|jax|` +
	`tensorflow|keras|vllm|xformers|flash_attn|numpy|cupy|onnx|deepspeed|bitsandbytes|apex|mmcv|lightning|` +
	`pytorch_lightning|timm|numba|huggingface_hub|tokenizers|datasets|scipy|pydantic|google\.protobuf)|` +
	`^partially initialized module '?(?:torch|jax|triton)`

// refusals are looked through from above; the first that fits has it. One distribution that calls another wrongly, or
// asks for a name that it has not, was released beside another one than is installed; what a program's own file does
// wrong is the program's. Where only a package is seen to fail, its own fault, its neighbour's and what it was given
// look alike, and nothing is said.
var refusals = []refusal{
	// A name that is not there.
	newRefusal(`ImportError`, `relative import`, anyone, ""),
	newRefusal(`ImportError`, `^cannot import name .*(?:site|dist)-packages`, ownCaller, "packages-do-not-fit"),
	newRefusal(`ImportError`, `^cannot import name .* \((?:/|[A-Z]:)`, clonedCaller, "packages-do-not-fit"),
	newRefusal(`ImportError`, `^cannot import name .* \((?:/|[A-Z]:)`, ownCaller, "program"),
	newRefusal(`ImportError`, `^cannot import name `, theirs, "packages-do-not-fit"),
	newRefusal(`ImportError|AttributeError`, askedOfStack, anyone, "packages-do-not-fit"),
	newRefusal(`ImportError`, `^cannot import name `, anyone, ""),
	newRefusal(`ImportError`, `pip install|[Rr]equires? `, visible, "installation"),
	newRefusal(`ImportError`, `.`, visible, "environment"),
	newRefusal(`AttributeError|TypeError|PicklingError`, `^(?:Can't|cannot) pickle `, anyone, "program"),
	newRefusal(`AttributeError`, `^'(?:Namespace|SimpleNamespace|Values|EasyDict|AttrDict|`+
		`DictConfig)' object has no attribute`,
		ownCaller, "usage"),
	newRefusal(`AttributeError|TypeError`, `'?NoneType'? (?:object|is not|and)`, ownCaller, "program"),
	newRefusal(`TypeError`, `(?:path|os\.PathLike).* not '?NoneType`, ownCaller, "program"),
	newRefusal(`\w+`, `NoneType`, anyone, ""), // a value is missing, and the line does not say why
	newRefusal(`KeyError`, `is not in the .* registry`, anyone, ""),
	newRefusal(`AttributeError`, `^'(?:str|list|dict|tuple|set|int|float|bool|bytes|function|method|`+
		`builtin_function_or_method|`+
		`Tensor|Parameter|ndarray|(?:Distributed)?DataParallel)' object has no attribute`, ownCaller, "program"),
	newRefusal(`AttributeError`, `^'(?:str|list|dict|tuple|set|int|float|bool|bytes|function|method|`+
		`NoneType)' object`, anyone,
		""),
	newRefusal(`AttributeError`, `^(?:'\w+' object|type object '\w+') has no attribute`, theirs, "packages-do-not-fit"),
	newRefusal(`AttributeError`, `^(?:type object )?'\w*(?:`+ofLibraries+`)'(?: object)? has no attribute`, ownCaller, ""),
	newRefusal(`AttributeError`, `^(?:type object )?'\w+'(?: object)? has no attribute`, ownCaller, "program"),

	// A call that does not fit.
	newRefusal(`TypeError`, wrongCall, theirs, "packages-do-not-fit"),
	newRefusal(`TypeError`, `^[a-z]\w*\(\) `+wrongCall, clonedCaller, "packages-do-not-fit"),
	newRefusal(`RuntimeError`, `\(\) (?:expected at most \d+ argument\(s\) but received|is missing value for argument) `, theirs,
		"packages-do-not-fit"), // how PyTorch refuses a call of an operator that a package registered
	newRefusal(`TypeError`, ofTheStackClasses+wrongCall, anyone, "packages-do-not-fit"),
	newRefusal(`TypeError`, `missing \d+ required (?:positional|keyword-only) argument|`+
		`takes (?:from )?\d+ .*positional arguments? but \d+ `, ownCaller, "program"),
	newRefusal(`TypeError`, `^(?:__(?:init|new)__|forward|[A-Z]\w*\.\w+)\(\) `+wrongCall, anyone, ""),
	newRefusal(`TypeError`, `^[a-z]\w*\(\) `+wrongCall, ownCaller, "program"),
	newRefusal(`TypeError`, `unsupported operand type\(s\) for \|: |'(?:type|ABCMeta|`+
		`function)' object is not subscriptable`,
		theirs, "packages-do-not-fit"),
	newRefusal(`TypeError`, `Descriptors cannot (?:not )?be created directly`, anyone, "packages-do-not-fit"),
	newRefusal(`RuntimeError`, `^Failed to import \S+ because of the following error`, anyone, "packages-do-not-fit"),
	newRefusal(`IndentationError|TabError`, ``, ownCaller, "program"),
	newRefusal(`SyntaxError|IndentationError|TabError`, `unexpected EOF|EOL while scanning|was never closed|^unterminated|`+
		`unindent|^unexpected indent|^expected an indented block|inconsistent use of tabs`, ending, "program"),
	newRefusal(`SyntaxError|IndentationError|TabError`, ``, theirs, "packages-do-not-fit"),
	newRefusal(`SyntaxError|IndentationError|TabError`, ``, anyone, ""),

	// A worker of Ray that is gone: its own lines say why.
	newRefusal(`(?:Ray)?Actor\w*Error|WorkerCrashedError|NodeDiedError`, `unavailable|unexpectedly|died|Socket closed`,
		anyone, ""),

	// What only says that a command failed: its own lines say why.
	newRefusal(`CalledProcessError`, `returned non-zero exit status`, anyone, ""),

	// What a rank says that waited for another in vain, or for what its own lines say above.
	newRefusal(`\w+`, `watchdog thread terminated with exception|collective operation timeout|Timed out waiting \d+ms for (?:recv|send)|`+
		`^\[\d+\] is setting up NCCL communicator and retrieving ncclUniqueId`, anyone, ""),

	// What NCCL says stands in the next line, and above, in the log of the rank that failed first.
	newRefusal(`RuntimeError`, `^NCCL [Ee]rror\b|gloo/transport/.*(?:[Cc]losed|[Rr]eset|[Tt]imed out|timeout)`, anyone, ""),

	// What was compiled for a newer processor.
	newRefusal(`\w+`, `^(?:the )?(?:CPU|processor) does not (?:have|support)`, anyone, "processor"),

	// A saved model that another release wrote.
	newRefusal(`TypeError|ValueError`, `^(?:Error when deserializing class|Unrecognized keyword arguments? passed to)`, theirs,
		"newer-file"),

	// What cannot be traced.
	newRefusal(`Tracer\w+Error|Concretization\w*Error|UnexpectedTracerError|NonConcrete\w+Error`, ``, anyone, "program"),

	// What a kernel asks of the GPU.
	newRefusal(`OutOfResources`, `shared memory|registers`, anyone, "program"),

	// A model that is newer than what reads it.
	newRefusal(`\w+`, `does not recognize this architecture|unknown model architecture|Tokenizer class \w+ does not exist|`+
		`[Mm]odel architectures? .* (?:is|are) not supported`, anyone, "packages-do-not-fit"),

	// What was compiled beside another release of NumPy.
	newRefusal(`\w+`, `compiled against (?:ABI|API) version .* but this version|numpy\.dtype size changed|`+
		`compiled using NumPy 1|_ARRAY_API not found`, anyone, "packages-do-not-fit"),

	// Errors that the system numbers, of Linux and of Windows.
	newRefusal(`\w+`, `\[Errno (?:28|30|122)\]`, anyone, "disk-full"),
	newRefusal(`\w+`, `\[Errno (?:48|98)\]|\[WinError 10048\]|annot find empty port`, anyone, "port"),
	newRefusal(`\w+`, `\[Errno (?:99|101|113|-[23])\]|\[WinError (?:1006[01]|11001)\]`, anyone, "network-down"),

	// What conda and Julia's package manager say.
	newRefusal(`Conda\w*|Environment(?:NameNotFound|NotWritable\w*)|ResolvePackageNotFound`, ``, anyone, "package-tool"),
	newRefusal(`ArgumentError`, `^Package \S+ .*not found in current path`, anyone, "installation"),
	newRefusal(`InvalidIRError`, ``, anyone, "kernel-source"),

	// Java's and Julia's own, and what Triton's compiler finds in a kernel.
	newRefusal(`(?:NullPointer|\w*IndexOutOfBounds|ClassCast|NumberFormat)Exception`, ``, anyone, "program"),
	newRefusal(`DimensionMismatch`, ``, anyone, "shape"),
	newRefusal(`CompilationError`, `(?:Name|Attribute|IncompatibleType)Error\(`, anyone, "kernel-source"),

	// Classes that say enough where a log ends with them.
	newRefusal(`FileNotFoundError|NotADirectoryError`, `custom_nodes|__init__`, ending, ""),
	newRefusal(`FileNotFoundError|NotADirectoryError`, `'[^']*[/\\][^']*\w'$`, ending, "given-file"),
	newRefusal(`JSONDecodeError|UnpicklingError|BadZipFile|UnidentifiedImageError|ScannerError|ParserError|EmptyDataError`,
		``, ending, "given-file"),
	newRefusal(`PermissionError`, ``, ending, "access"),
	newRefusal(`NameError`, `name '(?:_|\w*cuda|\w*_ext|\w+_ops')`, ending, ""), // a compiled part
	newRefusal(`NameError`, `name '(?:_C|\w+_(?:cuda|ext|C|ops))'`, clonedCaller, ""),
	newRefusal(`(?:Name|UnboundLocal|ZeroDivision|Recursion)Error`, `.`, ending, "program"),
	newRefusal(`(?:UnboundLocal|ZeroDivision)Error`, ``, visible, "program"),
	newRefusal(`NewConnectionError|MaxRetryError|(?:Connect|Read)(?:Timeout|TimeoutError)|ProxyError|SSLError|gaierror`, ``,
		ending, "network-down"),
	newRefusal(`GatedRepoError|MissingMandatoryValue|Override\w*Exception|Config(?:Attribute|Key|Type)\w*Error`, ``, ending,
		"usage"),

	// Files and the network.
	newRefusal(`RuntimeError`, `PytorchStreamWriter failed writing|iostream stream error|`+
		`inline_container.*unexpected pos \d+ vs`, anyone, "disk-full"),
	newRefusal(`\w+`, `Disk quota exceeded|No space left on device`, anyone, "disk-full"),
	newRefusal(`OSError`, `truncated|[Uu]nable to (?:synchronously )?open file|file signature not found|`+
		`cannot identify`, theirs,
		"given-file"),
	newRefusal(`UnicodeDecodeError`, ``, visible, "given-file"),
	newRefusal(`UnicodeEncodeError`, `'(?:charmap|ascii|latin-1|gbk|cp\d+)' codec`, anyone, "encoding"),
	newRefusal(`NotFoundError`, `not found in checkpoint`, anyone, "given-file"),
	newRefusal(`OSError`, `gated repo|access to it is restricted`, anyone, "usage"),
	newRefusal(`EOFError`, `Ran out of input`, anyone, "given-file"),
	newRefusal(`HTTPError`, `^(?:HTTP Error )?(?:404|410)\b`, ending, "no-such-address"),
	newRefusal(`\w+`, `(?is)<Response \[(?:407|50[234])\]>.*<(?:!doctype|html)`, anyone, "proxy-answered"),
	newRefusal(`HTTPError`, `rate limit|\b(?:429|5\d\d)\b`, theirs, "network-down"),
	newRefusal(`(?:GatedRepo|RepositoryNotFound|RevisionNotFound|HTTP)Error`,
		`\b40[0134]\b|gated|restricted`, theirs, "usage"),
	newRefusal(`OSError`, `WinError 1455|paging file is too small`, anyone, "paging-file"),
	newRefusal(`InvalidArgument|NoSuchFile|InvalidProtobuf|InvalidGraph|Fail`, `ONNXRuntimeError.*(?:INVALID_ARGUMENT|`+
		`NO_SUCHFILE|`+
		`INVALID_PROTOBUF|INVALID_GRAPH|Load model from .* failed)`, anyone, "program"),
	newRefusal(`FileNotFoundError`, `: '(?:ffmpeg|ffprobe|sox|git(?:-lfs)?|ninja|c?make|gcc|g\+\+|cc|clang|nvidia-smi|`+
		`tesseract|pdftoppm)'$`, anyone, "environment"), // a command
	newRefusal(`FileNotFoundError`, `(?:\.so[\d.]*|\.dll|\.cubin|\.ptx|nvcc|bin/\w+)'?$|CUDA_HOME|`+
		`/usr/local/cuda`, anyone, ""),
	newRefusal(`FileNotFoundError|NotADirectoryError|IsADirectoryError`, `[/\\.]|^\[Errno 2\] .*: '`, visible, "given-file"),
	newRefusal(`RuntimeError`, `find appropriate backend to handle`, anyone, "installation"),
	newRefusal(`OSError|RuntimeError`, `into a non-existent directory|^Parent directory .* does not exist`, anyone, "no-directory"),
	newRefusal(`RuntimeError`, `PytorchStreamReader failed (?:reading|locating)`, anyone, "given-file"),
	newRefusal(`NotFoundError`, `file not found`, theirs, "given-file"),
	newRefusal(`OSError`, `path_or_model_id|is not a valid model identifier|does not appear to have a file named|`+
		`^Can't load (?:tokenizer|the model|config)`, anyone, "given-file"),
	newRefusal(`OSError`, `couldn't connect to`, theirs, "network-down"),
	newRefusal(`InvalidArgument(?:Error)?|NoSuchFile|InvalidProtobuf|InvalidGraph`, ``, theirs, "program"),
	newRefusal(`PermissionError`, ``, visible, "access"),
	newRefusal(`FileExistsError`, ``, visible, "file-exists"),
	newRefusal(`(?:New|MaxRetry|Proxy|SSL|URL|Client\w*|LocalEntryNotFound|Connection|ConnectionRefused|`+
		`ConnectionReset|gai)`+
		`[eE]rror|Connect(?:ion)?Timeout|ReadTimeout`, ``, theirs, "network-down"),
	newRefusal(`UnpicklingError|EOFError|SafetensorError|BadZipFile|UnidentifiedImageError|JSONDecodeError|`+
		`TOMLDecodeError|ParserError|ScannerError|EmptyDataError`, ``, ownCaller, "given-file"),
	newRefusal(`UnpicklingError|SafetensorError|BadZipFile|UnidentifiedImageError|JSONDecodeError|ParserError|`+
		`ScannerError|EmptyDataError`, ``, theirs, "given-file"),
	newRefusal(`(?:HF)?ValidationError|MissingMandatoryValue|Config\w*(?:Error|Exception)|Override\w*Exception|`+
		`UsageError`, ``, visible, "usage"),

	// A condition that somebody wrote down without words.
	newRefusal(`AssertionError`, `^assert .*\b(?:is_available|device_count|is_gpu_available|list_physical_devices)\(`,
		anyone, "no-gpu"),
	newRefusal(`AssertionError`, `^assert .*\b(?:isfile|isdir|exists)\(`, anyone, "given-file"),
	newRefusal(`AssertionError`, `^assert .*(?:version|CUDA_HOME|find_spec)`, anyone, ""),
	newRefusal(`AssertionError`, `^assert .*(?:\.shape|\.size\(|\.ndim|\.dim\()`, anyone, "shape"),
	newRefusal(`AssertionError`, `^assert .*\b(?:len|isinstance|min|max|sum|any|all)\(`, visible, "program"),
	newRefusal(`AssertionError`, `^assert `, ownCaller, "program"),
	newRefusal(`AssertionError`, `^assert `, anyone, ""),

	// A bare assertion or a name of a package.
	newRefusal(`AssertionError`, `^$`, theirs, ""),
	newRefusal(`NameError`, ``, theirs, ""),
}

// caller is whose call raised the exception.
func (r *record) caller() caller {
	switch {
	case r.frames == nil && r.final && !r.notice:
		return ending
	case r.frames == nil:
		return unseen
	case r.deepest() == "":
		return ownCaller
	}
	return theirs
}

// refusal is the first of the table that fits an exception.
func (r *record) refusal() *refusal {
	if r.edited {
		return &refusal{answer: "program"}
	}
	by, text := r.caller(), r.slot("message")
	for i := range refusals {
		f := &refusals[i]
		refuses := f.by == anyone || f.by == by || f.by == visible && r.frames != nil || f.by == clonedCaller && r.isCloned()
		if refuses && f.class.MatchString(r.slot("class")) && f.said.MatchString(text) {
			return f
		}
	}
	return nil
}
