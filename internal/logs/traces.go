package logs

import (
	"slices"

	"cudacompat/internal/lazyregexp"
)

// Traces are the signs in a log of the machine that wrote it. The caller may be on that machine.
type Traces struct {
	Drivers []string // releases that it calls the driver's
	Files   []string // of its tracebacks
	Report  bool     // a description of the environment stands in it: collect_env's, nvidia-smi's, a list of packages
}

// maxTraces limits how many of each kind are kept.
const maxTraces = 32

// The words before a driver release, and the headings of environment descriptions.
var (
	driverRelease = lazyregexp.New(`(?i)(?:driver version|nvrm version|kernel module|driver)\b[^\d\n]{0,50}?\b(\d{3}\.\d{2,3}(?:\.\d{2,3})?)\b`)
	describe      = lazyregexp.New(`Collecting environment information|^PyTorch version: |\| NVIDIA-SMI \d|` +
		`^Package +Version|^Name: torch$|^torch==\d|^(?:torch|tensorflow|jax) +\d+\.\d[\w.+]*\s*$|` +
		`\bSuccessfully installed .*\b(?:torch|tensorflow|jax)-\d`)
)

// look adds the signs in the lines of a log.
func (t *Traces) look(lines []logLine) {
	for _, l := range lines {
		if m := driverRelease.FindStringSubmatch(l.text); m != nil {
			t.Drivers = keep(t.Drivers, m[1])
		}
		if m := frameLine.FindStringSubmatch(l.text); m != nil {
			t.Files = keep(t.Files, m[1]+m[4]+m[7])
		}
		t.Report = t.Report || describe.MatchString(l.text)
	}
}

func keep(list []string, word string) []string {
	if word == "" || len(list) == maxTraces || slices.Contains(list, word) {
		return list
	}
	return append(list, word)
}
