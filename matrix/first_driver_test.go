package matrix

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// onBus judges a build on a GPU that PCI alone shows, under a driver, and says how hard driver-too-old-for-gpu speaks
// and what the build's answer is.
func onBus(t *Tables, id, driver string) (severity verdict.Severity, answer verdict.Answer) {
	node := facts.Facts{
		System: facts.System{Arch: "x86_64", Kernel: "6.8.0", Libc: "2.35"},
		Driver: facts.Driver{Version: driver, From: "/proc/driver/nvidia/version", Module: "open"},
		GPUs:   []facts.GPU{{PCIID: "10de:" + id, Bus: "0000:00:1e.0", Bound: "nvidia", From: []string{"/sys/bus/pci"}}},
		Environments: []facts.Environment{{Path: "/opt/venv", Python: "3.12", Active: true,
			Builds: []facts.Build{{Name: "torch", Version: "2.4.0+cu118", Origin: "wheel"}}}},
	}
	v := Check(context.Background(), t, node, nil, verdict.Policy{})
	for _, f := range v.Findings {
		if f.Rule == "driver-too-old-for-gpu" {
			severity = f.Severity
		}
	}
	return severity, v.Answers[0].Answer
}

// TestNoProductBeforeItsDriver goes over all PCI ids: under the drivers just before the first that knows a product, the
// rule speaks, as an error where its chip or a release note says so and else as a warning; under that driver it is
// silent. So nothing is said to work on a GPU that the driver does not know without a word of it.
func TestNoProductBeforeItsDriver(t *testing.T) {
	t.Parallel()
	embedded := Embedded()
	ids := 0
	for _, chip := range tables.Rows[tables.Chip](embedded) {
		for _, id := range chip.PCIIDs {
			ids++
			if chip.FirstBranch.Known() && (wholeGrid || ids%5 == 1) {
				before := fmt.Sprintf("%d.99.99", chip.FirstBranch.Major()-1)
				wantOnBus(t, embedded, id, before, verdict.Error)
			}
		}
	}
	if ids < 800 {
		t.Errorf("only %d PCI ids were tried", ids)
	}
	for _, p := range tables.Rows[tables.Product](embedded) {
		noted := ""
		for _, first := range p.Noted {
			if strings.HasPrefix(first, "?") {
				continue // a source asks for it, and what lists the product earlier comes before
			}
			noted = first
			wantOnBus(t, embedded, p.PCIID, justBefore(first), verdict.Error)
			known := verdict.Severity("")
			if _, disputed := p.Disputed(version.ParseOrZero(first)); disputed {
				known = verdict.Note
			}
			wantOnBus(t, embedded, p.PCIID, first, known)
		}
		for _, word := range p.Listed {
			last, none := strings.CutPrefix(word, ">")
			switch {
			case word == "none" || noted != "" && version.ParseOrZero(last).Major() <= version.ParseOrZero(noted).Major():
			case none:
				wantOnBus(t, embedded, p.PCIID, last, verdict.Warning)
			default:
				wantOnBus(t, embedded, p.PCIID, justBefore(word), verdict.Warning)
				wantOnBus(t, embedded, p.PCIID, word, "")
			}
		}
	}
}

func wantOnBus(t *testing.T, tables *Tables, id, driver string, want verdict.Severity) {
	t.Helper()
	got, answer := onBus(tables, id, driver)
	if got != want || want == verdict.Error && strings.HasPrefix(string(answer), "works") {
		t.Errorf("10de:%s under %s: %q, and the build's answer is %s; want %q", id, driver, got, answer, want)
	}
}

// justBefore returns a driver of the same branch that is older: 525.105.16 before 525.105.17, 575.63.99 before 575.64.
func justBefore(driver string) string {
	parts := strings.Split(driver, ".")
	n := version.Int(parts[len(parts)-1])
	if len(parts) == 2 {
		return fmt.Sprintf("%s.%d.99", parts[0], n-1)
	}
	return fmt.Sprintf("%s.%s.%02d", parts[0], parts[1], n-1)
}
