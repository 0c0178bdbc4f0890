package needs

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"unicode"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/report"
	"cudacompat/internal/report/formats"
	"cudacompat/internal/report/layout"
	"cudacompat/internal/version"
	"cudacompat/matrix/requires"
)

// Trees is a comparison of two directories and the program that made it.
type Trees struct {
	requires.Trees
	Tool report.Tool `json:"tool"`
}

// Leave records that a comparison was shortened for lack of time.
func (t *Trees) Leave(left map[string]int) {
	t.Unread = append(t.Unread, requires.UnreadFile{File: "the report", Reason: "the time was up before all of it was written"})
}

// TreesFormats lists every format of a comparison of directories.
var TreesFormats = []report.Format[Trees]{
	{Name: "text", Write: treesText},
	{Name: "json", Write: func(w io.Writer, t Trees, _ layout.Style) error { return report.WriteJSON(w, t) }},
	{Name: "markdown", Write: treesMarkdown},
	{Name: "github", Write: treesGitHub},
}

// TreesMark begins the comment on a pull request. The next run finds the comment by it.
const TreesMark = "<!-- cudacompat requires --diff -->"

// effects are what the changes of all files do, in sum.
type effects struct {
	broken, added int // files that lose a promised host, and those of them that are new

	raised, lowered   bool // the oldest driver
	dropped, narrowed bool // GPUs, and the drivers that work
	images            bool // a base image asks for a newer CUDA
	changed, unknown  bool
	takenOffArm       []string // packages without a CUDA build for Arm hosts now
}

// sumEffects sums up the changes of all files.
func sumEffects(t Trees) (e effects) {
	for _, f := range t.Files {
		if f.Broken() {
			e.broken++
			if f.State == "added" {
				e.added++
			}
		}
		e.raised = e.raised || f.RaisesDriver() || slices.ContainsFunc(f.Parts, raisesDriver)
		e.lowered = e.lowered || lowersDriver(f)
		if f.Arm != nil && !slices.Contains(e.takenOffArm, f.Arm.Package) {
			e.takenOffArm = append(e.takenOffArm, f.Arm.Package)
		}
		e.changed = e.changed || len(f.Packages)+len(f.Parts) > 0
		e.images, e.unknown = e.images || len(f.Images) > 0, e.unknown || len(f.Unknown) > 0
		for _, c := range allLosses(f) {
			e.dropped, e.narrowed = e.dropped || c.Kind == "lost", e.narrowed || c.Kind == "raised" || c.Kind == "moved"
			e.unknown = e.unknown || c.Kind == "unknown"
		}
	}
	e.unknown = e.unknown || len(t.Unread) > 0
	return e
}

// costs returns a clause for each thing that the changes cost.
func (e effects) costs() (list []string) {
	for _, d := range []struct {
		holds bool
		words string
	}{{e.raised, "raises the minimum driver"}, {e.dropped, "drops GPUs"}, {e.narrowed && !e.raised, "narrows the drivers that work"},
		{e.images && !e.raised, "raises the CUDA version that a base image asks of the host's driver"}} {
		if d.holds {
			list = append(list, d.words)
		}
	}
	return list
}

// treesWords returns the comparison in one sentence. Its colour is empty where nothing was compared.
func treesWords(t Trees) (text, colour string) {
	e := sumEffects(t)
	costs := joinWords(e.costs())
	switch {
	case e.broken > 0 && t.PromiseFrom != "":
		return "this change breaks what " + t.PromiseFrom + " promises, in " + layout.CountNoun(e.broken, "file"), layout.Red
	case e.broken > 0 && e.broken == e.added:
		return "this change adds builds that a named host cannot run, in " + layout.CountNoun(e.broken, "file"), layout.Red
	case e.broken > 0:
		return "this change loses a named host, in " + layout.CountNoun(e.broken, "file"), layout.Red
	case costs != "" && e.unknown:
		return "this change " + costs + "; a part of it is not known", layout.Yellow
	case costs != "":
		return "this change " + costs, layout.Yellow
	case e.unknown && len(t.Unread) > 0:
		return "it is not known what this change requires: " + layout.CountNoun(len(t.Unread), "file") + " not compared", layout.Yellow
	case e.unknown:
		return "it is not known what this change requires", layout.Yellow
	case e.lowered && len(e.takenOffArm) > 0:
		return "on x86_64 hosts, this change lowers the minimum driver and drops no GPU; on Arm hosts, it takes " +
			joinWords(e.takenOffArm) + " off the GPU", layout.Green
	case e.lowered:
		return "this change lowers the minimum driver", layout.Green
	case e.changed:
		return "this change needs no newer driver and drops no GPU", layout.Green
	case len(t.Files) > 0 || len(t.Decided) > 0:
		return noChange, layout.Green
	}
	return "nothing checked: cudacompat reads none of the changed files (it reads requirements, locks, pyproject.toml, environment.yml, Dockerfiles and compose files)", ""
}

// joinWords joins clauses: "a", "a and b", "a, b and c".
func joinWords(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}

// allLosses returns what the change of a file costs, with its extras and groups.
func allLosses(f requires.FileChange) []requires.Change {
	list := f.Losses()
	for _, p := range f.Parts {
		if p.Costs() {
			list = append(list, slices.DeleteFunc(slices.Clone(p.Changes), func(c requires.Change) bool { return !c.Costs() })...)
		}
	}
	return list
}

func raisesDriver(p requires.PartChange) bool {
	return p.State == "changed" && p.OldDriver != "" && version.CompareTexts(p.NewDriver, p.OldDriver) > 0
}

func lowersDriver(f requires.FileChange) bool {
	return f.NewDriver != "" && version.CompareTexts(f.NewDriver, f.OldDriver) < 0
}

// fileWords are what the change of one file, or of one of its extras, does.
type fileWords struct {
	change  string   // "torch 2.10.0 → 2.11.0"
	clauses []string // "driver 525.60.13 → 580.65.06"
	holds   []string // "`torch<2.11`"
	notes   []string // whole sentences
}

// String returns one line.
func (w fileWords) String() string {
	text := w.change
	if len(w.clauses) > 0 {
		text = strings.TrimPrefix(text+": ", ": ") + strings.Join(w.clauses, "; ")
	}
	if len(w.holds) > 0 {
		text += ". To hold it: " + strings.Join(w.holds, " and ")
	}
	if len(w.notes) > 0 {
		text = strings.TrimSuffix(strings.TrimSuffix(text, ".")+". "+strings.Join(w.notes, ". "), ".")
		if rest, bare := strings.CutPrefix(text, ". "); bare {
			text = strings.Replace(rest, "Not known: ", "not known: ", 1)
		}
	}
	return text
}

// speech writes what comes from files: as code, and as text.
type speech struct{ code, text func(string) string }

var plainSpeech = speech{func(text string) string { return text }, func(text string) string { return text }}

// describeFile says what the change of a file does, without its extras and groups.
func (s speech) describeFile(f requires.FileChange) (w fileWords) {
	packages := slices.DeleteFunc(slices.Clone(f.Packages), func(p requires.PackageChange) bool {
		return slices.ContainsFunc(f.Parts, func(part requires.PartChange) bool {
			return slices.ContainsFunc(part.Packages, func(o requires.PackageChange) bool { return o.Name == p.Name && o.Old == p.Old && o.New == p.New })
		})
	})
	moved := len(packages) > 0 && !slices.ContainsFunc(packages, func(p requires.PackageChange) bool { return p.Moved == "" })
	w.change = s.packages(f, packages)
	if len(f.BuildArgs) > 0 && w.change != noChange {
		var args []string
		for _, a := range f.BuildArgs {
			args = append(args, s.code(a.Name)+": "+s.code(a.Old)+" → "+s.code(a.New))
		}
		w.change = "default build (" + strings.Join(args, ", ") + "): " + w.change
	}
	switch {
	case moved:
	case f.NewDriver != "" && f.OldDriver != "" && f.NewDriver != f.OldDriver:
		w.clauses = append(w.clauses, movedDriver(f))
	case f.NewDriver != "" && f.OldDriver == "" && len(packages) > 0:
		w.clauses = append(w.clauses, "needs driver "+driverFrom(f.NewDriver)+" or newer")
	}
	w.clauses = append(w.clauses, s.losses(f.Losses(), f.NewDriver == f.OldDriver, len(f.Unknown) > 0)...)
	for _, t := range f.Targets {
		switch {
		case t.Lost() && f.State == "added":
			w.clauses = append(w.clauses, "it does not run on "+s.text(t.Target))
		case t.Lost():
			w.clauses = append(w.clauses, s.text(t.Target)+" lost")
		}
	}
	if len(w.clauses)+len(f.Unknown)+len(f.Images) == 0 && f.State == "changed" && len(packages) > 0 && !moved {
		w.clauses = append(w.clauses, "needs no newer driver and drops no GPU")
	}
	for _, h := range f.Holds {
		w.holds = append(w.holds, s.hold(h, f.File))
	}
	if unknown := unsaid(f); len(unknown) > 0 {
		w.notes = append(w.notes, s.unknown(unknown))
	}
	for _, i := range f.Images {
		w.notes = append(w.notes, s.image(i))
	}
	if len(f.Images) > 0 && w.change == noChange && len(f.Unknown)+len(w.clauses) == 0 {
		w.change += s.unchanged(f)
		w.notes[len(w.notes)-len(f.Images)] = "But t" + strings.TrimPrefix(w.notes[len(w.notes)-len(f.Images)], "T")
	}
	if f.Declared != nil {
		w.notes = append(w.notes, "Note: "+declaredWords(*f.Declared, s))
	}
	if note := s.armNote(f); note != "" {
		w.notes = append(w.notes, note)
	}
	return w
}

// movedDriver says how the oldest driver moves, and on which hosts.
func movedDriver(f requires.FileChange) string {
	clause := "driver " + driverFrom(f.OldDriver) + " → " + driverFrom(f.NewDriver)
	if f.Arm != nil {
		clause = "on x86_64, " + clause
		if len(f.Losses()) == 0 {
			clause += ", no GPU lost"
		}
	}
	return clause
}

// noChange is what is said of a file in which no build changes.
const noChange = "no CUDA package changes"

// unknown says what is missing, the first two facts with their reasons.
func (s speech) unknown(list []requires.Missing) string {
	var words []string
	for _, u := range list[:min(len(list), 2)] {
		reason := u.Missing
		if strings.HasSuffix(reason, "no such file or directory") {
			reason = "it is not in the repository; a command of the build may write it"
		}
		if command, line, ok := writer(u); ok {
			reason = command + ", in the command that begins in line " + line + ", writes it"
		}
		if u.Missing == requires.BaseMayHold {
			words = append(words, "it starts from "+s.code(u.Subject)+", which may already hold a torch")
			continue
		}
		words = append(words, s.code(u.Subject)+" ("+s.text(reason)+")")
	}
	if n := len(list) - len(words); n > 0 {
		words = append(words, fmt.Sprintf("%d more", n))
	}
	return "Not known: " + joinWords(words)
}

// packages says which packages change.
func (s speech) packages(f requires.FileChange, packages []requires.PackageChange) string {
	var words []string
	for _, p := range packages {
		if u, written := writtenList(f, p); written {
			command, line, _ := writer(u)
			words = append(words, s.text(p.Name)+" before: "+s.release(p.Old, p.OldRange)+"; after: not known, because "+s.code(command)+
				", in the command that begins in line "+line+", writes "+s.code(u.Subject)+", and cudacompat runs no commands")
			continue
		}
		words = append(words, s.describePackage(p))
	}
	text := layout.ListFirst(words, 4)
	switch {
	case f.State != "changed":
		if text == "" {
			return "file " + f.State
		}
		return "file " + f.State + ": " + strings.NewReplacer(" added", "", " removed", "").Replace(text)
	case text == "":
		return noChange
	case len(f.DefaultGroups) > 0 && len(f.Losses()) > 0:
		proven := slices.ContainsFunc(f.Holds, func(h requires.Hold) bool { return len(h.Groups) > 0 })
		var now []string
		for _, p := range packages {
			if p.New != "" {
				before := ""
				if p.Old != "" {
					before = ", not " + s.release(p.Old, p.OldRange)
				}
				now = append(now, s.text(p.Name)+" "+s.release(p.New, p.NewRange)+before)
			}
		}
		if len(now) > 0 {
			text = "a plain " + s.code("uv sync") + " on Linux x86_64 now installs " + layout.ListFirst(now, 4)
			if proven {
				text += " (" + s.code("default-groups") + " now has " + s.codes(f.DefaultGroups) + ")"
			}
		}
	}
	return text
}

// release returns a release, with the range whose newest it is.
func (s speech) release(version, asked string) string {
	switch {
	case version == requires.OpenVersion:
		return "not pinned"
	case asked == "":
		return s.text(version)
	case asked == "any":
		return s.text(version) + " (not pinned)"
	}
	return s.text(version) + " (" + s.code(asked) + ")"
}

// writerReason matches why a list of packages is not known that a command of the build writes.
var writerReason = lazyregexp.New(`^(\S+) in line (\d+) changes it, and that is not followed$`)

// writer returns the command of a build, and its line, that writes a file which was not read.
func writer(u requires.Missing) (command, line string, ok bool) {
	m := writerReason.FindStringSubmatch(u.Missing)
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}

// writtenList returns the list of packages that a command of the build writes, if a package is left open because of it.
func writtenList(f requires.FileChange, p requires.PackageChange) (u requires.Missing, ok bool) {
	if p.New != "" && p.New != requires.OpenVersion || p.Old == "" {
		return u, false
	}
	i := slices.IndexFunc(f.Unknown, func(u requires.Missing) bool { _, _, ok := writer(u); return ok })
	if i < 0 {
		return u, false
	}
	return f.Unknown[i], true
}

// unsaid returns what is missing of a file, without the list that the words for its packages name.
func unsaid(f requires.FileChange) []requires.Missing {
	for _, p := range f.Packages {
		if u, ok := writtenList(f, p); ok {
			return slices.DeleteFunc(slices.Clone(f.Unknown), func(o requires.Missing) bool { return o == u })
		}
	}
	return f.Unknown
}

// hasCeiling matches a range that keeps the newest releases out.
var hasCeiling = lazyregexp.New(`<|==|~=|\^|(^|[^>])=`)

// describePackage says how a package changed.
func (s speech) describePackage(p requires.PackageChange) string {
	name := s.text(p.Name) + " "
	switch {
	case strings.Contains(p.Name, "/") && p.Old != "" && p.New != "":
		return "base image " + s.code(p.Name+":"+p.Old) + " → " + s.code(p.Name+":"+p.New)
	case p.Moved != "" && p.New == "":
		return name + s.release(p.Old, p.OldRange) + " moved to " + s.code(p.Moved)
	case p.Moved != "":
		return name + s.release(p.New, p.NewRange) + " moved here from " + s.code(p.Moved)
	case p.Old == "":
		return name + s.release(p.New, p.NewRange) + " added"
	case p.New == "":
		return name + s.release(p.Old, p.OldRange) + " removed"
	}
	old := s.release(p.Old, p.OldRange)
	if p.OldRange != "" && p.Old != requires.OpenVersion && !hasCeiling.MatchString(p.OldRange) {
		old = s.text(p.Old) + " (the newest today)"
	}
	return name + old + " → " + s.release(p.New, p.NewRange)
}

// losses says which GPUs and drivers are lost. Without a newer oldest driver, it names the GPUs for which fewer will
// do.
func (s speech) losses(list []requires.Change, sameDriver, reasoned bool) (clauses []string) {
	for _, kind := range []struct{ kinds, words string }{{"lost", "lost"}, {"raised moved", "fewer drivers work"}, {"unknown", "not known"}} {
		var names, capabilities, cpu []string
		var build string
		for _, c := range list {
			switch b := cpuBuild(c); {
			case !slices.Contains(strings.Fields(kind.kinds), c.Kind):
			case b != "":
				cpu, build = append(cpu, c.GPUs...), b
			default:
				names, capabilities = append(names, c.GPUs...), append(capabilities, c.Capabilities...)
			}
		}
		if len(cpu) > 0 {
			clauses = append(clauses, productWords(cpu)+" lost (on their hosts "+s.text(build)+" is a build for CPUs)")
		}
		switch {
		case len(names) == 0, kind.kinds == "raised moved" && !sameDriver, kind.kinds == "unknown" && reasoned: // said with its reason
		case kind.kinds == "lost" && len(names) > 1:
			clauses = append(clauses, fmt.Sprintf("%s lost (compute capability %s%s)", productWords(names), capabilityWords(capabilities), s.noCode(list)))
		default:
			clauses = append(clauses, productWords(names)+": "+kind.words)
		}
	}
	return clauses
}

// noCode names the build that has no code for the lost GPUs; empty if several builds or other reasons lose them.
func (s speech) noCode(list []requires.Change) string {
	build := ""
	for _, c := range list {
		if c.Kind != "lost" || cpuBuild(c) != "" {
			continue
		}
		i := slices.IndexFunc(c.Because, func(n requires.Need) bool { return n.Rule == "gpu-arch-missing" })
		if i < 0 || build != "" && build != c.Because[i].Subject {
			return ""
		}
		build = c.Because[i].Subject
	}
	return ", for which " + s.text(build) + " has no code"
}

// codes returns several names.
func (s speech) codes(names []string) string {
	names = slices.Clone(names)
	for i, name := range names {
		names[i] = s.code(name)
	}
	return joinWords(names)
}

// isLock reports whether a file is a lock, which is written by a tool and not by hand.
func isLock(file string) bool {
	base := path.Base(file)
	return strings.HasSuffix(base, ".lock") || strings.HasPrefix(base, "pylock")
}

// hold says what to write to keep the requirement of a file as it was.
func (s speech) hold(h requires.Hold, file string) string {
	if len(h.Groups) > 0 {
		return "take " + s.codes(h.Groups) + " out of " + s.code("default-groups")
	}
	var words []string
	switch {
	case h.Index == "":
	case isLock(file):
		index, settings := "PyPI", "the sources of packages in the file that the lock is made from"
		if path.Base(file) == "uv.lock" {
			settings = s.code("tool.uv.sources") + " and " + s.code("default-groups") + " in " + s.code("pyproject.toml")
		}
		if h.Index != "PyPI" {
			index = "the " + s.text(h.Index) + " index"
		}
		words = append(words, "make the lock resolve "+s.text(h.Package)+" from "+index+" again (see "+settings+")")
	case h.Index == "PyPI":
		words = append(words, "keep PyPI's "+s.text(h.Package)+" (not "+s.text(h.Instead)+"'s)")
	default:
		words = append(words, "keep the "+s.text(h.Index)+" index (not "+s.text(h.Instead)+")")
	}
	if h.Before != "" {
		words = append(words, s.code(h.Package+"<"+shortRelease(h.Before)))
	}
	return strings.Join(words, " and ")
}

// unchanged says that the builds of a file stay as they are: ": torch 2.8.0 needs no newer driver and loses no GPU".
func (s speech) unchanged(f requires.FileChange) string {
	switch len(f.Unchanged) {
	case 0:
		return ""
	case 1:
		return ": " + s.text(f.Unchanged[0]) + " needs no newer driver and loses no GPU"
	}
	return ": " + s.text(joinWords(f.Unchanged)) + " need no newer driver and lose no GPU"
}

// image says what a base image asks for that the one before did not, where that is checked, and what to keep.
func (s speech) image(i requires.ImageChange) string {
	asked := func(clause string) string {
		if cuda, ok := strings.CutPrefix(clause, "cuda>="); ok {
			return s.text(cuda)
		}
		return "none"
	}
	exempts := "may exempt"
	if strings.HasPrefix(i.New, "nvidia/cuda:") {
		exempts = "exempts"
	}
	return "The base image now asks for CUDA " + asked(i.NewRequire) + " (before: " + asked(i.OldRequire) + "). On a host whose driver reports an older CUDA (" +
		s.code("nvidia-smi") + ", \"CUDA Version\"), the container may not start with a GPU: the NVIDIA Container Toolkit checks this in its legacy and csv modes, " +
		"not in CDI mode; the image " + exempts + " some older driver branches. To hold it: keep " + s.code(i.Old)
}

// armNote says which GPUs of Arm hosts an older release has no CUDA build for; empty where there is none.
func (s speech) armNote(f requires.FileChange) string {
	if f.Arm == nil {
		return ""
	}
	return "On Arm hosts (" + productWords(f.Arm.GPUs) + ") this change takes " + s.text(f.Arm.Package) + " off the GPU: PyPI's " + s.text(f.Arm.Old) +
		" is a CUDA build there, its " + s.text(f.Arm.New) + " is CPU-only"
}

// describePart says what the change of an extra or a group does for those who install it. alone tells that nothing else
// in the file changes.
func (s speech) describePart(p requires.PartChange, alone bool) (w fileWords) {
	var words []string
	for _, o := range p.Packages {
		words = append(words, s.describePackage(o))
	}
	w.change = "with " + s.code(p.Part) + ": " + layout.ListFirst(words, 4)
	switch {
	case p.State == "added":
		w.change = "new " + s.code(p.Part) + " with " + strings.ReplaceAll(layout.ListFirst(words, 4), " added", "")
		if p.NewDriver != "" {
			clause := "needs driver " + driverFrom(p.NewDriver) + " or newer"
			if alone {
				clause += "; nothing changes for installations without it"
			}
			w.clauses = append(w.clauses, clause)
		}
		return w
	case p.State == "removed":
		w.change = s.code(p.Part) + " removed: " + layout.ListFirst(words, 4)
		return w
	case p.NewDriver != p.OldDriver && p.NewDriver != "" && p.OldDriver != "":
		w.clauses = append(w.clauses, "driver "+driverFrom(p.OldDriver)+" → "+driverFrom(p.NewDriver))
	}
	w.clauses = append(w.clauses, s.losses(slices.DeleteFunc(slices.Clone(p.Changes), func(c requires.Change) bool { return !c.Costs() }), p.NewDriver == p.OldDriver, false)...)
	if len(w.clauses) == 0 {
		w.clauses = append(w.clauses, "needs no newer driver and drops no GPU")
	}
	return w
}

// lines returns what the change of a file does, one line for the file and one for each of its extras and groups. A file
// in which no build changes has none.
func (s speech) lines(f requires.FileChange) (list []string) {
	w := s.describeFile(f)
	said := len(w.clauses)+len(w.notes) > 0
	if w.change == noChange && said && (len(f.Images) == 0 || len(f.Unknown)+len(w.clauses) > 0) {
		w.change = ""
	}
	if w.change != noChange || said {
		list = append(list, w.String())
	}
	alone := len(list) == 0
	for _, p := range f.Parts {
		list = append(list, s.describePart(p, alone).String())
	}
	return list
}

// fileGroup is files of which the same is said.
type fileGroup struct {
	files []requires.FileChange
	lines []string
}

// groups returns the files by what is said of them, and those in which no build changes.
func (s speech) groups(t Trees) (groups []fileGroup, same []requires.FileChange) {
	for _, f := range t.Files {
		lines := s.lines(f)
		if len(lines) == 0 {
			same = append(same, f)
			continue
		}
		i := slices.IndexFunc(groups, func(g fileGroup) bool {
			return slices.Equal(g.lines, lines) && slices.Equal(promiseBroken(g.files[0]), promiseBroken(f))
		})
		if i < 0 {
			i, groups = len(groups), append(groups, fileGroup{lines: lines})
		}
		groups[i].files = append(groups[i].files, f)
	}
	rank := func(g fileGroup) int { // what the change touches comes first, and in it what costs something
		r := 0
		if !leads(g, t) {
			r = 2
		}
		if !slices.ContainsFunc(g.files, func(f requires.FileChange) bool { return f.RaisesDriver() || len(allLosses(f)) > 0 }) {
			r++
		}
		return r
	}
	slices.SortStableFunc(groups, func(a, b fileGroup) int { return cmp.Compare(rank(a), rank(b)) })
	return groups, same
}

// fileNames returns a file's name, quoted by quote, with its old name if it was renamed.
func fileNames(f requires.FileChange, quote func(string) string) string {
	if f.OldFile == "" {
		return quote(f.File)
	}
	return quote(f.OldFile) + " → " + quote(f.File)
}

// cpuBuild returns the build through which GPUs are lost because it is a CPU build on their hosts, or "".
func cpuBuild(c requires.Change) string {
	for _, n := range c.Because {
		if n.Rule == "cpu-only-build" && c.Kind == "lost" {
			return n.Subject
		}
	}
	return ""
}

// driverFrom returns a driver's release as people are told it: 580.65.06 for the branch that begins with it.
func driverFrom(oldest string) string {
	return strings.TrimPrefix(requires.Drivers{{From: oldest}}.String(), ">= ")
}

// productWords returns up to three GPU products by which others are placed, and how many more there are.
func productWords(names []string) string {
	first := slices.DeleteFunc(slices.Clone(popular), func(name string) bool { return !slices.Contains(names, name) })
	slices.SortStableFunc(first, func(a, b string) int { // those that people rented first
		return cmp.Compare(slices.Index(formerly, b), slices.Index(formerly, a))
	})
	if len(first) == 0 {
		first = names[:1]
	}
	first = first[:min(len(first), 3)]
	if n := len(names) - len(first); n > 0 {
		return strings.Join(first, ", ") + " and " + layout.CountNoun(n, "more GPU product")
	}
	return joinWords(first)
}

// formerly are the GPUs of older machines, which a newer release loses first.
var formerly = []string{"T4", "K80", "M60", "P100", "V100"}

// promiseBroken says which parts of the promise a file breaks, one entry for each line that does.
func promiseBroken(f requires.FileChange) []string {
	var causes []string
	targets := map[string][]string{}
	for _, s := range f.Supports {
		cause := "nothing more is known"
		if len(s.Because) > 0 {
			cause = limitWords(s.Because[0])
		}
		if s.Unknown {
			cause = "it is unknown whether it is supported: " + cause
		}
		if len(targets[cause]) == 0 {
			causes = append(causes, cause)
		}
		targets[cause] = append(targets[cause], s.Target)
	}
	for i, cause := range causes {
		causes[i] = strings.Join(targets[cause][:min(len(targets[cause]), 5)], "; ") + " promised: " + cause
		if n := len(targets[cause]) - 5; n > 0 {
			causes[i] = layout.CountNoun(n, "more") + " and " + causes[i]
		}
	}
	return causes
}

// treesText writes the text for people.
func treesText(w io.Writer, t Trees, s layout.Style) error {
	p := &layout.Page{Style: s}
	text, colour := treesWords(t)
	p.WriteWrapped(2, text, layout.Paint(colour, "requires"), ": ")
	groups, same := plainSpeech.groups(t)
	for _, g := range groups {
		p.WriteLine()
		p.WriteWrapped(4, namesOfGroup(g.files, t, layout.Clean)+": "+g.lines[0], "  ")
		for _, line := range g.lines[1:] {
			p.WriteWrapped(4, line, "    ")
		}
		for _, line := range promiseBroken(g.files[0]) {
			p.WriteWrapped(6, line, "    ", layout.Paint(layout.Red, "× "))
		}
	}
	if len(same) > 0 && len(groups) > 0 {
		p.WriteLine()
		p.WriteWrapped(4, "no CUDA package changes in "+namesOfFiles(same, layout.Clean), "  ")
	}
	for _, d := range t.Decided {
		p.WriteLine()
		p.WriteWrapped(4, decidedWords(d, layout.Clean), "  ")
	}
	for _, u := range t.Unread {
		p.WriteLine()
		p.WriteWrapped(4, u.File+": "+u.Reason, layout.Paint(layout.Yellow, "? not compared"), ": ")
	}
	_, err := w.Write(p.Bytes())
	return err
}

// namesOfFiles names files, those behind the seventh by their number.
func namesOfFiles(files []requires.FileChange, quote func(string) string) string {
	var names []string
	for _, f := range files[:min(len(files), 7)] {
		names = append(names, fileNames(f, quote))
	}
	if n := len(files) - len(names); n > 0 {
		names = append(names, layout.CountNoun(n, "more file"))
	}
	return joinWords(names)
}

// namesOfGroup names the files of a group that differ. It names an unchanged one behind the changed one that it
// includes.
func namesOfGroup(files []requires.FileChange, t Trees, quote func(string) string) string {
	var direct, users []requires.FileChange
	pip := false
	for _, f := range files {
		if len(f.Through) == 0 {
			direct = append(direct, f)
			inLock := func(o requires.FileChange) bool { return isLock(o.File) && path.Dir(o.File) == path.Dir(f.File) }
			pip = pip || path.Base(f.File) == "pyproject.toml" && slices.ContainsFunc(t.Files, inLock)
			continue
		}
		users = append(users, f)
	}
	for _, f := range users {
		for _, cause := range f.Through {
			if !slices.ContainsFunc(direct, func(o requires.FileChange) bool { return o.File == cause }) {
				direct = append(direct, requires.FileChange{File: cause})
			}
		}
	}
	names, used := namesOfFiles(direct, quote), "it"
	if len(direct) > 1 {
		used = "them"
	}
	var also []string
	if pip {
		also = append(also, quote("pip install")+" of this project")
	}
	verb := " uses "
	if len(users) > 1 {
		verb = " use "
	}
	if len(users) > 0 {
		also = append(also, namesOfFiles(users, quote)+", which"+verb+used)
	}
	switch {
	case len(also) == 0:
		return names
	case len(files) == len(users) && !leads(fileGroup{files: files}, t): // the changed files have entries of their own
		return namesOfFiles(users, quote) + " (which" + verb + names + ")"
	}
	return names + " (so " + strings.Join(also, ", and ") + ")"
}

// leads reports whether a group has a file that differs, or stands for one that has no entry of its own.
func leads(g fileGroup, t Trees) bool {
	return slices.ContainsFunc(g.files, func(f requires.FileChange) bool {
		return len(f.Through) == 0 || slices.ContainsFunc(f.Through, func(cause string) bool {
			return !slices.ContainsFunc(t.Files, func(o requires.FileChange) bool { return o.File == cause })
		})
	})
}

// decidedWords says that a project changes and its lock, which decides, does not.
func decidedWords(d requires.Decided, quote func(string) string) string {
	return quote(d.Project) + " changes, and " + quote(d.Lock) + ", which says what is installed, does not"
}

// shortRelease leaves the zeros at the end of a release out: 2.11.0 is 2.11.
func shortRelease(release string) string {
	for strings.Count(release, ".") > 1 && strings.HasSuffix(release, ".0") {
		release = strings.TrimSuffix(release, ".0")
	}
	return release
}

// inlineCode formats text as Markdown code, with a longer fence than any run of backquotes in it, and without control
// characters.
func inlineCode(text string) string {
	text, ticks := layout.Clean(text), "`"
	for strings.Contains(text, ticks) {
		ticks += "`"
	}
	if ticks == "`" {
		return "`" + text + "`"
	}
	return ticks + " " + text + " " + ticks
}

// maxGroups bounds the entries of a comment.
const maxGroups = 30

// treesMarkdown writes the comment of a pull request. Whatever comes from a file is escaped, or stands in code.
func treesMarkdown(w io.Writer, t Trees, _ layout.Style) error {
	var b bytes.Buffer
	text, colour := treesWords(t)
	mark := map[string]string{layout.Red: "❌ ", layout.Yellow: "⚠️ ", layout.Green: "✅ "}[colour]
	fmt.Fprintf(&b, "%s\n%s**cudacompat**: %s\n", TreesMark, mark, plainWords(text))
	s := speech{inlineCode, plainWords}
	groups, same := s.groups(t)
	if len(groups)+len(same)+len(t.Unread)+len(t.Decided) > 0 {
		fmt.Fprintln(&b)
	}
	for i, g := range groups {
		if i == maxGroups {
			fmt.Fprintf(&b, "- and %s\n", layout.CountNoun(len(groups)-i, "more entry"))
			break
		}
		lead := "- " + namesOfGroup(g.files, t, inlineCode) + ": "
		for _, line := range g.lines {
			fmt.Fprintf(&b, "%s%s.\n", lead, line)
			lead = "  - "
		}
		for _, line := range promiseBroken(g.files[0]) {
			fmt.Fprintf(&b, "  - ❌ %s\n", plainWords(line))
		}
	}
	if len(same) > 0 && len(groups) > 0 {
		fmt.Fprintf(&b, "- No CUDA package changes in %s.\n", namesOfFiles(same, inlineCode))
	}
	for _, d := range t.Decided[:min(len(t.Decided), 10)] {
		fmt.Fprintf(&b, "- %s.\n", decidedWords(d, inlineCode))
	}
	for _, u := range t.Unread[:min(len(t.Unread), 10)] {
		fmt.Fprintf(&b, "- %s was not compared: %s\n", inlineCode(u.File), inlineCode(u.Reason))
	}
	if n := len(t.Unread) - 10; n > 0 {
		fmt.Fprintf(&b, "- and %s\n", layout.CountNoun(n, "more file"))
	}
	writeExplanations(&b, t)
	writeDependabot(&b, t)
	fmt.Fprintf(&b, "\n<sub>cudacompat %s, tables of %s</sub>\n", layout.Clean(cmp.Or(t.Tool.Version, "of an unknown version")), layout.Clean(t.Tool.Matrix))
	_, err := w.Write(b.Bytes())
	return err
}

// writeExplanations explains the terms of a comment that its reader may not know.
func writeExplanations(b *bytes.Buffer, t Trees) {
	ranged := func(p requires.PackageChange) bool { return p.OldRange+p.NewRange != "" }
	if slices.ContainsFunc(t.Files, func(f requires.FileChange) bool { return slices.ContainsFunc(f.Packages, ranged) }) {
		fmt.Fprintf(b, "\nWhere a file pins no release, the newest one that fits is compared: an installer takes it today.\n")
	}
	drivers := func(f requires.FileChange) bool { return f.NewDriver != f.OldDriver && f.NewDriver != "" }
	if slices.ContainsFunc(t.Files, drivers) {
		fmt.Fprintf(b, "\n\"Driver\" is the oldest NVIDIA driver for Linux that can run these packages at all; a newer GPU may need a newer one.\n")
	}
}

// writeDependabot says what keeps Dependabot from proposing the change, where a range of releases does.
func writeDependabot(b *bytes.Buffer, t Trees) {
	var holds []requires.Hold
	beyond := map[string]bool{} // what a range does not hold
	for _, f := range t.Files {
		for _, h := range f.Holds {
			same := func(o requires.Hold) bool { return o.Package == h.Package && o.Before == h.Before }
			beyond[h.Package] = beyond[h.Package] || !h.IsRange()
			if !slices.ContainsFunc(holds, same) {
				holds = append(holds, h)
			}
		}
	}
	holds = slices.DeleteFunc(holds, func(h requires.Hold) bool { return beyond[h.Package] })
	if len(holds) == 0 {
		return
	}
	fmt.Fprintf(b, "\n<details><summary>Keep Dependabot from proposing it</summary>\n\nIn `.github/dependabot.yml`, under the `updates` entry for these files:\n\n```yaml\nignore:\n")
	for _, h := range holds {
		fmt.Fprintf(b, "  - {dependency-name: %q, versions: [%q]}\n", layout.Clean(h.Package), ">="+shortRelease(layout.Clean(h.Before)))
	}
	fmt.Fprintf(b, "```\n\n</details>\n")
}

// noAddress breaks what GitHub makes a link, or a call of a person, of.
var noAddress = strings.NewReplacer("://", ":\u2060//", "www.", "www\u2060.", "@", "@\u2060")

// plainWords returns text that Markdown takes for nothing but text.
func plainWords(text string) string {
	var b strings.Builder
	var before rune
	text = noAddress.Replace(layout.Clean(text))
	for i, r := range text {
		inWord := r == '_' && isWord(before) && i+1 < len(text) && isWord(rune(text[i+1]))
		if !inWord && strings.ContainsRune("\\`*_{}[]<#!|&~$", r) || r == '>' && i == 0 {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
		before = r
	}
	return b.String()
}

// isWord reports whether an underscore beside a character stands in a word, where Markdown takes it for nothing else.
func isWord(r rune) bool { return r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) }

// treesGitHub writes workflow commands: the sentence, then one for each file that costs something.
func treesGitHub(w io.Writer, t Trees, _ layout.Style) error {
	var b bytes.Buffer
	text, colour := treesWords(t)
	kinds := map[string]string{layout.Red: "error ", layout.Yellow: "warning "}
	formats.WriteAnnotation(&b, cmp.Or(kinds[colour], "notice "), "cudacompat requires", text)
	for _, f := range t.Files {
		if !f.Costs() {
			continue
		}
		kind := "warning"
		if f.Broken() {
			kind = "error"
		}
		place := " file=" + formats.PropertyEscaper.Replace(layout.Clean(f.File)) + ","
		for _, p := range f.Packages {
			if line, ok := strings.CutPrefix(p.From, "line "); ok && p.New != "" {
				place += "line=" + formats.PropertyEscaper.Replace(layout.Clean(line)) + ","
				break
			}
		}
		formats.WriteAnnotation(&b, kind+place, plainSpeech.packages(f, f.Packages), strings.Join(append(plainSpeech.lines(f), promiseBroken(f)...), "; "))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// declaredWords says that an image declares less than its packages need.
func declaredWords(d requires.Declared, s speech) string {
	return "the image declares " + s.code(d.Require) + ", which driver branch " + d.Branch + " meets, but its packages need driver " +
		driverFrom(d.Needs) + " or newer: it starts on hosts where they do not run"
}
