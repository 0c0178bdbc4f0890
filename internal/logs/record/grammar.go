package record

import "cudacompat/internal/lazyregexp"

func newForm(kind, pattern string, marks ...string) Form {
	return Form{kind, marks, lazyregexp.New(pattern)}
}

// The parts that forms are made of.
const (
	soName       = `(?P<library>lib[\w.+-]+?\.so(?:\.\d+)*)`
	packageNames = `(?:torch|tensorflow|jax|nvidia|cuda|cudnn|nccl|triton|xformers|flash|vllm|onnxruntime|cupy|` +
		`tensorrt|bitsandbytes|paddle)`
	soName2 = `(?P<library2>lib[\w.+-]+?\.so(?:\.\d+)*)`
	soName3 = `(?P<library3>lib[\w.+-]+?\.so(?:\.\d+)*)`
	dllName = `(?P<library>[\w.+-]+\.dll)`
)

// Forms lists all forms. Several may read one line, because each reads something else.
var Forms = []Form{
	// The loader: what it looked for and did not find.
	newForm("library", `(?:^|[\s:;'"(])(?:\S*/)?`+soName+`['"]?: (?:cannot open shared object file|image not found|`+
		`file not found)`, ".so"),
	newForm("library", `(?i)(?:could ?n.t|could not|cannot|can't|unable to|failed to) (?:dl)?(?:open|load|find|`+
		`locate)(?: (?:the|dynamic|shared|nccl|cuda|cudnn|library|lib|file|module|dso|object|at|any of|[\w+]+))*:? `+
		`\{?['"]?(?:\S*/)?`+soName, ".so"),
	newForm("driver-library", `(?i)unable to (?:find|dynamically load)(?: the)? "?cuda"? (?:shared )?lib(?:rary)?\b`, "nable to"),
	newForm("runtime-call", `\b(?P<runtime>crun|runc|youki)\b: .*\b(?:[Ff]unction not implemented|ENOSYS)`, "ot implemented", "ENOSYS"),
	newForm("socket", `dial unix (?P<socket>/\S+\.sock): connect: (?:no such file|connection refused)`, "dial unix"),
	newForm("library", soName+`, needed by \S+, not found|library "`+soName2+`" not found|make sure `+soName3+
		` is in your library path`, "needed by", "not found", "library path"),
	newForm("library", `(?i)`+dllName+`['"]? (?:was |is |could )?(?:not (?:be )?found|missing|not be loaded)`, ".dll",
		".DLL"),
	newForm("library", `(?i)(?:could ?n.t|could not|cannot|unable to|failed to) (?:open|load|find|locate)(?: (?:the|`+
		`dynamic|shared|library|dll|file|module))*:? ['"]?(?:\S*[/\\])?`+dllName, ".dll", ".DLL"),
	newForm("library", `Error loading "(?:[^"]*[/\\])?`+dllName+`" or one of its dependencies`, ".dll"),
	newForm("library", `which depends on "`+dllName+`" which is missing`, "which depends on"),
	newForm("symbol", `undefined\s+symbol ?: ?(?P<symbol>[\w@.]+)`, "undefined symbol"),
	newForm("symbol", `symbol lookup error: (?P<library>\S+): `, "symbol lookup error"),
	newForm("symbol", `(?:The procedure entry point|procedure entry point) (?P<symbol>\S+) could not be located`,
		"entry point"),
	newForm("symbol-version", "version [`'](?P<version>(?P<set>GLIBC|GLIBCXX|CXXABI|GCC|[A-Z]\\w*?)_?[\\d.]*)' not "+
		"found(?: \\(required by (?P<by>[^)]+)\\))?", "' not found"),
	newForm("library-damaged", `(?P<library>[\w.+-]+\.(?:so|a|o)[\w.]*): (?:error adding symbols: [Ff]ile in wrong format|`+
		`file not recognized)`, "wrong format", "not recognized"),
	newForm("library-damaged", `(?P<library>[\w.+-]+\.so[\w.]*): (?:file too short|invalid ELF header|wrong ELF `+
		`class|cannot enable executable stack|failed to map segment|ELF load command)`, ".so"),

	// Compilers and what drives them.
	newForm("header",
		"fatal error: ['‘]?(?P<header>[\\w./+-]+\\.(?:h|hpp|cuh|inc|hh))['’]?(?:: No such file| file not found)",
		"fatal error"),
	newForm("header", `(?:Cannot open include file|cannot open source file):? ['"](?P<header>[\w./+-]+)['"]`,
		"annot open"),
	newForm("header", `include file ['"](?P<header>[\w./+-]+)['"] not found`, "include file"),
	newForm("compiler-too-new", `(?i)unsupported (?:GNU|Microsoft Visual Studio|clang|gcc) version|`+
		`No supported gcc/g\+\+ host compiler found`, "nsupported", "No supported"),
	newForm("option", `(?:^|[/ ])(?P<tool>gcc|g\+\+|cc1(?:plus)?|cc|c\+\+|clang(?:\+\+)?)(?:-\d+)?: error: `+
		"(?:unrecognized command[- ]line option|unknown argument:|unsupported option) ['‘\"]"+
		"(?P<option>-[^W'’\"][^'’\"]*)",
		"option", "unknown argument"),
	newForm("compiler-crashed", `internal compiler error: (?P<said>[^K].*)`, "internal compiler error"),
	newForm("nccl-said", `NCCL WARN (?P<said>NET/OFI .*)`, "NCCL WARN NET/OFI"),
	newForm("build", `nvcc fatal *: (?P<why>.*)`, "nvcc fatal"),
	newForm("unresolved", `undefined reference to [\x60'‘](?P<symbol>[\w:]+)(?:[^'’]*?@(?P<library>lib\w+\.so[.\d]*))?`,
		"undefined reference"),
	newForm("unresolved", `\bLNK20(?:01|19): .*?(?:"[^"]*?(?P<symbol>\w+::[\w:~]+)|`+
		`\b(?:__imp_)?_??(?P<symbol2>(?:cu|nccl|nv|__cuda)\w+))|^ *"_?(?P<symbol3>[\w:]+).*", referenced from:$`, "LNK20",
		"referenced from"),
	newForm("device-link", `nvlink error +: Undefined reference to '(?P<symbol>\w+)'|`+
		`ptxas fatal +: Unresolved extern function '(?P<symbol2>\w+)'|`+
		"(?:undefined reference to [`'‘]|unresolved external symbol \"?)(?P<symbol3>__(?:fatbinwrap|"+
		`cudaRegisterLinkedBinary)_\w+)`, "nvlink", "ptxas", "undefined reference", "LNK20"),
	newForm("heap", "^(?:\\*\\*\\* Error in [`'](?P<program>[^']+)': )?(?P<fault>double free or corruption|"+
		`free\(\): (?:double free|corrupted|invalid (?:next )?size)|malloc\w*\(\): (?:corrupted|invalid|unaligned|`+
		`mismatching|memory corruption)|corrupted (?:size vs\. prev_size|double-linked list)|`+
		`realloc\(\): invalid (?:next|old) size)`, "free", "lloc", "corrupted"),
	newForm("compile-host", `\.(?:c|cc|cpp|cxx|(?P<header>h|hh|hpp|hxx|inl))(?::\d+(?::\d+)?|\(\d+(?:,\d+)?\)) ?: (?:fatal )?error(?: \w?\d+)?: `,
		"error"),
	newForm("tool", `(?:\[Errno 2\] No such file or directory: |\[WinError 2\].*|Could not find |could not find |`+
		`cannot find |Unable to find |No such file or directory: )['"]?(?:\S*/)?(?P<tool>nvcc|nvidia-smi|`+
		`ptxas|ninja|gcc|g\+\+|cl(?:\.exe)?|cmake|cicc|nvlink|fatbinary|nvidia-modprobe|nvidia-ctk|`+
		`nvidia-container-cli)\b`, "o such file", "WinError", "ind "),
	newForm("tool", `(?:^|: |/)(?P<tool>ptxas|ninja|gcc|g\+\+|c\+\+|cl\.exe|cmake|nvidia-modprobe|nvidia-ctk|`+
		`nvidia-container-cli|nvidia-container-runtime|make): (?:command )?not found`, "not found"),
	newForm("tool", `^make(?:\[\d+\])?: (?P<tool>nvcc|gcc|g\+\+|cmake): (?:No such file|Command not found)`, "make"),
	newForm("command", `^(?:sudo|g?make(?:\[\d+\])?): (?P<command>[\w.+-]+): (?:[Cc]ommand not found|No such file)`, "sudo: ",
		"make"),
	newForm("tool", `exec: \\?"(?P<tool>nvidia-[\w-]+)\\?": executable file not found`, "executable file not found"),
	newForm("tool", `fork/exec (?:\S*/)(?P<tool>nvidia-[\w-]+): no such file`, "fork/exec"),
	newForm("compiler-broken", `^ *CMake Error at \S*CMakeTest(?P<language>\w+)Compiler\.cmake`, "CMake Error at"),
	newForm("compiler-part", "(?:cannot execute|error trying to exec) ['‘\x60](?P<part>cc1\\w*|f951|cc1obj|collect2|as|ld)['’]", "cannot execute",
		"trying to exec"),
	newForm("build-needs", `error: #error\b.*(?:[Rr]equire|[Nn]eed|must|support)`, "#error"),
	newForm("part", `Cannot import (?:\S.*[/\\])?(?P<part>[\w.-]+) module for custom nodes: (?P<sentence>.+)|`+
		`^\*\*\* Error (?P<sentence2>loading script): (?P<part2>[\w.-]+)`, "custom nodes", "loading script"),
	newForm("cmake", `no such package '@(?:local_config_(?:cuda|nccl|tensorrt)|cuda_\w+)//`, "no such package"),
	newForm("cmake", `Could NOT find (?P<package>CUDA\w*|CUDNN|cuDNN|CUDAToolkit|NCCL|Torch|TensorRT)|No `+
		`CMAKE_CUDA_COMPILER could be found|Failed to find nvcc|The CUDA compiler identification is unknown|`+
		`Failed to detect a default CUDA architecture|CUDA Toolkit \S+ directory '.*' does not exist|Cannot find CUDA|`+
		`[Cc]ould not find (?:the )?CUDA(?: `+
		`toolkit| installation)?\b|(?:package configuration|configuration) file (?:provided by|for package) "(?P<part>`+
		`CUDA\w*|Torch\w*|NCCL|cuDNN|CUDNN|TensorRT|TensorFlow\w*|rmm|raft|cudf|Thrust|CUB|CCCL|cutlass|NvidiaCutlass)"|`+
		`No CUDA toolset found|CMAKE_CUDA_COMPILER not set, after|`+
		`CUDA \d+\.\d+\.(?:props|targets)"? was not found|Cuda Configuration Error|`+
		`configure: error: .*\b(?:CUDA|nvcc|NVCC|cudart|cuDNN|CUDNN)\b|`+
		`Could not find any \w+\.h matching version|Dependency "?(?:cuda|CUDA)\w*"? not found`,
		"ould", "CMAKE", "Failed to", "CUDA", "uda Config", "configure: error", "Dependency"),
	newForm("build-killed", `internal compiler error: Killed|Killed signal terminated program|died due to signal 9|`+
		`\d +Killed +(?:\S*/)?(?:cicc|cc1(?:plus)?|ptxas|cudafe\+\+)(?: |$)|\bError 137\b|compilation `+
		`terminated.{0,40}signal 9`, "illed", "signal 9", "rror 137"),
	newForm("build", `(?:error: command ['"]?\S*(?P<tool>nvcc|gcc|g\+\+|c\+\+|cl\.exe|ninja|clang)\S*['"]? failed|`+
		`Error building extension|ninja: build stopped|Error compiling objects for extension|Failed building `+
		`wheel for (?P<package>[\w.-]+)|^(?:ERROR: |error: )?Failed to build (?:installable wheels.*|`+
		`[\x60']?(?P<package2>[\w.=-]+)[\x60']?)$|`+
		`subprocess-exited-with-error|failed to run custom build command for|error MSB3721: .*\bnvcc\b|`+
		`nvcc error +: '\S+' died|`+
		`metadata-generation-failed)`, "rror", "ninja", "ailed", "failed to run", "MSB3721", "nvcc error"),
	newForm("kernel-module", `[Cc]ould not (?:find|install) (?:the )?(?:required )?kernel headers|`+
		`\*\*\* /(?:usr/)?lib/modules/\S+/build: No such file`, "kernel headers", "lib/modules"),
	newForm("kernel-module", `(?:Bad return status for module build|ERROR: (?:Unable to (?:find|build) the|An error `+
		`occurred while performing the step)|Unable to (?:find|determine) the kernel source|module build for `+
		`kernel|Your kernel headers for kernel \S+ cannot be found|make\[\d+\]: \*\*\* .*(?:nvidia|NVIDIA|/nv\.o|/nv-`+
		`\w+\.o)|`+
		`Unknown symbol \w+ \(err|disagrees about version of symbol|DKMS module .*(?:FAILED|failed)|^Kernel module `+
		`load error|Module\.symvers file is missing|(?:/nv(?:idia)?[-/][\w/-]*|/nv-\w+)\.[ch]:\d+:\d+: error)`,
		"rror", "odule", "kernel", "make[", "nknown symbol"),

	// Package tools.
	newForm("packages", `none of the providers can be installed|cannot install (?:both|the best) |\bDepends: .* but `+
		`(?:it is not (?:going to be installed|installable)|\S+ is to be installed)|^PackagesNotFoundError`,
		"providers", "annot install", "epends: ", "PackagesNotFound"),
	newForm("packages",
		`(?:ResolutionImpossible|LibMambaUnsatisfiableError|UnsatisfiableError|No solution found when resolving`+
			`|`+packageNames+
			`.*have conflicting dependencies|held broken packages|unmet dependencies|conflicting requests)`, "Impossible",
		"nsatisfiable", "No solution", "onflicting", "broken packages", "unmet"),
	newForm("packages", `\b[Rr]equires? (?P<package>[\w.-]+)(?: version)? ?(?P<range>[=<>~!]=?[\w.,=<>~! ]+?),? but (?:got|found|have|it is|is) (?P<version>\d[\w.+]*)`, "but "),
	newForm("packages", `requires (?P<wanted>[\w.-]*`+packageNames+`[\w.-]* ?[=<>~!].*?), but you(?:'ll)? have `+
		`(?P<found>[\w.-]+ [\w.+-]+)`, "but you"),

	newForm("package-tool", `^(?:dpkg: (?:error|dependency problems)|E: (?:Sub-process|Unable to|The repository|`+
		`Failed to fetch|`+
		`Package|Version|Unmet|Could not get lock|Conflicting|dpkg was)|Errors were encountered while processing:|`+
		`Error: (?:Transaction|Package: |Unable to find a match|GPG check|Failed to download|Unable to resolve)|`+
		`error: (?:Failed dependencies|target not found|failed to (?:commit|prepare) transaction)|`+
		`Transaction (?:check|test) error|No provider of|CondaHTTPError|ResolvePackageNotFound|CondaVerificationError|`+
		`error: externally-managed-environment|ERROR: (?:Could not install packages|Could not build wheels)|`+
		`(?:× |error: )(?:No solution found|Failed to (?:build|download|prepare|install)|Distribution )|`+
		`SolverProblemError|`+
		`The following (?:specifications|packages) (?:were found to be|are) incompatible)`, "dpkg", "E: ", "Errors were",
		"rror: ", "Transaction", "No provider", "Conda", "NotFound", "ERROR: ", "No solution", "Failed to", "olverProblem",
		"ncompatible"),
	newForm("speaker", `^(?:sudo: )?(?P<speaker>modprobe|insmod|depmod|dkms|nvidia-(?:installer|ctk|container-\w+|`+
		`persistenced|`+
		`smi|settings|xconfig|modprobe)|nv-(?:fabricmanager|hostengine)|dcgmi|systemctl|slurm(?:d|ctld|stepd)|sbatch|`+
		`salloc|srun|`+
		`kubelet|containerd|dockerd|podman|crun|runc|apptainer|singularity|enroot|pyxis|ldconfig|mount)(?:\[\d+\])?: `+
		`(?:(?:error|fatal|critical|ERROR|FATAL)\b.*|.*\b(?:failed|cannot|could not|unable to|not found|`+
		`not permitted)\b.*)`,
		"rror", "atal", "RROR", "ATAL", "ritical", "ailed", "annot", "ould not", "nable to", "not found", "ermit"),

	newForm("package-tool", `^E: .*\b(?:lib)?(?:nvidia|cuda|cudnn|nccl)[\w.-]*`, "E: "),
	newForm("kernel-module", `^Error! |^ERROR: (?:Unable to (?:find the development tool|load the|determine)|`+
		`You appear to be `+
		`running an X server|The Nouveau kernel driver|Installation has failed|An NVIDIA kernel module .*already)`,
		"Error! ", "ERROR: "),
	newForm("tool", `^(?:sudo|-?\w*sh): (?:\S+ \d+: )?(?P<tool>nvidia-[\w-]+|ninja|cmake|gcc|g\+\+|ptxas): \S+ \S+`, "sh: ",
		"sudo: "),
	newForm("speaker", `^\(EE\) (?P<speaker>NVIDIA)|^\(EE\) no screens found`, "(EE)"),
	newForm("unreached", `^(?:curl: \((?:6|7|28|35|56|60)\) |wget: unable to resolve|fatal: unable to access |`+
		`ssh: connect to )|\bdial tcp\b.*(?:no such host|i/o timeout|connection refused)`, "curl: (", "wget: ", "fatal: ",
		"ssh: ", "dial tcp"),
	newForm("package-tool", `^E: [A-Z]\w+ `, "E: "),
	newForm("installation", `go\.mod requires go >=|note: module requires Go \d|package \S+ is not in (?:GOROOT|std)\b`,
		"equires ", "package "),
	newForm("installation", `Lmod has detected the following error|Unable to locate a modulefile|`+
		`there is no package called [‘'"]|^Error: Cannot find module '[@\w]|error MSB80\d\d: |no matches for kind|`+
		`\bWsl/\w+/|WslRegisterDistribution failed|[Ee]xec format error`,
		"Lmod", "modulefile", "no package", "Wsl", "format error", "find module", "MSB80", "no matches"),
	newForm("access", `^-?(?:bash|sh|zsh): (?:line \d+: )?\S+: Permission denied$|`+
		`^sudo: (?:a (?:terminal|password) is required|no tty present)|not in the sudoers|`+
		`running scripts is disabled on this system`, "sudo", "is disabled", "sh: "),
	newForm("cancelled", `(?:JOB|STEP) (?P<job>\d+)\S* ON \S+ CANCELLED AT \S+ \*\*\*`, "CANCELLED"),
	newForm("conda-shell", `[Ss]hell has not been properly configured to use 'conda activate'|`+
		`Run 'conda init' before 'conda activate'`, "conda activate"),
	newForm("driver-says", `(?:^|\] )(?:NVRM: |nvidia-modeset: ERROR: )(?:GPU\S*: )?(?P<sentence>.*(?i:fail|timed? out|error).*)`,
		"NVRM: ", "nvidia-modeset: "),
	newForm("time-limit", `CANCELLED AT \S+ DUE TO (?:TIME LIMIT|PREEMPTION|JOB REQUEUE)|PBS: job killed: walltime|TERM_RUNLIMIT`,
		"CANCELLED", "walltime", "RUNLIMIT"),
	newForm("element", `no (?:such )?element (?:factory )?"(?P<element>\w+)"`, "element"),

	// Files that were given, and what they were written for.
	newForm("given", `(?:failed to open|cannot open|can't open|could not open|unable to open|`+
		`error opening)\b(?P<sentence>.*\.`+
		`(?:gguf|ggml|onnx|pth?|safetensors|engine|tflite|pb|h5|ckpt|ya?ml|json|cfg|prototxt|py|pdb|mp4|jpg|png|`+
		`csv)\b.*)`, "open"),
	newForm("newer-file", `unknown model architecture|unknown \(magic, version\) combination|Unsupported model IR version`,
		"architecture", "magic", "IR version"),
	newForm("given", `error loading model: (?P<sentence>.*)`, "loading model"),
	newForm("given", `^(?P<sentence>\S+\.(?:mp4|mkv|avi|jpg|png|json|ya?ml|gguf|onnx|pth?): No such file or directory)$`,
		"o such file"),

	// What programs say of what they were asked to do.
	newForm("asked", `^[\w./-]+: error: (?P<sentence>(?:unrecognized arguments|the following arguments are required|`+
		`argument .*: `+
		`(?:invalid|expected|not allowed)|ambiguous option|too few arguments).*)`, ": error: "),
	newForm("asked", `^error while handling argument (?P<sentence>"-.*)`, "handling argument"),
	newForm("asked", `^Error: (?P<sentence>(?:Invalid value for|Missing (?:option|argument|parameter)|Got unexpected extra`+
		` argument).*)|^error: (?P<required>the following required arguments were not provided|invalid value '.*)`,
		"rror: "),
	newForm("asked", `: (?:line )?\d+: (?P<sentence>(?:syntax error near|Syntax error: |\S+: (?:unbound variable|bad `+
		`substitution)).*)`, "yntax error", "unbound", "substitution"),
	newForm("asked", `(?P<sentence>prompt_outputs_failed_validation|^(?:Inconsistency|Error) in user input:)`,
		"failed_validation", "user input"), // "Failed to validate prompt for output 9" alone leaves the other outputs
	newForm("asked", `^FATAL ERROR: (?P<sentence>(?:UNABLE TO (?:OPEN|FIND)|DIDN.T FIND) .*)|`+
		`^(?P<required>Feature not implemented):$`, "FATAL ERROR", "Feature not"),
	newForm("asked", `^ERROR(?: on proc \d+)?: (?P<sentence>.*) \((?:\.\./)*(?:src/)?[\w/.-]+\.cpp:\d+\)`, ".cpp:"),
	newForm("asked", `terminate called after throwing an instance of '(?P<sentence>std::(?:out_of_range|invalid_argument|`+
		`length_error|logic_error|domain_error|bad_optional_access|bad_variant_access)|nlohmann::[\w:]+)'`, "terminate "+
		"called"),

	// Versions: built for one, found another.
	newForm("version", `(?i)(?:compiled|built|linked|build) (?:with|for|against|using|by|`+
		`on)\b.{0,60}?(?P<built>\d+\.\d+[\w.+]*).{0,120}?\b(?:found|loaded|detected|running|installed|`+
		`current|runtime|but|has|have|is|uses?|using)\b.{0,60}?(?P<found>\d+(?:\.\d+)+)`, "ompiled", "uilt", "inked"),
	newForm("version", `(?i)(?:loaded|detected|found|installed|runtime).{0,60}?(?P<found>\d+(?:\.\d+)+).{0,80}?(?:co`+
		`mpiled?|built|linked|expect\w*|requires?|needs?)\b.{0,40}?(?P<built>\d+(?:\.\d+)+)`, "ompile", "uilt",
		"xpect", "equire", "eeds", "inked"),
	newForm("version", `(?i)(?P<subject>[\w-]+) (?:version|library)[ =:]*(?P<found>\d+(?:\.\d+)+\S*) (?:is|are) `+
		`(?:newer|older|too old|too new|not compatible|incompatible|not supported|unsupported|lower)`, "is ", "are "),
	newForm("version", `(?i)(?:requires?|needs?|must (?:be|have)|at least|minimum(?: required)?(?: version)?(?: is| `+
		`of)?|please (?:up(?:grade|date)|install))\W+(?:an? |the |at least |version )*(?P<subject>cuda|cudnn|`+
		`nvidia driver|driver|nccl|glibc|gcc|torch|pytorch|triton|tensorrt|cudatoolkit|transformers|`+
		`numpy)\W+(?:toolkit|version|driver|runtime|with|of|is|>=|>|=|\W)*(?P<wanted>\d+(?:\.\d+)*)`, "equire", "eed",
		"must", "least", "inimum", "lease"),
	newForm("version", `(?i)(?:mismatch(?:ed)?|incompatible|do(?:es)?n.?o?t match|not compatible|`+
		`unmatched)\b.{0,80}\b(?P<subject>driver|cuda|cudnn|nccl|torch|pytorch|jaxlib?|plugin|triton|`+
		`tensorrt|numpy|glibc|nvml)\b.{0,20}version|\b(?P<subject2>driver|cuda|cudnn|nccl|torch|pytorch|`+
		`jaxlib?|plugin|triton|tensorrt|numpy|nvml|nvidia\.ko)\b.{0,30}version.{0,60}\b(?:mismatch(?:ed)?|`+
		`incompatible|do(?:es)?n.?o?t match|not compatible|unmatched)\b|version `+
		`mismatch.{0,40}(?P<subject3>nvidia|driver|cuda|nvml)|API mismatch`, "ismatch", "ncompatible", "not match",
		"not compatible", "unmatched", "t match", "API mismatch"),

	// Programs that are not there, and processors that cannot run them.
	newForm("command", `(?:bash|sh|zsh|dash|ksh|fish|exec|line \d+|: \d+): (?:line \d+: )?(?P<command>[\w./+-]+): (?:c`+
		`ommand `+
		`)?not found|command not found: (?P<command2>[\w./+-]+)|'?(?P<command3>[\w.+-]+)'? is not recognized as (?:an `+
		`internal or external command|(?:the|a) name of a cmdlet)|Unknown command:? (?P<command4>[\w.+-]+)$|`+
		`^(?P<command5>[\w.+-]+): command not found$`,
		"not found", "not recognized", "nknown command"),
	newForm("processor", `(?:^|: |\d +)Illegal instruction(?: *\(core dumped\)|\W*$|: \d|\W{2,})|\bSIGILL\b|\bsignal(?`+
		`:ed)?\b`+
		`.{0,40}\b4\b(?:[^.\w]|$)|exit(?:ed)?.{0,20}\b(?:132|-4)\b|processor does not support|CPU does not (?:have|`+
		`support)|instructions, but these aren't available`, "llegal instruction", "SIGILL", "signal", "xit", "rocessor", "CPU", "aren't available"),

	// What a library says about the GPU or about itself.
	newForm("smi-ended", `(?:nvidia-smi\b.{0,80}|exporter\.go:\d+ .*command failed.*)\b(?:exit(?:ed)?|status|code|`+
		`returned)\b(?:.{0,20} )?(?P<code>\d+)\b`, "nvidia-smi", "exporter.go"),
	newForm("smi", `^\| NVIDIA-SMI .* CUDA Version: ERR!`, "NVIDIA-SMI"),
	newForm("no-gpu", `(?i)(?:^no devices were found|not able to use (?:the )?gpu|no (?:capable |nvenc capable |suitable |`+
		`usable |`+
		`compatible |supported |available |visible |mining )*(?:nvidia |cuda )?(?:gpus?|devices?|cuda(?:-capable)? `+
		`devices?|cuda gpus?)\b.{0,30}(?:found|detected|available|visible|present|with)|(?:gpu|cuda|nvidia `+
		`gpu|cuda device)s? (?:is|are|was|were)? ?(?:not|n't) (?:available|found|detected|visible|usable|`+
		`accessible)|(?:could(?: not|n't)|cannot|can't|unable to|did(?: not|n't)|failed to) (?:find|detect|access|`+
		`initialize|locate)(?: any| an?| the| your)? (?:nvidia |cuda |`+
		`usable |supported |suitable |compatible |working |valid )*(?:gpus?|(?:nvidia|cuda|gpu|graphics) (?:devices?|`+
		`cards?)|driver)\b|torch\.cuda\.is_available\(\) (?:is|returned|should be) \w+|cuda `+
		`is not available|(?:found )?no nvidia driver)`, "GPU", "gpu", "CUDA", "cuda", "evice", "NVIDIA", "driver"),
	newForm("no-cuda-build", `(?i)n['o]t (?:been )?(?:compiled|buil[td]) with (?:\w+ )?(?:cuda|gpu|cudnn|nccl|tensorrt|`+
		`nvenc)|(?:compiled|built) without (?:\w+ )?(?:cuda|gpu|cudnn|nccl)|(?:cuda|gpu) support (?:is `+
		`)?(?:not (?:enabled|compiled|built|available|included)|disabled)|(?:no|without) cuda (?:support|`+
		`backend)|cuda backend (?:is )?not (?:available|found|built)|CPU-only (?:build|version)|no kernel `+
		`image|not compiled for|does not support (?:cuda|gpu)|no registered platform called .{0,3}CUDA|`+
		`'aten::\w+' with arguments from the 'CUDA' backend`, "ompiled", "uilt", "support", "CUDA", "cuda",
		"CPU-only", "kernel image"),
	newForm("gpu-arch", `expecting compute (?P<want>[\d.]+) got compute (?P<have>[\d.]+)|generated on an incompatible `+
		`device`, "compute ", "ncompatible device"),
	newForm("gpu-arch", `(?i)(?:compute capability|cuda capability|sm_\d+|gpu architecture|cuda `+
		`arch)\b.{0,100}(?:not (?:supported|compatible|recognized)|unsupported|too (?:old|low)|required|at `+
		`least|minimum|>= ?\d|below|lower|unknown)|(?:unsupported|unknown|requires?|needs?|only supports?|`+
		`not supported)\b.{0,80}(?:compute capability|cuda capability|\bsm_?\d+|gpu architecture|cuda arch|`+
		`Ampere|Hopper|Turing|Ada\b|Blackwell|Volta)`, "apability", "sm_", "SM", "arch", "Ampere", "Hopper", "Turing",
		"Blackwell", "Volta", "Ada"),
	newForm("driver", `(?i)(?:nvidia |cuda )?driver (?:on your system |version )?(?:is|was|are)? ?(?:not (?:loaded|`+
		`installed|found|running|available|functional)|too old|insufficient|outdated|out of date|missing)|(?:load|`+
		`initiali[sz]e|`+
		`communicate with|find|open)(?:ing)? (?:the )?(?:nvidia |cuda )?(?:kernel )?driver|nvml(?: `+
		`init)?.{0,30}(?:fail|error|not found)|failed to initiali[sz]e nvml|libcuda|libnvidia-ml`, "river", "NVML",
		"nvml", "Nvml", "libcuda", "libnvidia"),

	// The codes of the APIs.
	newForm("status", `\b(?P<name>CUDA_ERROR_[A-Z][A-Z_0-9]+|cudaError[A-Z]\w+|(?:CUBLAS|CUDNN|CUSPARSE|CUSOLVER|`+
		`CURAND|NVJPEG)_STATUS_[A-Z_0-9]+|CUFFT_[A-Z_]+|(?:NVML|NVRTC|NVJITLINK|`+
		`NPP)_(?:ERROR_)?[A-Z][A-Z_0-9]+|(?:NV_ENC_ERR|OPTIX_ERROR|VK_ERROR|CL)_[A-Z][A-Z_]+|`+
		`nccl(?:UnhandledCudaError|SystemError|InternalError|InvalidArgument|`+
		`InvalidUsage|RemoteError))\b`, "CUDA_ERROR_", "cudaError", "_STATUS_", "CUFFT_", "NVML_", "NVRTC_",
		"NVJITLINK_", "NPP_", "NV_ENC_", "OPTIX_", "VK_ERR", "CL_", "nccl"),
	newForm("status", `\bcu(?:da)?[A-Z]\w+ (?:failed|returned)(?: with)?(?: error)?(?: code)?[ :=(]+(?P<code>[1-9]\d{0,2})`+
		`\b(?:[^.\w%]|$)|\bPhysX error: .* failed! (?P<code2>[1-9]\d{0,2})$`, "failed", "returned"),
	newForm("status", `(?i)\b(?:cuda|cudart|cuinit|cuda_?error|driver api|cuda runtime|culaunchkernel|cudamalloc|`+
		`gpuassert)\w*\b[^0-9\n]{0,30}\b(?:error|code|status|returned|`+
		`err)\b[^0-9\n]{0,12}(?P<code>[1-9]\d{0,2})\b(?:[^.\d%]|$)`, "rror", "ode", "tatus", "eturned", "ERROR", "err"),

	newForm("status", `failed to get (?:primary )?device context (?P<code>\d{1,3})`, "device context"),
	newForm("status", `(?i:\bnvml\b).{0,60}?\b(?P<nvml>ERROR_[A-Z_]+)`, "ERROR_"),
	newForm("status", `(?:CudaAPIError|LinkerError|CudaDriverError): \[(?P<code>\d{1,3})\]|CUDA_CALL: (?P<code2>\d{1,3})\b`,
		"Error: [", "CUDA_CALL"),
	newForm("status", `(?i:\b(?P<api>cublas|cudnn|cusparse|cusolver|cufft|curand)\b)[^\d\n]{0,40}\b(?i:status|error|code)\b`+
		`[^\d\n.]{0,12}\b(?P<code>[1-9]\d?)\b(?:[^.\d%]|$)`, "cu", "CU"),
	newForm("pci", `(?:VGA compatible|3D) controller.*NVIDIA.*\(rev (?P<rev>\w\w)\)`, "NVIDIA"),
	newForm("gpu-seen", `(?i)cuda[ _]?(?:is[ _])?available\W+true\b|\bdevice name: .*(?:NVIDIA|GeForce|Tesla|RTX)`,
		"vailable", "evice name", "evice Name"),
	newForm("nvml", `(?i)\bnvml\b.{0,80}?\b(?:error|code|err|returned)(?: code)?[:= ]*\(?(?P<code>\d{1,3})`+
		`\b`, "NVML", "nvml"),
	newForm("status", `(?i)\bnvcuda\b.{0,60}?\bfail\w*\b[^\d\n]{0,40}`+
		`(?P<code>[1-9]\d{0,2})"?$`, "nvcuda"),
	newForm("status", `Check failed: .{0,80}\b(?P<api>cuda|CUDNN|CUBLAS|CUSPARSE|CUFFT|CURAND|CUSOLVER)_?(?:STATUS_)?`+
		`(?i:success) \((?P<code>\d+) vs\. 0\)`, "Check failed"),
	newForm("assertion", `GGML_ASSERT\((?P<expression>.+)\) failed|`+
		`\b[Aa]ssertion [\x60'"‘](?P<expression2>.+?)['"\x60’] failed|`+
		`[Aa]ssertion failed: (?P<expression3>\(.+|.+, (?:file|function) .*)|Check failed: (?P<expression4>.+)|`+
		`(?P<expression5>[\w-]+\.(?:c|cpp|cuh?|h):\d+): [Ff]atal error$`,
		"ssert", "SSERT", "Check failed", "atal error"),

	newForm("program", `(?i)one of the variables needed for gradient computation has been modified|incompatible `+
		`shapes?\b|size mismatch for|expected (?:object|tensor|scalar type|all tensors|input|self|more `+
		`than)\b|shapes? .{0,40}(?:not aligned|cannot be multiplied|do not match|must match|mismatch)|mat1 `+
		`and mat2|must match the (?:existing )?size|index(?:es)? .{0,40}(?:out of (?:range|bounds))|`+
		`indices\[.*\] = -?\d+ is not in \[|backward through the graph|not implemented for '(?:Half|BFloat16|`+
		`Long|Int|Float|Bool)'|in forked subprocess|marked as ready twice|must be broadcastable|given `+
		`groups=\d+|invalid for input of size|can't be cast to the desired|no available memory for the cache `+
		`blocks|oom when allocating|loss (?:is|became|was) (?:nan|inf)|\bloss\w*['"]?\s?:\s?nan\b|[1-9]\d?%\|`+
		`.*\bloss=nan\b|`+
		`process group (?:has not been initialized|twice)|duplicate gpu detected|exporting the operator .{0,80}not `+
		`supported|invalid device context|requires? (?:the )?input.{0,30}(?:cuda|gpu|contiguous)|`+
		`tensor with (?:all )?NaNs|returned nan values`, "odified", "hape",
		"ismatch", "xpected", "mat1", "must ", "ndex", "ndices", "ackward", "mplemented", "forked", "ready twice",
		"iven groups", "nvalid", "desired", "resource", "cache blocks", "OOM when", "NaN", "nan", "oss ", "rocess "+
			"group", "uplicate GPU",
		"xporting", "equire"),
	newForm("no-input", `\(-215:Assertion failed\) !?_?(?:src|img|image|frame|input)\.empty\(\)`, "(-215:"),
	newForm("no-input", `^Found 0 (?:images|files|samples|validated image)|`+
		`num_samples should be a positive integer value, but `+
		`got num_samples=0`, "Found 0", "num_samples"),
	newForm("operator", `operator '?(?P<operator>(?:torchvision|torchaudio|torch_sparse|torch_scatter|_C\w*|vllm|`+
		`xformers|flash_attn|mmcv|mmdeploy|sgl_kernel)\w*::\w+)'? does not exist|`+
		`'(?P<operator2>(?:torchvision|torch_\w+|mmcv|xformers)::\w+)' with arguments from|`+
		`Tried to instantiate class '(?P<operator3>\w+\.\w+)', but it does not exist`, "does not exist",
		"with arguments from"),
	newForm("compile-error", `/(?:cuda[\w.-]*|cuda_runtime)/(?:targets/[\w-]+/)?include/\S+?(?::\d+|\(\d+\))(?::\d+)? ?: `+
		`(?:fatal )?error`, "error"),
	newForm("compile-error", `\.cuh?(?::\d+(?::\d+)?|\(\d+\)) ?: (?:fatal )?error(?: \w?\d+)?: |\.(?:cpp|cc|cxx|h|`+
		`hpp)(?::\d+(?::\d+)?|\(\d+\)) ?: (?:fatal )?error.{0,200}(?:\bat::|c10::|torch|THC|cuda|cublas|`+
		`cudnn|nccl)`, "error"),
	newForm("module", `^(?:ERROR:? *|\S*python[\d.]*(?:\.exe)?: )?No module named '?(?P<module>[\w.]+)'?`, "No module"),

	// The kernel.
	newForm("kernel-driver", `(?i)NVRM: .*(?:probe routine failed|init_?adapter failed|not supported|have the same `+
		`version|make sure that this kernel module|legacy drivers|no nvidia graphics adapter|`+
		`probe routine was not called|because it does not include|is invalid|unable to)|`+
		`nvidia: probe of \S+ failed|`+
		`modprobe: (?:FATAL|ERROR): .*\bnvidia(?:[_-](?:uvm|drm|modeset))?(?:[^\w-]|$)|(?:could not insert|`+
		`unable to load (?:the )?)(?:kernel |module |'|\"|driver ){0,3}nvidia\b|`+
		`module nvidia(?:_uvm|_drm|_modeset)? not found|module with unavailable `+
		`key is rejected|nvidia-nvlink: .*fail|no nvidia devices probed|Error inserting nvidi`+
		`a`, "NVRM", "probe", "modprobe", "nsert",
		"odule", "nable to", "nvidia"),
	newForm("module-key", `(?:could not insert (?:module )?|load )['"]?(?P<module>[\w.-]+?)(?:\.ko)?['"]?(?: failed)?: (?i:Key was `+
		`rejected by service|Required key not available)`, "could not insert", "oad "),
	newForm("module-in-use", `non-zero usage count|(?:rmmod|modprobe): .*nvidia\w* is in use|Module nvidia\w* is in use|`+
		`[Ff]ailed to unload module 'nvidia`, "usage count", "in use", "unload module"),
	newForm("xid", `NVRM: (?:GPU .*)?Xid \((?P<where>[^)]*)\): (?P<code>\d+),? ?(?P<rest>.*)`, "Xid"),
	newForm("oom-killer", `(?:Out of memory: Kill(?:ed)? process|oom-kill:|invoked oom-killer|Memory cgroup out of `+
		`memory|OOMKilled|oom_reaper|has been killed by the OOM killer|with result 'oom-kill'|TERM_MEMLIMIT|[Ee]xceeded (?:job|step) memory limit|`+
		`Detected \d*[1-9]\d* oom[-_]kill)`, "oom", "OOM", "ut of memory",
		"memory limit", "MEMLIMIT"),
	newForm("host-hardware", `\[Hardware Error\]:.*(?i:uncorrect|fatal)|EDAC \w+: [1-9]\d* UE|Machine Check Exception|`+
		`(?:I/O|medium) error, dev (?:sd|nvme|vd)\w+`, "[Hardware", "EDAC", "Machine Check", "error, dev"),
	newForm("hardware", `(?i)(?:uncorrect(?:able|ed)\b.{0,40}\b(?:ecc|memory|error)|double[- ]bit|fallen off the `+
		`bus|lost from (?:the )?bus|gpu is lost|row remap\w* fail|pcie bus error: severity=uncorrect|`+
		`retired pages\b.{0,40}(?:[:=] *[1-9]|exceed|threshold|pending[ :=]*yes)|`+
		`nvlink\b.{0,40}(?:fatal (?:error|link)|down|inactive)|gpu (?:\S+ )?(?:hung|has crashed|overheat)|`+
		`NV_ERR_RESET_REQUIRED|NV_ERR_GPU_IS_LOST|AER: .*(?:recovery failed|recover|Uncorrect)|device `+
		`unresponsive|unable to determine the device handle for gpu.*(?:unknown error|lost)|power cable|thermal (?:shu`+
		`tdown|violation))`, "ncorrect", "ouble", "bus", "lost", "emap",
		"PCIe", "etired", "NVLink", "hung", "crashed", "heat", "ower", "hermal", "nvlink", "Nvlink", "NV_ERR", "AER",
		"unresponsive", "etermine"),

	// Containers and schedulers.
	newForm("pod", `^(?:[\w-]+ +)?(?P<pod>(?:nvidia-|gpu-|k8s-device-plugin|dcgm|node-feature-discovery)[\w-]*) +\d+/\d+ +`+
		`(?P<state>CrashLoopBackOff|Error|Init:(?:Error|CrashLoopBackOff|ImagePullBackOff)|ImagePullBackOff|`+
		`ErrImagePull|RunContainerError|Create\w*Error) `, "BackOff", "rror", "ErrImagePull"),
	newForm("mpi", `An internal error has occurred in ORTE|^ORTE (?:has lost|was unable|does not know)|`+
		`There are not enough `+
		`slots available|(?:orte|prte|ompi_mpi|opal)_init failed|PMI\w* (?:ERROR|server unreachable)|`+
		`A process or daemon was unable to complete a TCP connection|PML add procs failed|`+
		`was unable to (?:start|launch) the specified application`, "ORTE", "enough slots", "nit failed", "PMI", "unable to",
		"PML"),
	newForm("served", `(?:failed to load '(?P<model>[^']+)' version \d+|`+
		`Poll failed for model directory '(?P<model2>[^']+)'): `+
		`(?:(?:Invalid argument|Not found|Unavailable|Invalid model name|Unsupported): )?(?P<sentence>[^;]+)`, "failed to "+
		"load",
		"Poll failed"),
	newForm("container", `(?i)(?:nvidia-container-(?:cli|runtime|runtime-hook)\S*:? .*(?:error|fail|not found|`+
		`unable)|could not select device driver|unknown or invalid runtime name: nvidia|unknown runtime `+
		`specified nvidia|(?:unresolvable|failed to inject|setting up) cdi devices?|`+
		`^fatal: +container creation failed|unknown flag: --gpus|`+
		`failed to (?:create|start|run|generate)\b.*nvidia|nvidia\b.*(?:prestart hook|createcontainer hook|`+
		`runtime hook)|terminating driver service \(forced\)|driver service terminated with signal|`+
		`nvc_\w+\.c:\d+\] could not start |no runtime for "nvidia" is configured|error running hook|`+
		`legacy mode)`, "ontainer", "evice", "river service", "could not start", "runtime", "CDI",
		"cdi", "creation", "hook", "flag", "nvidia", "NVIDIA", "mode"),
	newForm("service", `\b(?:nvidia|slurm|docker|containerd|dcgm|prime-select)\S*\.service: Failed with result`, "Failed with"),
	newForm("build-needs", `^ *CMake Error at .*(?:\(find_package\)|FindPackageHandleStandardArgs\.cmake:\d+ \(message\)):$`,
		"CMake Error"),
	newForm("build-needs", `ERROR: Dependency "\S+" not found|^error: linker \S+ not found|`+
		`configure: error: (?:[Nn]o acceptable|.* (?:not found|is required|(?:is )?missing))`, "ependency", "linker",
		"configure: error"),
	newForm("access", `^Error from server \(Forbidden\)`, "from server"),
	newForm("passthrough", `(?:vfio|qemu).*(?:is not viable|failed to open /dev/vfio|not ready \d+ms after|`+
		`[Uu]nable to power on device|error getting device|no such host device)|`+
		`\bpci(?:port|-\w+)? .*BAR \d+: (?:no space for|`+
		`failed to assign|can.t reserve) \[mem`, "vfio", "qemu", "BAR "),
	newForm("image", `pull access denied for (?P<image>[\w./:-]+?)(?:,|$)|manifest for (?P<image2>[\w./:@-]+) not found|`+
		`(?P<image3>[\w./:@-]+): (?:manifest unknown|not found: manifest unknown|no matching manifest)|`+
		`(?:[Bb]ack-off pulling|[Ff]ailed to pull) image "(?P<image4>[^"]+)"|`+
		`failed to solve: (?P<image5>[\w./:-]+): (?:not found|failed to resolve)`, "pull access", "manifest", "image",
		"failed to solve"),
	newForm("access", `^Insufficient Permissions\.?$|\b(?:GPU|NVML|`+
		`nvidia\S*)\b.*: Insufficient Permissions\.?$`, "Insufficient "+
		"Perm"),
	newForm("display", `Could not load the Qt platform plugin|(?i:(?:cannot|can.t|could not|unable to) (?:connect to|`+
		`open) (?:the )?`+
		`(?:x server|x display|display))|NoSuchDisplayException|no display name and no \$DISPLAY|`+
		`Failed to (?:open|get) (?:EGL |X )?display`, "isplay", "server", "Qt platform"),
	newForm("video-hardware", `hwaccel initialisation returned error|Device setup failed for decoder|`+
		`No device available for decoder|Device creation failed: -\d+`, "hwaccel", "evice setup", "for decoder",
		"evice creation"),
	newForm("scheduler", `(?i)violates podsecurity|insufficient nvidia\.com/|nodes are available|node\(s\) (?:didn.t|had)|`+
		`UnexpectedAdmissionError|`+
		`no available node types can fulfill|cannot provide a placement group|`+
		`invalid `+
		`generic resource|requested node configuration is not available|gres\b.{0,60}(?:error|fatal|not|`+
		`invalid|fail|lower)|fatal:.{0,60}\b(?:gres|MIG|gpu)\b|no gpu devices? .{0,20}(?:found|allocat)|allocate `+
		`failed`, "nsufficient", "node(s) ", "PodSecurity", "available", "o available node", "placement group",
		"Admission", "generic "+
			"resource", "gres", "GRES", "GPU", "gpu",
		"llocate"),

	// Memory.
	newForm("memory", `(?i)(?:(?:cuda|gpu|device|hip)[\w :]{0,30}out of memory|out of (?:gpu |device |cuda )?memory|`+
		`outofmemory|resource_exhausted|(?:failed|unable|tried|trying|could not|not enough memory:? you `+
		`tried) to allocate\b|cudamalloc failed|memory allocation (?:of|failed|failure)|not enough (?:gpu |`+
		`video |device |host )?(?:memory|vram)|insufficient (?:gpu |device |video )?memory|alloc(?:ation)? `+
		`fail\w*)(?:.{0,60}?(?P<want>\d[\d.]* ?(?:[KMGT]i?B|bytes)\b))?`, "emory", "EXHAUSTED", "lloc", "OutOfMemory",
		"VRAM"),
	newForm("host-memory", `(?i)DefaultCPUAllocator|std::bad_alloc|^(?:\S+: )?cannot allocate memory|errno 12\b|`+
		`unable to allocate .* for an array|\bMemoryError\b|`+
		`host (?:memory|allocation).{0,40}(?:fail|exceed|exhaust|insufficient)|(?:failed|unable|out of).{0,20}host (?:`+
		`memory|alloc)`, "Allocator", "bad_alloc",
		"llocate", "MemoryError", "host", "Host"),

	// The end of a process.
	newForm("ray-memory", `\b[1-9]\d* Workers? \(tasks / actors\) killed due to memory pressure|`+
		`Task was killed due to the node running low on memory|ray\.exceptions\.OutOfMemoryError`, "memory pressure",
		"low on memory", "exceptions.OutOf"),
	newForm("killed", `(?:^|[\s\]])[Kk]illed(?:$| {3,}\S)|: line \d+: +\d+ Killed\b|`+
		`\b(?:exit\w*|return(?:ed|s)?)\b.{0,30}\b(?:code|status|exitcode)`+
		`\b[ :=]{0,3}(?:-9|137)\b|exitcode: -9\b|signal:? 9\b(?: \(Killed\))?|Signals\.SIGKILL|was sent SIGKILL`, "illed",
		"-9", "137", "signal 9", "signal: 9", "SIGKILL"),
	newForm("windows-end", `(?i)\b(?:exit(?:ed)?|exitcode|code|status|crash(?:ed)?|`+
		`finished)\b.{0,40}?(?P<code>-107374\d{4}|`+
		`322122\d{4}|0xC0\d0[0-9A-F]{4})\b`, "-107374", "322122", "0xC0", "0xc0"),
	newForm("exit", `(?i)(?P<signal>segmentation fault|sigsegv|bus error\b(?:[^ ]| \(| enc|$)|sigbus|illegal `+
		`instruction|sigill|floating point exception)|(?:exit(?:ed)?\s?(?:with )?(?:code|status):? ?|exitcode:? ?|returned |signal `+
		`)\(?(?P<code>-\d+|1(?:29|3\d)|6|7|9|11)\b`, "egmentation", "SIG", "us error", "us "+
		"Error", "BUS", "llegal", "loating", "exit",
		"Exit", "returned", "signal"),

	// AMD's stack, which is not judged here.
	newForm("unit", `\bstatus=(?P<code>2\d\d)/(?P<name>[A-Z_]+)`, "status=2"),
	newForm("amd", `\bHIP error|\bhipError[A-Z]\w+|HSA_STATUS_ERROR\w*|HIPBLAS_STATUS_\w+|\bMIOpen Error`,
		"HIP", "hipE", "HSA_", "MIOpen"),

	// Servers that go on without the GPU and do not call it an error.
	newForm("on-cpu", `no compatible GPUs were discovered|runners="?\[cpu[\w ]*\]|compatible gpu libraries" `+
		`compatible=\[\]|library=cpu\b|no usable GPU found|GPU (?:offload|support) (?:is )?(?:not supported|`+
		`disabled)|offloaded 0/\d+ layers|(?i)fall(?:ing|s)? back to (?:the )?cpu|(?:using|running on|on) `+
		`(?:the )?cpu (?:only|instead|mode)|gpu will not be used`, "GPU", "cpu", "CPU", "compatible=", "offloaded"),
}
