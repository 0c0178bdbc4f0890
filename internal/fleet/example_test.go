package fleet_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"cudacompat/internal/fleet"
	"cudacompat/matrix"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// node returns an NVIDIA L4 with one environment on a driver.
func node(name, driver, torch string) fleet.Node {
	return fleet.Node{Name: name, Group: "inference", Facts: facts.Facts{
		Driver: facts.Driver{Version: driver, From: "/proc/driver/nvidia/version"},
		GPUs:   []facts.GPU{{Name: "NVIDIA L4", Capability: "8.9", From: []string{"NVML"}}},
		Environments: []facts.Environment{{Path: "/opt/venv", Python: "3.12", Active: true,
			Builds: []facts.Build{{Name: "torch", Version: torch, Origin: "wheel"}}}},
	}}
}

// A controller that has the facts of its nodes asks which are broken, and where a group differs.
func ExampleJudge() {
	judge := fleet.NewJudge(matrix.Embedded(), verdict.Policy{}, nil)
	for _, n := range []fleet.Node{
		node("a", "580.95.05", "2.9.0+cu130"),
		node("b", "580.95.05", "2.9.0+cu130"),
		node("c", "535.183.01", "2.9.0+cu130"),
		node("d", "580.95.05", "2.9.0+cu126"),
	} {
		judge.Add(context.Background(), n)
	}
	summary := judge.Summary(fleet.StaleAfter(24*time.Hour, time.Now()))
	for _, kind := range summary.Kinds {
		fmt.Println(len(kind.Nodes), kind.Driver, kind.Outcome)
		for _, f := range kind.Findings {
			fmt.Println("  ", f.Rule, "needs", f.Need)
		}
	}
	for _, drift := range summary.Drift {
		fmt.Println(drift.Severity, drift.Message(), drift.Outliers())
	}
	// Output:
	// 1 535.183.01 incompatible
	//    driver-too-old needs driver >= 580.65.06
	// 2 580.95.05 compatible
	// 1 580.95.05 compatible
	// warning group inference: torch differs: 2.9.0+cu130 on 2, 2.9.0+cu126 on 1 [d]
}

// Before a driver is rolled out: who would be broken by it, and by which driver nobody would.
func ExampleWhatIf() {
	judge := fleet.NewJudge(matrix.Embedded(), verdict.Policy{},
		[]fleet.WhatIf{{Text: "driver=550.163.01", Driver: "550.163.01"}})
	judge.Add(context.Background(), node("a", "580.95.05", "2.9.0+cu130"))
	judge.Add(context.Background(), node("b", "580.95.05", "2.9.0+cu126"))
	plan := judge.Summary(fleet.StaleAfter(24*time.Hour, time.Now())).Plan
	for _, n := range plan.Breaks {
		fmt.Println(n.Node, n.Rules)
	}
	branch, _, _ := strings.Cut(plan.Driver, ".")
	fmt.Println("nobody on branch", branch)
	// Output:
	// a [driver-too-old]
	// nobody on branch 580
}
