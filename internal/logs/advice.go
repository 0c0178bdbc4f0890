package logs

import (
	"regexp"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/advise"
	"cudacompat/internal/logs/finding"
	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/logs/record"
)

// adviser replaces the steps of a cause if it knows better ones for the program, the system or the package.
type adviser struct {
	why   string
	steps func(*judging, *Diagnosis) (do []string, because string)
}

// advisers are tried in this order. The first that returns steps wins.
var advisers = []adviser{
	{"WSL2 has the driver of Windows", (*judging).useWindowsDriver},
	{"Jetson's CUDA comes with JetPack", (*judging).useJetPack},
	{"the program is built from source for each GPU", (*judging).rebuildForGPU},
	{"the line names the GPU or the driver's CUDA", (*judging).chooseWheel},
	{"the installed build is for the CPU", (*judging).replaceCPUBuild},
	{"a package has no kernels for the GPU", (*judging).replaceKernels},
	{"the failing line is a project's own", (*judging).searchProject},
	{"the program has options of its own", (*judging).stepsOfServer},
	{"a server can do without the package", (*judging).skipPart},
	{"the library has a build with CUDA", (*judging).installCUDABuild},
}

// advise adds the steps to a decision. It never changes the blame.
func (j *judging) advise(d *Diagnosis) {
	if d.Blame == None {
		return
	}
	d.project = projectAt(j.records, d.Lines)
	for _, a := range advisers {
		do, because := a.steps(j, d)
		if do == nil {
			continue
		}
		d.Do = slices.Clone(do)
		if because != "" {
			d.Because = because
		}
		d.Decided = append(d.Decided, "steps: "+a.why)
		break
	}
	j.observeCrashes(d)
	offered := d.Do
	d.Do = advise.Choose(d.Do, j.evidence(d))
	d.keepStepsForSystem(j.kept, j.windows)
	if j.windows {
		d.forWindows()
	}
	if n := len(offered) - len(d.Do); n > 0 {
		d.Decided = append(d.Decided, "steps that the log holds no evidence for: "+strings.Repeat("x", n))
	}
	j.putOwnLineFirst(d)
	j.quoteInstruction(d)
	if len(d.Do) == 0 && len(offered) > 0 {
		d.Do = j.searchFor(d)
	}
	d.Do = d.Do[:min(len(d.Do), advise.MaxSteps)]
	if !j.windows {
		d.useInterpreter()
	}
}

// evidence returns the facts in the logs that a step may require.
func (j *judging) evidence(d *Diagnosis) advise.Evidence {
	line := ""
	if len(d.Lines) > 0 {
		line = d.Lines[0].Text
	}
	return advise.Evidence{
		Line:     line,
		Text:     func(re *regexp.Regexp) bool { return j.anyLine(re.MatchString) },
		Mentions: j.mentions,
		Slot:     func(name string) string { return d.slots[name] },
		Packages: j.packages,
		Facts:    j.facts,
		Windows:  j.windows,
		Linux:    !j.windows && containAny(j.kept, onLinux),
	}
}

func (j *judging) anyLine(matches func(string) bool) bool {
	return slices.ContainsFunc(j.kept, func(lines []logtext.Line) bool {
		return slices.ContainsFunc(lines, func(l logtext.Line) bool { return matches(l.Text) })
	})
}

// mentions reports whether a line contains one of the words, in any case.
func (j *judging) mentions(words ...string) bool {
	if j.lower == nil {
		j.lower = []string{}
		for _, lines := range j.kept {
			for _, l := range lines {
				j.lower = append(j.lower, strings.ToLower(l.Text))
			}
		}
	}
	return slices.ContainsFunc(j.lower, func(line string) bool { return logtext.ContainsAny(line, words) })
}

// installed matches a package in a pasted list: pip list, pip freeze, collect_env.
var installed = lazyregexp.New(`^(?:\[(?:pip3?|conda)\] )?([A-Za-z][\w.-]*)(?:==|  +)(\d[\w.+!-]*)(?:\s|$)`)

// packages returns the packages in a list that was pasted into a log.
func (j *judging) packages() map[string]string {
	all := map[string]string{}
	for _, lines := range j.kept {
		for _, l := range lines {
			if m := installed.FindStringSubmatch(l.Text); m != nil {
				all[advise.Normal(m[1])] = m[2]
			}
		}
	}
	return all
}

// factWords are the ways in which a text states a fact that steps require.
var factWords = []struct {
	name string
	said *lazyregexp.Regexp
}{
	{"gpu", lazyregexp.New(`(?i)\b(?:NVIDIA|GeForce|Tesla|Quadro) ?(?:GeForce |RTX |GTX |Tesla )*((?:A|H|B|L|T|V|P)\d+\w*|[RG]TX ?\w* ?\d{3,4}\w*|\d{4}(?: Ti)?)\b`)},
	{"driver", lazyregexp.New(`(?i)driver version\W+(\d{3}\.\d+[\d.]*)`)},
	{"toolkit", lazyregexp.New(`(?:/cuda-|release |CUDA runtime version: |CUDA_HOME\W+/usr/local/cuda-)(\d+\.\d+)`)},
	{"torch", lazyregexp.New(`(?:^torch(?:==| +)|PyTorch version: |PyTorch )(\d+\.\d+[\w.+]*)`)},
}

// facts returns what the text says about the machine.
func (j *judging) facts() map[string]string {
	all := map[string]string{}
	for _, f := range factWords {
		for _, lines := range j.kept {
			for _, l := range lines {
				if m := f.said.FindStringSubmatch(l.Text); m != nil && all[f.name] == "" {
					all[f.name] = m[1]
				}
			}
		}
	}
	return all
}

// observeCrashes asks for the observation that distinguishes the causes of a crash without a reason. It recommends no
// fix.
func (j *judging) observeCrashes(d *Diagnosis) {
	if d.Blame != Unknown || !slices.Contains(crashes, d.Cause) {
		return
	}
	d.Because, _ = partWords(d.Because)
	if d.Cause == unsaidMemory || d.Cause == "cublas-not-initialized" {
		d.Do = slices.Clone(observeMemory)
		return
	}
	d.Do = slices.Clone(observeCrash)
	d.Why = "Of nine such crashes whose cause became known, four were the program's, three the hardware's, two the environment's."
}

// Observations that distinguish the causes of a crash without a reason, or of memory that ran out without numbers.
var (
	observeCrash = []string{
		"look in Event Viewer (Windows Logs, System) at that time: Display 4101 is the driver's reset of a kernel that ran longer than 2 seconds (TdrDelay raises that); nvlddmkm 13, 14 or 153 names the GPU's error\tfor platform windows",
		"run `dmesg | grep -i -e xid -e nvrm`: Xid 13, 31 or 43 is the program's; 48, 63, 64, 74, 79, 94 or 95 is the hardware's",
		"run the same input twice: the same place each time points to the program, another place each time to the GPU, its clocks or its power",
		"run it on another GPU, at stock clocks: if it still fails, give explain the log with the traceback of the program",
		"run `compute-sanitizer PROGRAM`: it names the kernel and the line\tfor text \\.cu\\b|__global__|nvcc",
	}
	observeMemory = []string{
		"run `nvidia-smi` while it starts: does another process hold the memory?",
		"run it once with half the batch, or a smaller input: if that works, the program needs more memory than is free",
		"if both fail with memory free, run `dmesg | grep -i -e xid -e nvrm`, and give explain its output",
	}
)

// instruction matches the words with which a message itself says what to do.
var instruction = lazyregexp.New(`(?:^|[.;:!,] |\bor |\()((?:[Pp]lease |[Tt]ry |[Cc]onsider |[Yy]ou (?:can|should|need to|must|may want to) |[Ss]et |` +
	`[Uu]se |[Ii]nstall |[Uu]pgrade |[Uu]pdate |[Rr]un |[Mm]ake sure |[Ee]nsure |[Rr]einstall |[Dd]owngrade |[Aa]dd |[Pp]ass |[Ss]pecify |` +
	`[Ii]ncrease |[Dd]ecrease |[Rr]educe |[Dd]isable |[Ee]nable |[Dd]id you mean )[^.]*(?:\.\w[^.]*)*|` +
	`[A-Z]\w+ing [^.;:]{4,80} (?:may|might|can|could|should) (?:help|fix|solve|resolve)\b[^.]*)`)

// notInstruction matches instructions that do not help: to report the fault, to read on, to look something up.
var notInstruction = lazyregexp.New(`(?i)\b(?:report|bug|issue|contact|see (?:the )?(?:log|above|below|doc)|documentation|file a|submit|check (?:the )?(?:log|above)|` +
	`trace|debug|https?://|TORCH_USE_CUDA_DSA|CUDA_LAUNCH_BLOCKING|support team|try again|wait|traceback|refer to|HYDRA_FULL_ERROR|verbose)`)

const (
	minInstruction = 12
	maxInstruction = 160
)

// quoteInstruction puts the deciding message's own instruction before the search step, if no row knows better.
func (j *judging) quoteInstruction(d *Diagnosis) {
	if len(d.Lines) == 0 || !d.byWords && d.Blame != Unknown && len(d.Do) > 0 || d.Blame == None {
		return
	}
	said := instructionIn(d.Lines[0].Text)
	if said == "" {
		return
	}
	d.Do = append([]string{"follow what the message itself says: \"" + strings.ReplaceAll(said, "`", "'") + "\""}, d.Do...)
}

// instructionIn returns the last sentence of a message that says what to do; empty where none does.
func instructionIn(text string) string {
	all := instruction.FindAllStringSubmatch(text, -1)
	for _, m := range slices.Backward(all) {
		said := strings.TrimRight(strings.TrimSpace(m[1]), " .,;:)")
		if len(said) >= minInstruction && len(said) <= maxInstruction && !notInstruction.MatchString(said) {
			return said
		}
	}
	return ""
}

// searchFor returns the steps of a line for which no step has evidence: the words by which others found it.
func (j *judging) searchFor(d *Diagnosis) []string {
	for i := range j.records {
		r := &j.records[i]
		if len(d.Lines) > 0 && r.Line == d.Lines[0].Number {
			return finding.ListSearchSteps(r)
		}
	}
	if len(d.Lines) == 0 {
		return []string{}
	}
	r := record.Record{Slots: map[string]string{}, Line: d.Lines[0].Number, Text: d.Lines[0].Text}
	return finding.ListSearchSteps(&r)
}

// codeCauses are what the code that raised the exception does wrong, and not what it was given.
var codeCauses = []string{"tensors-on-different-devices", "dtype-mismatch", "inplace-in-autograd", "fsdp-mixed-types", "tensor-refused"}

// searchProject sends to the project whose own code failed, where no call of the user's own is shown: a row's steps
// are for whoever can change the code.
func (j *judging) searchProject(d *Diagnosis) ([]string, string) {
	if d.Blame != Program || d.form || !slices.Contains(codeCauses, d.Cause) {
		return nil, ""
	}
	for i := range j.records {
		r := &j.records[i]
		if len(d.Lines) == 0 || r.Line != d.Lines[0].Number || r.Kind != "exception" || namesOwnCode(*r) {
			continue
		}
		at, project, found := finding.FindCallOutsideTorch(r)
		if !found {
			return nil, ""
		}
		finding.FillIssues(r, at, project)
		do := r.FillSteps(finding.FindAnswer("code-theirs").Do)
		if len(d.Do) > 0 {
			do = append(do, "if your own code passed what it works on: "+strings.TrimPrefix(d.Do[0], "if it is your code, "))
		}
		return do, ""
	}
	return nil, ""
}
