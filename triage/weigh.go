package triage

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
)

// known are the tables of names: statuses, libraries, Xids.
var known = sync.OnceValue(tables.Embedded)

// weighers say of each kind of record which answer it is, by small tables of names. A notice is none, and an empty
// answer means that the record says nothing here.
var weighers = map[string]func(*record, *tables.Tables) string{
	"exception":        weighException,
	"library":          weighLibrary,
	"dll":              weighDLL,
	"ldd":              weighLdd,
	"symbol":           weighSymbol,
	"symbol-version":   weighSymbolVersion,
	"library-damaged":  always("library-damaged"),
	"header":           weighHeader,
	"compiler-too-new": always("compiler-too-new"),
	"target":           weighTarget,
	"linked":           weighLinked,
	"tool":             weighTool,
	"cmake":            always("cmake"),
	"build":            always("build"),
	"kernel-module":    always("kernel-module"),
	"package":          always("package"),
	"packages":         weighPackages,
	"wheel":            always("wheel"),
	"version":          weighVersion,
	"no-gpu":           weighNoGPU,
	"no-cuda-build":    whenSevere("no-cuda-build"),
	"gpu-arch":         always("gpu-arch"),
	"driver":           whenSevere("driver"),
	"status":           weighStatus,
	"assert":           always("assert"),
	"program":          always("program-words"),
	"worker":           weighWorker,
	"operator":         weighOperator,
	"network":          always("network"),
	"compile-error":    weighCompileError,
	"killed":           always("killed"),
	"no-input":         always("no-input"),
	"package-tool":     always("package-tool"),
	"element":          always("element"),
	"given":            always("given-file"),
	"newer-file":       always("newer-file"),
	"asked":            weighAsked,
	"speaker":          weighSpeaker,
	"pod":              always("pod"),
	"mpi":              always("mpi-start"),
	"served":           weighServed,
	"smi":              always("smi"),
	"module":           weighModule,
	"kernel-driver":    always("kernel-driver"),
	"extension":        always("extension"),
	"xid":              weighXid,
	"oom-killer":       always("oom-killer"),
	"hardware":         always("hardware"),
	"container":        always("container"),
	"device-file":      weighDeviceFile,
	"scheduler":        always("scheduler"),
	"memory":           weighMemory,
	"host-memory":      always("host-memory"),
	"exit":             weighExit,
	"amd":              always("amd"),
	"on-cpu":           always("on-cpu"),
	"complaint":        weighComplaint,
	"provider":         always("provider"),
	"pci":              never,
	"gpu-seen":         never,
	"build-killed":     always("build-killed"),
	"command":          weighCommand,
	"processor":        always("processor"),
	"nvml":             weighNVML,
	"assertion":        weighAssertion,
	"sanitizer":        always("sanitizer"),
	"module-in-use":    always("module-in-use"),
}

// never are the records that only others need.
func never(*record, *tables.Tables) string { return "" }

// onlyBears reports whether a record is no trouble, and only bears on what others mean.
func (r record) onlyBears() bool { return r.kind == "pci" || r.kind == "gpu-seen" }

func always(name string) func(*record, *tables.Tables) string {
	return func(*record, *tables.Tables) string { return name }
}

// structural are the findings that records make.
func structural(records []record, t *tables.Tables) []finding {
	var all []finding
	for i := range records {
		r := &records[i]
		weigh := weighers[r.kind]
		if weigh == nil || r.notice && !slices.Contains(telling, r.kind) && !starts.MatchString(r.text) {
			continue
		}
		a, ok := answers[weigh(r, t)]
		if r.notice || r.kind == "complaint" || !r.terminal() {
			a.weight = min(a.weight, warning)
		}
		if ok {
			all = append(all, r.finding(a))
		}
	}
	all = append(all, compared(records)...)
	if slices.ContainsFunc(records, func(r record) bool { return r.kind == "build" || r.kind == "package" }) {
		all = slices.DeleteFunc(all, func(f finding) bool { return f.cause == kernelSource }) // a package's
	}
	if slices.ContainsFunc(records, func(r record) bool { return r.kind == "exception" }) {
		all = slices.DeleteFunc(all, func(f finding) bool { return f.cause == "runs-on-cpu" }) // it did not go on
	}
	if slices.ContainsFunc(records, func(r record) bool { return r.kind == "amd" }) {
		all = slices.DeleteFunc(all, func(f finding) bool { return f.cause != "amd-not-judged" })
	}
	return all
}

// statements are the kinds of which a line may only tell how things stand.
var statements = []string{"no-gpu", "version", "no-cuda-build", "driver"}

// terminal reports whether a record says that something ended, and not only how things stand.
func (r *record) terminal() bool {
	return !slices.Contains(statements, r.kind) || r.frames != nil || aloud.MatchString(r.text) ||
		raised.MatchString(message(r.text))
}

// kernelSource is the cause of what a compiler refuses of a program's own kernel.
const kernelSource = "kernel-source"

// compared are the findings that only several records make: one card that does not answer beside others that do, and
// a library without the GPU in a process that has it.
func compared(records []record) []finding {
	var dead, alive, seen, without *record
	for i := range records {
		switch r := &records[i]; {
		case r.kind == "pci" && r.slot("rev") == "ff":
			dead = cmp.Or(dead, r)
		case r.kind == "pci":
			alive = r
		case r.kind == "gpu-seen":
			seen = r
		case r.kind == "on-cpu" && strings.Contains(r.text, "not available"):
			without = cmp.Or(without, r)
		}
	}
	var all []finding
	if dead != nil && alive != nil {
		dead.slots["sentence"] = strings.TrimSpace(dead.text)
		all = append(all, dead.finding(answers["off-the-bus"]))
	}
	if seen != nil && without != nil {
		all = append(all, without.finding(answers["no-cuda-build"]))
	}
	return all
}

// telling are the kinds of which a warning, too, says something of the machine.
var telling = []string{"on-cpu", "gpu-arch", "nvml"}

// finding says an answer with the record's slots.
func (r *record) finding(a answer) finding {
	s := &Signature{ID: "record-" + r.kind, Cause: cmp.Or(r.slot("cause"), a.cause), Weight: a.weight,
		Blame: cmp.Or(Blame(r.slot("blame")), a.blame), Rule: a.rule}
	if s.Blame == Unknown && r.kind != "amd" {
		s.Weight = warning
	}
	f := finding{event: event{signature: s, order: 1 << 20, source: r.source, line: r.line, text: r.text,
		match: []int{0, len(r.text)}},
		cause: s.Cause, blame: s.Blame, rule: s.Rule, because: r.fill(a.because)}
	for _, step := range a.do {
		f.do = append(f.do, r.fill(step))
	}
	if len(f.do) == 0 {
		f.do = stepsOf(f.cause)
	}
	return f
}

// stepsOf are the steps of a curated row of the same cause, where they need nothing of its line.
func stepsOf(cause string) []string {
	for _, row := range tables.Rows[tables.Signature](known()) {
		if row.Cause == cause && len(row.Do) > 0 && !placeholder.MatchString(strings.Join(row.Do, "")) {
			return slices.Clone(row.Do)
		}
	}
	return nil
}

// maxSentence is how long the sentence of a fault may be.
const maxSentence = 120

// fill puts slots into words; a message of a program is cut, so that the sentence stays one.
func (r *record) fill(words string) string {
	return placeholder.ReplaceAllStringFunc(words, func(name string) string {
		text := redact(cmp.Or(r.slot(strings.Trim(name, "{}")), "it"))
		if room := maxSentence - len(words) + len(name); len(text) > max(room, 40) {
			text = strings.ToValidUTF8(text[:max(room, 40)-3], "") + "…"
		}
		return text
	})
}

var optionalLibrary = lazyregexp.New(`^(?:libnvinfer|libnccl-net|libnccl-tuner|libibverbs|libsox|libsnpe|libGL|` +
	`libjpeg|libpng|libavutil|libtorchcodec|image\.so)`)

func weighLibrary(r *record, t *tables.Tables) string {
	name := r.slot("library")
	switch known := t.Library(name); {
	case optionalLibrary.MatchString(name) && strings.Contains(r.text, " W "):
		return ""
	case strings.HasPrefix(name, "libcuda.so") || strings.HasPrefix(name, "libnvidia-") || strings.HasPrefix(name,
		"nvcuda"):
		return "libcuda"
	case known != nil:
		r.slots["what"], r.slots["cuda"], r.slots["pip"] = known.Library, strings.Join(known.CUDA, " or "), known.Pip[0]
		return "cuda-library"
	case strings.HasPrefix(name, "libc10") || strings.HasPrefix(name, "libtorch"):
		return "torch-library"
	case strings.HasSuffix(strings.ToLower(name), ".dll"):
		return "windows-library"
	}
	return "library"
}

// weighLdd reads what ldd prints. Of a library that another one brings along, as PyTorch's, it knows nothing.
func weighLdd(r *record, t *tables.Tables) string {
	if name := weighLibrary(r, t); name == "cuda-library" || name == "libcuda" {
		return name
	}
	return ""
}

// severe are words of a line that tells of an end, and not of a choice.
var severe = lazyregexp.New(`(?i)error|fatal|fail|exception|abort|panic|critical|assert|cannot|can't|could ?n.t|` +
	`unable|require|must|need|^no |not able`)

func whenSevere(name string) func(*record, *tables.Tables) string {
	return func(r *record, _ *tables.Tables) string {
		if severe.MatchString(r.text) {
			return name
		}
		return ""
	}
}

func weighNoGPU(r *record, t *tables.Tables) string {
	if r.slot("pair") != "" {
		return "no-gpu"
	}
	return whenSevere("no-gpu")(r, t)
}

func weighCommand(r *record, _ *tables.Tables) string {
	r.slots["command"] = cmp.Or(r.slot("command"), r.slot("command2"), r.slot("command3"), r.slot("command4"))
	if r.slot("command") == "nvcc" {
		return "" // most programs need none
	}
	return "command"
}

// aboutStatus are the words of an assertion that only says that a call failed.
var aboutStatus = lazyregexp.New(`(?i)success|status|\bok\b|stream|cudnn|cublas|err\b|error|ret\b|block: \[|` +
	`autotun|tactic|\bSM\b|world|\bmpi|\brank|version|driver|unsupported`)

// weighAssertion judges a condition that the authors of a compiled program wrote down: of the machine, of a call, or of
// what the program was given.
func weighAssertion(r *record, _ *tables.Tables) string {
	text := cmp.Or(r.slot("expression"), r.slot("expression2"), r.slot("expression3"), r.slot("expression4"))
	r.slots["expression"], r.slots["sentence"] = text, text
	about := areaOf(text)
	switch {
	case aboutStatus.MatchString(r.text):
		return ""
	case about == "" || slices.Contains(ofPrograms, about):
		return "assertion"
	}
	return about
}

// weighNVML looks the number up among NVML's own, of which most mean that a card cannot answer, not that it fails.
func weighNVML(r *record, t *tables.Tables) string {
	code, _ := strconv.Atoi(r.slot("code"))
	return r.weighStatusOf("nvml", code, t)
}

// weighStatusOf looks a number up among those of one library.
func (r *record) weighStatusOf(api string, code int, t *tables.Tables) string {
	for _, s := range tables.Rows[tables.Status](t) {
		if s.API == api && s.Code == code && s.Cause != "" {
			return r.status(&s)
		}
	}
	return ""
}

// ofTheCheckout are names that programs give their own modules: one that is missing is a matter of the directory.
var ofTheCheckout = lazyregexp.New(`^(?:utils?|models?|src|configs?|data|datasets?|lib|core|modules|tools|common|` +
	`networks?|train\w*|test\w*|helpers?|scripts?|args|options|layers|loss\w*|engine|eval\w*|main|app|my\w*|__\w+)$`)

func weighModule(r *record, _ *tables.Tables) string {
	module := r.slot("module")
	root, _, _ := strings.Cut(module, ".")
	switch {
	case compiled.MatchString(module):
		return "extension"
	case stack.MatchString(root):
		return "module"
	case r.frames != nil && !ofTheCheckout.MatchString(root):
		return "module"
	}
	return ""
}

func weighDLL(r *record, _ *tables.Tables) string {
	r.slots["library"] = cmp.Or(r.slot("module"), "a library")
	return "windows-library"
}

// cudaSymbol tells by its beginning of which of NVIDIA's libraries a symbol is.
var cudaSymbols = []struct{ prefix, what string }{
	{"cublasLt", "cuBLASLt"}, {"cublas", "cuBLAS"}, {"cudnn", "cuDNN"}, {"cufft", "cuFFT"}, {"cusparse", "cuSPARSE"},
	{"cusolver", "cuSOLVER"},
	{"nccl", "NCCL"}, {"__nvJitLink", "nvJitLink"}, {"nvJitLink", "nvJitLink"}, {"nvrtc", "NVRTC"}, {"__cuda",
		"the CUDA runtime"}, {"cuda", "the CUDA runtime"}, {"nvml", "NVML"},
}

func weighSymbol(r *record, _ *tables.Tables) string {
	name := r.slot("symbol")
	for _, s := range cudaSymbols {
		if strings.HasPrefix(name, s.prefix) {
			r.slots["what"] = s.what
			return "cuda-symbol"
		}
	}
	r.slots["symbol"] = demangled(name)
	if strings.Contains(name, "c10") || strings.Contains(name, "2at") || strings.Contains(name, "5torch") ||
		strings.HasPrefix(name,
			"THP") || strings.HasPrefix(name, "aoti_torch") {
		return "torch-symbol"
	}
	return "symbol"
}

func weighSymbolVersion(r *record, _ *tables.Tables) string {
	switch r.slot("set") {
	case "GLIBC":
		return "glibc"
	case "GLIBCXX", "CXXABI", "GCC":
		return "libstdcxx"
	case "FABRIC", "IBVERBS", "IBVERBS_PRIVATE", "RDMACM", "EFA", "MLX":
		return "rdma"
	}
	return "symbol-version"
}

// headerOf tells what a header belongs to by its beginning.
var headerOf = []struct{ prefix, what string }{
	{"cublas", "cuBLAS"}, {"cudnn", "cuDNN"}, {"cufft", "cuFFT"}, {"cusparse", "cuSPARSE"}, {"cusolver", "cuSOLVER"},
	{"curand", "cuRAND"}, {"nccl", "NCCL"},
	{"cuda", "the CUDA toolkit"}, {"nv", "the CUDA toolkit"}, {"cub/", "the CUDA toolkit"}, {"thrust",
		"the CUDA toolkit"}, {"crt/", "the CUDA toolkit"},
	{"driver_types", "the CUDA toolkit"}, {"vector_", "the CUDA toolkit"}, {"helper_", "the CUDA samples"}, {
		"cutlass", "CUTLASS"}, {"cute/", "CUTLASS"},
	{"Python.h", "Python"}, {"pyconfig", "Python"}, {"torch/", "PyTorch"}, {"ATen", "PyTorch"}, {"c10", "PyTorch"}, {
		"THC/", "an old PyTorch (before 1.11)"},
	{"NvInfer", "TensorRT"}, {"infiniband", "rdma-core"},
}

func weighHeader(r *record, _ *tables.Tables) string {
	for _, h := range headerOf {
		if strings.HasPrefix(r.slot("header"), h.prefix) {
			r.slots["what"] = h.what
			return "header"
		}
	}
	return "" // not a header of the stack that is judged here
}

func weighTarget(r *record, _ *tables.Tables) string {
	r.slots["target"] = cmp.Or(r.slot("target"), r.slot("target2"))
	return "target"
}

func weighLinked(r *record, _ *tables.Tables) string {
	r.slots["library"] = cmp.Or(r.slot("library"), r.slot("library2"))
	return "library"
}

func weighTool(r *record, _ *tables.Tables) string {
	if strings.HasPrefix(r.slot("tool"), "nvidia-") {
		return "driver-tool"
	}
	return "tool"
}

func weighPackages(r *record, _ *tables.Tables) string {
	if r.slot("wanted") != "" {
		return "wanted-package"
	}
	return "packages"
}

func weighVersion(r *record, _ *tables.Tables) string {
	built, found := r.slot("built"), r.slot("found")
	switch {
	case built != "" && found != "" && built != found:
		return "version-pair"
	case built != "":
		return ""
	case r.slot("wanted") != "":
		return "version-wanted"
	}
	r.slots["subject"] = cmp.Or(r.slot("subject"), r.slot("subject2"), r.slot("subject3"), "driver")
	return "version"
}

// weighStatus looks the code or the name up. One that is not in the table, or means no error, says nothing.
func weighStatus(r *record, t *tables.Tables) string {
	code, _ := strconv.Atoi(cmp.Or(r.slot("code"), r.slot("code2")))
	if nvml := r.slot("nvml"); nvml != "" {
		r.slots["name"] = "NVML_" + nvml
	}
	if api := strings.ToLower(r.slot("api")); api != "" && api != "cuda" {
		return r.weighStatusOf(api, code, t)
	}
	for _, s := range t.Statuses(r.slot("name"), code) {
		if s.Cause == "" {
			continue
		}
		return r.status(&s)
	}
	return ""
}

// starts are the calls with which every program begins: what fails in them has not met the program's own work.
var starts = lazyregexp.New(`(?i)\bcu_?Init\b|DeviceGetCount|_?getDeviceCount|getCudaEnabledDeviceCount|nvmlInit|` +
	`CUDA initialization:|failed to initiali[sz]e CUDA|number of (?:gpus|devices) available|query device count`)

// status fills a status' slots. NCCL's and MPI's own calls are not the program's.
func (r *record) status(s *tables.Status) string {
	if starts.MatchString(r.text) && s.Code != 2 && s.Code != 3 &&
		(s.Blame == "" || Blame(s.Blame) == Program || Blame(s.Blame) == Unknown) {
		r.kind, r.slots["name"], r.slots["code"] = "start", s.Name, strconv.Itoa(s.Code)
		r.slots["meaning"] = s.Meaning
		return "start"
	}
	r.slots["name"], r.slots["code"], r.slots["meaning"] = s.Name, strconv.Itoa(s.Code), s.Meaning
	r.slots["cause"], r.slots["blame"] = s.Cause, cmp.Or(s.Blame, string(Unknown))
	if strings.Contains(r.text, "NCCL") && s.Blame == string(Program) && s.Cause == "invalid-argument" {
		r.slots["blame"], r.slots["cause"] = string(Unknown), "nccl-cuda-error"
	}
	return "status"
}

// weighAsked judges what a program was asked to do, where the program was not built without it.
func weighAsked(r *record, _ *tables.Tables) string {
	if aboutStack.MatchString(r.slot("sentence")) {
		return ""
	}
	return "input"
}

// ended is what launchers say of programs, and not of themselves.
var ended = lazyregexp.New(`(?i)exit code|cancelled|signal|oom|out of memory|\*\*\*|usage|unrecogni[sz]ed|` +
	`invalid option|peermem|:$`)

// weighSpeaker judges what says that it failed by what it is for: to bring the driver, the container or the job up.
func weighSpeaker(r *record, _ *tables.Tables) string {
	if ended.MatchString(r.text) {
		return ""
	}
	r.slots["speaker"] = cmp.Or(r.slot("speaker"), "Xorg")
	return "speaker"
}

// aboutStack are the words of a server's refusal that may be of what is installed and not of the model.
var aboutStack = lazyregexp.New(`(?i)\.so\b|shared library|symbol|cuda|gpu|driver|version|onnxruntime|python|import|` +
	`module`)

// weighServed judges why Triton's server refused a model of its repository.
func weighServed(r *record, _ *tables.Tables) string {
	r.slots["model"] = cmp.Or(r.slot("model"), r.slot("model2"))
	if aboutStack.MatchString(r.slot("sentence")) {
		return ""
	}
	return "model-refused"
}

// The errors of a compiler that are of the language alone, and the places where sources lie that somebody else wrote.
var (
	ofTheLanguage = lazyregexp.New(`error ?(?:C\d+)?: (?:identifier "\w+" is undefined|too (?:many|few) arguments|` +
		`expected |` +
		`no instance of (?:overloaded )?function|a value of type|argument of type|this declaration|` +
		`no operator ".*" matches|expression must|'\w+' was not declared|use of undeclared|redefinition of|` +
		`calling a (?:constexpr )?__(?:host|device)__|a __\w+__ .* cannot|invalid (?:operands|conversion))`)
	ofOthers = lazyregexp.New(`(?i)(?:site|dist)-packages|/include/|/torch|aten|c10|csrc|/build|/tmp/|_ext\b|` +
		`third_party|` +
		`submodules|extensions?/|\.h(?:pp)?\W|\.cuh\W`)
)

// weighCompileError tells the one file that somebody wrote from a package that does not build here.
func weighCompileError(r *record, _ *tables.Tables) string {
	if ofTheLanguage.MatchString(r.text) && !ofOthers.MatchString(r.text) {
		return "kernel-language"
	}
	return "compile-error"
}

func weighWorker(r *record, _ *tables.Tables) string {
	switch signal := r.slot("signal"); {
	case strings.HasPrefix(signal, "Bus"):
		return "worker-shm"
	case strings.HasPrefix(signal, "Killed"):
		return "worker-killed"
	}
	return ""
}

func weighOperator(r *record, _ *tables.Tables) string {
	r.slots["operator"] = cmp.Or(r.slot("operator"), r.slot("operator2"))
	return "operator"
}

func weighXid(r *record, t *tables.Tables) string {
	x := t.Xid(r.text[strings.Index(r.text, "NVRM"):])
	if x == nil {
		return ""
	}
	r.slots["meaning"] = x.Meaning
	switch blame := Blame(x.Blame); {
	case contained.MatchString(r.text):
		return "xid"
	case blame == Hardware:
		return "xid-hardware"
	case blame == Program:
		return "xid-program"
	}
	return "xid"
}

// contained are the Xids that say themselves that the GPU goes on.
var contained = lazyregexp.New(`(?i)non-?fatal|\bcontained\b|corrected`)

func weighDeviceFile(r *record, _ *tables.Tables) string {
	if strings.HasPrefix(r.slot("path"), "/dev/nvidia") {
		return "device-node"
	}
	return "device-file"
}

func weighMemory(r *record, _ *tables.Tables) string {
	switch {
	case r.slot("want") != "":
		return "memory-want"
	case r.frames != nil || raised.MatchString(message(r.text)):
		return "memory"
	}
	return "memory-unsaid" // a compiled program's: another process may hold it
}

// signals are the ends of processes by the code that shells and launchers report.
var signals = map[string]string{"-11": "a bad pointer (SIGSEGV)", "11": "a bad pointer (SIGSEGV)", "139": "a bad " +
	"pointer (SIGSEGV)",
	"-9": "SIGKILL, mostly because main memory ran out", "9": "SIGKILL, mostly because main memory ran " +
		"out", "137": "SIGK" +
		"ILL, mostly because main memory ran out",
	"-7": "SIGBUS, mostly because shared memory ran out", "7": "SIGBUS, mostly because shared memory ran " +
		"out", "135": "SI" +
		"GBUS, mostly because shared memory ran out",
	"-6": "its own abort (SIGABRT)", "6": "its own abort (SIGABRT)", "134": "its own abort (SIGABRT)", "-4": "an " +
		"instruction this processor does not have (SIGILL)", "132": "an instruction this processor does not have " +
		"(SIGILL)"}

func weighExit(r *record, _ *tables.Tables) string {
	if r.slot("signal") != "" {
		return "exit"
	}
	r.slots["signal"] = signals[r.slot("code")]
	if r.slot("signal") == "" {
		return ""
	}
	return "exit"
}

// The words by which an exception shows its side when no grammar read more from it.
var (
	noModule = lazyregexp.New(`^No module named '?([\w.]+)'?`)
	compiled = lazyregexp.New(`(?i)(?:_cuda|_C|_ext|_cpp|_kernels?|_ops|_cpu|_gpu|Cuda|CUDA)$|` +
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
	aboutGPU = lazyregexp.New(`(?i)cuda|gpu|nvidia|cudnn|nccl|tensorrt|driver|torch|triton|xformers|flash|` +
		`toolkit|extension|compiler|compute capability|sm_\d|\.so\b|\.dll|\bDLL|nvcc|ninja|backend`)
	clearlyProgram = lazyregexp.New(`(?i)modified by an in-?place operation|incompatible shapes|size mismatch ` +
		`for|^expected (?:object|tensor|scalar|all tensors|input)|shapes? .* (?:not aligned|cannot be ` +
		`multiplied|do not match)|mat1 and mat2|must match the size|exporting the operator .* not supported|` +
		`operator '?aten::|index out of range|out of bounds|element 0 of tensors|backward through the graph|` +
		`not implemented for '(?:Half|BFloat16|Long|Int|Float)'|forked subprocess`)
	aboutTensor = lazyregexp.New(`(?i)tensor|torch|cuda|\bmat\d|dtype|\bconv\d|convol|embedding|\bbatch|logits|` +
		`\bloss\b|\bgrad|layer|\bweights?\b|input|\bmodel\b|token`)
	// stack are the packages of which a missing module, or a failing call, is a matter of the stack that is judged here.
	stack = lazyregexp.New(`^(?:torch\w*|functorch|tensorflow\w*|tf_keras|keras|jax\w*|flax|triton|` +
		`xformers|flash_attn\w*|apex|nvidia\w*|pynvml|cuda|cupy\w*|cudf|cuml|rmm|numba\w*|pycuda|` +
		`onnxruntime\w*|tensorrt\w*|polygraphy|vllm|sglang|sgl_kernel|lmdeploy|deepspeed|bitsandbytes|` +
		`auto_gptq|awq\w*|exllama\w*|mmcv\w*|mmdet\w*|detectron2|pytorch3d|spconv|pointnet\w*|` +
		`MinkowskiEngine|transformers|diffusers|accelerate|peft|timm|lightning|pytorch_lightning|fairseq|` +
		`megatron|transformer_engine|causal_conv1d|mamba_ssm|gsplat|nvdiffrast|tinycudann|kaolin|dgl|paddle|` +
		`theano|chainer|mxnet|faiss|llama_cpp|ctranslate2|horovod)$`)
	// programmers are the exceptions by which Python and libraries refuse what a program gives them; coders are those
	// that are the program's whatever they say, where no word of theirs speaks of something else.
	programmers = append([]string{"RuntimeError", "InvalidArgumentError", "FailedPreconditionError", "JaxRuntimeError",
		"XlaRuntimeError", "InternalError", "UnimplementedError"}, coders...)
	coders = []string{"KeyError", "NameError", "ZeroDivisionError", "UnboundLocalError", "OverflowError",
		"RecursionError", "JSONDecodeError", "FloatingPointError", "ValueError", "TypeError", "IndexError",
		"AssertionError", "NotImplementedError", "OutOfResources", "Unsupported"}
	// unsure are the words of a RuntimeError that only passes on what something else said.
	unsure = lazyregexp.New(`(?i)internal error|unknown error|cuda error|cuda runtime|driver error|time[d ]*out|status|` +
		`fail|worker|process|killed|terminat|died|exit|backtrace|traceback|operation|` +
		`ordinal|attributes|missing|duplicate`)
	// carriers are exceptions that pass on what another process or library said.
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

// weighException judges an exception by its class, its message and whose code raised it. What another grammar reads in
// the same line weighs more.
func weighException(r *record, _ *tables.Tables) string {
	class, text := r.slot("class"), elsewhere.ReplaceAllString(r.slot("message"), "")
	r.slots["sentence"] = strings.TrimSuffix(class+": "+text, ": ")
	if m := noModule.FindStringSubmatch(text); m != nil {
		r.slots["module"] = m[1]
		return weighModule(r, nil)
	}
	switch {
	case strings.Contains(text, "NoneType"):
		return "" // a value is missing, and the line does not say why
	case class == "DistBackendError" || class == "DistNetworkError" || class == "ChildFailedError":
		return ""
	case class == "PackageNotFoundError":
		r.slots["module"], _, _ = strings.Cut(text, " ")
		return weighModule(r, nil)
	case clearlyProgram.MatchString(text):
		return "program"
	case class == "AttributeError" && r.ofModule(text):
		return "packages-do-not-fit"
	case class == "CompileException" || class == "TypingError":
		return "kernel-source"
	}
	if last := r.last(); last.function == "_execute_child" || class == "KeyError" && modelNames.MatchString(last.path) {
		return "environment"
	}
	if f := r.refusal(); f != nil {
		return f.answer
	}
	switch {
	case class == "AttributeError" || class == "FileNotFoundError":
		return "" // a wrong path or name, or a package of another release
	case envWords.MatchString(text) && aboutGPU.MatchString(text):
		return "environment"
	case shapeWords.MatchString(text) && r.ofTheStack():
		return "shape"
	case argument.MatchString(text) && r.ofTheStack():
		return "program"
	}
	about := areaOf(text)
	vague := about == "" || about == "input" || about == "given-file" || about == "usage" // said of so much
	switch {
	case slices.Contains(ofAnyProgram, about) && r.frames == nil && !vague && !aboutGPU.MatchString(text):
		return "" // of any program
	case !vague:
		return about
	case r.frames == nil && (!aboutTensor.MatchString(text) || slices.Contains(coders[:anywhere], class)):
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

// modelNames is where transformers keeps the names of the models that it knows.
var modelNames = lazyregexp.New(`models[/\\]auto[/\\]`)

// anywhere is how many of coders any Python program raises.
const anywhere = 8

// ofModule reports whether a module lacks what was asked of it: a line alone says so only of a package of the stack,
// and of PyTorch's a slip of the pen is likelier.
func (r *record) ofModule(text string) bool {
	m := moduleLacks.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	root, _, _ := strings.Cut(m[1], ".")
	return r.frames != nil || root == "" || root != "torch" && (stack.MatchString(root) || compiled.MatchString(root))
}

// ofTheStack reports whether an exception of a program's is about tensors or was raised by a package for them.
func (r *record) ofTheStack() bool {
	return slices.Contains(programmers, r.slot("class")) &&
		(aboutTensor.MatchString(r.slot("message")) || stack.MatchString(r.deepest()))
}

// demangled is a C++ name as people write it, as far as its nested name goes: "_ZN3c106detail14torchCheckFailE…" is
// c10::detail::torchCheckFail. What is not so formed stays.
func demangled(name string) string {
	rest, nested := strings.CutPrefix(name, "_ZN")
	if !nested {
		rest, nested = strings.CutPrefix(name, "_ZNK")
	}
	if !nested {
		if rest, nested = strings.CutPrefix(name, "_Z"); !nested {
			return name
		}
	}
	rest = strings.TrimLeft(rest, "KVRO")
	var parts []string
	for rest != "" && rest[0] >= '1' && rest[0] <= '9' && len(parts) < 16 {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		n, err := strconv.Atoi(rest[:min(digits, 4)])
		if err != nil || n > len(rest)-digits {
			break
		}
		parts, rest = append(parts, rest[digits:digits+n]), rest[digits+n:]
	}
	if len(parts) == 0 {
		return name
	}
	return strings.Join(parts, "::")
}
