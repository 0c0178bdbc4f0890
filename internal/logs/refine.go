package logs

import (
	"slices"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/decide"
	"cudacompat/internal/logs/record"
)

// refinement corrects a decision by the rest of the logs. It returns true if it did.
type refinement struct {
	why   string
	apply func(*judging, *Diagnosis) bool
}

// refinements are tried in this order.
var refinements = []refinement{
	{"what was not read may hold the error", (*judging).partUnread},
	{"the GPU was full before the program had anything on it", (*judging).firstTouch},
	{"the call is NCCL's own", (*judging).insideNCCL},
	{"nobody who runs this program has written its kernels", (*judging).compiledByOthers},
	{"a crash without a reason: no frame of the user's own and no kernel is named", (*judging).lacksReason},
}

// refine corrects the blame and says how reliable it is.
func (j *judging) refine(d *Diagnosis) {
	for _, r := range refinements {
		before := d.Blame
		if r.apply(j, d) {
			d.Decided = append(d.Decided, string(before)+" became "+string(d.Blame)+": "+r.why)
		}
	}
	switch {
	case d.Blame == Unknown:
		d.Confidence = Undecided
	case d.Blame == None || d.weight > decide.Symptom || d.weight < decide.Symptom && !d.form:
		d.Confidence = Certain
	default:
		d.Confidence = Likely
	}
	if d.Decided == nil {
		d.Decided = []string{}
	}
}

// partUnread withdraws conclusions that need whole logs: that nothing is wrong, and that the program is at fault.
func (j *judging) partUnread(d *Diagnosis) bool {
	if len(j.unread) == 0 {
		return false
	}
	switch d.Blame {
	case None:
		decided := d.Decided
		*d = newUndecided()
		d.Unread, d.Decided = j.unread, decided
		return true
	case Program:
		d.Blame = Unknown
		d.Candidates = append([]Candidate{{d.Cause, Program, "the logs that were not read"}}, d.Candidates...)
		return true
	}
	return false
}

// ofCollectives matches a line of NCCL, or of a server's own all-reduce, whose calls the program does not make.
var ofCollectives = lazyregexp.New(`\bNCCL\b|custom_all_reduce`)

// insideNCCL blames nobody for a call with a wrong argument inside a collectives library. The cause may be shared
// memory, memory that cannot be shared, or its own fault.
func (j *judging) insideNCCL(d *Diagnosis) bool {
	if d.Blame != Program || d.Cause != "invalid-argument" || len(d.Lines) == 0 || !ofCollectives.MatchString(d.Lines[0].Text) {
		return false
	}
	d.Blame, d.Cause = Unknown, "nccl-cuda-error"
	d.Because, d.Do = "A CUDA call of the library that joins the GPUs was refused.", slices.Clone(observeCollective)
	return true
}

// observeCollective lists the observations that distinguish the reasons for a wrong call inside a collectives library.
var observeCollective = []string{
	"run it once with PYTORCH_CUDA_ALLOC_CONF unset: memory of expandable segments cannot be shared in every way\tfor program torch",
	"run it once with NCCL_SHM_DISABLE=1, then with NCCL_P2P_DISABLE=1: which of them ends it says whether shared memory (`df -h /dev/shm`) or the link is at fault",
	"run it once with --disable-custom-all-reduce\tfor text custom_all_reduce",
}

// compiledByOthers blames nobody for a kernel that crashed in a program that people run unchanged. The program, the
// driver and the GPU leave the same log.
func (j *judging) compiledByOthers(d *Diagnosis) bool {
	if d.Blame != Program || !slices.Contains(badAccess, d.Cause) || !slices.Contains(compiledServers, serverIn(j.kept, d.Lines)) {
		return false
	}
	d.Blame = Unknown
	return true
}

// crashes lists the causes that do not show where a crash comes from: codes 700, 719 and 999, memory that cuBLAS could
// not allocate, and memory that ran out without numbers.
var crashes = []string{"illegal-memory-access", "launch-failure", "cuda-unknown-error", "cublas-not-initialized", unsaidMemory}

// unsaidMemory is the cause for memory that ran out. numbered matches a line that says how much.
const unsaidMemory = "out-of-memory"

var (
	numbered = lazyregexp.New(`(?i)\b\d[\d.,]* ?(?:[KMGT]i?B|[kmgt]b|bytes|b)\b|shape ?[\[(]|\b\d{6,}\b`)
	// namesKernel matches a line that names a kernel, or a CUDA source that is not a library's.
	namesKernel = lazyregexp.New(`__global__|\bkernel [\x60'"<]\w|in kernel \w|\bKernel: \w|\b[\w-]+\.cuh?(?:[:(]\d+|\b)|PhysX|` +
		`(?i:memcheck|compute-sanitizer)|(?:^|[^=])={9} `)
)

// lacksReason blames nobody for a crash of which only the code is known.
func (j *judging) lacksReason(d *Diagnosis) bool {
	if d.Blame != Program || !slices.Contains(crashes, d.Cause) || len(d.Lines) == 0 ||
		d.Cause == unsaidMemory && (d.slotted || numbered.MatchString(d.Lines[0].Text)) {
		return false
	}
	if slices.ContainsFunc(j.records, namesOwnCode) || namesKernel.MatchString(d.Lines[0].Text) {
		return false
	}
	d.Blame = Unknown
	return true
}

// namesOwnCode reports whether a traceback shows a call of the program's own code.
func namesOwnCode(r record.Record) bool {
	_, own := r.FindOwnPlace()
	return own && r.Kind == "exception" && !r.Notice && !r.Earlier
}
