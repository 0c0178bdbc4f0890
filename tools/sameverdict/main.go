// Command sameverdict compares two builds of cudacompat: over every case of matrix, every report's facts, every
// example and every host tree of this repository both must come to the same outcome, exit code, answers and findings.
//
//	go run ./tools/sameverdict OLD NEW
//	go run ./tools/sameverdict -screens OLD NEW
//
// It exits 1 when a judgement differs. Where only words differ it counts them, and names them with -words. With -screens
// it compares what people see instead: the text that check, doctor, pins, requires, fleet and explain print, line by
// line. It then exits 1 when any line differs, and prints the first ones.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"cudacompat/internal/cases"

	"golang.org/x/tools/txtar"
)

// judgement is what must be equal: the part of a report that a program would act on.
type judgement struct {
	Code    int
	Outcome string `json:"outcome"`
	Answers []struct {
		Subject string   `json:"subject"`
		Target  string   `json:"target"`
		Answer  string   `json:"answer"`
		Because []string `json:"because"`
		Counts  bool     `json:"counts"`
	} `json:"answers"`
	Findings []struct {
		Rule     string `json:"rule"`
		Severity string `json:"severity"`
		Subject  string `json:"subject"`
		Target   string `json:"target"`
	} `json:"findings"`
	words string // everything else that the report says, but for the facts and the tool
}

// A question is one call of the program. If the program reads facts on standard input, the question has them.
type question struct {
	name  string
	stdin []byte
	args  []string
}

func main() {
	words := flag.Bool("words", false, "name the reports whose judgement is equal and whose words differ")
	screens := flag.Bool("screens", false, "compare the text that people see, not the JSON")
	flag.Parse()
	if flag.NArg() != 2 {
		fmt.Fprintln(os.Stderr, "usage: sameverdict [-words | -screens] OLD NEW (two binaries; run it in the repository's root)")
		os.Exit(64)
	}
	scratch, err := os.MkdirTemp("", "sameverdict")
	fail(err)
	defer os.RemoveAll(scratch)
	questions := slices.Concat(caseQuestions(), documents(), hosts(scratch))
	differ := 0
	if *screens {
		differ = compareScreens(flag.Arg(0), flag.Arg(1), slices.Concat(questions, screenQuestions()))
	} else {
		differ = compareJudgements(flag.Arg(0), flag.Arg(1), questions, *words)
	}
	if differ > 0 {
		os.RemoveAll(scratch)
		os.Exit(1)
	}
}

// compareJudgements returns how many questions the two binaries judge differently.
func compareJudgements(before, after string, questions []question, words bool) int {
	judged, said := 0, 0
	for _, q := range questions {
		was, is := ask(before, q), ask(after, q)
		switch {
		case was.String() != is.String():
			judged++
			fmt.Printf("%s: judged otherwise\n  old %s\n  new %s\n", q.name, was, is)
		case was.words != is.words:
			said++
			if words {
				fmt.Printf("%s: other words\n", q.name)
			}
		}
	}
	fmt.Printf("%d questions, %d judged otherwise, %d more in other words\n", len(questions), judged, said)
	return judged
}

// caseQuestions asks about every case of matrix, with its facts, targets and requirements.
func caseQuestions() []question {
	var list []question
	for _, file := range glob("matrix/testdata/*/*.txtar") {
		archive, err := txtar.ParseFile(file)
		fail(err)
		facts, err := cases.Facts("matrix/testdata/machines", archive)
		fail(err)
		q := question{name: file, stdin: facts, args: []string{"check", "-"}}
		for _, f := range archive.Files {
			switch f.Name {
			case "require":
				if words := strings.Fields(string(f.Data)); len(words) > 0 {
					q.args = append(q.args, "--require", strings.Join(words, ","))
				}
			case "target.json":
				q.args = append(q.args, targetFlags(f.Data)...)
			}
		}
		list = append(list, q)
	}
	return list
}

// targetFlags says on the command line what a case's target.json says.
func targetFlags(data []byte) []string {
	var targets []struct {
		Instance, Driver, Python string
		GPUs                     []string
	}
	fail(json.Unmarshal(data, &targets))
	var instances, flags []string
	for i, t := range targets {
		if t.Instance != "" {
			instances = append(instances, t.Instance)
		}
		if i == 0 {
			flags = append(flags, "--driver", t.Driver, "--python", t.Python, "--gpu", strings.Join(t.GPUs, "+"))
		}
	}
	flags = append(flags, "--instance", strings.Join(instances, ","))
	var given []string
	for i := 0; i < len(flags); i += 2 {
		if flags[i+1] != "" {
			given = append(given, flags[i], flags[i+1])
		}
	}
	return given
}

// documents asks about the files that check reads as they are.
func documents() []question {
	var list []question
	for _, pattern := range []string{
		"internal/report/testdata/*.json", "examples/facts/*", "examples/collect_env/*",
	} {
		for _, file := range glob(pattern) {
			list = append(list, question{name: file, args: []string{"check", file}})
		}
	}
	return list
}

// hosts asks about the trees of probe's tests.
func hosts(scratch string) []question {
	var list []question
	for _, file := range glob("probe/testdata/*.txtar") {
		archive, err := txtar.ParseFile(file)
		fail(err)
		root := filepath.Join(scratch, filepath.Base(file))
		for _, f := range archive.Files {
			unpack(root, f)
		}
		list = append(list, question{name: file, args: []string{"doctor", "--root", root}})
	}
	return list
}

// unpack writes one file of a host; "name -> target" is a link.
func unpack(root string, f txtar.File) {
	name, target, isLink := strings.Cut(f.Name, " -> ")
	path := filepath.Join(root, name)
	if strings.HasPrefix(f.Name, "@") || !filepath.IsLocal(name) {
		return
	}
	fail(os.MkdirAll(filepath.Dir(path), 0o755))
	if isLink {
		fail(os.Symlink(target, path))
		return
	}
	if !strings.HasSuffix(name, "/") {
		fail(os.WriteFile(path, f.Data, 0o644))
	}
}

// ask runs one binary.
func ask(binary string, q question) judgement {
	cmd := exec.Command(binary, append(q.args, "-o", "json")...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(q.stdin), &stdout, &stderr
	_ = cmd.Run()
	j := judgement{Code: cmd.ProcessState.ExitCode(), words: stderr.String()}
	_ = json.Unmarshal(stdout.Bytes(), &j) // a refusal prints none
	var rest map[string]any
	_ = json.Unmarshal(stdout.Bytes(), &rest)
	delete(rest, "facts")
	delete(rest, "tool")
	text, _ := json.Marshal(rest)
	j.words += string(text)
	return j
}

func (j judgement) String() string {
	text, _ := json.Marshal(j)
	return string(text)
}

// glob returns the files that match a pattern of this repository; a pattern without files is out of date.
func glob(pattern string) []string {
	files, err := filepath.Glob(pattern)
	fail(err)
	if len(files) == 0 {
		fail(fmt.Errorf("no file matches %s", pattern))
	}
	return files
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "sameverdict:", err)
		os.Exit(70)
	}
}
