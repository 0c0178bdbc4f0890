//go:build linux

// Command torture runs the real binary against everything that a machine can do to it: a driver library that hangs,
// crashes and floods, trees that lie and change while they are read, files that unpack to gigabytes, broken input,
// tiny limits, a parent that is killed. It prints counts and exits 1 when one of them should have been zero.
//
//	go run ./tools/torture -minutes 1 bin/cudacompat
//
// It needs a C compiler for the false libnvidia-ml.so.1 and strace for what is opened; what needs either is left out
// without it, and said. As root it also takes /proc away.
package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	if len(os.Args) > 1 && stages[os.Args[1]] != nil {
		stages[os.Args[1]](os.Args[2:])
	}
	minutes := flag.Float64("minutes", 1, "how long to go on; every family gets its share")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "the order of the cases and every random choice")
	only := flag.String("only", "", "only these families, commas between")
	match := flag.String("match", "", "only the cases whose names contain this")
	libraries := flag.String("nvml", "",
		"a directory with real libnvidia-ml.so.1 files, one directory each (see debian.sh)")
	verbose := flag.Bool("v", false, "print every case")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "torture: name the binary: go run ./tools/torture -minutes 1 bin/cudacompat")
		os.Exit(64)
	}
	b, err := newBench(flag.Arg(0), *libraries, *seed, *verbose)
	if err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		os.Exit(70)
	}
	b.match = *match
	fmt.Printf("seed %d\n", *seed)
	b.torture(time.Duration(*minutes*float64(time.Minute)), *only)
	clean := b.tally.print(os.Stdout)
	b.close()
	if !clean {
		os.Exit(1)
	}
}

// stages are what this program does when it starts itself again.
var stages = map[string]func([]string){"cage": cage, "confine": confine, "look": look}

// bench is where the cases run.
type bench struct {
	binary, self string // absolute
	project      string // the repository, for inputs to break
	dir          string // of everything that is written; removed at the end
	libraries    string
	match        string // part of the names of the cases that run
	random       *rand.Rand
	tally        tally
	prepared     prepared
}

func newBench(binary, libraries string, seed uint64, verbose bool) (*bench, error) {
	b := &bench{libraries: libraries, random: rand.New(rand.NewPCG(seed, 0)), tally: newTally(verbose)}
	var err error
	if b.binary, err = filepath.Abs(binary); err != nil {
		return nil, err
	}
	if _, err := os.Stat(b.binary); err != nil {
		return nil, fmt.Errorf("%w: make build first", err)
	}
	if b.self, err = os.Executable(); err != nil {
		return nil, err
	}
	if b.project, err = os.Getwd(); err != nil {
		return nil, err
	}
	if b.dir, err = os.MkdirTemp("", "torture-"); err != nil {
		return nil, err
	}
	if err := write(b.config(), nil); err != nil {
		return nil, err
	}
	return b, write(filepath.Join(b.dir, "venv/pyvenv.cfg"), []byte("home = /usr/bin\nversion = 3.12.3\n"))
}

// config returns an empty configuration: this machine's own is no part of a case.
func (b *bench) config() string { return filepath.Join(b.dir, "config.yaml") }

func (b *bench) close() { os.RemoveAll(b.dir) }

// A family is one kind of stress. Its cases come in the order in which they should run. The last may repeat with new
// random choices for as long as there is time.
type family struct {
	name   string
	weight int // of the time
	cases  func(*bench) ([]testCase, error)
	// endless says that the cases differ each time they are made.
	endless bool
}

type testCase struct {
	name string
	run  func(*bench)
}

var families = []family{
	{name: "nvml", weight: 6, cases: nvmlCases},
	{name: "nvml-real", weight: 1, cases: realCases},
	{name: "in-process", weight: 1, cases: inProcessCases},
	{name: "roots", weight: 4, cases: rootCases},
	{name: "races", weight: 2, cases: raceCases, endless: true},
	{name: "bombs", weight: 4, cases: bombCases},
	{name: "inputs", weight: 3, cases: inputCases, endless: true},
	{name: "kills", weight: 2, cases: killCases, endless: true},
	{name: "limits", weight: 2, cases: limitCases},
	{name: "crowd", weight: 1, cases: crowdCases},
}

// torture gives each family its share of the time; what one leaves goes to those that never end.
func (b *bench) torture(whole time.Duration, only string) {
	started := time.Now()
	var chosen, endless []family
	weights := 0
	for _, f := range families {
		if only == "" || strings.Contains(","+only+",", ","+f.name+",") {
			chosen, weights = append(chosen, f), weights+f.weight
			if f.endless {
				endless = append(endless, f)
			}
		}
	}
	for i, f := range chosen {
		share := (whole - time.Since(started)) * time.Duration(f.weight) / time.Duration(weights)
		if i == len(chosen)-1 {
			share = whole - time.Since(started)
		}
		b.run(f, time.Now().Add(share))
		weights -= f.weight
	}
	for end := started.Add(whole); len(endless) > 0 && time.Now().Before(end); {
		for _, f := range endless {
			b.run(f, earlier(end, time.Now().Add(time.Minute)))
		}
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// run runs a family's cases in random order until they or the time end.
func (b *bench) run(f family, end time.Time) {
	cases, err := f.cases(b)
	if err != nil {
		b.tally.leftOut(f.name, err)
		return
	}
	cases = slices.DeleteFunc(cases, func(c testCase) bool { return !strings.Contains(c.name, b.match) })
	b.random.Shuffle(len(cases), func(i, j int) { cases[i], cases[j] = cases[j], cases[i] })
	done := 0
	for ; done < len(cases) && time.Now().Before(end); done++ {
		b.tally.family, b.tally.name = f.name, cases[done].name
		b.tally.count(f.name)
		cases[done].run(b)
	}
	b.tally.known(f.name, len(cases))
}
