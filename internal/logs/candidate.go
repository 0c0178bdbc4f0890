package logs

import (
	"cmp"
	"slices"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/finding"
	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/logs/record"
)

// The commands whose output decides between candidates. Explain accepts that output together with the log.
const (
	fetchXid      = "dmesg | grep -i -e xid -e nvrm"
	fetchSMI      = "nvidia-smi -q"
	fetchDoctor   = "cudacompat doctor --log LOG"
	fetchBlocking = "CUDA_LAUNCH_BLOCKING=1 python PROGRAM"
	fetchMemory   = "nvidia-smi --query-compute-apps=pid,used_memory --format=csv"
	fetchOOM      = "dmesg | grep -i -e 'out of memory' -e oom-kill"
	fetchRanks    = "the logs of all ranks: torchrun --log-dir DIR --redirects 3, then cudacompat explain DIR"
	fetchNCCL     = "NCCL_DEBUG=INFO in the environment of every rank"
	fetchSanitize = "compute-sanitizer python PROGRAM"
	fetchBuild    = "pip install -v --no-cache-dir PACKAGE"
	fetchFault    = "python -X faulthandler PROGRAM"
)

var (
	mayBeDriver    = Candidate{"driver-mismatch", Environment, fetchDoctor}
	mayBeGPU       = Candidate{"gpu-failed", Hardware, fetchXid}
	mayBeAccess    = Candidate{"illegal-memory-access", Program, fetchBlocking}
	mayBeMemory    = Candidate{"gpu-memory-exhausted", Program, fetchMemory}
	mayBeOOM       = Candidate{"host-out-of-memory", Program, fetchOOM}
	mayBeOtherRank = Candidate{"rank-died", Unknown, fetchRanks}
	mayBeNetwork   = Candidate{"nccl-network-unreachable", Environment, fetchNCCL}
)

// anything lists the candidates for a log that shows trouble and nothing more.
var anything = []Candidate{
	{"input-refused", Program, fetchFault},
	{"no-driver", Environment, fetchDoctor},
	{"gpu-failed", Hardware, fetchXid},
}

// clue is a set of words that prove nothing but say where to look. A loud clue counts even in a log without any
// trouble.
type clue struct {
	words *lazyregexp.Regexp
	loud  bool
	may   []Candidate
}

var clues = []clue{
	{lazyregexp.New(`\bKilled\b|SIGKILL|exit code:? -?(?:9|137)\b`), true, []Candidate{mayBeOOM}},
	{lazyregexp.New(`\bNCCL\b|torchrun|\bDDP\(|DistributedDataParallel|\brank ?\d`), false, []Candidate{mayBeOtherRank,
		{"two-ranks-on-one-gpu", Program, fetchNCCL}, mayBeNetwork}},
	{lazyregexp.New(`[Ii]llegal (?:address|memory)|unspecified launch|CUDA queue|Xid|FAULTY|` +
		`errors: -\d`), true, []Candidate{
		mayBeAccess, mayBeGPU}},
	{lazyregexp.New(`\[Hardware Error\]|PCIe (?:Bus )?[Ee]rror|\bAER: `), true, []Candidate{{"pcie-errors", Hardware,
		"lspci -tv; nvidia-smi -q | grep -i -A2 replay"}}},
	{lazyregexp.New(`[Mm]iner thread hangs|incorrect temperature|(?:INVALID|invalid) (?:shares?|nonce)|` +
		`[Cc]an't stop device`), true, []Candidate{mayBeGPU, mayBeDriver}},
	{lazyregexp.New(`KeyboardInterrupt|SIGTERM|signal 15\b`), false, []Candidate{{"killed-from-outside", Environment,
		"journalctl -u SERVICE; sacct -j JOB"}}},
	{lazyregexp.New(`died unexpectedly|EngineDeadError|[Ww]orker died`), false, []Candidate{mayBeOOM, mayBeMemory}},
	{lazyregexp.New(`blocked for more than \d+ seconds`), true, []Candidate{{"driver-unresponsive", Environment,
		"dmesg | grep -A30 'blocked for more'"}, mayBeGPU}},
	{lazyregexp.New(`Faulting module|0x[cC]0000`), true, []Candidate{{"windows-library-not-found", Environment,
		fetchDoctor}}},
	{lazyregexp.New(`ExecutionProvider|onnxruntime`), false, []Candidate{{"onnxruntime-library-not-found", Environment,
		fetchDoctor}}},
	{lazyregexp.New(`amdgpu|\bvfio|firmware|nvidia-drm|nvidia-modeset|NVRM|` +
		`nouveau`), false, []Candidate{{"driver-not-loaded",
		Environment, fetchXid}, mayBeGPU}},
	{lazyregexp.New(`docker|containerd|kubelet|\[pod/|OCI runtime`), false, []Candidate{{"container-driver-libs-missing",
		Environment, "nvidia-smi in the same container"}}},
	{lazyregexp.New(`out of memory|OOM|alloc`), false, []Candidate{mayBeMemory}},
}

// command matches the command in a step.
var command = lazyregexp.New("`([^`]+)`")

// guesses returns what the sentences of failing, of which no verdict was made, are about by their words: a word does
// not prove, but says where to look. Never nil.
func guesses(records []record.Record) []Candidate {
	all := []Candidate{}
	for _, r := range records {
		a := finding.FindAnswer(record.FindArea(cmp.Or(r.Slot("sentence"), r.Text)))
		if len(a.Do) == 0 || a.Blame == Unknown {
			continue
		}
		fetch := "cudacompat explain " + a.Cause
		if m := command.FindStringSubmatch(a.Do[0]); m != nil {
			fetch = m[1]
		}
		all = append(all, Candidate{a.Cause, a.Blame, fetch})
	}
	return all
}

// maxCandidates is how many causes are named that an unclear log may have.
const maxCandidates = 3

// hintsIn returns the clues that lines hold, in the order of the table.
func hintsIn(lines []logtext.Line) []clue {
	var all []clue
	for _, c := range clues {
		if slices.ContainsFunc(lines, func(l logtext.Line) bool { return c.words.MatchString(l.Text) }) {
			all = append(all, c)
		}
	}
	return all
}

// addCandidates says of an unclear diagnosis what it may be: what its cause tells, else what the lines hint at.
func (d *Diagnosis) addCandidates(hints []clue) {
	if d.Blame != Unknown {
		d.Candidates = []Candidate{}
		return
	}
	if may := finding.Book().May[d.Cause]; len(may) > 0 {
		d.Candidates = []Candidate{}
		for _, m := range may {
			d.Candidates = append(d.Candidates, Candidate{m.Cause, Blame(m.Blame), m.Fetch})
		}
		return
	}
	all, trouble := slices.Clone(d.Candidates), d.Candidates != nil
	for _, c := range hints {
		if c.loud || trouble {
			all = append(all, c.may...)
		}
	}
	if trouble {
		all = append(all, anything...)
	}
	d.Candidates = chooseCandidates(all)
}

// chooseCandidates returns the first of the candidates, each cause once, and at most two that blame the same side.
func chooseCandidates(all []Candidate) []Candidate {
	some := []Candidate{}
	blames := map[Blame]int{}
	for _, c := range all {
		known := slices.ContainsFunc(some, func(s Candidate) bool { return s.Cause == c.Cause })
		if len(some) < maxCandidates && !known && blames[c.Blame] < 2 {
			some = append(some, c)
			blames[c.Blame]++
		}
	}
	return some
}
