package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"cudacompat/internal/lazyregexp"
)

// Markdown writes the report for an issue: what the screen shows, and below it, folded away, all that was judged. Names
// of users in paths are left out. All of it stands in blocks of code, so that no text of the machine is Markdown.
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

// codeBlock returns text as a block of code, between more backquotes than it has together (CommonMark, fenced code
// blocks).
func codeBlock(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "text\n" + text + fence + "\n"
}

// home matches the name of a user in a path.
var home = lazyregexp.New(`(/home/|/Users/)[^/\s:,;()'"]+`)

// withoutUsers returns text without the names of users that its paths have.
func withoutUsers(text string) string { return home.ReplaceAllString(text, "${1}USER") }
