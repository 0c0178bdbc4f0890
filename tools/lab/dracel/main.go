// Command dracel compares what `cudacompat requires -o cel` admits, as the compiler of Kubernetes' dynamic resource
// allocation evaluates it, with what `-o json` admits: on every GPU of the tables, by drivers around the limits. It has
// a module of its own, so that the program does not depend on Kubernetes, and takes no code from the program: it reads
// the JSON as another program would.
//
//	go run . ../../../bin/cudacompat torch==2.9.0+cu130 tensorflow==2.20.0 …
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/dynamic-resource-allocation/cel"
)

// drivers stand around the limits that the tables have.
var drivers = strings.Fields(`
	390.157.0 410.48.0 440.33.1 450.80.1 450.80.2 455.23.4 460.27.3 470.256.2 495.29.5 510.39.1 515.43.4 520.61.5
	525.60.12 525.60.13 530.30.2 535.183.1 545.23.6 550.54.14 555.42.2 560.28.3 565.57.1 570.86.10 570.133.19
	570.133.20 570.211.1 570.211.2 575.51.2 575.57.7 575.57.8 575.64.5 575.64.6 580.65.6 580.141.0 580.142.0
	590.44.1 595.45.4 610.43.2 615.10.0 620.5.0 700.1.0`)

type requirement struct {
	GPUs []struct {
		Capability string   `json:"compute_capability"`
		Names      []string `json:"names"`
		Drivers    []struct{ From, Before string }
	} `json:"gpus"`
}

func main() {
	different, asked, open := 0, 0, 0
	for _, lines := range os.Args[2:] {
		d, n := compare(os.Args[1], lines)
		if n == 0 {
			open++
		}
		different, asked = different+d, asked+n
	}
	fmt.Printf("%d artefacts, of these %d that miss a fact, %d hosts, %d different\n",
		len(os.Args)-2, open, asked, different)
	if different > 0 {
		os.Exit(1)
	}
}

// compare counts the hosts on which the two disagree, and those that it asked about. If facts are missing it asks about
// none.
func compare(program, lines string) (different, asked int) {
	var r requirement
	out := said(program, lines, "json")
	if out == nil {
		return 0, 0
	}
	if err := json.Unmarshal(out, &r); err != nil {
		fail(err)
	}
	selector := string(said(program, lines, "cel"))
	if len(selector) > resourceapi.CELSelectorExpressionMaxLength {
		fail(fmt.Errorf("%s: %d bytes, and the API takes %d", lines, len(selector),
			resourceapi.CELSelectorExpressionMaxLength))
	}
	result := cel.GetCompiler(cel.Features{}).CompileCELExpression(selector, cel.Options{})
	if result.Error != nil {
		fail(fmt.Errorf("%s: the compiler refuses it: %v", lines, result.Error))
	}
	var dearest uint64
	for _, g := range r.GPUs {
		for _, name := range g.Names[:min(len(g.Names), 3)] {
			for _, driver := range drivers {
				may := false
				for _, d := range g.Drivers {
					may = may || !less(driver, d.From) && (d.Before == "" || less(driver, d.Before))
				}
				admits, details, err := result.DeviceMatches(context.Background(), device("NVIDIA "+name, g.Capability, driver))
				if err != nil {
					fail(fmt.Errorf("%s on %s, %s: %v", lines, name, driver, err))
				}
				if cost := details.ActualCost(); cost != nil {
					dearest = max(dearest, *cost)
				}
				if asked++; admits != may {
					different++
					fmt.Printf("%s on %s, %s: the selector says %v, the JSON %v\n", lines, name, driver, admits, may)
				}
			}
		}
	}
	fmt.Printf("%s: %d different, the dearest costs %d of %d\n", lines, different, dearest,
		resourceapi.CELSelectorExpressionMaxCost)
	return different, asked
}

// said returns the program's output, or nothing if facts are missing and it exits 3.
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

// device returns one as NVIDIA's driver publishes it.
func device(name, capability, driver string) cel.Device {
	version := func(text string) resourceapi.DeviceAttribute { return resourceapi.DeviceAttribute{VersionValue: &text} }
	text := func(text string) resourceapi.DeviceAttribute { return resourceapi.DeviceAttribute{StringValue: &text} }
	return cel.Device{Driver: "gpu.nvidia.com", Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{
		"type": text("gpu"), "productName": text(name), "cudaComputeCapability": version(capability + ".0"),
		"driverVersion": version(driver),
	}, Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": {Value: resource.MustParse("80Gi")}}}
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
	n, _ := strconv.Atoi(parts[i])
	return n
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "dracel:", err)
	os.Exit(2)
}
