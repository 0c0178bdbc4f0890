package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"cudacompat/internal/report/layout"
	"cudacompat/matrix/verdict"
)

// GitHub writes workflow commands, which GitHub Actions shows as annotations. The worst come first, because GitHub
// keeps ten of each kind for a step. It writes nothing else: the runner also obeys "##[…]" in the middle of a line that
// does not begin with a command.
func GitHub(w io.Writer, r Report, _ layout.Style) error {
	var b bytes.Buffer
	annotate(&b, verdictKind[r.Outcome]+" ", "cudacompat", Headline(r))
	r = r.bound()
	for _, f := range r.Findings {
		title := f.Rule + ": " + f.Subject + layout.NameTargets(layout.AppendUnique(nil, f.Target))
		annotate(&b, commands[f.Severity]+githubPlace(f, r), title, details(r, f))
	}
	for _, u := range r.Unknown {
		if decides(r, u) {
			annotate(&b, "warning ", u.Rule+": "+u.Subject+layout.NameTargets(layout.AppendUnique(nil, u.Target)), "not known: "+layout.Clean(u.Missing))
		}
	}
	for _, note := range r.Configuration.Notes() {
		annotate(&b, configurationKind[configurationHides(r)]+" ", "cudacompat configuration", note)
	}
	for _, s := range r.Suppressed {
		annotate(&b, "notice"+githubPlace(s.Finding, r), s.Rule+": "+s.Subject+layout.NameTargets(layout.AppendUnique(nil, s.Target)),
			waiver(s)+"\n"+details(r, s.Finding))
	}
	if more := r.moreText(); more != "" {
		annotate(&b, "notice ", "cudacompat", "not listed: "+more)
	}
	_, err := w.Write(b.Bytes())
	return err
}

var commands = map[verdict.Severity]string{verdict.Error: "error", verdict.Warning: "warning", verdict.Note: "notice"}

var verdictKind = map[verdict.Outcome]string{verdict.Incompatible: "error", verdict.Inconclusive: "warning",
	verdict.Compatible: "notice"}

// configurationKind is the kind of annotation for a configuration.
var configurationKind = map[bool]string{true: "warning", false: "notice"}

// configurationHides reports whether a configuration was ignored or hides something wrong.
func configurationHides(r Report) bool {
	return len(r.Configuration.Ignored) > 0 || r.Outcome == verdict.Incompatible || len(r.Suppressed) > 0
}

// The runner undoes these escapes and no others. A property also ends at a colon or comma.
var (
	githubData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// githubPlace returns the file and line where GitHub shows a finding, as the first properties of a command.
func githubPlace(f verdict.Finding, r Report) string {
	line, ok := sourceLine(f, r)
	if !ok {
		return " "
	}
	return fmt.Sprintf(" file=%s,line=%d,", githubProperty.Replace(layout.Clean(r.Source)), line)
}

// annotate writes one command. The title is the last property. Only the line breaks between a message's lines stay.
func annotate(b *bytes.Buffer, command, title, message string) {
	lines := strings.Split(message, "\n")
	for i := range lines {
		if lines[i] = layout.Clean(lines[i]); strings.HasPrefix(lines[i], "::") {
			lines[i] = " " + lines[i] // no line of a message looks like a command, should one ever be printed by itself
		}
	}
	fmt.Fprintf(b, "::%stitle=%s::%s\n", command, githubProperty.Replace(layout.Clean(title)),
		githubData.Replace(strings.Join(lines, "\n")))
}
