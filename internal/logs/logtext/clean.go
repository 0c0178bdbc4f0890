package logtext

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"cudacompat/internal/lazyregexp"
)

// escape matches a terminal control sequence: colours, cursor movements, titles, links.
var escape = lazyregexp.New(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])`)

// Clean makes a piece of a log safe to match and print. It removes escapes, control bytes, marks that change the
// direction of writing, and invalid UTF-8.
func Clean(b []byte) string {
	if plain(b) {
		return string(b)
	}
	if bytes.IndexByte(b, 0x1b) >= 0 {
		b = escape.ReplaceAll(b, nil)
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(string(b), string(utf8.RuneError)))
}

// introducer begins a colour or cursor movement. Parameters and one letter follow.
var introducer = []byte("\x1b[")

// StripColours removes colours and cursor movements from text in place, because one may be inside a literal. It
// leaves other sequences to clean, and one cut off at the end to the next piece of the log.
func StripColours(text []byte) []byte {
	kept := text[:0]
	for {
		i := bytes.Index(text, introducer)
		if i < 0 {
			break
		}
		end := i + len(introducer)
		for end < len(text) && text[end] >= ' ' && text[end] <= '?' {
			end++
		}
		if end == len(text) {
			break
		}
		kept = append(kept, text[:i]...)
		if text[end] >= '@' {
			end++
		}
		text = text[end:]
	}
	return append(kept, text...)
}

// plain reports whether a line is printable ASCII, as most are.
func plain(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

// MaxShown is how many bytes of a line are kept for display.
const MaxShown = 400

// CutAround cuts a line to the part around a match.
func CutAround(text string, at int) string {
	if len(text) <= MaxShown {
		return strings.TrimSpace(text)
	}
	from := min(at, len(text)-MaxShown)
	if at < MaxShown/4 {
		from = 0
	}
	part := strings.TrimSpace(strings.ToValidUTF8(text[from:from+MaxShown], ""))
	if from > 0 {
		part = "…" + part
	}
	if from+MaxShown < len(text) {
		part += "…"
	}
	return part
}

// Hypothetical matches text that discusses an error and does not report it: advice, documentation.
var Hypothetical = lazyregexp.New(
	`(?i)\b(?:if you (?:see|get|hit|encounter|run into|face)|to (?:avoid|prevent|fix|solve|resolve)|in case of|` +
		`ignoring|such as|known issues?|troubleshooting|may (?:cause|raise|fail with|result in|lead to))\b`)

// Listing matches a source line that IPython, Rich or a compiler shows around the failing one, which has an arrow.
// Errors in such lines were not raised.
var Listing = lazyregexp.New(`^(?: +\d{1,5} {2,}(?:raise |assert |[rf]?["'])|│ +\d{1,5} │| +\d{1,6} \| +[^ #])`)

// CollectorPrefix matches what log collectors put before a line: docker compose, Kubernetes, kubectl, journald,
// torchrun, Slurm and Ray, BuildKit, MSBuild and cargo; also the time, a quotation mark, or the mark of Python's bytes.
// A journal names months in its reader's language.
var CollectorPrefix = lazyregexp.New(
	`^(?:(?:> ?| +|[\w./-]+ +\| |\[?\d{4}-\d\d-\d\d[T ][\d:.,]+Z?\]? |std(?:out|err) F |\[pod/[^\]]+\] |` +
		`(?:[A-Z][a-z]{2}|[^\s\[|:>]{2,6}) [ \d]\d [\d:]{8} [\w.-]+ [\w.()-]+\[\d+\]: |\[(?:rank|default)\d+\]: ?|\d+: |` +
		`\([\w ]+ pid=\d+[^)]*\) ?|\[\d+,\d+\]<std(?:out|err)>: ?|#\d+ \d+\.\d+ |\d+\.\d{1,3} |\d{1,3}>|b['"]|cargo:warning=))+`)

// IsQuotedAsCode reports whether the text of a line after lead is in code marks. A mark that the line does not close
// opens a pasted log, and so do marks around the whole line.
func IsQuotedAsCode(text, lead string) bool {
	if assertedCondition.MatchString(lead) {
		return false
	}
	text, lead = gnuQuoted.ReplaceAllString(text, ""), gnuQuoted.ReplaceAllString(lead, "")
	marks := strings.Count(text, "`")
	line := strings.Trim(text[len(CollectorPrefix.FindString(text)):], " ")
	whole := marks == 2 && strings.HasPrefix(line, "`") && strings.HasSuffix(line, "`")
	return strings.Count(lead, "`")%2 == 1 && marks%2 == 0 && !whole
}

// assertedCondition matches the start of a failed C assertion. Its marks do not quote.
var assertedCondition = lazyregexp.New("[Aa]ssertion [`']$")

// gnuQuoted is a name as GNU's programs quote it: in function `main': undefined reference to `cudaFree'.
var gnuQuoted = lazyregexp.New("`[\\w@.:~+-]+'")
