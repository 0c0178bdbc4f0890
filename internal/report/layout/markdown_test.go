package layout

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const markdownPage = "# rule: a title\n\nSeverity: error, whatever `the command` is, with words beyond the margin.\n\n" +
	"## What to do\n\n1. First, in two\n   lines:\n\n       pip install 'a  b'\n\n   More.\n\n2. Second.\n\nAfter.\n\n" +
	"    code   here\n\n- https://example.org/an/address/that/is/longer/than/a/line\n"

func TestPage(t *testing.T) {
	const want = `rule: a title

  Severity: error, whatever
  ` + "`the command`" + ` is, with words
  beyond the margin.

What to do

  1. First, in two lines:

       pip install 'a  b'

     More.

  2. Second.

  After.

    code   here

  - https://example.org/an/address/that/is/longer/than/a/line
`
	if diff := cmp.Diff(want, string(RenderMarkdown([]byte(markdownPage), Style{Width: 34}))); diff != "" {
		t.Errorf("laid out at 34 columns (-want +got):\n%s", diff)
	}
}

// TestPageInColour checks that text in backquotes is coloured and headings are bold.
func TestPageInColour(t *testing.T) {
	got := string(RenderMarkdown([]byte("## Look\n\nSee `x`.\n"), Style{Width: 80, Colour: true}))
	if want := "\x1b[1mLook\x1b[0m\n\n  See \x1b[36mx\x1b[0m.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
