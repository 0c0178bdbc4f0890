package formats

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"cudacompat/internal/report"
	"cudacompat/internal/report/layout"
	"cudacompat/internal/report/plaintext"
	"cudacompat/matrix/verdict"
)

// WriteGitHub writes workflow commands, which GitHub Actions shows as annotations. The worst come first, because GitHub
// keeps ten of each kind for a step. It writes nothing else: the runner also obeys "##[…]" in the middle of a line that
// does not begin with a command.
func WriteGitHub(w io.Writer, r report.Report, _ layout.Style) error {
	var b bytes.Buffer
	WriteAnnotation(&b, verdictKind[r.Outcome]+" ", "cudacompat", plaintext.FormatHeadline(r))
	r = r.ShortenLists()
	for _, f := range r.Findings {
		title := f.Rule + ": " + f.Subject + layout.NameTargets(layout.AppendUnique(nil, f.Target))
		WriteAnnotation(&b, AnnotationKinds[f.Severity]+LocateAnnotation(f, r), title, plaintext.FormatDetails(r, f))
	}
	for _, u := range r.Unknown {
		if report.DecidesOutcome(r, u) {
			WriteAnnotation(&b, "warning ", u.Rule+": "+u.Subject+layout.NameTargets(layout.AppendUnique(nil, u.Target)), "not known: "+layout.Clean(u.Missing))
		}
	}
	for _, note := range r.Configuration.Notes() {
		WriteAnnotation(&b, configurationKind[configurationHides(r)]+" ", "cudacompat configuration", note)
	}
	for _, s := range r.Suppressed {
		WriteAnnotation(&b, "notice"+LocateAnnotation(s.Finding, r), s.Rule+": "+s.Subject+layout.NameTargets(layout.AppendUnique(nil, s.Target)),
			plaintext.DescribeWaiver(s)+"\n"+plaintext.FormatDetails(r, s.Finding))
	}
	if more := r.DescribeLeftOut(); more != "" {
		WriteAnnotation(&b, "notice ", "cudacompat", "not listed: "+more)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// AnnotationKinds are the workflow commands for the severities.
var AnnotationKinds = map[verdict.Severity]string{verdict.Error: "error", verdict.Warning: "warning", verdict.Note: "notice"}

var verdictKind = map[verdict.Outcome]string{verdict.Incompatible: "error", verdict.Inconclusive: "warning",
	verdict.Compatible: "notice"}

// configurationKind is the kind of annotation for a configuration.
var configurationKind = map[bool]string{true: "warning", false: "notice"}

// configurationHides reports whether a configuration was ignored or hides something wrong.
func configurationHides(r report.Report) bool {
	return len(r.Configuration.Ignored) > 0 || r.Outcome == verdict.Incompatible || len(r.Suppressed) > 0
}

// The runner undoes these escapes and no others. A property also ends at a colon or comma.
var (
	githubData      = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	PropertyEscaper = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// LocateAnnotation returns the file and line where GitHub shows a finding, as the first properties of a command.
func LocateAnnotation(f verdict.Finding, r report.Report) string {
	line, ok := report.FindSourceLine(f, r)
	if !ok {
		return " "
	}
	return fmt.Sprintf(" file=%s,line=%d,", PropertyEscaper.Replace(layout.Clean(r.Source)), line)
}

// WriteAnnotation writes one command. The title is the last property. Only the line breaks between a message's lines
// stay.
func WriteAnnotation(b *bytes.Buffer, command, title, message string) {
	lines := strings.Split(message, "\n")
	for i := range lines {
		if lines[i] = layout.Clean(lines[i]); strings.HasPrefix(lines[i], "::") {
			lines[i] = " " + lines[i] // no line of a message looks like a command, should one ever be printed by itself
		}
	}
	fmt.Fprintf(b, "::%stitle=%s::%s\n", command, PropertyEscaper.Replace(layout.Clean(title)),
		githubData.Replace(strings.Join(lines, "\n")))
}
