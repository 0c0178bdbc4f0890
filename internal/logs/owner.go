package logs

import (
	"cmp"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/logs/traceback"
	"cudacompat/internal/redact"
)

// ofProject returns the project of a call in a traceback, or "" for the program itself. A project that is recognised
// only by its path's layout counts as the program itself if the program was started from it.
func (r *record) ofProject(f traceback.Frame) string {
	if p := f.Project(); p != "" {
		return p
	}
	name := f.Layout()
	for _, outer := range r.frames {
		if outer.Project() == "" {
			if outer.Layout() == name {
				return ""
			}
			break
		}
	}
	return name
}

// place returns the last call of the program's own code in a traceback, in the form that steps use.
func (r *record) place() string {
	const last = "the last line of your own code in the traceback"
	if at, found := r.ownPlace(); found {
		return at + ", " + last
	}
	return last
}

// ownPlace returns the file and line of that call, if there is one.
func (r *record) ownPlace() (at string, found bool) {
	for i := len(r.frames) - 1; i >= 0; i-- {
		if f := r.frames[i]; f.Line != "" && r.ofProject(f) == "" {
			return f.File() + ", line " + f.Line, true
		}
	}
	return "", false
}

// carry matches packages through which programs communicate. Their exceptions, such as a timeout or a closed
// connection, are seldom their own fault.
var carry = lazyregexp.New(`^(?:aiohttp|httpx|httpcore|requests|urllib3|uvicorn|starlette|fastapi|anyio|uvloop|websockets|grpc|zmq)$`)

// theirs returns the deepest call in a traceback that belongs to a project, and the project. It returns false if a call
// of the program's own code is below all of them. A package that carries messages is skipped for its caller.
func (r *record) theirs() (at traceback.Frame, project string, found bool) {
	for i := len(r.frames) - 1; i >= 0; i-- {
		f := r.frames[i]
		switch p := r.ofProject(f); {
		case p == "":
			return at, project, found
		case p != "python" && !f.OnlyForwards():
			if !carry.MatchString(p) {
				return f, p, true
			}
			if !found {
				at, project, found = f, p, true
			}
		}
	}
	return at, project, found
}

// projectAt returns the project whose call raised the exception on a diagnosis' first line, or "".
func projectAt(records []record, lines []Line) string {
	for i := range records {
		if r := &records[i]; len(lines) > 0 && r.kind == "exception" && r.line == lines[0].Number {
			_, project, _ := r.theirs()
			return project
		}
	}
	return ""
}

// raisedByOwn reports whether a traceback ends in the program's own code, which the user can change.
func (r record) raisedByOwn() bool {
	if r.kind != "exception" || r.notice || r.earlier || r.frames == nil {
		return false
	}
	_, _, found := r.theirs()
	return !found
}

// deepest returns the package of the last call outside Python's standard library.
func (r *record) deepest() string {
	for i := len(r.frames) - 1; i >= 0; i-- {
		if r.frames[i].OnlyForwards() {
			continue // the one above asked for what is not there, or called with these arguments
		}
		if owner := r.frames[i].Owner(); owner != "python" {
			return owner
		}
	}
	return ""
}

// unlike matches the parts of a message that differ from run to run: paths, addresses, process numbers.
var unlike = lazyregexp.New(`(?:[A-Za-z]:)?(?:[/\\][\w.+@-]+){2,}[/\\]?|0x[0-9a-fA-F]+|\b[0-9a-f]{12,}\b|\bpid[= ]\d+|\b\d{5,}\b|[^\w./:,=+-]`)

// maxSearch is the maximum length of the words to search for.
const maxSearch = 90

// searchWords returns the words to search a project's issues for: the class and message of an exception without what
// belongs to this run, or the call that raised it if the message says nothing.
func (r *record) searchWords(at traceback.Frame) string {
	words := searchable(redact.Within(r.text, r.slot("message")))
	return strings.TrimSpace(r.slot("class") + " " + cmp.Or(words, at.Function))
}

// The types of a C++ function's arguments behind its name, and names that a program generated:
//
//	BatchDecodeWithPagedKVCachePyTorchWrapper::Plan(at::Tensor, float)::<lambda()>::<lambda()> failed to dispatch head_dim 96
//	batch_prefill_with_kv_cache_dtype_q_bf16_dtype_kv_bf16_dtype_o_bf16_idx_i32_head_dim_qk_128::plan() expected at most 15 …
var (
	argumentTypes = lazyregexp.New(`(::~?\w+)\([\w:,&*<> ]*\)(?:::<lambda\(\)>)*`)
	generated     = lazyregexp.New(`\b\w{60,}::`)
)

// withoutSignatures returns a message in which C++ functions are reduced to their names.
func withoutSignatures(text string) string {
	return generated.ReplaceAllString(argumentTypes.ReplaceAllString(text, "$1"), "")
}

// ofRelease matches the ways in which a log gives a release: "vllm==0.10.0", "vLLM API server version 0.9.0.1", a line
// of a package list.
var ofRelease = lazyregexp.New(`(?:^|[^\w.-])([A-Za-z][\w-]*?)(?:[_-]python)?(?:(?:==|:? +v?|-)|\b[\w ]{0,16} version[: ]+v?)(\d+\.\d+[\w.+]*)`)

// maxProjects limits for how many projects a log is searched for a release.
const maxProjects = 8

// releaseIn returns the release of a project in a log, or "" if the log gives none or two.
func releaseIn(lines []logtext.Line, project string) string {
	release := ""
	for _, l := range lines {
		if !strings.Contains(strings.ToLower(l.Text), strings.ToLower(project)) {
			continue
		}
		for _, m := range ofRelease.FindAllStringSubmatch(l.Text, -1) {
			if !strings.EqualFold(m[1], project) {
				continue
			}
			said := strings.TrimRight(m[2], ".")
			if release != "" && release != said {
				return ""
			}
			release = said
		}
	}
	return release
}

// isCloned reports whether the deepest call in a traceback belongs to a clone of somebody else's project.
func (r *record) isCloned() bool {
	at, project, found := r.theirs()
	return found && project != "" && at.Owner() == ""
}
