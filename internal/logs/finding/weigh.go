package finding

import (
	"cmp"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/decide"
	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/logs/record"
	"cudacompat/internal/logs/signature"
	"cudacompat/internal/logs/traceback"
	"cudacompat/internal/tables"
)

// RunsOnCPU is the cause for a program that says that it continues without the GPU.
const RunsOnCPU = "runs-on-cpu"

// goesOnBy matches a notice that says what the program does instead.
var goesOnBy = lazyregexp.New(`(?i)\bfall(?:ing|s)? back\b|\binstead\b`)

// weighers return the answer for each kind of record, using small tables of names. A notice has none, and an empty
// answer means that the record says nothing here.
var weighers = map[string]func(*record.Record, *tables.Tables) string{
	"exception":        weighException,
	"first-rank":       weighFirstRank,
	"ray-memory":       always("ray-memory"),
	"library":          weighLibrary,
	"driver-library":   always("driver-library"),
	"socket":           weighSocket,
	"runtime-call":     always("runtime-call"),
	"symbol":           weighSymbol,
	"symbol-version":   weighSymbolVersion,
	"library-damaged":  always("library-damaged"),
	"header":           weighHeader,
	"compiler-too-new": always("compiler-too-new"),
	"compiler-crashed": always("compiler-crashed"),
	"nccl-said":        weighNCCLSaid,
	"compile-host":     weighHostCompileError,
	"installation":     weighSaid("installation"),
	"service":          weighSaid("service"),
	"unreached":        weighUnreached,
	"time-limit":       always("time-limit"),
	"host-hardware":    weighSaid("host-hardware"),
	"build-needs":      weighBuildNeeds,
	"compiler-part":    weighCompilerPart,
	"compiler-broken":  always("compiler-broken"),
	"build-files":      weighSaid("given-file"),
	"tool":             weighTool,
	"cmake":            always("cmake"),
	"kernel-fault":     always("kernel-fault"),
	"part":             weighPart,
	"build":            always("build"),
	"kernel-module":    always("kernel-module"),
	"packages":         weighPackages,
	"version":          weighVersion,
	"no-gpu":           weighNoGPU,
	"no-cuda-build":    whenSevere("no-cuda-build"),
	"gpu-arch":         always("gpu-arch"),
	"driver":           whenSevere("driver"),
	"status":           weighStatus,
	"program":          always("program-words"),
	"operator":         weighOperator,
	"compile-error":    weighCompileError,
	"killed":           always("killed"),
	"no-input":         always("no-input"),
	"package-tool":     weighPackageTool,
	"element":          always("element"),
	"given":            always("given-file"),
	"newer-file":       always("newer-file"),
	"asked":            weighAsked,
	"speaker":          weighSpeaker,
	"pod":              always("pod"),
	"mpi":              always("mpi-start"),
	"served":           weighServed,
	"smi":              always("smi"),
	"smi-ended":        weighSMIEnded,
	"unit":             always("unit"),
	"module":           weighModule,
	"kernel-driver":    always("kernel-driver"),
	"unresolved":       weighUnresolved,
	"device-link":      weighDeviceLink,
	"option":           always("compiler-option"),
	"heap":             weighHeap,
	"image":            weighImage,
	"access":           weighSaid("access"),
	"display":          weighSaid("graphics"),
	"passthrough":      weighSaid("passthrough"),
	"video-hardware":   weighSaid("video"),
	"windows-end":      weighWindowsEnd,
	"xid":              weighXid,
	"oom-killer":       always("oom-killer"),
	"hardware":         weighHardware,
	"container":        always("container"),
	"scheduler":        always("scheduler"),
	"memory":           weighMemory,
	"host-memory":      always("host-memory"),
	"exit":             weighExit,
	"amd":              always("amd"),
	"on-cpu":           always("on-cpu"),
	"complaint":        weighComplaint,
	"pci":              never,
	"gpu-seen":         never,
	"build-killed":     always("build-killed"),
	"command":          weighCommand,
	"processor":        always("processor"),
	"nvml":             weighNVML,
	"assertion":        weighAssertion,
	"module-in-use":    always("module-in-use"),
	"module-key":       always("module-key"),
	"cancelled":        always("cancelled"),
	"conda-shell":      always("conda-shell"),
	"driver-says":      always("driver-says"),
}

// never returns no answer, for records that only others need.
func never(*record.Record, *tables.Tables) string { return "" }

// IsSupporting reports whether a record is no fault and only affects the meaning of others.
func IsSupporting(r record.Record) bool { return r.Kind == "pci" || r.Kind == "gpu-seen" }

// weighPackageTool distinguishes what a package tool could not do from what the system prevented.
func weighPackageTool(r *record.Record, _ *tables.Tables) string {
	if about := record.FindArea(r.Text); about == diskFull {
		r.Slots["sentence"] = logtext.TrimLoggerPrefix(r.Text)
		return about
	}
	return "package-tool"
}

// diskFull is the cause for a failed write. endBuilds lists the causes of lines that only say that a build did not
// finish.
const diskFull = "disk-full"

var endBuilds = []string{diskFull, "node-not-reached"}

func always(name string) func(*record.Record, *tables.Tables) string {
	return func(*record.Record, *tables.Tables) string { return name }
}

// WeighRecords returns the findings that the records make.
func WeighRecords(records []record.Record, t *tables.Tables) []Finding {
	var all []Finding
	inBuild := slices.ContainsFunc(records, func(r record.Record) bool { return r.Kind == "build" })
	for i := range records {
		r := &records[i]
		weigh := weighers[r.Kind]
		if weigh == nil || r.Notice && (goesOnBy.MatchString(r.Text) && r.Kind != "on-cpu" ||
			!slices.Contains(telling, r.Kind) && !starts.MatchString(r.Text)) {
			continue
		}
		a := FindAnswer(weigh(r, t))
		if inBuild && a.Cause == kernelSource && strings.HasPrefix(r.Kind, "compile-") {
			a = FindAnswer("compile-error") // the source is a package's
		}
		if r.Notice || r.Kind == "complaint" || !isTerminal(r) || r.Superseded && a.Blame == decide.Program {
			a.weight = min(a.weight, decide.Warning)
		}
		if a.name != "" {
			all = append(all, New(r, a))
		}
	}
	all = append(all, comparedFindings(records)...)
	all = dropFollowing(all, records)
	if inBuild {
		all = slices.DeleteFunc(all, func(f Finding) bool { return f.Cause == kernelSource }) // a package's
	}
	if slices.ContainsFunc(all, func(f Finding) bool {
		return slices.Contains(endBuilds, f.Cause) && f.Signature.Weight >= decide.Symptom
	}) {
		all = slices.DeleteFunc(all, func(f Finding) bool { return f.Cause == "package-did-not-build" })
	}
	if record.FindFirstRank(records) != nil {
		all = slices.DeleteFunc(all, func(f Finding) bool { return f.Signature.ID == "record-exit" }) // it says which rank's
	}
	if slices.ContainsFunc(records, func(r record.Record) bool { return r.Kind == "exception" }) {
		all = slices.DeleteFunc(all, func(f Finding) bool { return f.Cause == RunsOnCPU }) // it did not go on
	}
	if slices.ContainsFunc(records, func(r record.Record) bool { return r.Kind == "amd" }) {
		all = slices.DeleteFunc(all, func(f Finding) bool { return f.Cause != "amd-not-judged" })
	}
	return all
}

// statements lists the kinds of lines that may merely describe a state.
var statements = []string{"no-gpu", "version", "no-cuda-build", "driver"}

// isTerminal reports whether a record says that something ended and does not merely describe a state.
func isTerminal(r *record.Record) bool {
	return !slices.Contains(statements, r.Kind) || r.Frames != nil || record.ErrorLine.MatchString(r.Text) ||
		traceback.RaisedLine.MatchString(logtext.TrimLoggerPrefix(r.Text))
}

// kernelSource is the cause for a compiler error in a program's own kernel.
const kernelSource = "kernel-source"

// comparedFindings returns the findings that need several records: one card that does not answer beside others that do,
// and a library without the GPU in a process that has it.
func comparedFindings(records []record.Record) []Finding {
	var dead, alive, seen, without *record.Record
	for i := range records {
		switch r := &records[i]; {
		case r.Kind == "pci" && r.Slot("rev") == "ff":
			dead = cmp.Or(dead, r)
		case r.Kind == "pci":
			alive = r
		case r.Kind == "gpu-seen":
			seen = r
		case r.Kind == "on-cpu" && strings.Contains(r.Text, "not available"):
			without = cmp.Or(without, r)
		}
	}
	var all []Finding
	if dead != nil && alive != nil {
		dead.Slots["sentence"] = strings.TrimSpace(dead.Text)
		all = append(all, New(dead, FindAnswer("off-the-bus")))
	}
	if seen != nil && without != nil {
		all = append(all, New(without, FindAnswer("no-cuda-build")))
	}
	return all
}

// telling lists the kinds of which even a warning says something about the machine.
var telling = []string{"on-cpu", "gpu-arch", "nvml", "socket"}

// weighSocket judges the missing socket of a service. A program that only warns of it tries again, unless that is its
// last line.
func weighSocket(r *record.Record, _ *tables.Tables) string {
	if r.Notice && !r.Final {
		return ""
	}
	return "socket"
}

// New returns the finding for an answer, with the record's slots.
func New(r *record.Record, a Answer) Finding {
	s := &signature.Signature{ID: "record-" + r.Kind, Cause: cmp.Or(r.Slot("cause"), a.Cause), Weight: a.weight,
		Blame: cmp.Or(decide.Blame(r.Slot("blame")), a.Blame), Rule: a.Rule}
	s.Root, s.Echo = isRoot(r), slices.Contains(passOn, r.Kind)
	if s.Blame == decide.Unknown && r.Kind != "amd" && r.Kind != "first-rank" && !s.Root {
		s.Weight = decide.Warning
	}
	f := Finding{Hit: signature.Hit{Signature: s, Order: 1 << 20, Source: r.Source, Line: r.Line, Text: r.Text,
		Match: []int{0, len(r.Text)}, WentOn: r.WentOn, OnGPU: r.OnGPU, Latest: r.Line, Calm: r.Calm,
		InJournal: r.InJournal, Built: r.Built, Earlier: r.Earlier, From: r.From},
		Cause: s.Cause, Blame: s.Blame, Rule: s.Rule, Because: r.FillSentence(a.Because), Form: r}
	f.ByWords = a.name != "" && s.Blame != decide.Unknown && !canPrescribe(r, a)
	switch f.Do = r.FillSteps(a.Do); {
	case f.ByWords:
		f.Do = listWordSearchSteps(r, a)
	case len(f.Do) == 0:
		f.Do = stepsOf(f.Cause)
	}
	return f
}

// roots lists the kinds of records that name what failed, whatever the program says at its end. passOn lists those that
// only report that something above them failed.
var (
	roots  = []string{"library-damaged", "compiler-crashed", "nccl-said"}
	passOn = []string{"build", "first-rank"}
)

// isRoot reports whether a record names what failed.
func isRoot(r *record.Record) bool {
	return !r.Notice && !r.Earlier && (slices.Contains(roots, r.Kind) || r.Kind == "exit" && endsRank.MatchString(r.Text) ||
		r.Kind == "processor" && endsRank.MatchString(r.Text))
}

// endsRank matches torchrun's line with the signal that ended a rank.
var endsRank = lazyregexp.New(`\bexitcode *: *-(?:4|7|11)\b`)

// stepsOf returns the steps of a curated row with the same cause, if they use no text of its line.
func stepsOf(cause string) []string {
	for _, row := range tables.Rows[tables.Signature](record.Tables()) {
		if row.Cause == cause && len(row.Do) > 0 && !signature.Placeholder.MatchString(strings.Join(row.Do, "")) {
			return slices.Clone(row.Do)
		}
	}
	return nil
}

// severe matches words of a line about an end and not about a choice. The last line of a log needs none.
var severe = lazyregexp.New(`(?i)error|fatal|fail|exception|abort|panic|critical|assert|cannot|can't|could ?n.t|` +
	`unable|require|must|need|^no |not able|out of date`)

func whenSevere(name string) func(*record.Record, *tables.Tables) string {
	return func(r *record.Record, _ *tables.Tables) string {
		if severe.MatchString(r.Text) || r.Final && r.Kind != "driver" {
			return name
		}
		return ""
	}
}

func weighNoGPU(r *record.Record, t *tables.Tables) string {
	if r.Slot("pair") != "" {
		return "no-gpu"
	}
	return whenSevere("no-gpu")(r, t)
}

func weighCommand(r *record.Record, _ *tables.Tables) string {
	r.Slots["command"] = cmp.Or(r.Slot("command"), r.Slot("command2"), r.Slot("command3"), r.Slot("command4"),
		r.Slot("command5"))
	switch name := r.Slot("command"); {
	case name == "nvcc":
		return "" // most programs need none
	case strings.HasPrefix(name, "-"):
		return "option-as-command"
	}
	return "command"
}

// aboutStatus matches an assertion that only says that a call failed.
var aboutStatus = lazyregexp.New(`(?i)success|status|\bok\b|stream|cudnn|cublas|err\b|error|ret\b|block: \[|` +
	`autotun|tactic|\bSM\b|world|\bmpi|\brank|version|driver|unsupported`)

// glib matches the warnings of GLib's programs about a call that they skip.
var glib = lazyregexp.New(`-(?:CRITICAL|WARNING) \*\*: |\b[a-z]\w*_\w+: assertion '.+' failed$`)

// weighAssertion judges a failed assertion in a compiled program: it concerns the machine, a call, or the program's
// input.
func weighAssertion(r *record.Record, _ *tables.Tables) string {
	text := cmp.Or(r.Slot("expression"), r.Slot("expression2"), r.Slot("expression3"), r.Slot("expression4"),
		r.Slot("expression5"))
	r.Slots["expression"], r.Slots["sentence"] = text, text
	about := record.FindArea(text)
	switch {
	case r.Slot("expression5") != "":
		return "assertion"
	case aboutStatus.MatchString(r.Text) || glib.MatchString(r.Text):
		return ""
	case about == "" || slices.Contains(record.ProgramAreas, about):
		return "assertion"
	}
	return about
}

// weighAsked judges a requested feature that the program may not have been built with.
func weighAsked(r *record.Record, _ *tables.Tables) string {
	r.Slots["sentence"] = cmp.Or(r.Slot("sentence"), r.Slot("required"), logtext.TrimLoggerPrefix(r.Text))
	switch {
	case aboutStack.MatchString(r.Slot("sentence")):
		return ""
	case record.FindArea(r.Slot("sentence")) == "usage":
		return "usage"
	}
	return "input"
}

// launcherEnding matches what launchers say about programs and not about themselves.
var launcherEnding = lazyregexp.New(`(?i)exit code|cancelled|signal|oom|out of memory|memory limit|\*\*\*|usage|` +
	`unrecogni[sz]ed|invalid option|peermem|:$|\btasks? [\d,-]+: `)

// weighSpeaker judges a failed service by its purpose: to start the driver, the container or the job.
func weighSpeaker(r *record.Record, _ *tables.Tables) string {
	if launcherEnding.MatchString(r.Text) {
		return ""
	}
	if r.Slots["sentence"] = logtext.TrimLoggerPrefix(r.Text); askedOfScheduler.MatchString(r.Text) {
		return "usage"
	}
	r.Slots["speaker"] = cmp.Or(r.Slot("speaker"), "Xorg")
	return "speaker"
}

// askedOfScheduler matches Slurm's words when it rejects the script itself.
var askedOfScheduler = lazyregexp.New(`execve\(\): \./|does not look like a batch script|DOS line breaks|` +
	`mutually exclusive`)

// aboutStack matches words in a server's error that may concern installed software and not the model.
var aboutStack = lazyregexp.New(`(?i)\.so\b|shared library|symbol|cuda|gpu|driver|version|onnxruntime|python|import|` +
	`module`)

// weighServed judges why Triton Inference Server rejected a model in its repository.
func weighServed(r *record.Record, _ *tables.Tables) string {
	r.Slots["model"] = cmp.Or(r.Slot("model"), r.Slot("model2"))
	switch {
	case strings.Contains(r.Slot("sentence"), "unable to find backend library"):
		return "installation"
	case aboutStack.MatchString(r.Slot("sentence")):
		return ""
	}
	return "model-refused"
}

// weighPart names a plugin without which a server was started.
func weighPart(r *record.Record, _ *tables.Tables) string {
	r.Slots["part"] = cmp.Or(r.Slot("part"), r.Slot("part2"))
	text := cmp.Or(r.Slot("sentence"), r.Slot("sentence2"))
	r.Slots["sentence"] = text
	if m := NoModule.FindStringSubmatch(text); m != nil {
		r.Slots["module"] = m[1]
		return "part-module"
	}
	if m := traceback.DistributionDirectory.FindStringSubmatch(text); m != nil && lacksSymbol.MatchString(text) {
		r.Slots["package"] = traceback.DistributionName.FindString(m[1])
		return "part-library"
	}
	return "part"
}

// lacksSymbol matches a loader's words about a library that was built for another release of a dependency.
var lacksSymbol = lazyregexp.New(`undefined symbol|DLL load failed|WinError 127`)

func weighOperator(r *record.Record, _ *tables.Tables) string {
	r.Slots["operator"] = cmp.Or(r.Slot("operator"), r.Slot("operator2"), r.Slot("operator3"))
	return "operator"
}

func weighImage(r *record.Record, _ *tables.Tables) string {
	r.Slots["image"] = cmp.Or(r.Slot("image"), r.Slot("image2"), r.Slot("image3"), r.Slot("image4"), r.Slot("image5"))
	return "image"
}

// weighSaid returns an answer that quotes the line.
func weighSaid(name string) func(*record.Record, *tables.Tables) string {
	return func(r *record.Record, _ *tables.Tables) string {
		r.Slots["sentence"] = logtext.TrimLoggerPrefix(r.Text)
		return name
	}
}

// weighHardware judges a fault of a GPU or its link. nvidia-smi does not know AMD's GPUs.
func weighHardware(r *record.Record, _ *tables.Tables) string {
	if strings.Contains(r.Text, "amdgpu") {
		return "amd-hardware"
	}
	return "hardware"
}

// smiEnded maps the exit statuses of nvidia-smi that say what is wrong to their meaning (man nvidia-smi, RETURN VALUE).
var smiEnded = map[string]string{"8": "hardware", "9": "smi-driver", "12": "smi-library", "14": "hardware", "15": "hardware"}

func weighSMIEnded(r *record.Record, _ *tables.Tables) string { return smiEnded[r.Slot("code")] }

// weighUnreached judges an unreachable network address at which the program gave up. Many programs try again.
func weighUnreached(r *record.Record, _ *tables.Tables) string {
	if r.Slots["sentence"] = logtext.TrimLoggerPrefix(r.Text); r.Final || record.ErrorLine.MatchString(r.Text) {
		return "network-down"
	}
	return ""
}
