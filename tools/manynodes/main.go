// Command manynodes makes the facts of many nodes, all of them distinct in what does not matter, some of them with a
// fault or a drift, has `cudacompat fleet` judge them, and tells whether just these were found, how long it took, and
// how much memory. With -kinds every node is of a kind of its own. With -whatif the fleet is judged with another
// driver too, and a node of each kind beside `cudacompat check --driver`.
//
// With -messy the fleet is as real ones are, and the text report must stay short and lose no node; SCREEN=FILE keeps it.
//
//	go run ./tools/manynodes -n 10000 bin/cudacompat
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"cudacompat/probe/facts"
)

func main() {
	n := flag.Int("n", 10000, "how many nodes")
	kinds := flag.Bool("kinds", false, "every node of a kind of its own, and no faults")
	messy := flag.Bool("messy", false, "many kernels and environments, old and cut documents")
	driver := flag.String("whatif", "", "also judge with this driver, beside check --driver")
	facts := flag.String("example", "examples/facts/p5-48xlarge.json", "the report that the nodes are made of")
	flag.Parse()
	wrong, err := try(os.Stdout, flag.Arg(0), *facts, *n, *kinds, *messy, *driver)
	if err != nil {
		fmt.Fprintln(os.Stderr, "manynodes:", err)
		os.Exit(2)
	}
	for _, w := range wrong {
		fmt.Println("WRONG", w)
	}
	if len(wrong) > 0 {
		os.Exit(1)
	}
}

// try makes the documents, has them judged, and lists what is wrong with the answer.
func try(out io.Writer, tool, path string, n int, kinds, messy bool, driver string) ([]string, error) {
	f, err := example(path)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "manynodes")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	p := newPool(f, n)
	var want truth
	if kinds {
		p.distinguish()
	} else {
		want = p.spoil(rand.New(rand.NewPCG(17, 0)))
	}
	if messy {
		p.mess(want)
	}
	file := filepath.Join(dir, "nodes.jsonl")
	if err := p.write(file, want.bad); err != nil {
		return nil, err
	}
	got, used, err := judge(tool, file)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(out, "%d nodes of %d bytes on average: %d kinds, %d drift, %d stale, %d not judged; %s\n", n,
		info.Size()/int64(n), len(got.Kinds), len(got.Drift), len(got.Stale), len(got.Unread), used.describe(n))
	var wrong []string
	if !kinds {
		wrong = want.compare(got)
	}
	if messy {
		said, more := screen(tool, file, got, want)
		fmt.Fprintln(out, said)
		wrong = append(wrong, more...)
	}
	if driver != "" {
		more, err := p.whatIf(out, tool, file, driver)
		if err != nil {
			return nil, err
		}
		wrong = append(wrong, more...)
	}
	return wrong, nil
}

// distinguish gives each node a kind of its own, by the directory of its environment.
func (p *pool) distinguish() {
	for i := range p.n {
		p.changes[i] = func(d *document) {
			d.Facts.Environments[0].Path = "/home/" + d.Node + "/venv"
			torch(&d.Facts).Path = d.Facts.Environments[0].Path + "/lib/python3.12/site-packages/torch"
		}
	}
}

// write writes a document a line; some lines are spoilt.
func (p *pool) write(file string, bad map[int]func([]byte) []byte) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	for i := range p.n {
		d := p.document(i)
		line, err := json.Marshal(d)
		if err != nil {
			return err
		}
		if spoil := bad[i]; spoil != nil {
			line = spoil(line)
		}
		if _, err := f.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return f.Close()
}

// fleetReport is the part of `fleet -o json` that is compared.
type fleetReport struct {
	Kinds []kind
	Drift []struct {
		Severity, Group, What, Usual string
		Values                       []struct {
			Value string
			Nodes []string
		}
	}
	Stale  []struct{ Node string }
	Unread []struct{ Document, Node string }
	Groups []struct{ Nodes []string }
	Nodes  int
}

// kind is a group of nodes with the same verdict.
type kind struct {
	Nodes    []struct{ Node string }
	Outcome  string
	Findings []struct{ Rule, Severity string }
}

// usage is the processor time and the peak memory of a run.
type usage struct {
	seconds float64
	bytes   int64
}

// describe returns the time, the rate and the memory of a run over n nodes.
func (u usage) describe(n int) string {
	return fmt.Sprintf("%.2f s of processor time, %.0f nodes a second, %d MB", u.seconds,
		float64(n)/u.seconds, u.bytes>>20)
}

// judge runs the program on one core.
func judge(tool, file string, args ...string) (fleetReport, usage, error) {
	c := exec.Command(tool, append([]string{"fleet", file, "-o", "json"}, args...)...)
	c.Env, c.Stderr = append(os.Environ(), "GOMAXPROCS=1"), os.Stderr
	out, err := c.Output()
	var r fleetReport
	if c.ProcessState == nil || c.ProcessState.ExitCode() > 3 {
		return r, usage{}, fmt.Errorf("%s: %w", tool, err)
	}
	took := (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds()
	u := usage{took, c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10}
	return r, u, json.Unmarshal(out, &r)
}

// whatIf judges every node with another driver, and beside it a node of each kind by itself.
func (p *pool) whatIf(out io.Writer, tool, file, driver string) ([]string, error) {
	got, _, err := judge(tool, file, "--what-if", "driver="+driver)
	if err != nil {
		return nil, err
	}
	var wrong []string
	checked := 0
	for _, k := range got.Kinds {
		for _, n := range k.Nodes[len(k.Nodes)-1:] { // the first is the one that was judged
			place, err := strconv.Atoi(strings.TrimPrefix(n.Node, "node-"))
			if err != nil {
				return nil, err
			}
			outcome, err := checkOne(tool, p.document(place).Facts, driver)
			if err != nil {
				return nil, err
			}
			if checked++; outcome != k.Outcome {
				wrong = append(wrong, fmt.Sprintf("%s with driver %s: fleet says %s, check %s", n.Node, driver, k.Outcome,
					outcome))
			}
		}
	}
	fmt.Fprintf(out, "what if driver %s: %d nodes of %d kinds beside check --driver, %d different\n", driver, checked,
		len(got.Kinds), len(wrong))
	return wrong, nil
}

// checkOne returns the outcome of one node by itself.
func checkOne(tool string, f facts.Facts, driver string) (string, error) {
	data, err := json.Marshal(f)
	if err != nil {
		return "", err
	}
	c := exec.Command(tool, "check", "-", "--driver", driver)
	c.Stdin, c.Stderr = strings.NewReader(string(data)), os.Stderr
	_ = c.Run() // the code is the outcome
	i := slices.Index([]int{0, 1, 3}, c.ProcessState.ExitCode())
	if i < 0 {
		return "", fmt.Errorf("check ended with %d", c.ProcessState.ExitCode())
	}
	return []string{"compatible", "incompatible", "inconclusive"}[i], nil
}
