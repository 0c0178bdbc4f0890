package finding

import (
	"cmp"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/record"
	"cudacompat/internal/logs/traceback"
)

// concrete lists the slots that name a thing and not only a word. Only an answer with such a slot recommends a fix.
var concrete = []string{"library", "module", "header", "symbol", "tool", "package", "target", "option", "operator", "part",
	"element", "want", "wanted", "needs", "has", "found", "asked", "asker", "name", "code", "path", "intrinsic", "standard",
	"socket", "runtime", "image", "pod", "model", "job", "version", "signal", "rank", "command", "said"}

// wordForms lists the grammar forms that show a line's subject by its words, and not which thing failed.
var wordForms = []string{"exception", "complaint", "speaker", "asked", "given", "service", "access",
	"display", "video-hardware", "no-gpu", "no-cuda-build", "driver", "gpu-arch", "memory", "host-memory", "container",
	"scheduler", "kernel-driver", "hardware", "installation", "build-needs", "package-tool", "program", "mpi",
	"version", "assertion", "unreached"}

// exact lists the answers about exceptions that follow from a system error number, a call or one exact text, and those
// that only refer to the project whose code failed.
var exact = []string{"no-directory", "file-exists", "disk-full", "port", "encoding", "download", "proxy-answered", "no-such-address",
	"shared-memory", "kernel-source", "module-triton", "program-theirs", "program-cloned", "input-theirs", "packages-do-not-fit-in", "newer-file"}

// canPrescribe reports whether a record contains enough to recommend a fix: a form whose line says everything, a slot
// that the answer uses, or the file and line of the user's own code.
func canPrescribe(r *record.Record, a Answer) bool {
	if !slices.Contains(wordForms, r.Kind) || slices.Contains(exact, a.name) || r.Slot("pair") != "" {
		return true
	}
	_, own := r.FindOwnPlace()
	if slices.Contains(ofOwnPlace, a.name) && (own || r.Edited || strings.Contains(r.Slot("place"), ", line ")) {
		return true
	}
	words := a.Because + strings.Join(a.Do, "")
	return slices.ContainsFunc(concrete, func(name string) bool {
		return r.Slot(name) != "" && strings.Contains(words, "{"+name+"}")
	})
}

// ofOwnPlace lists the answers that name a line of the program's own code.
var ofOwnPlace = []string{"program", "program-called", "input-called", "input", "shape", "usage", "kernel-source"}

// observes matches a step that only looks.
var observes = lazyregexp.New("^(?:run `(?:nvidia-smi|dmesg|ldd|ldconfig|df|ls|lscpu|id|journalctl|systemctl|kubectl|sinfo|env|which|type|cat|grep|free|" +
	"cudacompat doctor|curl|nc|python -m pip (?:list|show|check)|pip (?:check|list|show)|vulkaninfo|clinfo|ffmpeg -|find |ss |file )|run the program with |see |read |look )")

// listWordSearchSteps returns the steps of an answer that rests on words alone: the words to search for, and the one
// observation that would decide.
func listWordSearchSteps(r *record.Record, a Answer) []string {
	do := ListSearchSteps(r)[:1]
	for _, step := range a.Do {
		if observes.MatchString(step) {
			return append(do, r.FillSteps([]string{step})...)
		}
	}
	return do
}

// Slots returns the values of the record or of the pattern's groups.
func (f *Finding) Slots() map[string]string {
	if f.Form != nil {
		return f.Form.Slots
	}
	return f.Groups()
}

// stackCore are the projects that only do what the code above them asks.
var stackCore = []string{"torch", "python", "numpy", "jax", "jaxlib", "tensorflow", "keras"}

// FindCallOutsideTorch returns the deepest call of a traceback that is a project's and not of the frameworks that it
// calls.
func FindCallOutsideTorch(r *record.Record) (at traceback.Frame, project string, found bool) {
	for _, f := range slices.Backward(r.Frames) {
		p := r.FindProject(f)
		if p != "" && !f.OnlyForwards() && !slices.Contains(stackCore, p) {
			return f, p, true
		}
	}
	return at, "", false
}

// FillIssues fills the slots by which the issues of a project are searched.
func FillIssues(r *record.Record, at traceback.Frame, project string) {
	r.Slots["file"], r.Slots["words"] = at.File(), chooseSearchWords(r, at)
	r.Slots["project"] = cmp.Or(Distributions[project], packagesByModule[project], project)
	r.Slots["issues"] = strings.TrimSpace(r.Slots["project"] + " " + r.Slot("release"))
}

// The parts of a message that say nothing to others: names that were taken out, what stands in braces, times and
// counters.
var (
	ofThisRun = lazyregexp.New(`\{[^{}]*\}|\*\*\*\S*|\b\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?\b|\b\d+/\d+\b|\[[\d ,:.]*\]|:\d+(?::\d+)+|\b\d{4}-\d\d-\d\d\b|` +
		`\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b,? \d{1,2} \w{3} \d{4}|\b[AP]M UTC\b|` +
		`\b[\w.-]+:\d+\b|\b(?:line|pid|rank|port|step|device|GPU) \d+|<[^<>]*>`)
	clauseEnds = lazyregexp.New(`(?:: |; |\. |, | - | \| )`)
	plainWord  = lazyregexp.New(`[A-Za-z_][\w/.+-]{2,}`)
)

// ofTheSystem matches a clause that any program may end its message with.
var ofTheSystem = lazyregexp.New(`(?i)^(?:errno \d+ )?(?:no such file or directory|permission denied|operation not permitted|shutting down \w+|` +
	`no such device|connection refused|(?:connection )?timed out|see (?:above|below).*|exit status)$`)

// leastWords is how many words a clause has that others can find.
const leastWords = 3

// searchable returns the part of a message by which others found it: its last clause that says something, without what
// is of one run or one build alone. Most messages begin with who says it, and end with what it is.
func searchable(text string) string {
	plain := func(s string) string {
		return strings.Trim(strings.Join(strings.Fields(ofOneRun.ReplaceAllString(s, " ")), " "), " .,:;-")
	}
	text = ofThisRun.ReplaceAllString(stripArgumentTypes(text), " ")
	if whole := plain(text); len(whole) <= maxSearch*2/3 {
		return whole
	}
	parts := strings.Split(clauseEnds.ReplaceAllString(text, "\n"), "\n")
	for i := len(parts) - 1; i >= 0; i-- {
		said := plain(parts[i])
		if i > 0 && ofTheSystem.MatchString(said) {
			parts[i-1] += " " + parts[i] // it finds everything
			continue
		}
		if len(plainWord.FindAllString(said, -1)) >= leastWords {
			return cutWords(said)
		}
	}
	return cutWords(plain(text))
}

// cutWords shortens a phrase at a word; its end says more than its beginning.
func cutWords(text string) string {
	if len(text) <= maxSearch {
		return text
	}
	text = strings.ToValidUTF8(text[len(text)-maxSearch:], "")
	return text[min(len(text)-1, strings.IndexByte(text, ' ')+1):]
}

// Distributions maps import names to package names, if they differ.
var Distributions = map[string]string{"flashinfer": "flashinfer-python", "deep_gemm": "deep-gemm"}
