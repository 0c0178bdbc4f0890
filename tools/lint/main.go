// Command lint checks names and comments that gofmt, vet and staticcheck do not:
//
//	go run ./tools/lint          check this module
//	go run ./tools/lint -update  write the smaller counts into tools/lint/offenders.csv
//
// A function's doc comment begins with the function's name. Every package has a package comment. No function's name
// begins with of, by, without or and; with is for options, and for copies of the receiver or of the first argument.
// A function has at most 60 lines. A package has at most 2,500; every 100 lines more that it begins are one offender.
// Tests are not checked. Existing offenders are counted per package in offenders.csv. The counts may only shrink: lint
// fails if a package has more offenders than listed and the module has more than the list's sum, so that code may move.
// Each entry of the list says why its offenders remain.
package main

import (
	"encoding/csv"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

const listFile = "tools/lint/offenders.csv"

func main() {
	update := flag.Bool("update", false, "write the smaller counts into "+listFile)
	flag.Parse()
	if err := run(*update); err != nil {
		fmt.Fprintln(os.Stderr, "lint:", err)
		os.Exit(1)
	}
}

// run checks the module in the working directory against its list.
func run(update bool) error {
	found, err := lintModule(".")
	if err != nil {
		return err
	}
	data, err := os.ReadFile(listFile)
	if err != nil {
		return err
	}
	allowed, err := parseList(string(data))
	if err != nil {
		return err
	}
	report := compare(found, allowed)
	fmt.Print(report.text)
	if report.worse {
		return fmt.Errorf("more offenders than in %s", listFile)
	}
	if update {
		return os.WriteFile(listFile, []byte(formatList(count(found), allowed)), 0o644)
	}
	return nil
}

// key identifies the offenders of one rule in one package.
type key struct{ dir, rule string }

// allowance is an entry of the list.
type allowance struct {
	count  int
	reason string // why the offenders remain
}

// parseList parses lines such as "matrix,size,2,one idea". Each has a reason.
func parseList(text string) (map[key]allowance, error) {
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	list := map[key]allowance{}
	for _, row := range rows {
		if len(row) != 4 || row[3] == "" {
			return nil, fmt.Errorf("%s: %q is not a package, a rule, a count and a reason", listFile, row)
		}
		n, err := strconv.Atoi(row[2])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", listFile, err)
		}
		list[key{row[0], row[1]}] = allowance{n, row[3]}
	}
	return list, nil
}

// formatList writes counts as parseList reads them, with the reasons of a list.
func formatList(counts map[key]int, list map[key]allowance) string {
	var out strings.Builder
	w := csv.NewWriter(&out)
	for _, k := range sortedKeys(counts) {
		_ = w.Write([]string{k.dir, k.rule, strconv.Itoa(counts[k]), list[k].reason}) // a Builder takes all
	}
	w.Flush()
	return out.String()
}

// sortedKeys returns the keys of counts by package and rule.
func sortedKeys(counts map[key]int) []key {
	var keys []key
	for k := range counts {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b key) int {
		return strings.Compare(a.dir+" "+a.rule, b.dir+" "+b.rule)
	})
	return keys
}

// count counts offenders per package and rule.
func count(found []offender) map[key]int {
	counts := map[key]int{}
	for _, o := range found {
		counts[o.key]++
	}
	return counts
}

// comparison is the result of compare.
type comparison struct {
	text  string
	worse bool // some rule has more offenders than listed
}

// compare compares offenders with the allowed counts. It lists the offenders of packages with too many of a rule whose
// total grew, and says how many entries of the list may shrink.
func compare(found []offender, allowed map[key]allowance) comparison {
	counts := count(found)
	sums := map[string]int{}
	for k, n := range counts {
		sums[k.rule] += n
	}
	for k, a := range allowed {
		sums[k.rule] -= a.count
	}
	var out strings.Builder
	worse, fewer := false, 0
	for _, k := range sortedKeys(counts) {
		if counts[k] <= allowed[k].count || sums[k.rule] <= 0 {
			continue
		}
		worse = true
		fmt.Fprintf(&out, "%s has %d offenders of rule %q, %d are listed:\n", k.dir, counts[k], k.rule, allowed[k].count)
		for _, o := range found {
			if o.key == k {
				fmt.Fprintf(&out, "  %s: %s\n", o.place, o.message)
			}
		}
	}
	for k, a := range allowed {
		fewer += max(0, a.count-counts[k])
	}
	if fewer > 0 && !worse {
		fmt.Fprintf(&out, "%d listed offenders are gone or have moved: go run ./tools/lint -update\n", fewer)
	}
	return comparison{text: out.String(), worse: worse}
}
