package formats

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/report"
	"cudacompat/internal/report/layout"
	"cudacompat/internal/report/plaintext"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
)

// WriteMarkdown writes the report as a comment for an issue: the verdict with the first fix of each of the first
// findings, the pages of their rules, and below them, folded, everything that was judged. It removes user names from
// paths. All text from the machine is in code blocks, so that none of it is read as Markdown.
func WriteMarkdown(w io.Writer, r report.Report, _ layout.Style) error {
	var whole bytes.Buffer
	if err := plaintext.Write(&whole, r, layout.Style{Private: true, All: true}); err != nil {
		return err
	}
	version := r.Tool.Version
	if version == "" {
		version = "of an unknown version"
	}
	_, err := fmt.Fprintf(w, "%s%s\n<details>\n<summary>all that was judged (cudacompat %s, tables of %s)</summary>\n\n%s\n</details>\n",
		codeBlock(comment(r)), rulePages(r), layout.Clean(version), layout.Clean(r.Tool.Matrix), codeBlock(whole.String()))
	return err
}

// inSummary is how many findings a comment shows before it folds.
const inSummary = 3

// comment returns the headline, and the first errors and warnings with what mends them first.
func comment(r report.Report) string {
	p := &layout.Page{Style: layout.Style{Private: true}}
	p.WriteLine(plaintext.FormatHeadline(r))
	var done []string
	first, more := statedFirst(r)
	for _, f := range first {
		p.WriteLine()
		p.WriteWrapped(4, layout.ListFirst(f.Subjects, inSummary)+layout.NameTargets(f.Targets), layout.Painted{Text: plaintext.SeverityMarks[f.Severity].Text + " " + f.Rule}, ": ")
		p.WriteWrapped(4, f.Message, "    ")
		ways := waysOf(f.Finding)
		switch key := fmt.Sprint(ways[:min(len(ways), 1)]); {
		case len(ways) == 0:
		case slices.Contains(done, key):
			p.WriteField("fix", "the fix above")
		default:
			done = append(done, key)
			writeWay(p, ways[0])
		}
	}
	if more > 0 {
		p.WriteLine()
		p.WriteLine("and " + layout.CountNoun(more, "more finding"))
	}
	if len(first) == 0 && len(r.Unknown) > 0 {
		p.WriteLine()
		p.WriteWrapped(4, r.Unknown[0].Subject+": not known: "+r.Unknown[0].Missing, "? ")
	}
	return p.String()
}

// writeWay writes the steps of one way, what each does before its command.
func writeWay(p *layout.Page, steps []pin.Step) {
	for i, s := range steps {
		word := "then"
		if i == 0 {
			word = "fix"
		}
		switch {
		case s.Run == "":
			p.WriteField(word, s.Say)
		case s.Say == "":
			p.WriteCommand(word, s.Run)
		default:
			p.WriteField(word, s.Say)
			p.WriteCommand("", s.Run)
		}
	}
}

// statedFirst returns the first errors and warnings, and the number of the others.
func statedFirst(r report.Report) (first []report.Statement, more int) {
	list := report.JoinFindings(slices.DeleteFunc(slices.Clone(r.Findings), func(f verdict.Finding) bool { return f.Severity == verdict.Note }),
		func(verdict.Finding) bool { return false })
	return list[:min(len(list), inSummary)], max(len(list)-inSummary, 0) + r.More["findings"]
}

// ruleName and siteAddress match what may stand outside a code block.
var (
	ruleName    = lazyregexp.New(`^[a-z][a-z0-9-]*$`)
	siteAddress = lazyregexp.New(`^https://[A-Za-z0-9][A-Za-z0-9./-]*$`)
)

// rulePages returns links to the pages of the rules that a comment names: addresses if the build has a site, else files
// of the repository.
func rulePages(r report.Report) string {
	var links []string
	first, _ := statedFirst(r)
	for _, f := range first {
		if !ruleName.MatchString(f.Rule) {
			continue // a report that was read may say anything
		}
		link := "`" + report.RuleFile(f.Rule) + "`"
		if address := r.Tool.RulePage(f.Rule); siteAddress.MatchString(address) {
			link = "[" + f.Rule + "](" + address + ")"
		}
		links = layout.AppendUnique(links, link)
	}
	if len(links) == 0 {
		return ""
	}
	return "\nWhy, and what else helps: " + strings.Join(links, ", ") + "\n"
}

// codeBlock returns text as a code block, with a longer fence than any run of backquotes in it (CommonMark, fenced code
// blocks).
func codeBlock(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "text\n" + text + fence + "\n"
}
