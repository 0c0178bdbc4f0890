// Command firstsight judges sets of logs with a build of cudacompat.
//
//	go run ./tools/lab/firstsight answers FILE.jsonl…   blame, confidence and the first two steps of each log
//	go run ./tools/lab/firstsight score [FILE.jsonl…]   blames against labels: right, unknown, wrong
//	go run ./tools/lab/firstsight steps [FILE.jsonl…]   steps against a reader's judgement: lead, partly, no, mislead
//
// A set has one JSON object per line with at least "id" and "log"; a file whose name ends in .gz is compressed. The
// program builds ./cmd/cudacompat of the current directory, or runs the binary in -with, so that an older build can be
// judged, too. Scores are for watching and no tests: internal/logs limits what may get worse.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const usage = "usage: firstsight [-with BINARY] [-json] answers|score|steps [FILE.jsonl…] (run it in the repository's root)"

func main() {
	with := flag.String("with", "", "judge with this `BINARY` instead of building the current source")
	asJSON := flag.Bool("json", false, "answers: write one JSON object a line")
	flag.Usage = func() { fmt.Fprintln(os.Stderr, usage); flag.PrintDefaults() }
	flag.Parse()
	if err := run(flag.Arg(0), flag.Args(), *with, *asJSON, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "firstsight:", err)
		os.Exit(1)
	}
}

func run(mode string, args []string, with string, asJSON bool, out io.Writer) error {
	modes := map[string]func(io.Writer, []sighted, []answer){"answers": writeAnswers, "score": writeScore, "steps": writeSteps}
	write := modes[mode]
	if write == nil {
		return fmt.Errorf("unknown mode %q\n%s", mode, usage)
	}
	if mode == "answers" && asJSON {
		write = writeJSON
	}
	files := args[1:]
	if len(files) == 0 && mode == "score" {
		files, _ = filepath.Glob("internal/logs/testdata/firstsight/*.jsonl*")
	}
	if len(files) == 0 && mode == "steps" {
		files = []string{"internal/logs/testdata/logs4.jsonl"}
	}
	if len(files) == 0 {
		return fmt.Errorf("no set of logs\n%s", usage)
	}
	binary, clean, err := binaryOf(with)
	if err != nil {
		return err
	}
	defer clean()
	for _, file := range files {
		logs, err := readSet(file)
		if err != nil {
			return err
		}
		answers, err := ask(binary, logs)
		if err != nil {
			return err
		}
		if len(files) > 1 {
			fmt.Fprintln(out, "#", file)
		}
		write(out, logs, answers)
	}
	return nil
}

// writeAnswers writes what a reader needs to judge blame and steps.
func writeAnswers(out io.Writer, logs []sighted, answers []answer) {
	for i, a := range answers {
		fmt.Fprintf(out, "%s  %s  confidence %s  %s\n    %s\n", logs[i].ID, a.Blame, a.confidence(), a.Cause, a.Because)
		for n, step := range a.firstSteps() {
			fmt.Fprintf(out, "    %d. %s\n", n+1, step)
		}
		if len(a.Do) == 0 {
			fmt.Fprintln(out, "    no step")
		}
	}
}

// writeJSON writes the same for programs.
func writeJSON(out io.Writer, logs []sighted, answers []answer) {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for i, a := range answers {
		_ = encoder.Encode(map[string]any{"id": logs[i].ID, "blame": a.Blame, "confidence": a.confidence(), "cause": a.Cause,
			"because": a.Because, "steps": a.firstSteps()})
	}
}

// writeScore counts blames by the kind of log.
func writeScore(out io.Writer, logs []sighted, answers []answer) {
	counts := map[string]map[string]int{}
	for i, a := range answers {
		kind, got := logs[i].judge(a.Blame)
		if counts[kind] == nil {
			counts[kind] = map[string]int{}
		}
		counts[kind][got]++
		if got != "right" && kind != "undecidable" {
			fmt.Fprintf(out, "  %s: %s: %s, not %s (%s)\n", logs[i].ID, got, a.Blame, logs[i].blames()[0], a.Cause)
		}
	}
	for _, kind := range []string{"decidable", "undecidable", "healthy"} {
		c := counts[kind]
		fmt.Fprintf(out, "%-12s right %3d  unknown %3d  wrong %3d\n", kind, c["right"], c["unknown"], c["wrong"])
	}
}

// writeSteps counts judgements of steps. A judgement is valid as long as the cause and the first two steps are those
// that its reader saw; a changed answer needs a reader.
func writeSteps(out io.Writer, logs []sighted, answers []answer) {
	counts := map[string]int{}
	for i, a := range answers {
		switch l := logs[i]; {
		case l.StepsScore == "":
			continue
		case l.Said == nil || l.Said.Cause != a.Cause || !slices.Equal(l.Said.firstSteps(), a.firstSteps()):
			counts["to read"]++
			fmt.Fprintf(out, "  %s: to read (was %s): %s, %s\n    1. %s\n", l.ID, l.StepsScore, a.Blame, a.Cause,
				strings.Join(a.firstSteps(), "\n    2. "))
		default:
			counts[l.StepsScore]++
		}
	}
	for _, score := range []string{"lead", "partly", "no", "mislead", "to read"} {
		fmt.Fprintf(out, "%-8s %3d\n", score, counts[score])
	}
}
