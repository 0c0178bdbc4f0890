package needs

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"cudacompat/internal/report/layout"
	"cudacompat/internal/version"
	"cudacompat/matrix/requires"
)

// The marks around the requirement in a page.
const (
	RequiresBegin = "<!-- cudacompat requires -->"
	RequiresEnd   = "<!-- /cudacompat requires -->"
)

// requiresMarkdown writes the part of a page, with its marks.
func requiresMarkdown(w io.Writer, r Requires, _ layout.Style) error {
	var b bytes.Buffer
	fmt.Fprintln(&b, RequiresBegin)
	if err := RequiresTable(&b, r); err != nil {
		return err
	}
	fmt.Fprintln(&b, RequiresEnd)
	_, err := w.Write(b.Bytes())
	return err
}

// RequiresTable writes a table of drivers by GPU. It contains neither the date of the tables nor the program's version,
// so it changes only with the requirement.
func RequiresTable(w io.Writer, r Requires) error {
	var b bytes.Buffer
	text, _ := requiresWords(r)
	fmt.Fprintf(&b, "\n%s%s.\n\n", strings.ToUpper(text[:1]), plainWords(text[1:]))
	r = r.conditional()
	groups := hostGroups(r)
	if len(groups) > 0 && len(r.Unknown) == 0 {
		fmt.Fprintln(&b, "| driver | compute capability | GPUs |\n|---|---|---|")
	}
	p := &layout.Page{}
	for _, g := range groups {
		if len(r.Unknown) > 0 || len(g.names) == 0 {
			continue
		}
		host := map[string]string{"aarch64": " (Arm hosts)"}[g.arch]
		fmt.Fprintf(&b, "| %s | %s%s | %s |\n", plainWords(strings.TrimPrefix(driverWords(g.drivers), "driver ")),
			plainWords(strings.Join(g.capabilities, ", ")), host, plainWords(nameProducts(p, g.names)))
	}
	if len(groups) > 0 {
		fmt.Fprintln(&b)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// badgeWords returns the value on the badge: the oldest sufficient driver.
func badgeWords(r Requires) string {
	groups := hostGroups(r.conditional())
	var oldest, arch string
	for _, g := range groups {
		if from := g.drivers[0].From; from != "" && (oldest == "" || version.CompareTexts(from, oldest) < 0) {
			oldest, arch = from, g.arch
		}
	}
	switch {
	case len(r.Unknown) > 0 || r.Undecided() && oldest == "":
		return "unknown"
	case len(r.Builds) == 0:
		return "any"
	case oldest == "":
		return "none"
	}
	return "≥ " + requires.Drivers{{From: oldest}}.On(arch)[len(">= "):]
}

// requiresBadge draws a badge with the oldest sufficient driver.
func requiresBadge(w io.Writer, r Requires, _ layout.Style) error {
	const label, glyph, pad = "driver", 7, 6 // of 11 px sans serif, a digit is 7 px wide at most
	value := badgeWords(r)
	colour := map[string]string{"unknown": "#9f9f9f", "none": "#e05d44"}[value]
	if colour == "" {
		colour = "#4c71a6"
	}
	left, right := len(label)*glyph+2*pad, len([]rune(value))*glyph+2*pad
	var text bytes.Buffer
	if err := xml.EscapeText(&text, []byte(value)); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="20" role="img" aria-label="%[2]s %[3]s">
<title>%[2]s %[3]s</title>
<rect width="%[4]d" height="20" rx="3" fill="#555"/>
<rect x="%[4]d" width="%[5]d" height="20" rx="3" fill="%[6]s"/>
<g fill="#fff" font-family="DejaVu Sans,Verdana,sans-serif" font-size="11" text-anchor="middle">
<text x="%[7]d" y="14">%[2]s</text>
<text x="%[8]d" y="14">%[3]s</text>
</g>
</svg>
`, left+right, label, text.String(), left, right, colour, left/2, left+right/2)
	return err
}
