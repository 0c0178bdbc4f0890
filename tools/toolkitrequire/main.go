// Command toolkitrequire reads what `cudacompat requires -o nvidia-require` writes with the parser of NVIDIA Container
// Toolkit, and compares what that admits with `-o json`: nothing may be admitted that the JSON refuses. The parser is
// internal to the toolkit; the path of this module lies below the toolkit's, so that Go lets it in. Its source comes
// from the module proxy. It takes no code from the program, nor from tools/dracel: it reads the JSON as another program
// would.
//
//	go run . ../../bin/cudacompat torch==2.9.0+cu130 tensorflow==2.20.0 …
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/NVIDIA/nvidia-container-toolkit/internal/logger"
	"github.com/NVIDIA/nvidia-container-toolkit/internal/requirements"
)

// drivers stand around the limits that the tables have, as /proc/driver/nvidia/version prints them.
var drivers = strings.Fields(`
	390.157 418.226.00 440.33.01 450.80.01 450.80.02 455.23.04 460.27.03 470.256.02 495.29.05 510.39.01 515.43.04
	520.61.05 525.60.12 525.60.13 530.30.02 535.183.01 545.23.06 550.54.14 555.42.02 560.28.03 565.57.01
	570.86.10 570.133.19 570.133.20 570.211.01 570.211.02 575.51.02 575.57.07 575.57.08 575.64.05 575.64.06
	580.65.06 580.141.10 580.142.11 590.44.01 590.48.10 595.45.04 610.43.02 615.10.11 620.5.10 700.1.10`)

type requirement struct {
	GPUs []struct {
		Capability string `json:"compute_capability"`
		Arch       string
		Names      []string
		Drivers    []struct{ From, Before string }
	} `json:"gpus"`
}

// count is what was seen.
type count struct{ open, hosts, admitted, broken, left, unread int }

func main() {
	var c count
	for _, lines := range os.Args[2:] {
		c.compare(os.Args[1], lines)
	}
	fmt.Printf("%d artefacts, of these %d that miss a fact, %d hosts: %d admitted, of these %d that the JSON refuses; "+
		"%d left out, %d of them for a driver's number that the parser cannot read\n",
		len(os.Args)-2, c.open, c.hosts, c.admitted, c.broken, c.left, c.unread)
	if c.broken > 0 || c.admitted == 0 {
		os.Exit(1)
	}
}

func (c *count) compare(program, lines string) {
	var r requirement
	out := said(program, lines, "json")
	if out == nil {
		c.open++
		return
	}
	if err := json.Unmarshal(out, &r); err != nil {
		fail(err)
	}
	var value string
	for line := range strings.Lines(string(said(program, lines, "nvidia-require"))) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "NVIDIA_REQUIRE_CUDA="); ok {
			value = v
		}
	}
	for _, g := range r.GPUs {
		if g.Arch != "x86_64" || len(g.Names) == 0 {
			continue
		}
		for _, driver := range drivers {
			may := false
			for _, d := range g.Drivers {
				may = may || !less(driver, d.From) && (d.Before == "" || less(driver, d.Before))
			}
			admits, readable := asks(value, g.Capability, driver), asks(value, g.Capability, plain(driver))
			c.hosts++
			switch {
			case (admits || readable) && !may:
				c.broken++
				fmt.Printf("%s on %s, %s: the parser admits it (as %s: %v), the JSON does not\n", lines, g.Names[0], driver,
					plain(driver), readable)
			case admits:
				c.admitted++
			case may && readable:
				c.unread++
				fallthrough
			case may:
				c.left++
			}
		}
	}
}

// asks is the parser's answer for one host.
func asks(value, capability, driver string) bool {
	r := requirements.New(&logger.NullLogger{}, []string{value})
	r.AddVersionProperty(requirements.ARCH, capability)
	r.AddVersionProperty(requirements.DRIVER, driver)
	return r.Assert() == nil
}

// plain is a version without leading zeros, as semantic versioning has it.
func plain(driver string) string {
	parts := strings.Split(driver, ".")
	for i, p := range parts {
		parts[i] = strconv.Itoa(atoi(p))
	}
	return strings.Join(parts, ".")
}

// said is what the program writes; nothing where facts are missing, and it exits 3.
func said(program, lines, format string) []byte {
	c := exec.Command(program, "requires", "-", "-o", format, "--timeout", "5m")
	c.Stdin, c.Stderr = strings.NewReader(lines+"\n"), os.Stderr
	out, err := c.Output()
	if c.ProcessState.ExitCode() == 3 {
		return nil
	}
	if err != nil {
		fail(fmt.Errorf("%s: %v", lines, err))
	}
	return out
}

// less compares dotted numbers; nothing is less than any.
func less(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(x), len(y)) {
		if n, m := number(x, i), number(y, i); n != m {
			return n < m
		}
	}
	return false
}

func number(parts []string, i int) int {
	if i >= len(parts) {
		return 0
	}
	return atoi(parts[i])
}

func atoi(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "toolkitrequire:", err)
	os.Exit(2)
}
