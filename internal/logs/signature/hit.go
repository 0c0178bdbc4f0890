package signature

import (
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/redact"
)

// Hit is the first line of a log that a signature matched.
type Hit struct {
	Signature *Signature
	Order     int // the signature's place in the table
	Source    int
	Line      int
	Text      string // the cleaned line, or the part of it around the match
	Match     []int  // submatches in text
	When      logtext.Stamp
	Latest    int    // the last line that it matched, among those kept
	Calm      int    // lines after it that are near no mark of trouble
	Notice    bool   // it is part of a warning of several lines, or says itself that it does no harm
	InJournal bool   // it stands in a journal of many programs
	WentOn    int    // the line of its log from which on only work is told; 0: none
	OnGPU     int    // the last line of its log that shows a GPU at work; 0: none
	Earlier   bool   // the program ran again after it, and failed
	Built     bool   // it stands in the log of an installation that ended well
	From      string // the process that wrote it, where a launcher says
}

// FindLatest returns the last line that the signature matches.
func (e *Hit) FindLatest(lines []logtext.Line) int {
	for i := len(lines) - 1; i >= 0 && lines[i].Number > e.Line; i-- {
		if logtext.ContainsAny(lines[i].Text, e.Signature.Literal) && e.Signature.Match(lines[i].Text) != nil {
			return lines[i].Number
		}
	}
	return e.Line
}

// MoveToLogLine moves a hit from a sentence about the error, or from the source that raises it, to the first log line
// with the error itself, if there is one. The text of a thread often precedes the log.
func (e *Hit) MoveToLogLine(lines []logtext.Line) {
	if !quotes(e.Text[:e.Match[0]]) {
		return
	}
	for _, l := range lines {
		if l.Number <= e.Line || !logtext.ContainsAny(l.Text, e.Signature.Literal) {
			continue
		}
		if m := e.Signature.Match(l.Text); m != nil && !quotes(l.Text[:m[0]]) {
			e.Line, e.Text, e.Match = l.Number, l.Text, m
			return
		}
	}
}

// quotes reports whether the text before an error in a line shows that it is only quoted.
func quotes(lead string) bool {
	return strings.HasSuffix(strings.TrimRight(lead, " "), "raise") || raises.MatchString(lead) || prose.MatchString(lead)
}

// raises matches the source of a raise statement, up to its message.
var raises = lazyregexp.New(`\braise \w+\(["'f]*`)

// prose matches the start of a sentence, before the error that it mentions: "When I start two of them, the server fails
// with a".
var prose = lazyregexp.New(`^(?:[-*>] )*[A-Z][a-z']*,?(?: [(]?[A-Za-z][\w.'’/-]*[),]?){4,}`)

// Groups returns the text of every named group of the pattern.
func (e *Hit) Groups() map[string]string {
	all := map[string]string{}
	for _, name := range e.Signature.lines.SubexpNames() {
		if name != "" {
			all[name] = e.Group(name)
		}
	}
	return all
}

// Group returns the text of a named group of the pattern.
func (e *Hit) Group(name string) string {
	i := e.Signature.lines.SubexpIndex(name)
	if i < 0 || e.Match[2*i] < 0 {
		return ""
	}
	return e.Text[e.Match[2*i]:e.Match[2*i+1]]
}

// FillSteps returns a signature's steps with the text of its pattern's groups.
func (e *Hit) FillSteps() (do []string) {
	for _, words := range e.Signature.Do {
		if text, ok := FillStep(words, func(name string) string { return e.slot(name, logtext.MaxShown) }); ok {
			do = append(do, text)
		}
	}
	return do
}

// maxSlot is how much text from a line a sentence quotes, such as the name of a symbol.
const maxSlot = 60

// FillWords inserts the text of the pattern's named groups into a sentence of the signature.
func (e *Hit) FillWords(words string) string {
	return Placeholder.ReplaceAllStringFunc(words, func(name string) string { return e.slot(strings.Trim(name, "{}"), maxSlot) })
}

// slot returns the text of a named group, cut to a maximum length.
func (e *Hit) slot(name string, most int) string {
	return redact.Cut(redact.Within(e.Text, strings.Trim(e.Group(name), " {}")), most) // braces: a line of source
}
