package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"cudacompat/internal/tables"
)

var header = []string{"pci_id", "name", "listed", "noted", "source", "checked"}

// chip is what the table of GPUs says of a chip.
type chip struct{ name, architecture, firstBranch string }

// knowledge is what the READMEs and the table of GPUs say.
type knowledge struct {
	releases []release         // without developer betas, by number
	chips    map[string]chip   // by PCI id
	names    map[string]string // of the products, by PCI id, as the newest README has them
}

func newKnowledge(releases []release, chips map[string]chip) (*knowledge, error) {
	k := &knowledge{releases, chips, map[string]string{}}
	for _, r := range releases {
		maps.Copy(k.names, r.products)
	}
	for id, name := range k.names {
		if _, known := chips[id]; !known {
			return nil, fmt.Errorf("%s, %s, is of no chip in gpu.csv: run `gpu ids` first", id, name)
		}
	}
	return k, nil
}

// oldestListed is the first branch whose READMEs list products. What was sold before them stands there late or never.
const oldestListed = "515"

// withDrivers is the table of products by the READMEs in a clone; what it has from elsewhere (noted, with its source)
// stays.
func withDrivers(old []byte, clone, day string) ([]byte, error) {
	chips, err := chipsByID("data/gpu.csv")
	if err != nil {
		return nil, err
	}
	betas, err := column("data/driver_branch.csv", "developer_beta")
	if err != nil {
		return nil, err
	}
	all, err := releasesOf(clone)
	if err != nil {
		return nil, err
	}
	counted, err := withoutBetas(all, betas)
	if err != nil {
		return nil, err
	}
	k, err := newKnowledge(counted, chips)
	if err != nil {
		return nil, err
	}
	return k.table(old, day)
}

// table is a row for every product that is newer than the READMEs, and for what shares its name.
func (k *knowledge) table(old []byte, day string) ([]byte, error) {
	had, err := rowsByID(old)
	if err != nil {
		return nil, err
	}
	newer := map[string]bool{}
	for id, name := range k.names {
		newer[name] = newer[name] || k.launchedAfter(id)
	}
	rows := [][]string{header}
	for _, id := range slices.SortedFunc(maps.Keys(k.names), tables.CompareNaturally) {
		if newer[k.names[id]] {
			rows = append(rows, k.row(id, had[id], day))
		}
	}
	var b bytes.Buffer
	err = csv.NewWriter(&b).WriteAll(rows)
	return b.Bytes(), err
}

func (k *knowledge) row(id string, had []string, day string) []string {
	listed := "none"
	if k.launchedAfter(id) {
		listed = k.firstDrivers(id)
	}
	row := []string{id, k.names[id], listed, "", readmeAddress(k.releases[len(k.releases)-1].version), day}
	if had == nil {
		return row
	}
	row[3], row[4] = had[3], row[4]+others(had[4])
	if slices.Equal(row[:5], had[:5]) {
		row[5] = had[5]
	}
	return row
}

func readmeAddress(version string) string {
	return "https://github.com/NVIDIA/open-gpu-kernel-modules/blob/" + version + "/README.md"
}

// others are a row's sources beside the READMEs.
func others(sources string) string {
	text := ""
	for _, source := range strings.Fields(sources) {
		if !strings.Contains(source, "/NVIDIA/open-gpu-kernel-modules/") {
			text += " " + source
		}
	}
	return text
}

// launchedAfter reports whether a product is newer than the READMEs: its chip is, or the oldest of them does not list
// it and does list another product of its chip and kind.
func (k *knowledge) launchedAfter(id string) bool {
	oldest := k.releases[0]
	if compare(k.chips[id].firstBranch, oldestListed) > 0 {
		return true
	}
	return oldest.products[id] == "" && k.listsOthers(oldest, id)
}

var kinds = []struct {
	kind string
	name *regexp.Regexp
}{
	{"geforce", regexp.MustCompile(`GeForce|TITAN`)},
	{"mining", regexp.MustCompile(`^CMP `)},
	{"rtx", regexp.MustCompile(`^Quadro|^RTX|^T\d+`)},
}

// kindOf tells what a product is sold for: "A16" is of none of the kinds, a data centre's.
func kindOf(name string) string {
	for _, k := range kinds {
		if k.name.MatchString(name) {
			return k.kind
		}
	}
	return "data-centre"
}

// firstDrivers says, branch by branch since the chip's first, from which driver on a product is known, where that is
// later than the branch: "525.105.17", or ">530.41.03" where the newest that was read does not know it; "none" when
// there is no such branch.
func (k *knowledge) firstDrivers(id string) string {
	var list []string
	for _, branch := range branches(k.releases) {
		first := slices.IndexFunc(branch, func(r release) bool { return r.products[id] != "" })
		before := first - 1
		if first < 0 {
			before = len(branch) - 1
		}
		switch {
		case compare(branchOf(branch[0].version), k.chips[id].firstBranch) < 0, before < 0, !k.ignores(branch[before], id):
		case first < 0:
			list = append(list, ">"+branch[before].version)
		default:
			list = append(list, branch[first].version)
		}
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, " ")
}

// ignores reports whether the READMEs prove that a release does not know a product: its own does not list it, or that
// of a release which came later in this branch or a higher one, although it lists others of the chip and kind. Without
// that it lags: 520.61.05 lists no GPU of Ada and drives them.
func (k *knowledge) ignores(r release, id string) bool {
	return slices.ContainsFunc(k.releases, func(later release) bool {
		return later.products[id] == "" && !later.before(r) && k.listsOthers(later, id) && !k.lost(later, id)
	})
}

// lost reports whether a README leaves a product out that one before it lists.
func (k *knowledge) lost(r release, id string) bool {
	return slices.ContainsFunc(k.releases, func(earlier release) bool {
		return earlier.products[id] != "" && !r.before(earlier)
	})
}

// before reports whether a release came before another, or stands in a lower branch and got not all that is in it.
func (r release) before(other release) bool {
	return r.date < other.date || compare(branchOf(r.version), branchOf(other.version)) < 0
}

// listsOthers reports whether a release's README lists another product of the chip, and one of its architecture of the
// same kind.
func (k *knowledge) listsOthers(r release, id string) bool {
	own, kind := k.chips[id], kindOf(k.names[id])
	var ofChip, ofKind bool
	for other, name := range r.products {
		if c := k.chips[other]; other != id {
			ofChip = ofChip || c.name == own.name
			ofKind = ofKind || c.architecture == own.architecture && kindOf(name) == kind
		}
	}
	return ofChip && ofKind
}

// branches are the releases, branch by branch.
func branches(releases []release) [][]release {
	var list [][]release
	for _, r := range releases {
		if n := len(list); n > 0 && branchOf(list[n-1][0].version) == branchOf(r.version) {
			list[n-1] = append(list[n-1], r)
			continue
		}
		list = append(list, []release{r})
	}
	return list
}
