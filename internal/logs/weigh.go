package logs

import (
	"cmp"
	"slices"
	"strings"
	"sync/atomic"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/decide"
	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/logs/signature"
	"cudacompat/internal/logs/traceback"
	"cudacompat/internal/redact"
	"cudacompat/internal/tables"
)

// names holds the tables of statuses, libraries and Xids that a site gave instead of the embedded ones.
var names atomic.Pointer[tables.Tables]

// Use makes all later reading use the names of these tables instead of the embedded ones. They include a site's own
// rows.
func Use(t *tables.Tables) { names.Store(t) }

// nameTables returns the tables of names.
func nameTables() *tables.Tables {
	if t := names.Load(); t != nil {
		return t
	}
	return tables.Embedded()
}

// weighers return the answer for each kind of record, using small tables of names. A notice has none, and an empty
// answer means that the record says nothing here.
var weighers = map[string]func(*record, *tables.Tables) string{
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
func never(*record, *tables.Tables) string { return "" }

// onlyBears reports whether a record is no fault and only affects the meaning of others.
func (r record) onlyBears() bool { return r.kind == "pci" || r.kind == "gpu-seen" }

// weighPackageTool distinguishes what a package tool could not do from what the system prevented.
func weighPackageTool(r *record, _ *tables.Tables) string {
	if about := areaOf(r.text); about == diskFull {
		r.slots["sentence"] = logtext.TrimLoggerPrefix(r.text)
		return about
	}
	return "package-tool"
}

// diskFull is the cause for a failed write. endBuilds lists the causes of lines that only say that a build did not
// finish.
const diskFull = "disk-full"

var endBuilds = []string{diskFull, "node-not-reached"}

func always(name string) func(*record, *tables.Tables) string {
	return func(*record, *tables.Tables) string { return name }
}

// structural returns the findings that the records make.
func structural(records []record, t *tables.Tables) []finding {
	var all []finding
	inBuild := slices.ContainsFunc(records, func(r record) bool { return r.kind == "build" })
	for i := range records {
		r := &records[i]
		weigh := weighers[r.kind]
		if weigh == nil || r.notice && (goesOnBy.MatchString(r.text) && r.kind != "on-cpu" ||
			!slices.Contains(telling, r.kind) && !starts.MatchString(r.text)) {
			continue
		}
		a := answerOf(weigh(r, t))
		if inBuild && a.cause == kernelSource && strings.HasPrefix(r.kind, "compile-") {
			a = answerOf("compile-error") // the source is a package's
		}
		if r.notice || r.kind == "complaint" || !r.terminal() || r.caught && a.blame == Program {
			a.weight = min(a.weight, decide.Warning)
		}
		if a.name != "" {
			all = append(all, r.finding(a))
		}
	}
	all = append(all, comparedFindings(records)...)
	all = withoutFollowing(all, records)
	if inBuild {
		all = slices.DeleteFunc(all, func(f finding) bool { return f.cause == kernelSource }) // a package's
	}
	if slices.ContainsFunc(all, func(f finding) bool {
		return slices.Contains(endBuilds, f.cause) && f.Signature.Weight >= decide.Symptom
	}) {
		all = slices.DeleteFunc(all, func(f finding) bool { return f.cause == "package-did-not-build" })
	}
	if saidFirst(records) != nil {
		all = slices.DeleteFunc(all, func(f finding) bool { return f.Signature.ID == "record-exit" }) // it says which rank's
	}
	if slices.ContainsFunc(records, func(r record) bool { return r.kind == "exception" }) {
		all = slices.DeleteFunc(all, func(f finding) bool { return f.cause == onCPU }) // it did not go on
	}
	if slices.ContainsFunc(records, func(r record) bool { return r.kind == "amd" }) {
		all = slices.DeleteFunc(all, func(f finding) bool { return f.cause != "amd-not-judged" })
	}
	return all
}

// statements lists the kinds of lines that may merely describe a state.
var statements = []string{"no-gpu", "version", "no-cuda-build", "driver"}

// terminal reports whether a record says that something ended and does not merely describe a state.
func (r *record) terminal() bool {
	return !slices.Contains(statements, r.kind) || r.frames != nil || aloud.MatchString(r.text) ||
		traceback.RaisedLine.MatchString(logtext.TrimLoggerPrefix(r.text))
}

// kernelSource is the cause for a compiler error in a program's own kernel.
const kernelSource = "kernel-source"

// comparedFindings returns the findings that need several records: one card that does not answer beside others that do,
// and a library without the GPU in a process that has it.
func comparedFindings(records []record) []finding {
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
		all = append(all, dead.finding(answerOf("off-the-bus")))
	}
	if seen != nil && without != nil {
		all = append(all, without.finding(answerOf("no-cuda-build")))
	}
	return all
}

// telling lists the kinds of which even a warning says something about the machine.
var telling = []string{"on-cpu", "gpu-arch", "nvml", "socket"}

// weighSocket judges the missing socket of a service. A program that only warns of it tries again, unless that is its
// last line.
func weighSocket(r *record, _ *tables.Tables) string {
	if r.notice && !r.final {
		return ""
	}
	return "socket"
}

// finding returns the finding for an answer, with the record's slots.
func (r *record) finding(a answer) finding {
	s := &signature.Signature{ID: "record-" + r.kind, Cause: cmp.Or(r.slot("cause"), a.cause), Weight: a.weight,
		Blame: cmp.Or(Blame(r.slot("blame")), a.blame), Rule: a.rule}
	s.Root, s.Echo = r.isRoot(), slices.Contains(passOn, r.kind)
	if s.Blame == Unknown && r.kind != "amd" && r.kind != "first-rank" && !s.Root {
		s.Weight = decide.Warning
	}
	f := finding{Hit: signature.Hit{Signature: s, Order: 1 << 20, Source: r.source, Line: r.line, Text: r.text,
		Match: []int{0, len(r.text)}, WentOn: r.wentOn, OnGPU: r.onGPU, Latest: r.line, Calm: r.calm,
		InJournal: r.inJournal, Built: r.built, Earlier: r.earlier, From: r.from},
		cause: s.Cause, blame: s.Blame, rule: s.Rule, because: r.fill(a.because), form: r}
	f.byWords = a.name != "" && s.Blame != Unknown && !r.prescribes(a)
	switch f.do = r.steps(a.do); {
	case f.byWords:
		f.do = r.searchedByWords(a)
	case len(f.do) == 0:
		f.do = stepsOf(f.cause)
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
func (r *record) isRoot() bool {
	return !r.notice && !r.earlier && (slices.Contains(roots, r.kind) || r.kind == "exit" && endsRank.MatchString(r.text) ||
		r.kind == "processor" && endsRank.MatchString(r.text))
}

// endsRank matches torchrun's line with the signal that ended a rank.
var endsRank = lazyregexp.New(`\bexitcode *: *-(?:4|7|11)\b`)

// stepsOf returns the steps of a curated row with the same cause, if they use no text of its line.
func stepsOf(cause string) []string {
	for _, row := range tables.Rows[tables.Signature](nameTables()) {
		if row.Cause == cause && len(row.Do) > 0 && !signature.Placeholder.MatchString(strings.Join(row.Do, "")) {
			return slices.Clone(row.Do)
		}
	}
	return nil
}

// maxSentence is the maximum length of a fault's sentence.
const maxSentence = 120

// fillSlots inserts slots into words. An empty slot becomes nothing.
func (r *record) fillSlots(words string) string {
	return signature.Placeholder.ReplaceAllStringFunc(words, func(name string) string {
		return redact.Within(r.text, r.slot(strings.Trim(name, "{}")))
	})
}

// fill inserts slots into words. It cuts a program's message so that the sentence stays short.
func (r *record) fill(words string) string {
	return signature.Placeholder.ReplaceAllStringFunc(words, func(name string) string { return r.slotIn(words, strings.Trim(name, "{}")) })
}

// slotIn returns a slot in the form for a sentence.
func (r *record) slotIn(words, name string) string {
	text := cmp.Or(redact.Within(r.text, r.slot(name)), "it")
	if room := maxSentence - len(words) + len(name) + 2; len(text) > max(room, 40) && name != "words" {
		text = strings.ToValidUTF8(text[:max(room, 40)-3], "") + "…"
	}
	return text
}

// severe matches words of a line about an end and not about a choice. The last line of a log needs none.
var severe = lazyregexp.New(`(?i)error|fatal|fail|exception|abort|panic|critical|assert|cannot|can't|could ?n.t|` +
	`unable|require|must|need|^no |not able|out of date`)

func whenSevere(name string) func(*record, *tables.Tables) string {
	return func(r *record, _ *tables.Tables) string {
		if severe.MatchString(r.text) || r.final && r.kind != "driver" {
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
	r.slots["command"] = cmp.Or(r.slot("command"), r.slot("command2"), r.slot("command3"), r.slot("command4"),
		r.slot("command5"))
	switch name := r.slot("command"); {
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
func weighAssertion(r *record, _ *tables.Tables) string {
	text := cmp.Or(r.slot("expression"), r.slot("expression2"), r.slot("expression3"), r.slot("expression4"),
		r.slot("expression5"))
	r.slots["expression"], r.slots["sentence"] = text, text
	about := areaOf(text)
	switch {
	case r.slot("expression5") != "":
		return "assertion"
	case aboutStatus.MatchString(r.text) || glib.MatchString(r.text):
		return ""
	case about == "" || slices.Contains(ofPrograms, about):
		return "assertion"
	}
	return about
}

// weighAsked judges a requested feature that the program may not have been built with.
func weighAsked(r *record, _ *tables.Tables) string {
	r.slots["sentence"] = cmp.Or(r.slot("sentence"), r.slot("required"), logtext.TrimLoggerPrefix(r.text))
	switch {
	case aboutStack.MatchString(r.slot("sentence")):
		return ""
	case areaOf(r.slot("sentence")) == "usage":
		return "usage"
	}
	return "input"
}

// launcherEnding matches what launchers say about programs and not about themselves.
var launcherEnding = lazyregexp.New(`(?i)exit code|cancelled|signal|oom|out of memory|memory limit|\*\*\*|usage|` +
	`unrecogni[sz]ed|invalid option|peermem|:$|\btasks? [\d,-]+: `)

// weighSpeaker judges a failed service by its purpose: to start the driver, the container or the job.
func weighSpeaker(r *record, _ *tables.Tables) string {
	if launcherEnding.MatchString(r.text) {
		return ""
	}
	if r.slots["sentence"] = logtext.TrimLoggerPrefix(r.text); askedOfScheduler.MatchString(r.text) {
		return "usage"
	}
	r.slots["speaker"] = cmp.Or(r.slot("speaker"), "Xorg")
	return "speaker"
}

// askedOfScheduler matches Slurm's words when it rejects the script itself.
var askedOfScheduler = lazyregexp.New(`execve\(\): \./|does not look like a batch script|DOS line breaks|` +
	`mutually exclusive`)

// aboutStack matches words in a server's error that may concern installed software and not the model.
var aboutStack = lazyregexp.New(`(?i)\.so\b|shared library|symbol|cuda|gpu|driver|version|onnxruntime|python|import|` +
	`module`)

// weighServed judges why Triton Inference Server rejected a model in its repository.
func weighServed(r *record, _ *tables.Tables) string {
	r.slots["model"] = cmp.Or(r.slot("model"), r.slot("model2"))
	switch {
	case strings.Contains(r.slot("sentence"), "unable to find backend library"):
		return "installation"
	case aboutStack.MatchString(r.slot("sentence")):
		return ""
	}
	return "model-refused"
}

// weighPart names a plugin without which a server was started.
func weighPart(r *record, _ *tables.Tables) string {
	r.slots["part"] = cmp.Or(r.slot("part"), r.slot("part2"))
	text := cmp.Or(r.slot("sentence"), r.slot("sentence2"))
	r.slots["sentence"] = text
	if m := noModule.FindStringSubmatch(text); m != nil {
		r.slots["module"] = m[1]
		return "part-module"
	}
	if m := traceback.DistributionDirectory.FindStringSubmatch(text); m != nil && lacksSymbol.MatchString(text) {
		r.slots["package"] = traceback.DistributionName.FindString(m[1])
		return "part-library"
	}
	return "part"
}

// lacksSymbol matches a loader's words about a library that was built for another release of a dependency.
var lacksSymbol = lazyregexp.New(`undefined symbol|DLL load failed|WinError 127`)

func weighOperator(r *record, _ *tables.Tables) string {
	r.slots["operator"] = cmp.Or(r.slot("operator"), r.slot("operator2"), r.slot("operator3"))
	return "operator"
}

func weighImage(r *record, _ *tables.Tables) string {
	r.slots["image"] = cmp.Or(r.slot("image"), r.slot("image2"), r.slot("image3"), r.slot("image4"), r.slot("image5"))
	return "image"
}

// weighSaid returns an answer that quotes the line.
func weighSaid(name string) func(*record, *tables.Tables) string {
	return func(r *record, _ *tables.Tables) string {
		r.slots["sentence"] = logtext.TrimLoggerPrefix(r.text)
		return name
	}
}

// weighHardware judges a fault of a GPU or its link. nvidia-smi does not know AMD's GPUs.
func weighHardware(r *record, _ *tables.Tables) string {
	if strings.Contains(r.text, "amdgpu") {
		return "amd-hardware"
	}
	return "hardware"
}

// smiEnded maps the exit statuses of nvidia-smi that say what is wrong to their meaning (man nvidia-smi, RETURN VALUE).
var smiEnded = map[string]string{"8": "hardware", "9": "smi-driver", "12": "smi-library", "14": "hardware", "15": "hardware"}

func weighSMIEnded(r *record, _ *tables.Tables) string { return smiEnded[r.slot("code")] }

// weighUnreached judges an unreachable network address at which the program gave up. Many programs try again.
func weighUnreached(r *record, _ *tables.Tables) string {
	if r.slots["sentence"] = logtext.TrimLoggerPrefix(r.text); r.final || aloud.MatchString(r.text) {
		return "network-down"
	}
	return ""
}
