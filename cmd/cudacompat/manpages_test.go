package main

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra/doc"
)

// A test writes the man pages, so that the program does not contain the library for them.
var manPages = flag.String("manpages", "", "write the man pages into this `DIR`")

// manTail is the text for every command, after what cobra writes about one.
const manTail = `.SH "EXIT STATUS"
.TP
.B 0
Nothing wrong.
.TP
.B 1
Incompatible: a finding at or above \-\-fail\-on.
.TP
.B 3
Inconclusive: nothing proven wrong, but a fact that matters is missing.
.TP
.B 64
Usage, configuration, or a named file that cannot be read.
.TP
.B 70
A bug in cudacompat.
.SH FILES
.TP
.I /etc/cudacompat/.cudacompat.yaml
What this machine requires, and findings that are waived, each with its reason.
.TP
.I ./.cudacompat.yaml
The same for a project; it is read first.
.SH ENVIRONMENT
.TP
.B CUDACOMPAT_CONFIG
A configuration file, read before those above.
.TP
.BR VIRTUAL_ENV ", " CONDA_PREFIX
The environment that is judged, where \-\-env names none.
.TP
.BR NO_COLOR ", " CLICOLOR_FORCE
No colour; colour where there is no terminal.
`

func TestManPages(t *testing.T) {
	dir := *manPages
	if dir == "" {
		dir = t.TempDir()
	}
	root := newRoot(streams{strings.NewReader(""), &strings.Builder{}, &strings.Builder{}})
	root.DisableAutoGenTag = true
	seconds, _ := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	day := time.Unix(seconds, 0).UTC()
	head := &doc.GenManHeader{Section: "1", Source: strings.TrimSpace("cudacompat " + os.Getenv("VERSION")), Manual: "User Commands", Date: &day}
	if err := doc.GenManTree(root, head, dir); err != nil {
		t.Fatal(err)
	}
	for _, c := range append(root.Commands(), root) {
		if c.Name() == "help" {
			continue
		}
		page := filepath.Join(dir, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1")
		text, err := os.ReadFile(page)
		if err != nil {
			t.Errorf("%s has no page: %v", c.CommandPath(), err)
			continue
		}
		if err := os.WriteFile(page, append(text, manTail...), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
