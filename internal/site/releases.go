package site

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"cudacompat/internal/version"
	"cudacompat/matrix"
	"cudacompat/matrix/requires"
	"cudacompat/probe"
)

// needsFile has the drivers that each release of one framework or engine needs on each host in the page's data. The
// page reads it when somebody names a release.
type needsFile struct {
	// Cells are [drivers, undecided, reasons, code], where drivers are [from, before, from, before ...].
	Cells [][]any `json:"cells"`
	// Rows are [release, variant, command, cells by host], the newest release first. Each host has one character: that of
	// its cell, or "-" if there is no such build for its platform, or if it is a capability without a name.
	Rows [][]any `json:"rows"`
}

// needsFiles writes a needsFile for each framework and engine.
func (b *builder) needsFiles() error {
	failed := make([]error, len(b.Wants))
	var work sync.WaitGroup
	for i, want := range b.Wants {
		work.Go(func() {
			file, err := b.releaseNeeds(want)
			if err == nil {
				err = b.writeJSON("assets/needs-"+want+".json", file)
			}
			failed[i] = err
		})
	}
	work.Wait()
	return errors.Join(failed...)
}

// releaseNeeds asks of each build of a framework or an engine which drivers it needs on each host.
func (b *builder) releaseNeeds(want string) (needsFile, error) {
	file := needsFile{Cells: [][]any{}, Rows: [][]any{}}
	at := map[string]int{}
	var targets []matrix.Target
	var hosts []int
	for i, h := range b.data.Hosts {
		if len(h.GPUs)+len(h.Instances) > 0 { // else a capability without a name
			hosts, targets = append(hosts, i), append(targets, h.target())
		}
	}
	type key struct{ release, variant string }
	platforms := map[key][]string{}
	var builds []release
	for _, r := range b.releases(want) {
		k := key{r.version, r.variant}
		if r.platform != "win_amd64" && len(platforms[k]) == 0 {
			builds = append(builds, r)
		}
		platforms[k] = append(platforms[k], r.platform)
	}
	slices.SortStableFunc(builds, func(x, y release) int {
		return cmp.Or(version.CompareTexts(y.version, x.version), y.cuda.Compare(x.cuda))
	})
	for _, r := range builds {
		spec, command := r.install(want)
		facts, err := probe.Given([]byte(spec + "\n"))
		if err != nil {
			return file, err
		}
		cells := slices.Repeat([]rune{'-'}, len(b.data.Hosts))
		for i, need := range matrix.RequiredBy(b.Context, b.Tables, facts, targets) {
			if slices.Contains(platforms[key{r.version, r.variant}], b.data.Hosts[hosts[i]].Platform) {
				cells[hosts[i]] = letter(file.cell(at, need))
			}
		}
		file.Rows = append(file.Rows, []any{r.version, r.variant, command, string(cells)})
		if err := b.Context.Err(); err != nil {
			return file, err
		}
	}
	return file, nil
}

// cell returns the number of a cell, and adds it if it is new.
func (f *needsFile) cell(at map[string]int, need requires.GPU) int {
	stretches := func(list requires.Drivers) []string {
		flat := []string{}
		for _, r := range list {
			flat = append(flat, r.From, r.Before)
		}
		return flat
	}
	cell := []any{stretches(need.Drivers), stretches(need.Undecided), append([]string{}, need.Because...), need.Code}
	id := fmt.Sprint(cell...)
	n, ok := at[id]
	if !ok {
		n = len(f.Cells)
		at[id], f.Cells = n, append(f.Cells, cell)
	}
	return n
}

// letter returns the character of a cell, from "0" on. JSON would escape a backslash.
func letter(cell int) rune {
	if cell >= '\\'-'0' {
		cell++
	}
	return '0' + rune(cell)
}

// target returns one host of those that are answered alike.
func (h pageHost) target() matrix.Target {
	if len(h.GPUs) > 0 {
		return matrix.Target{GPUs: h.GPUs[:1]}
	}
	return matrix.Target{Instance: h.Instances[0]}
}

// install returns a release as a requirements file names it, and the command that installs it.
func (r release) install(want string) (spec, command string) {
	switch want {
	case "torch":
		spec = "torch==" + r.version + "+" + r.variant
		return spec, "pip install " + spec + " --index-url https://download.pytorch.org/whl/" + r.variant
	case "tensorflow":
		spec = "tensorflow==" + r.version
		if version.CompareTexts(r.version, "2.14") >= 0 { // the extra is of that release
			spec = "tensorflow[and-cuda]==" + r.version
		}
	case "jax":
		spec = "jax[" + r.variant + "]==" + r.version
		if version.CompareTexts(r.version, "0.4.22") < 0 { // its wheels were on an index of their own
			return spec, ""
		}
	default:
		spec = want + "==" + r.version
		if r.variant != "pypi" {
			spec += "+" + r.variant
			if r.index == "" { // its parts are in several places
				return spec, ""
			}
			return spec, "pip install " + spec + " --extra-index-url " + r.index + " --extra-index-url https://download.pytorch.org/whl/" + r.variant
		}
	}
	return spec, "pip install " + quoted(spec)
}

// quoted puts quotes around what a shell would expand.
func quoted(spec string) string {
	if strings.ContainsAny(spec, "[]*") {
		return "'" + spec + "'"
	}
	return spec
}
