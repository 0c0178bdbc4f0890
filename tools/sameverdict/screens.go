package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// everyNth is the share of the recorded logs that explain is asked about.
const everyNth = 20

// screenQuestions runs pins, requires, fleet and explain on the repository's own files.
func screenQuestions() []question {
	var list []question
	add := func(args ...string) {
		list = append(list, question{name: strings.Join(args, " "), args: args})
	}
	for _, gpu := range []string{"P100", "V100", "T4", "L4", "A100", "H100", "B200", "RTX 5090"} {
		for _, driver := range []string{"470.256.02", "535.183.01", "550.90.07", "580.95.05"} {
			add("pins", "--gpu", gpu, "--driver", driver, "--python", "3.12")
		}
	}
	for _, want := range []string{"vllm", "flash-attn==2.8.3", "tensorflow", "jax"} {
		add("pins", "--want", want, "--gpu", "L4", "--driver", "550.90.07", "--python", "3.12")
	}
	for _, artefact := range append(glob("examples/facts/*.json"), "torch==2.9.0+cu130", "torch==2.6.0", "tensorflow==2.20.0",
		"jax[cuda12]==0.7.2", "vllm==0.11.0") {
		add("requires", artefact)
	}
	add(append([]string{"fleet"}, glob("examples/facts/*.json")...)...)
	add(append([]string{"fleet"}, glob("internal/report/testdata/*.json")...)...)
	for _, page := range glob("docs/rules/[a-z]*.md") {
		add("explain", strings.TrimSuffix(filepath.Base(page), ".md"))
	}
	for _, file := range glob("internal/logs/testdata/logs/*.log") {
		add("explain", "--no-here", file)
	}
	return append(list, logQuestions("internal/logs/testdata/cases.jsonl")...)
}

// logQuestions asks explain about every everyNth log of a file with one JSON object per line.
func logQuestions(name string) []question {
	data, err := os.ReadFile(name)
	fail(err)
	var list []question
	for i, line := range bytes.Split(bytes.TrimSpace(data), []byte("\n")) {
		if i%everyNth != 0 {
			continue
		}
		var c struct{ ID, Log string }
		fail(json.Unmarshal(line, &c))
		list = append(list, question{name: "explain " + c.ID, stdin: []byte(c.Log), args: []string{"explain", "-", "--no-here"}})
	}
	return list
}

// compareScreens returns how many questions the two binaries answer with different text or another exit code.
func compareScreens(before, after string, questions []question) int {
	differ := map[string]int{}
	total, asked := 0, map[string]int{}
	for _, q := range questions {
		asked[q.args[0]]++
		was, is := screen(before, q), screen(after, q)
		if was != is {
			differ[q.args[0]]++
			total++
			fmt.Printf("%s\n%s", q.name, firstDifferences(was, is))
		}
	}
	for _, command := range []string{"check", "doctor", "pins", "requires", "fleet", "explain"} {
		fmt.Printf("%s: %d of %d screens differ\n", command, differ[command], asked[command])
	}
	return total
}

// screen returns what a person sees of one call: both streams and the exit code.
func screen(binary string, q question) string {
	cmd := exec.Command(binary, q.args...)
	cmd.Stdin = bytes.NewReader(q.stdin)
	out, _ := cmd.CombinedOutput()
	return fmt.Sprintf("%sexit code %d\n", out, cmd.ProcessState.ExitCode())
}

// shownLines bounds how many differing lines of a screen are printed.
const shownLines = 6

// firstDifferences lists lines that only one of two screens has, old ones with a minus.
func firstDifferences(was, is string) string {
	count := map[string]int{}
	for line := range strings.Lines(was) {
		count[line]++
	}
	var gone, come []string
	for line := range strings.Lines(is) {
		if count[line]--; count[line] < 0 {
			come = append(come, "  + "+line)
		}
	}
	for line := range strings.Lines(was) {
		if count[line] > 0 {
			count[line]--
			gone = append(gone, "  - "+line)
		}
	}
	if len(gone)+len(come) == 0 {
		return "  the same lines in another order\n"
	}
	return strings.Join(append(gone[:min(len(gone), shownLines)], come[:min(len(come), shownLines)]...), "")
}
