package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// textCase is a public thread or file with its truth and the answer expected from each command.
type textCase struct {
	ID, Truth string
	Texts     map[string]string
	Commands  []struct {
		Args    []string
		Exit    []int  // those that are right
		Rule    string // a rule that the answer must name: in a finding, or as unknown
		Pending string // why it is not right yet
	}
}

// TestTexts runs the commands on public threads and files. The expectations were written from each case's truth before
// the program was changed. A pending command does not pass yet.
func TestTexts(t *testing.T) {
	for _, set := range []string{"texts4", "texts60"} {
		t.Run(set, func(t *testing.T) { askTexts(t, set) })
	}
}

// maxColons limits the colons in the first sentence of a report: the one after the outcome, and one more.
const maxColons = 2

// askTexts runs the commands of one set.
func askTexts(t *testing.T, set string) {
	file, err := os.Open(filepath.Join("testdata", set+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	right, all := 0, 0
	lines := bufio.NewScanner(file)
	for lines.Buffer(nil, 1<<20); lines.Scan(); {
		var c textCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		for name, text := range c.Texts {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		t.Chdir(dir)
		for _, command := range c.Commands {
			var out, stderr bytes.Buffer
			args := command.Args
			if args[0] == "check" {
				args = append(slices.Clone(args), "-o", "json", "-o", "text=screen.txt")
			}
			exit := run(args, streams{in: strings.NewReader(""), out: &out, err: &stderr})
			wrong := ""
			if !slices.Contains(command.Exit, exit) {
				wrong = "exit code"
			} else if command.Rule != "" && !namesRule(out.Bytes(), command.Rule) && !strings.Contains(stderr.String(), command.Rule) {
				wrong = "rule"
			}
			if screen, err := os.ReadFile("screen.txt"); err == nil {
				first, _, _ := strings.Cut(string(screen), "\n")
				if strings.Count(first, ": ") > maxColons {
					t.Errorf("%s: a first sentence with a chain of colons: %s", c.ID, first)
				}
				os.Remove("screen.txt")
			}
			all++
			switch {
			case wrong == "" && command.Pending != "":
				t.Logf("%s: %q is right now and no longer pending", c.ID, command.Args)
			case wrong == "":
				right++
			case command.Pending == "":
				t.Errorf("%s: %q: %s %d, want %d %s\n%s\n%s%s", c.ID, command.Args, wrong, exit, command.Exit, command.Rule, c.Truth,
					firstSentence(out.Bytes()), stderr.String())
			}
		}
	}
	t.Logf("%d of %d are right", right, all)
}

// namesRule reports whether a JSON report has a rule among its findings or missing facts.
func namesRule(report []byte, rule string) bool {
	var r struct {
		Findings, Unknown []struct{ Rule string }
	}
	if json.Unmarshal(report, &r) != nil {
		return false
	}
	for _, f := range slices.Concat(r.Findings, r.Unknown) {
		if f.Rule == rule {
			return true
		}
	}
	return false
}

// firstSentence returns what a JSON report says is wrong or unknown.
func firstSentence(report []byte) string {
	var r struct {
		Outcome  string
		Findings []struct{ Rule, Message, Severity string }
		Unknown  []struct{ Rule, Subject, Missing string }
	}
	if json.Unmarshal(report, &r) != nil {
		return string(report[:min(len(report), 600)])
	}
	text := r.Outcome
	for _, f := range r.Findings {
		text += "\n" + f.Severity + " " + f.Rule + ": " + f.Message
	}
	for _, u := range r.Unknown {
		text += "\nunknown " + u.Rule + " " + u.Subject + ": " + u.Missing
	}
	return text
}
