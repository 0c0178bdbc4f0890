package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
)

// Markdown writes the report as a comment for an issue: the verdict with the first fix of each of the first findings, the
// pages of their rules, and below them, folded, everything that was judged. It removes user names from paths. All text
// from the machine is in code blocks, so that none of it is read as Markdown.
func Markdown(w io.Writer, r Report, _ Style) error {
	var whole bytes.Buffer
	if err := Text(&whole, r, Style{Private: true, All: true}); err != nil {
		return err
	}
	version := r.Tool.Version
	if version == "" {
		version = "of an unknown version"
	}
	_, err := fmt.Fprintf(w, "%s%s\n<details>\n<summary>all that was judged (cudacompat %s, tables of %s)</summary>\n\n%s\n</details>\n",
		codeBlock(comment(r)), rulePages(r), clean(version), clean(r.Tool.Matrix), codeBlock(whole.String()))
	return err
}

// inSummary is how many findings a comment shows before it folds.
const inSummary = 3

// comment returns the headline, and the first errors and warnings with what mends them first.
func comment(r Report) string {
	p := &page{style: Style{Private: true}}
	p.line(Headline(r))
	var done []string
	first, more := statedFirst(r)
	for _, f := range first {
		p.line()
		p.wrap(4, few(f.subjects, inSummary)+on(f.targets), paintedText{text: marks[f.Severity].text + " " + f.Rule}, ": ")
		p.wrap(4, f.Message, "    ")
		ways := waysOf(f.Finding)
		switch key := fmt.Sprint(ways[:min(len(ways), 1)]); {
		case len(ways) == 0:
		case slices.Contains(done, key):
			p.field("fix", "the fix above")
		default:
			done = append(done, key)
			p.way(ways[0])
		}
	}
	if more > 0 {
		p.line()
		p.line("and " + plural(more, "more finding"))
	}
	if len(first) == 0 && len(r.Unknown) > 0 {
		p.line()
		p.wrap(4, r.Unknown[0].Subject+": not known: "+r.Unknown[0].Missing, "? ")
	}
	return p.String()
}

// way writes the steps of one way, what each does before its command.
func (p *page) way(steps []pin.Step) {
	for i, s := range steps {
		word := "then"
		if i == 0 {
			word = "fix"
		}
		switch {
		case s.Run == "":
			p.field(word, s.Say)
		case s.Say == "":
			p.command(word, s.Run)
		default:
			p.field(word, s.Say)
			p.command("", s.Run)
		}
	}
}

// statedFirst returns the first errors and warnings, and the number of the others.
func statedFirst(r Report) (first []statement, more int) {
	list := joinFindings(slices.DeleteFunc(slices.Clone(r.Findings), func(f verdict.Finding) bool { return f.Severity == verdict.Note }),
		func(verdict.Finding) bool { return false })
	return list[:min(len(list), inSummary)], max(len(list)-inSummary, 0) + r.More["findings"]
}

// ruleName and siteAddress match what may stand outside a code block.
var (
	ruleName    = lazyregexp.New(`^[a-z][a-z0-9-]*$`)
	siteAddress = lazyregexp.New(`^https://[A-Za-z0-9][A-Za-z0-9./-]*$`)
)

// rulePages returns links to the pages of the rules that a comment names: addresses if the build has a site, else files of
// the repository.
func rulePages(r Report) string {
	var links []string
	first, _ := statedFirst(r)
	for _, f := range first {
		if !ruleName.MatchString(f.Rule) {
			continue // a report that was read may say anything
		}
		link := "`" + RuleFile(f.Rule) + "`"
		if address := r.Tool.RulePage(f.Rule); siteAddress.MatchString(address) {
			link = "[" + f.Rule + "](" + address + ")"
		}
		links = add(links, link)
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
