// Package record reads the lines of a log into records: statements with a kind and slots, such as which library the
// loader missed, which status a call returned, or which package is missing.
//
// Forms of a grammar, exceptions, CUDA statuses in words, launchers' summaries and pairs of lines that mean something
// together each make records. A line that no form reads may still be a complaint: an ordinary sentence about a failure,
// whose words name an area. A [Record] also knows the calls of its traceback, and whose code raised it. Which cause a
// record shows is not decided here.
package record

import (
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/logs/traceback"
	"cudacompat/internal/tables"
)

// Record is one statement of a log, read by a grammar and not by a previously seen text: its kind, its slots, and its
// place.
type Record struct {
	Kind       string
	Slots      map[string]string
	Frames     []traceback.Frame // of a traceback, the outermost first
	Wraps      bool              // its exception only passes on the one above it
	From       string            // the process that wrote it, where a launcher says
	Line       int
	Source     int
	Text       string
	Notice     bool // its line says itself that it only informs or warns
	Calm       int  // lines after it that are near no mark of trouble
	InJournal  bool // it stands in a journal of many programs
	Superseded bool // another exception was raised while it was handled
	WentOn     int  // the line of its log from which on only work is told; 0: none
	OnGPU      int  // the last line of its log that shows a GPU at work; 0: none
	Final      bool // it stands at the end of its log
	Earlier    bool // the program ran again after it, and failed
	Edited     bool // Python could read the script when it ran before
	Built      bool // it stands in the log of an installation that ended well
}

// Slot returns a record's value for a name, or "".
func (r *Record) Slot(name string) string { return r.Slots[name] }

// Form is one form of a kind of record. The pattern's named groups are its slots.
type Form struct {
	Kind    string
	Marks   []string // one of these stands in every line of this form
	Pattern *lazyregexp.Regexp
}

// TroubleMarks lists substrings of lines about failures. Lines around such a line are kept for the forms.
var TroubleMarks = []string{"anifest ", "xternally-managed", "0xC00", "-1073", "32212", "Faulting",
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

// IsSuperseded reports whether the lines below an exception say that another one was raised while it was handled. The other
// one then ended the program.
func IsSuperseded(below []logtext.Line) bool {
	return slices.ContainsFunc(below[:min(3, len(below))], func(l logtext.Line) bool {
		return strings.Contains(l.Text, "During handling of the above exception, another exception occurred")
	})
}

// ReadLine returns the records that one line makes. The message of an exception may continue on the next lines.
func ReadLine(l logtext.Line, next []logtext.Line) []Record {
	if l.IsMute() {
		return nil
	}
	var all []Record
	if r := ReadException(l); r != nil {
		if open := r.Slots["message"]; open == "" && strings.HasSuffix(l.Text, ":") || open != "" &&
			strings.ContainsAny(open[len(open)-1:], ":,(") || onlyCounts.MatchString(open) {
			rest := continuation(next)
			if rest == "" && onlyCounts.MatchString(open) && len(next) > 0 {
				rest = " " + strings.TrimSpace(next[0].Text)
			}
			l.Text += rest
			r.Text, r.Slots["message"] = l.Text, strings.TrimSpace(open+rest)
		}
		all = append(all, *r)
	}
	all = append(all, ReadStatuses(l)...)
	for _, g := range Forms {
		all = append(all, g.Read(l)...)
	}
	all = append(all, ReadPairs(l, next)...)
	all = append(all, readLastError(l, next)...)
	if len(all) > 0 {
		return all
	}
	if r := ReadComplaint(l); r != nil {
		return []Record{*r}
	}
	return nil
}

// onlyCounts matches the first line of pydantic and TensorFlow, which counts the errors listed below it.
var onlyCounts = lazyregexp.New(`^\d+ (?:validation errors? for \w+|root error\(s\) found\.)$`)

// Read returns the record that a form makes of a line, if any.
func (g *Form) Read(l logtext.Line) []Record {
	if !logtext.ContainsAny(l.Text, g.Marks) {
		return nil
	}
	m := g.Pattern.FindStringSubmatchIndex(l.Text)
	if m == nil || !logtext.StatesAt(l.Text, m[0]) {
		return nil
	}
	r := Record{Kind: g.Kind, Slots: map[string]string{}, Line: l.Number, Text: l.Text, Notice: logtext.IsNotice(l.Text)}
	for i, name := range g.Pattern.SubexpNames() {
		if name != "" && m[2*i] >= 0 {
			r.Slots[name] = l.Text[m[2*i]:m[2*i+1]]
		}
	}
	return []Record{r}
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

// ReadPairs returns the records of two lines that only mean something together.
func ReadPairs(l logtext.Line, next []logtext.Line) []Record {
	var all []Record
	for _, p := range pairs {
		then := func(n logtext.Line) bool { return p.then.MatchString(n.Text) }
		if p.first.MatchString(l.Text) && slices.ContainsFunc(next[:min(p.reach, len(next))], then) {
			all = append(all, Record{Kind: p.kind, Slots: map[string]string{"pair": "yes"}, Line: l.Number, Text: l.Text})
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

// ReadStatuses returns the CUDA statuses that a line contains as the runtime's error messages.
func ReadStatuses(l logtext.Line) []Record {
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
	return []Record{{Kind: "status", Slots: map[string]string{"name": best.Name}, Line: l.Number, Text: l.Text,
		Notice: logtext.IsNotice(l.Text)}}
}

// holdsNumber reports whether a line contains the number of a status explicitly: "(error 802)".
func holdsNumber(text string, code int) bool {
	return code >= 100 && strings.Contains(text, strconv.Itoa(code))
}

func statuses() []tables.Status { return tables.Rows[tables.Status](Tables()) }

// tellingText is the minimum length of a status text that means the status without the word CUDA. "invalid argument" is
// too short.
const tellingText = 31
