package diagnosis

import (
	"io"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/report"
	"cudacompat/internal/report/layout"
)

// ExplanationSchema names the JSON form of Explanation.
const ExplanationSchema = "cudacompat/explanation/v1"

// Explanation is the page about a rule, a cause, a code, a name or a library, split into its sections.
type Explanation struct {
	Schema   string    `json:"schema"`
	Name     string    `json:"name"`  // the word that was asked for
	Title    string    `json:"title"` // the page's first line
	Text     string    `json:"text"`  // what stands before the first heading, in Markdown
	Sections []Section `json:"sections"`
	Source   []string  `json:"source"` // the addresses on the page
	page     []byte
}

// Section is the part of a page under one heading.
type Section struct {
	Heading string `json:"heading"`
	Text    string `json:"text"` // in Markdown
}

// PageFormats lists every format of a page.
var PageFormats = []report.Format[Explanation]{
	{Name: "text", Write: func(w io.Writer, e Explanation, s layout.Style) error {
		page := e.page
		if s.Width > 0 {
			page = layout.RenderMarkdown(page, s)
		}
		_, err := w.Write(page)
		return err
	}},
	{Name: "json", Write: func(w io.Writer, e Explanation, _ layout.Style) error { return report.WriteJSON(w, e) }},
}

// pageAddress matches an address in Markdown.
var pageAddress = lazyregexp.New(`https://[^\s<>()\x60"]+[^\s<>()\x60".,;:]`)

// NewExplanation splits a Markdown page at its headings.
func NewExplanation(name string, page []byte) Explanation {
	e := Explanation{Schema: ExplanationSchema, Name: name, Sections: []Section{}, Source: []string{}, page: page}
	var text []string
	end := func() {
		block := strings.TrimSpace(strings.Join(text, "\n"))
		if last := len(e.Sections) - 1; last >= 0 {
			e.Sections[last].Text = block
		} else {
			e.Text = block
		}
		text = nil
	}
	for line := range strings.Lines(string(page)) {
		line = strings.TrimRight(line, "\n")
		switch {
		case e.Title == "" && strings.HasPrefix(line, "# "):
			e.Title = strings.TrimPrefix(line, "# ")
		case strings.HasPrefix(line, "## "):
			end()
			e.Sections = append(e.Sections, Section{Heading: strings.TrimPrefix(line, "## ")})
		default:
			text = append(text, line)
		}
	}
	end()
	for _, address := range pageAddress.FindAllString(string(page), -1) {
		if !slices.Contains(e.Source, address) {
			e.Source = append(e.Source, address)
		}
	}
	return e
}
