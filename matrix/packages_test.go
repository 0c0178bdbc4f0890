package matrix

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"cudacompat/probe"
)

// nameOnly are packages that are the same with and without a GPU: named, and nothing follows from them.
var nameOnly = []string{"catboost", "faster-whisper", "lightgbm", "taichi", "warp-lang", "xgboost"}

// TestPackages judges sixty packages that use a GPU, each alone in a file, on three branches of the driver: each is
// judged or named, and none that needs a GPU is called compatible without an answer.
func TestPackages(t *testing.T) {
	var lines []string
	for _, file := range []string{"packages.txt", "packages-2.txt"} {
		data, err := os.ReadFile("../tools/campaign/" + file)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.Split(strings.TrimSpace(string(data)), "\n")...)
	}
	lines = slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "#") })
	if len(lines) < 60 {
		t.Fatalf("%d packages", len(lines))
	}
	for _, line := range lines {
		name, _, _ := strings.Cut(line, "==")
		for _, driver := range []string{"470.256.02", "535.183.01", "580.95.05"} {
			facts, err := probe.GivenFile(probe.Document{Name: "requirements.txt", Data: []byte(line + "\n")})
			if err != nil {
				t.Fatal(line, err)
			}
			v := Check(context.Background(), Embedded(), facts, []Target{{Driver: driver, GPUs: []string{"L4"}}}, Policy{})
			said := saidOf(v, strings.TrimSuffix(name, "-cuda13-plugin"))
			t.Logf("%-32s %s %-12s %s", line, driver[:3], v.Outcome, strings.Join(said, "; "))
			answered := slices.ContainsFunc(said, func(s string) bool { return strings.HasPrefix(s, "answer ") })
			switch {
			case len(said) == 0:
				t.Errorf("%s on %s is neither judged nor named: %s", line, driver, v.Outcome)
			case v.Outcome == Compatible && !answered && !slices.Contains(nameOnly, name):
				t.Errorf("%s on %s is called compatible, and no build was judged", line, driver)
			case slices.Contains(nameOnly, name) && v.Outcome != Compatible && v.Outcome != Incompatible:
				t.Errorf("%s on %s: %s for a package that is the same without a GPU", line, driver, v.Outcome)
			}
		}
	}
}

// saidOf is what a verdict says of one package, a clause a thing.
func saidOf(v Verdict, name string) []string {
	var list []string
	of := func(subject string) bool { return strings.HasPrefix(subject, name+" ") }
	for _, a := range v.Answers {
		if of(a.Subject) {
			list = append(list, fmt.Sprintf("answer %s %v", a.Answer, a.Because))
		}
	}
	for _, f := range v.Findings {
		if of(f.Subject) {
			list = append(list, fmt.Sprintf("%s %s", f.Severity, f.Rule))
		}
	}
	for _, u := range v.Unknown {
		if of(u.Subject) {
			list = append(list, "unknown "+u.Rule)
		}
	}
	return list
}
