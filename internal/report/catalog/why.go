package catalog

import (
	"fmt"
	"io"
	"strings"

	"cudacompat/internal/report"
	"cudacompat/internal/report/layout"
	"cudacompat/matrix"
)

// WhyFormats lists every format of an explained value.
var WhyFormats = []report.Format[[]matrix.Why]{
	{Name: "text", Write: whyText},
	{Name: "json", Write: func(w io.Writer, list []matrix.Why, _ layout.Style) error { return report.WriteJSON(w, list) }},
}

func whyText(w io.Writer, list []matrix.Why, s layout.Style) error {
	var b strings.Builder
	for i, why := range list {
		if i > 0 {
			fmt.Fprintln(&b)
		}
		value := layout.Clean(why.Value)
		if value == "" {
			value = "not known"
		}
		fmt.Fprintln(&b, s.PaintHeading(fmt.Sprintf("%s %s: %s is %s", why.Table, layout.Clean(why.Key), why.Column, value)))
		details := []struct{ name, text string }{{"why", why.Because}, {"read", why.Verified}, {"date", why.Checked},
			{"rules", strings.Join(why.Rules, ", ")}}
		for _, source := range why.Source {
			details = append(details, struct{ name, text string }{"from", source})
		}
		for _, d := range details {
			if d.text != "" {
				fmt.Fprintf(&b, "  %-5s  %s\n", d.name, strings.ReplaceAll(layout.FoldParagraph(layout.Clean(d.text), s.Width-9), "\n  ",
					"\n         "))
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
