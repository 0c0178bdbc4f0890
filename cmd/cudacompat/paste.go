package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"cudacompat/internal/fleet/document"
	"cudacompat/internal/inputs"
	"cudacompat/internal/usage"
	"cudacompat/probe"
)

// inPage reports whether this is the program that a page of the site runs. It judges texts and has no machine to read.
// Code that would read one is not linked into it.
const inPage = runtime.GOOS == "js"

var errInPage = &usage.Error{Message: "a page does not look at a machine", Hint: "run cudacompat there"}

// pasteTimeout limits the judging of a paste. A browser is slower than a machine, and the page stops whatever takes
// longer.
const pasteTimeout = 20 * time.Second

// pasteCap limits a pasted text, in bytes.
const pasteCap = 2 << 20

// The file names under which two texts are compared.
const (
	newName = "new"
	oldName = "old"
)

// paste is the request of a page: one text to judge, or two to compare, and the flags that describe the machine.
type paste struct {
	Text     string `json:"text"`
	Old      string `json:"old"`     // what the text is compared with
	Compare  bool   `json:"compare"` // whether it is: both are files then, called new and old
	Driver   string `json:"driver"`
	GPU      string `json:"gpu"`
	Instance string `json:"instance"`
	Python   string `json:"python"`
	Platform string `json:"platform"`
}

// pasted is the answer: the output with -o json of the command that judged the text.
type pasted struct {
	Command  []string        `json:"command"`  // its words, after the program's name
	Code     int             `json:"code"`     // its exit code
	Document json.RawMessage `json:"document"` // what it prints; null if it refused the text
	Error    string          `json:"error"`    // what it says instead
}

// judgePaste runs the right command on a text: explain for a log, fleet for the documents of several nodes, requires
// --diff for two texts, and check for everything else.
func judgePaste(ctx context.Context, p paste) pasted {
	if size := max(len(p.Text), len(p.Old)); size > pasteCap {
		return pasted{Code: exitUsage, Error: fmt.Sprintf("the text has %.1f MB, and a page judges up to %d MB; the program reads more.", float64(size)/1e6, pasteCap>>20)}
	}
	var result pasted
	switch {
	case p.Compare:
		result = p.run(ctx, "requires", []string{newName, "--diff", oldName}, p.requires)
	case holdsNodes([]byte(p.Text)):
		return p.run(ctx, "fleet", []string{"-"}, p.fleet)
	case isForeign([]byte(p.Text)):
		return p.run(ctx, "explain", []string{"-", "--no-here"}, p.explain)
	default:
		result = p.run(ctx, "check", []string{"-"}, p.check)
		if result.isTooLong() { // a log of many lines may be taken for a list: what it shows counts
			if log := p.run(ctx, "explain", []string{"-", "--no-here"}, p.explain); log.Document != nil && log.Code != exitInconclusive {
				return log
			}
		}
	}
	result.Command = append(result.Command, p.flags()...)
	return result
}

// isForeign reports whether a text describes neither a machine nor packages to install: it is a log, or nothing.
func isForeign(text []byte) bool {
	for _, d := range probe.Machines(probe.Document{Data: text}) {
		if _, err := probe.GivenFile(d); !errors.Is(err, probe.ErrForeign) || d.Typed || inputs.IsStructured(text) {
			return false
		}
	}
	return true
}

// holdsNodes reports whether fleet reads a text and check does not: it has a document on each of several lines, or one
// that names its node.
func holdsNodes(text []byte) bool {
	trimmed := bytes.TrimSpace(text)
	if !bytes.HasPrefix(trimmed, []byte("{")) {
		return false
	}
	if !json.Valid(trimmed) {
		return document.HasLine(trimmed)
	}
	var envelope struct {
		Node  string          `json:"node"`
		Facts json.RawMessage `json:"facts"`
	}
	return json.Unmarshal(trimmed, &envelope) == nil && envelope.Node != "" && envelope.Facts != nil
}

// run runs a command and returns its output.
func (p paste) run(ctx context.Context, name string, args []string, command func(context.Context, streams) error) pasted {
	var out, says bytes.Buffer
	s := streams{strings.NewReader(p.Text), &out, &says}
	r := pasted{Command: append([]string{name}, args...), Code: exitCode(command(ctx, s), streams{nil, &out, &says})}
	if out.Len() > 0 {
		r.Document = out.Bytes()
	}
	r.Error = strings.TrimSpace(strings.ReplaceAll(says.String(), "cudacompat: ", ""))
	return r
}

// isTooLong reports whether a text was refused because it names more than one document may.
func (r pasted) isTooLong() bool {
	return r.Document == nil && strings.Contains(r.Error, "are not read")
}

// flags returns the command-line flags that describe the machine of the paste.
func (p paste) flags() []string {
	var list []string
	for _, f := range []struct{ name, value string }{{"--driver", p.Driver}, {"--gpu", p.GPU}, {"--instance", p.Instance},
		{"--python", p.Python}, {"--platform", p.Platform}} {
		if f.value != "" {
			list = append(list, f.name, f.value)
		}
	}
	return list
}

// machines returns the values of a flag that takes a list.
func machines(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

var asJSON = []string{"json"}

func (p paste) check(ctx context.Context, s streams) error {
	f := checkFlags{limit: pasteTimeout, platform: p.Platform, judgeFlags: judgeFlags{driver: p.Driver, python: p.Python,
		gpus: machines(p.GPU), instances: machines(p.Instance), failOn: "error", formats: asJSON, colour: "never",
		given: func(string) bool { return false }}}
	return f.checkDocuments(ctx, []string{"-"}, s)
}

func (p paste) explain(ctx context.Context, s streams) error {
	f := explainFlags{noHere: true, timeout: pasteTimeout, formats: asJSON, colour: "never"}
	f.tables, _ = f.load(ctx) // the embedded ones are always there
	return f.logs(ctx, []string{"-"}, s)
}

func (p paste) fleet(ctx context.Context, s streams) error {
	f := fleetFlags{timeout: pasteTimeout, maxAge: staleAge, failOn: "error", formats: asJSON, colour: "never"}
	return f.run(ctx, s, []string{"-"})
}

func (p paste) requires(ctx context.Context, s streams) error {
	f := requiresFlags{old: oldName, lookFlags: lookFlags{timeout: pasteTimeout}, driver: p.Driver, python: p.Python, platform: p.Platform, gpus: machines(p.GPU),
		instances: machines(p.Instance), formats: asJSON, colour: "never"}
	return f.run(ctx, s, []string{newName})
}
