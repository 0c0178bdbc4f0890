package main

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// sighted is a log of a set, with its labels where it has any.
type sighted struct {
	ID         string   `json:"id"`
	Log        string   `json:"log"`
	Blame      []string `json:"blame"`       // those that count as right, the likeliest first
	TruthBlame []string `json:"truth_blame"` // the same, in sets whose steps were judged
	Decidable  bool     `json:"decidable"`   // by its lines alone
	StepsScore string   `json:"steps_score"` // lead, partly, no, mislead: a reader's judgement of what was said
	Said       *answer  `json:"said"`        // what the reader saw
}

// answer is a build's answer about a log.
type answer struct {
	Blame      string   `json:"blame"`
	Confidence string   `json:"confidence"` // empty in builds that did not say it
	Cause      string   `json:"cause"`
	Because    string   `json:"because"`
	Do         []string `json:"do"`
}

func (a answer) confidence() string { return cmp.Or(a.Confidence, "not said") }

// firstSteps returns the steps that a reader judges.
func (a answer) firstSteps() []string { return a.Do[:min(2, len(a.Do))] }

func (l sighted) blames() []string {
	if len(l.Blame) > 0 {
		return l.Blame
	}
	return l.TruthBlame
}

// judge says of what kind a log is, and whether a blame is right for it.
func (l sighted) judge(blame string) (kind, got string) {
	blames := l.blames()
	kind = "undecidable"
	if blames[0] == "none" {
		kind = "healthy"
	} else if l.Decidable {
		kind = "decidable"
	}
	switch {
	case slices.Contains(blames, blame), kind != "decidable" && blame == "unknown":
		return kind, "right"
	case blame == "unknown":
		return kind, "unknown"
	}
	return kind, "wrong"
}

// readSet reads a set of logs.
func readSet(file string) ([]sighted, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var text io.Reader = f
	if strings.HasSuffix(file, ".gz") {
		if text, err = gzip.NewReader(f); err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
	}
	var all []sighted
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var l sighted
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		all = append(all, l)
	}
	return all, lines.Err()
}

// binaryOf returns the build to ask: the named one, or one of the current source.
func binaryOf(with string) (binary string, clean func(), err error) {
	if with != "" {
		binary, err = filepath.Abs(with)
		return binary, func() {}, err
	}
	dir, err := os.MkdirTemp("", "firstsight")
	if err != nil {
		return "", nil, err
	}
	clean = func() { os.RemoveAll(dir) }
	binary = filepath.Join(dir, "cudacompat")
	if out, err := exec.Command("go", "build", "-o", binary, "./cmd/cudacompat").CombinedOutput(); err != nil {
		clean()
		return "", nil, fmt.Errorf("build: %w\n%s", err, out)
	}
	return binary, clean, nil
}

// ask gives every log to the build, a few at once.
func ask(binary string, logs []sighted) ([]answer, error) {
	answers, failed := make([]answer, len(logs)), make([]error, len(logs))
	free := make(chan struct{}, max(1, runtime.NumCPU()))
	var running sync.WaitGroup
	for i := range logs {
		running.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			answers[i], failed[i] = askOne(binary, logs[i].Log)
		})
	}
	running.Wait()
	return answers, errors.Join(failed...)
}

// askOne gives one log to the build. Its exit code repeats the blame and is no failure.
func askOne(binary, log string) (a answer, err error) {
	cmd := exec.Command(binary, "explain", "--no-here", "-o", "json", "-")
	cmd.Stdin = strings.NewReader(log)
	out, err := cmd.Output()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		return a, err
	}
	if err := json.Unmarshal(out, &a); err != nil {
		return a, fmt.Errorf("%s explain: %w", binary, err)
	}
	return a, nil
}
