package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"cudacompat/matrix/requires"
)

// Trees is a comparison of two directories and the program that made it.
type Trees struct {
	requires.Trees
	Tool Tool `json:"tool"`
}

// Leave records that a comparison was shortened for lack of time.
func (t *Trees) Leave(left map[string]int) {
	t.Unread = append(t.Unread, requires.UnreadFile{File: "the report", Reason: "the time was up before all of it was written"})
}

// TreesFormats lists every format of a comparison of directories.
var TreesFormats = []Format[Trees]{
	{"text", treesText},
	{"json", func(w io.Writer, t Trees, _ Style) error { return writeJSON(w, t) }},
	{"markdown", treesMarkdown},
	{"github", treesGitHub},
}

// TreesMark begins the comment on a pull request. The next run finds the comment by it.
const TreesMark = "<!-- cudacompat requires --diff -->"

// treesWords describes the comparison in one sentence.
func treesWords(t Trees) (text, colour string) {
	broken, costs, added := 0, 0, 0
	for _, f := range t.Files {
		switch {
		case f.Broken():
			broken++
			if f.State == "added" {
				added++
			}
		case f.Costs():
			costs++
		}
	}
	switch {
	case broken > 0 && t.PromiseFrom != "":
		return "this change breaks what " + t.PromiseFrom + " promises, in " + plural(broken, "file"), red
	case broken > 0 && broken == added:
		return "this change adds builds that a named host cannot run, in " + plural(broken, "file"), red
	case broken > 0:
		return "this change loses a named host, in " + plural(broken, "file"), red
	case costs > 0:
		return "this change costs hosts, in " + plural(costs, "file"), yellow
	case len(t.Unread) > 0:
		return "what this change costs is unknown: " + plural(len(t.Unread), "file") + " not compared", yellow
	case len(t.Files) == 0:
		return "no file that names builds differs", green
	}
	return "no host is lost", green
}

// fileWords describes in clauses what the change of a file costs.
func fileWords(f requires.FileChange) (name string, clauses []string) {
	var packages []string
	for _, p := range f.Packages {
		packages = append(packages, packageWords(p))
	}
	name = few(packages, 4)
	switch {
	case f.State != "changed":
		name = strings.TrimSpace(f.State + " " + strings.NewReplacer(" added", "", " removed", "").Replace(name))
	case name == "":
		name = "the same builds"
	}
	switch {
	case f.NewDriver != "" && f.OldDriver != "" && f.NewDriver != f.OldDriver:
		clauses = append(clauses, "driver "+driverFrom(f.OldDriver)+" → "+driverFrom(f.NewDriver))
	case f.NewDriver != "" && f.OldDriver == "":
		clauses = append(clauses, "driver >= "+driverFrom(f.NewDriver))
	}
	for _, kind := range []struct{ kinds, words string }{{"lost", "%s lost"}, {"raised moved", "fewer drivers for %s"},
		{"unknown", "unknown for %s"}} {
		var names []string
		for _, c := range f.Changes {
			if slices.Contains(strings.Fields(kind.kinds), c.Kind) && (kind.kinds != "lost" || cpuBuild(c) == "") {
				names = append(names, c.GPUs...)
			}
		}
		if kind.kinds == "unknown" && len(f.Unknown) > 0 { // said below, with its reason
			continue
		}
		if len(names) > 0 && (kind.kinds != "raised moved" || f.NewDriver == f.OldDriver) {
			clauses = append(clauses, fmt.Sprintf(kind.words, productWords(names)))
		}
	}
	clauses = append(clauses, lostToCPU(f.Changes)...)
	for _, s := range f.Targets {
		switch {
		case s.Lost() && f.State == "added":
			clauses = append(clauses, "it does not run on "+s.Target)
		case s.Lost():
			clauses = append(clauses, s.Target+" lost")
		}
	}
	for _, i := range f.Images {
		clauses = append(clauses, imageWords(i))
	}
	for _, u := range f.Unknown {
		clauses = append(clauses, u.Subject+": unknown: "+u.Missing)
	}
	if len(clauses) == 0 && f.State == "changed" {
		clauses = append(clauses, "no host is lost")
	}
	return name, clauses
}

// packageWords says how a package changed, and which release a range selects.
func packageWords(p requires.PackageChange) string {
	release := func(version, asked string) string {
		if asked != "" {
			version += " (newest of " + asked + ")"
		}
		return version
	}
	switch {
	case p.Old == "":
		return p.Name + " " + release(p.New, p.NewRange) + " added"
	case p.New == "":
		return p.Name + " " + release(p.Old, p.OldRange) + " removed"
	}
	return p.Name + " " + release(p.Old, p.OldRange) + " → " + release(p.New, p.NewRange)
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

// lostToCPU says which GPUs are lost because a build is a CPU build on their hosts, as PyPI's torch for Arm was.
func lostToCPU(list []requires.Change) []string {
	var names []string
	build := ""
	for _, c := range list {
		if b := cpuBuild(c); b != "" {
			names, build = append(names, c.GPUs...), b
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{productWords(names) + " lost (on their hosts " + build + " is a build for CPUs)"}
}

// driverFrom returns a driver release as people know it: 580.65.06 for the branch that begins with it.
func driverFrom(oldest string) string {
	return strings.TrimPrefix(requires.Drivers{{From: oldest}}.String(), ">= ")
}

// productWords names one well-known GPU product, and the number of others.
func productWords(names []string) string {
	first := names[0]
	for _, known := range slices.Backward(popular) {
		if slices.Contains(names, known) {
			first = known
		}
	}
	if len(names) == 1 {
		return first
	}
	return first + " and " + plural(len(names)-1, "more GPU product")
}

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
			causes[i] = plural(n, "more") + " and " + causes[i]
		}
	}
	return causes
}

// treesText writes the text for people.
func treesText(w io.Writer, t Trees, s Style) error {
	p := &page{style: s}
	text, colour := treesWords(t)
	p.wrap(2, text, paintedText{colour, "requires"}, ": ")
	for _, f := range t.Files {
		name, clauses := fileWords(f)
		p.line()
		p.wrap(4, strings.TrimSuffix(name+" ("+fileNames(f, clean)+"): "+strings.Join(clauses, "; "), ": "), "  ")
		for _, line := range promiseBroken(f) {
			p.wrap(6, line, "    ", paintedText{red, "× "})
		}
		for _, h := range f.Holds {
			p.wrap(6, h.Package+"<"+shortRelease(h.Before)+" ("+h.Newest+" costs nothing)", "    hold  ")
		}
	}
	for _, u := range t.Unread {
		p.line()
		p.wrap(4, u.File+": "+u.Reason, paintedText{yellow, "? not compared"}, ": ")
	}
	_, err := w.Write(p.Bytes())
	return err
}

// shortRelease removes zeros at the end of a release: 2.11.0 becomes 2.11.
func shortRelease(release string) string {
	for strings.Count(release, ".") > 1 && strings.HasSuffix(release, ".0") {
		release = strings.TrimSuffix(release, ".0")
	}
	return release
}

// inlineCode formats text as Markdown code, with a longer fence than any run of backquotes in it, and without control
// characters.
func inlineCode(text string) string {
	text, ticks := clean(text), "`"
	for strings.Contains(text, ticks) {
		ticks += "`"
	}
	if ticks == "`" {
		return "`" + text + "`"
	}
	return ticks + " " + text + " " + ticks
}

// treesMarkdown writes the comment of a pull request. Whatever comes from a file stands in code.
func treesMarkdown(w io.Writer, t Trees, _ Style) error {
	var b bytes.Buffer
	text, colour := treesWords(t)
	mark := map[string]string{red: "❌", yellow: "⚠️", green: "✅"}[colour]
	fmt.Fprintf(&b, "%s\n%s **cudacompat**: %s\n", TreesMark, mark, plainWords(text))
	var holds []requires.Hold
	said := 0
	for i, f := range t.Files {
		if said++; said > 30 {
			fmt.Fprintf(&b, "- and %s\n", plural(len(t.Files)-i, "more file"))
			break
		}
		if i == 0 {
			fmt.Fprintln(&b)
		}
		name, clauses := fileWords(f)
		for j, clause := range clauses {
			clauses[j] = plainWords(clause)
		}
		fmt.Fprint(&b, strings.TrimSuffix(fmt.Sprintf("- %s (%s): %s", plainWords(name), fileNames(f, inlineCode), strings.Join(clauses, "; ")), ": "))
		for _, h := range f.Holds {
			fmt.Fprintf(&b, "; to hold it: %s", inlineCode(h.Package+"<"+shortRelease(h.Before)))
			if !slices.Contains(holds, h) {
				holds = append(holds, h)
			}
		}
		fmt.Fprintln(&b)
		for _, line := range promiseBroken(f) {
			fmt.Fprintf(&b, "  - ❌ %s\n", plainWords(line))
		}
	}
	for i, u := range t.Unread[:min(len(t.Unread), 10)] {
		if i == 0 {
			fmt.Fprintln(&b)
		}
		fmt.Fprintf(&b, "- %s was not compared: %s\n", inlineCode(u.File), inlineCode(u.Reason))
	}
	if len(holds) > 0 {
		fmt.Fprintf(&b, "\n<details><summary>hold with Dependabot</summary>\n\nIn `.github/dependabot.yml`, in the entry that updates it:\n\n```yaml\nignore:\n")
		for _, h := range holds {
			fmt.Fprintf(&b, "  - {dependency-name: %q, versions: [%q]}\n", clean(h.Package), ">="+shortRelease(clean(h.Before)))
		}
		fmt.Fprintf(&b, "```\n\n</details>\n")
	}
	fmt.Fprintf(&b, "\n<sub>cudacompat %s, tables of %s</sub>\n", clean(cmp.Or(t.Tool.Version, "of an unknown version")), clean(t.Tool.Matrix))
	_, err := w.Write(b.Bytes())
	return err
}

// noAddress breaks what GitHub makes a link, or a call of a person, of.
var noAddress = strings.NewReplacer("://", ":\u2060//", "www.", "www\u2060.", "@", "@\u2060")

// plainWords returns text that Markdown takes for nothing but text.
func plainWords(text string) string {
	var b strings.Builder
	for i, r := range noAddress.Replace(clean(text)) {
		if strings.ContainsRune("\\`*_{}[]<#!|&~$", r) || r == '>' && i == 0 {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// treesGitHub writes workflow commands: the sentence, then one for each file with a cost.
func treesGitHub(w io.Writer, t Trees, _ Style) error {
	var b bytes.Buffer
	text, colour := treesWords(t)
	kinds := map[string]string{red: "error ", yellow: "warning ", green: "notice "}
	annotate(&b, kinds[colour], "cudacompat requires", text)
	for _, f := range t.Files {
		if !f.Costs() {
			continue
		}
		name, clauses := fileWords(f)
		kind := "warning"
		if f.Broken() {
			kind = "error"
		}
		place := " file=" + githubProperty.Replace(clean(f.File)) + ","
		for _, p := range f.Packages {
			if line, ok := strings.CutPrefix(p.From, "line "); ok && p.New != "" {
				place += "line=" + githubProperty.Replace(clean(line)) + ","
				break
			}
		}
		annotate(&b, kind+place, name, strings.Join(append(clauses, promiseBroken(f)...), "; "))
	}
	_, err := w.Write(b.Bytes())
	return err
}
