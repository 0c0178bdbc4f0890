package report

import (
	"fmt"
	"io"

	"cudacompat/matrix"
)

// lineLimit is what node-problem-detector keeps of a plugin's output (max_output_length, its default).
const lineLimit = 80

// Line writes the verdict in one line of at most 80 bytes.
func Line(w io.Writer, r Report, _ Style) error {
	_, err := fmt.Fprintln(w, cut(lineText(r), lineLimit))
	return err
}

func lineText(r Report) string {
	worst, more := firstOf(r.Findings, matrix.Error), r.Count(matrix.Error)-1
	switch r.Outcome {
	case matrix.Incompatible:
		text := fmt.Sprintf("FAIL %s: %s", worst.Rule, short(worst))
		if more > 0 {
			tail := fmt.Sprintf(" (+%d more)", more)
			return cut(text, lineLimit-len(tail)) + tail
		}
		return text
	case matrix.Inconclusive:
		return "UNKNOWN " + missingText(r)
	}
	if n := r.Count(matrix.Warning); n > 0 {
		return "OK compatible, " + plural(n, "warning")
	}
	return "OK compatible"
}

// short is a finding in few words: what it needs and what there is.
func short(f *matrix.Finding) string {
	if f.Rule == "driver-too-old" && len(f.Evidence) > 1 {
		return fmt.Sprintf("%s; this is %s (%s %s)", f.Need, f.Evidence[0].Value, f.Evidence[1].Fact, f.Evidence[1].Value)
	}
	return clean(f.Message)
}

func missingText(r Report) string {
	if len(r.Unknown) > 0 {
		return "not known: " + clean(r.Unknown[0].Missing)
	}
	return "nothing to compare: no GPU and no target"
}

func firstOf(findings []matrix.Finding, s matrix.Severity) *matrix.Finding {
	for i := range findings {
		if findings[i].Severity == s {
			return &findings[i]
		}
	}
	return nil
}

// cut shortens text to at most limit bytes without splitting a character.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const dots = "..."
	end := 0
	for i := range text {
		if i > limit-len(dots) {
			break
		}
		end = i
	}
	return text[:end] + dots
}
