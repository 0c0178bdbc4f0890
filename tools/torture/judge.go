//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A demand is what a run must do.
type demand struct {
	deadline time.Duration // 0: not judged, as under strace
	codes    []int         // exits that are right
	json     bool          // standard output is a JSON document, or several: a paste can be of several machines
	command  string        // whose peak memory it counts to; empty: not judged
	children bool          // it starts others, whose memory is not its own
	starved  bool          // the Go runtime may die of the limits: 2, 127, SIGSEGV, SIGABRT
}

// late is what a deadline may be missed by.
const late = 200 * time.Millisecond

// peakCap returns what a run may take, whatever the input, in KiB.
func peakCap(command string) int64 {
	if command == "fleet" {
		return 100 << 10
	}
	return 64 << 10
}

var judged = []int{0, 1, 3}

// tally counts.
type tally struct {
	family, name string // of the case that runs
	cases, all   map[string]int
	counts       map[string]int
	peak         map[string]peak   // by command
	worst        time.Duration     // past a deadline
	latest       string            // the case that was
	shown        map[string]int    // faults, by kind and family
	out          map[string]string // families that were left out, and why
	verbose      bool
}

// peak is the most memory that runs of a command took, and the case in which one did.
type peak struct {
	kib  int64
	name string
}

// shownFaults of one kind and family are printed; -v prints all.
const shownFaults = 5

func newTally(verbose bool) tally {
	return tally{verbose: verbose, shown: map[string]int{}, cases: map[string]int{}, all: map[string]int{},
		counts: map[string]int{}, peak: map[string]peak{}, out: map[string]string{}}
}

func (t *tally) count(family string) { t.cases[family]++ }
func (t *tally) faults() int {
	n := 0
	for _, k := range t.shown {
		n += k
	}
	return n
}

func (t *tally) known(family string, n int)     { t.all[family] = max(t.all[family], n) }
func (t *tally) leftOut(family string, e error) { t.out[family] = e.Error() }

// tooMuch counts runs that took more than peakCap.
const tooMuch = "over 64 MB"

// counted lists the counts in the order in which they are printed. All but the last two must be zero.
var counted = []string{"crashes", "deadline misses", "wrong exits", "no JSON", "control bytes",
	"processes left", "opens outside",
	"writes", "programs run", tooMuch, "left apart", "starved"}

const allowed = 2

// fault notes what should not have been.
func (t *tally) fault(count, format string, args ...any) {
	t.counts[count]++
	line := fmt.Sprintf("%s: %s: %s: %s", count, t.family, t.name, fmt.Sprintf(format, args...))
	t.shown[count+t.family]++
	switch n := t.shown[count+t.family]; {
	case n <= shownFaults || t.verbose:
		fmt.Println("!!", line)
	case n == shownFaults+1:
		fmt.Println("!! more:", count, "in", t.family)
	}
}

// print writes the counts; it reports whether all that should be zero is.
func (t *tally) print(w io.Writer) bool {
	total, clean := 0, true
	for _, f := range families {
		if n := t.cases[f.name]; n > 0 {
			fmt.Fprintf(w, "%-16s %d of %d kinds\n", f.name, n, t.all[f.name])
			total += n
		}
		if why := t.out[f.name]; why != "" {
			fmt.Fprintf(w, "%-16s left out: %s\n", f.name, why)
		}
	}
	fmt.Fprintf(w, "%-16s %d\n", "combinations", total)
	for i, name := range counted {
		fmt.Fprintf(w, "%-16s %d\n", name, t.counts[name])
		clean = clean && (t.counts[name] == 0 || i >= len(counted)-allowed)
	}
	fmt.Fprintf(w, "%-16s %s past a deadline at most (%s)\n", "latest", t.worst.Round(time.Millisecond), t.latest)
	for _, command := range slices.Sorted(maps.Keys(t.peak)) {
		fmt.Fprintf(w, "%-16s %d MB (%s: %s)\n", "peak memory", t.peak[command].kib>>10, command, t.peak[command].name)
	}
	return clean
}

// judge runs an order and counts the faults in the outcome. A deadline missed on a busy machine is tried twice more,
// and counts only if it is missed every time.
func (b *bench) judge(o order, d demand) outcome {
	got, err := b.cagedRun(o)
	if err != nil {
		b.tally.fault("crashes", "torture itself: %v", err)
		return got
	}
	for range 2 {
		if d.deadline == 0 || got.Wall <= d.deadline+late {
			break
		}
		again, err := b.cagedRun(o)
		if err != nil {
			break
		}
		again.Left, again.Apart = append(again.Left, got.Left...), append(again.Apart, got.Apart...)
		again.Peak = max(again.Peak, got.Peak)
		got = again
	}
	if b.tally.verbose {
		fmt.Printf("   %s: %s: exit %d %s in %s, %d MB\n", b.tally.family, b.tally.name, got.Code, got.Signal,
			got.Wall.Round(time.Millisecond), got.Peak>>10)
	}
	b.tally.weigh(got, d)
	return got
}

func (t *tally) weigh(got outcome, d demand) {
	if d.deadline > 0 && got.Wall-d.deadline > t.worst {
		t.worst, t.latest = got.Wall-d.deadline, t.family+": "+t.name
	}
	switch {
	case got.Hung:
		t.fault("deadline misses", "hung for %s", got.Wall.Round(time.Millisecond))
	case d.deadline > 0 && got.Wall > d.deadline+late:
		t.fault("deadline misses", "%s past %s", (got.Wall - d.deadline).Round(time.Millisecond), d.deadline)
	case d.starved && starved(got):
		t.counts["starved"]++
	case crashed(got) && !slices.Contains(d.codes, got.Code):
		t.fault("crashes", "exit %d %s: %.300q", got.Code, got.Signal, got.Err)
	case !slices.Contains(d.codes, got.Code):
		t.fault("wrong exits", "%d: %.300q", got.Code, got.Err)
	case d.starved && got.Code == 3 && len(got.Out) == 0 && bytes.HasPrefix(got.Err, []byte("cudacompat: ")):
		t.counts["starved"]++ // it says in one sentence that the limit is too low
	case d.json && got.Code != 64 && got.Code != -1 && !isJSON(got.Out):
		t.fault("no JSON", "%.200q", got.Out)
	}
	if bad := control.Find(got.Out); bad != nil {
		t.fault("control bytes", "%q on standard output", bad)
	}
	if bad := control.Find(got.Err); bad != nil && !crashed(got) {
		t.fault("control bytes", "%q on standard error: %.200q", bad, got.Err)
	}
	t.weighMemory(got, d)
	if len(got.Left) > 0 {
		t.fault("processes left", "%s", strings.Join(got.Left, ", "))
	}
	t.counts["left apart"] += len(got.Apart)
}

// isJSON reports whether a text is one JSON document or more, one after the other.
func isJSON(text []byte) bool {
	var one json.RawMessage
	n := 0
	for each := json.NewDecoder(bytes.NewReader(text)); ; n++ {
		if err := each.Decode(&one); err != nil {
			return err == io.EOF && n > 0
		}
	}
}

func (t *tally) weighMemory(got outcome, d demand) {
	if d.command == "" {
		return
	}
	kib := got.Peak
	if !d.children {
		kib = max(kib, got.Child)
	}
	if kib > t.peak[d.command].kib {
		t.peak[d.command] = peak{kib, t.family + ": " + t.name}
	}
	if kib > peakCap(d.command) {
		t.fault(tooMuch, "%d MB", kib>>10)
	}
}

// control matches what may reach no terminal: control bytes but line ends and tabs, C1 controls, and the marks that
// turn text around.
var control = regexp.MustCompile(
	`[\x00-\x08\x0b-\x1f\x7f]|\x{85}|[\x{80}-\x{9f}]|[\x{202a}-\x{202e}]|[\x{2066}-\x{2069}]`)

// crashed reports whether a run ended as a bug ends it.
func crashed(got outcome) bool {
	return got.Signal != "" || got.Code == 2 || got.Code == 70 || got.Code == 127 || bytes.Contains(got.Err,
		[]byte("goroutine "))
}

// starved reports whether the Go runtime or the C library lacked the resources to start.
func starved(got outcome) bool {
	return got.Code == 2 || got.Code == 127 || got.Signal == "segmentation fault" || got.Signal == "aborted" ||
		got.Signal == "killed"
}
