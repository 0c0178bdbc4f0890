package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"cudacompat/internal/lazyregexp"
)

// Markdown writes the report for an issue: the screen's text, and below it, folded, everything that was judged. It
// removes user names from paths. All text is in code blocks, so that no text from the machine is read as Markdown.
func Markdown(w io.Writer, r Report, _ Style) error {
	var short, whole bytes.Buffer
	if err := Text(&short, r, Style{Private: true}); err != nil {
		return err
	}
	if err := Text(&whole, r, Style{Private: true, All: true}); err != nil {
		return err
	}
	version := r.Tool.Version
	if version == "" {
		version = "of an unknown version"
	}
	_, err := fmt.Fprintf(w, "%s\n<details>\n<summary>all that was judged (cudacompat %s, tables of %s)</summary>\n\n%s\n</details>\n",
		codeBlock(short.String()), clean(version), clean(r.Tool.Matrix), codeBlock(whole.String()))
	return err
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

// home matches a user's name in a path.
var home = lazyregexp.New(`(/home/|/Users/)[^/\s:,;()'"]+`)

// withoutUsers removes user names from the paths in text.
func withoutUsers(text string) string { return home.ReplaceAllString(text, "${1}USER") }
