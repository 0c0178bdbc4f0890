package logs

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/logs/signature"
	"cudacompat/internal/logs/traceback"
	"cudacompat/internal/tables"
)

// record is one statement of a log, read by a grammar and not by a previously seen text: its kind, its slots, and its
// place.
type record struct {
	kind      string
	slots     map[string]string
	frames    []traceback.Frame // of a traceback, the outermost first
	wraps     bool              // its exception only passes on the one above it
	from      string            // the process that wrote it, where a launcher says
	line      int
	source    int
	text      string
	notice    bool // its line says itself that it only informs or warns
	calm      int  // lines after it that are near no mark of trouble
	inJournal bool // it stands in a journal of many programs
	caught    bool // another exception was raised while it was handled
	wentOn    int  // the line of its log from which on only work is told; 0: none
	onGPU     int  // the last line of its log that shows a GPU at work; 0: none
	final     bool // it stands at the end of its log
	earlier   bool // the program ran again after it, and failed
	edited    bool // Python could read the script when it ran before
	built     bool // it stands in the log of an installation that ended well
}

// slot returns a record's value for a name, or "".
func (r *record) slot(name string) string { return r.slots[name] }

// grammar is one form of a kind of record. The pattern's named groups are its slots.
type grammar struct {
	kind    string
	marks   []string // one of these stands in every line of this form
	pattern *lazyregexp.Regexp
}

// marks lists substrings of lines about failures. Lines around such a line are kept for the grammars.
var marks = []string{"anifest ", "xternally-managed", "0xC00", "-1073", "32212", "Faulting",
	"llegal ", "FAULTY", "amdgpu", "ExecutionProvider", "NCCL INFO comm", "Traceback " +
		"(most", "rror", "ERROR", "FATAL", "atal", "xception", "ailed", "FAILED", "ailure",
	"annot ", "can't", "ould not", "ouldn't", "nable to", "not found", "o such ", "undefined", "nsupported",
	"not supported", "incompatible", "ismatch", "egmentation", "ore dumped", "illed", "xit code", "exit status",
	"SIGSEGV", "SIGKILL", "SIGABRT", "SIGBUS", "SIGILL", "Xid (", "denied", "panic", "OOMK", "oom-", "oom_",
	"ut of memory", "No module", "not compiled", "without CUDA", "ssert", "_STATUS_", "not installed", "nmet dep",
	"HIP ", "hipE", "HSA_", "HIPBLAS", "MIOpen", "No matching", "No GPU", "no GPU", "No CUDA", " CPU", "the cpu",
	"cpu only", "library=cpu", "cpu]", "compatible=", "nothing provides", "nsufficient", "refused", "too old",
	"not available", "NVRM: ", "probe of", "not in [", "xpected", "unmatched", "signal: ", "No route", "in use",
	"runtime specified", "does not exist", "NV_ERR", "AER: ", "NVML", "nvml", "ompiled with", "equire", "fallen",
	"nknown ", "nrecogni", "xceed", "bort", "nstable", "usage count", "expecting", "is_available()", "Invalid",
	"onflict", "ermit", "EACCES", "too long", "cudart", "DKMS", "command:", "emperature", "OOM when", "must ",
	"NaNs ", "ackward through", "t match", "isabled", "utdated", "NCCL WARN", "CL_PLATFORM", "ailable: True",
	"AILABLE: True", "Device name:", "evices were", "etermine", "rev ff", "(rev ", "controller: " +
		"NVIDIA", "CUDA_CALL", "(EE)", "/dev/nv", "Found 0", "version 1:", "ORTE", "enough " +
		"slots", "NVIDIA-SMI", "ErrImagePull", "validat", "user input", "element", "magic", "terminate called",
	"lower than", "Couldn", "CANCELLED", "MEMLIMIT", "dial tcp", "curl: (", "walltime", "No rule to", "sudo: ",
	"EDAC", "ompatible GPU", "ermission", "apabilit", "invalid", "indices[", "got prompt",
	"rompt executed", "BUG: ", "tection fault", "Oops: ", "#error", "driver service", "status=2"}

// soonest is the minimum time for reading a log's lines by grammars, if reading the log took all the time.
const soonest = 50 * time.Millisecond

// records reads the kept lines of a log with every grammar, as far as time allows. It always takes at least soonest.
func (s *scanner) records(ctx context.Context, source int, least time.Duration) ([]record, error) {
	end := time.Now().Add(least)
	lines := s.kept.Lines()
	calls := traceback.ReadAll(lines)
	wentOn := max(s.last.wentOn(s.lines), lastServed(lines))
	_, ended := s.last.lines(s.lines)
	onGPU := lastOnGPU(lines)
	build := s.build(lines)
	last, edited := lastRun(lines)
	var all []record
	releases := map[string]string{} // by project
	silent := map[string]bool{}     // lines that say nothing, unless together with what follows: logs repeat themselves
	for i, l := range lines {
		if ctx.Err() != nil && time.Now().After(end) {
			return s.frightening(all), context.Cause(ctx)
		}
		read := recordsOfLine
		if silent[l.Text] && !l.IsMute() {
			read = together
		}
		found := read(l, lines[i+1:])
		silent[l.Text] = len(found) == 0
		for _, r := range found {
			r.source, r.wentOn, r.onGPU, r.calm = source, wentOn, onGPU, s.kept.Calm-l.Calm
			r.inJournal, r.built, r.earlier = l.InJournal, build.holds(l.Number), l.Number < last
			r.edited = edited && !r.earlier && ofSyntax.MatchString(r.slots["class"])
			r.notice = r.notice || belowHead(lines, i)
			r.frames, r.wraps = calls[l.Number].Frames, calls[l.Number].Wraps
			r.notice = r.notice || r.isFromResourceTracker()
			r.from, r.final = l.From, ended-l.Number < lastLines
			r.caught = caught(lines[i+1:])
			if _, project, found := r.theirs(); found {
				if _, known := releases[project]; !known && len(releases) < maxProjects {
					releases[project] = releaseIn(lines, project)
				}
				r.slots["release"] = releases[project]
			}
			r.readSource(lines[max(0, i-sourceReach):i])
			all = append(all, r)
		}
	}
	if first := firstRank(lines); first != nil {
		first.source, first.wentOn, first.calm = source, wentOn, s.kept.CountCalmAfter(lines, first.line)
		first.earlier = first.line < last
		all = append(all, *first)
	}
	return s.frightening(all), nil
}

// caught reports whether the lines below an exception say that another one was raised while it was handled. The other
// one then ended the program.
func caught(below []logtext.Line) bool {
	return slices.ContainsFunc(below[:min(3, len(below))], func(l logtext.Line) bool {
		return strings.Contains(l.Text, "During handling of the above exception, another exception occurred")
	})
}

// frightening returns the records without those of harmless lines.
func (s *scanner) frightening(all []record) []record {
	return slices.DeleteFunc(all, func(r record) bool {
		return s.harmless(r.text) || reassures.MatchString(r.text) || nothingCounted.MatchString(r.text) ||
			resolved.MatchString(r.text)
	})
}

// nothingCounted matches a line of nvidia-smi -q, or of DCGM's table, whose counter is zero ("Uncorrectable Error :
// 0"), a list of what firmware may count, and what NVIDIA's report did not collect.
var nothingCounted = lazyregexp.New(`\b(?:[Nn]o|0) (?:errors|failures|warnings)(?: (?:found|detected|encountered|reported)\b|\W*$)|\s[:|] +(?:0|N/A|No|None) *\|?$|^\s*Descriptor \d+: |` +
	`nvidia-bug-report\.sh: \d+: `)

// resolved matches ldd's line for a library that the loader found.
var resolved = lazyregexp.New(`^\s*\S+ => /\S+ \(0x[0-9a-f]+\)$`)

// harmless reports whether a line looks alarming and is known to be harmless.
func (s *scanner) harmless(text string) bool { return s.harmlessBy(text) != "" }

// harmlessBy returns the id of the signature that knows a line to be harmless, or "".
func (s *scanner) harmlessBy(text string) string {
	i := slices.IndexFunc(s.signatures, func(sig signature.Signature) bool {
		return sig.Blame == None && logtext.ContainsAny(text, sig.Literal) && sig.Find(text) != nil
	})
	if i < 0 {
		return ""
	}
	return s.signatures[i].ID
}

// recordsOfLine returns the records that one line makes. The message of an exception may continue on the next lines.
func recordsOfLine(l logtext.Line, next []logtext.Line) []record {
	if l.IsMute() {
		return nil
	}
	var all []record
	if r := exception(l); r != nil {
		if open := r.slots["message"]; open == "" && strings.HasSuffix(l.Text, ":") || open != "" &&
			strings.ContainsAny(open[len(open)-1:], ":,(") || onlyCounts.MatchString(open) {
			rest := continuation(next)
			if rest == "" && onlyCounts.MatchString(open) && len(next) > 0 {
				rest = " " + strings.TrimSpace(next[0].Text)
			}
			l.Text += rest
			r.text, r.slots["message"] = l.Text, strings.TrimSpace(open+rest)
		}
		all = append(all, *r)
	}
	all = append(all, statusesInWords(l)...)
	for _, g := range grammars {
		all = append(all, g.read(l)...)
	}
	all = append(all, together(l, next)...)
	all = append(all, lastError(l, next)...)
	if len(all) > 0 {
		return all
	}
	if r := complaint(l); r != nil {
		return []record{*r}
	}
	return nil
}

// onlyCounts matches the first line of pydantic and TensorFlow, which counts the errors listed below it.
var onlyCounts = lazyregexp.New(`^\d+ (?:validation errors? for \w+|root error\(s\) found\.)$`)

// read returns the record that a form makes of a line, if any.
func (g *grammar) read(l logtext.Line) []record {
	if !logtext.ContainsAny(l.Text, g.marks) {
		return nil
	}
	m := g.pattern.FindStringSubmatchIndex(l.Text)
	if m == nil || !logtext.StatesAt(l.Text, m[0]) {
		return nil
	}
	r := record{kind: g.kind, slots: map[string]string{}, line: l.Number, text: l.Text, notice: logtext.IsNotice(l.Text)}
	for i, name := range g.pattern.SubexpNames() {
		if name != "" && m[2*i] >= 0 {
			r.slots[name] = l.Text[m[2*i]:m[2*i+1]]
		}
	}
	return []record{r}
}

// pairs are records of two lines that only mean something together.
var pairs = []struct {
	kind        string
	reach       int
	first, then *lazyregexp.Regexp
}{
	{"cmake", 5, lazyregexp.New(`^CMake Error`),
		lazyregexp.New(`\bCUDA|\bnvcc\b|cuDNN|CUDNN|\bTorchConfig|NCCL|TensorRT`)},
	{"build-needs", 14, lazyregexp.New(`^CMake Error`), lazyregexp.New(`By not providing "Find\w+\.cmake"|` +
		`^ *Could NOT find \w+ |is required\.  You are running version|No CMAKE_\w+_COMPILER could be|` +
		`Compatibility with CMake <`)},
	{"build-files", 8, lazyregexp.New(`^CMake Error`), lazyregexp.New(`Cannot find source file|` +
		`is not an existing directory|` +
		`does not appear to contain CMakeLists|^ *does not contain a CMakeLists`)},
	{"build-killed", 2, lazyregexp.New(`(?:^|\d +)Killed$`), lazyregexp.New(`^(?:g?make|ninja)\b.*(?:\*\*\*|stopped)|` +
		`\bnvcc\b|\bcicc\b|cc1plus`)},
	{"kernel-fault", 30, lazyregexp.New(`BUG: (?:unable to handle|kernel NULL)|general protection fault|Oops: `),
		lazyregexp.New(`(?:\bE?IP|\bRIP|PC is at|pc :).*(?:_nv\d+rm\b|\[nvidia)`)},
	{"asked", 5, lazyregexp.New(`(?i)^(?:[\w./-]+: )?(?:error: )?(?:invalid|unknown|unrecogni[sz]ed|illegal|bad) ` +
		`(?:command[- ]line )?(?:option|argument|flag|parameter|switch)\b`), lazyregexp.New(`^\s*(?i:usage)\b`)},
	{"no-gpu", 2, lazyregexp.New(`torch\.cuda\.is_available\(\)\)?$`), lazyregexp.New(`^(?:>+ *|Out\[\d+\]: *)?False$`)},
}

func together(l logtext.Line, next []logtext.Line) []record {
	var all []record
	for _, p := range pairs {
		then := func(n logtext.Line) bool { return p.then.MatchString(n.Text) }
		if p.first.MatchString(l.Text) && slices.ContainsFunc(next[:min(p.reach, len(next))], then) {
			all = append(all, record{kind: p.kind, slots: map[string]string{"pair": "yes"}, line: l.Number, text: l.Text})
		}
	}
	return all
}

// continuation returns the rest of a message that spans several lines.
func continuation(next []logtext.Line) string {
	var rest strings.Builder
	for _, l := range next[:min(3, len(next))] {
		text := strings.TrimSpace(l.Text)
		if text == "" || traceback.RaisedLine.MatchString(logtext.TrimLoggerPrefix(text)) || traceback.FrameLine.MatchString(text) || strings.Contains(text,
			"Traceback (most") || strings.HasPrefix(text, "CUDA kernel errors might") {
			break
		}
		rest.WriteString(" " + text)
	}
	return rest.String()
}

// statusesInWords returns the CUDA statuses that a line contains as the runtime's error messages.
func statusesInWords(l logtext.Line) []record {
	named := logtext.ContainsAny(l.Text, []string{"CUDA", "cuda", "Cuda", "Gpu", "GPU", ".cu"})
	var best *tables.Status
	all := statuses()
	for i := range all {
		s := &all[i]
		if s.Text == "" || best != nil && len(s.Text) <= len(best.Text) {
			continue
		}
		tells := named || len(s.Text) >= tellingText || holdsNumber(l.Text, s.Code)
		if tells && logtext.StatesAt(l.Text, strings.Index(l.Text, s.Text)) {
			best = s
		}
	}
	if best == nil || best.Cause == "" {
		return nil
	}
	return []record{{kind: "status", slots: map[string]string{"name": best.Name}, line: l.Number, text: l.Text,
		notice: logtext.IsNotice(l.Text)}}
}

// holdsNumber reports whether a line contains the number of a status explicitly: "(error 802)".
func holdsNumber(text string, code int) bool {
	return code >= 100 && strings.Contains(text, strconv.Itoa(code))
}

func statuses() []tables.Status { return tables.Rows[tables.Status](nameTables()) }

// tellingText is the minimum length of a status text that means the status without the word CUDA. "invalid argument" is
// too short.
const tellingText = 31
