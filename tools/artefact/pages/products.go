package pages

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"cudacompat/internal/tables/sheet"
	"cudacompat/tools/artefact"
	"cudacompat/tools/artefact/reading"
)

// chip is a chip's row in the table of GPUs.
type chip struct{ name, architecture, firstBranch string }

// knowledge is what the READMEs and the table of GPUs say.
type knowledge struct {
	releases []readme          // without developer betas, by number
	chips    map[string]chip   // by PCI id
	names    map[string]string // of the products, by PCI id, as the newest README has them
}

func newKnowledge(releases []readme, chips map[string]chip) (*knowledge, error) {
	k := &knowledge{releases, chips, map[string]string{}}
	for _, r := range releases {
		maps.Copy(k.names, r.Products)
	}
	for id, name := range k.names {
		if _, known := chips[id]; !known {
			return nil, fmt.Errorf("%s, %s, is of no chip in gpu.csv: read pci-ids first", id, name)
		}
	}
	return k, nil
}

// oldestListed is the first branch whose READMEs list products. Older products appear there late or never.
const oldestListed = "515"

// productRows returns a row for every product that is newer than the READMEs, and for products with the same name: the
// first driver of each, branch by branch. What release notes and product pages say is typed into "noted".
func productRows(ctx context.Context, s *artefact.Source, l artefact.Listed) ([]artefact.Row, error) {
	all, err := fromClone(s, l, readmesIn)
	if err != nil {
		return nil, err
	}
	var betas []string
	branches := s.Data.Grids["driver_branch"]
	for i := range branches.Rows {
		betas = append(betas, strings.Fields(branches.Cell(i, "developer_beta"))...)
	}
	counted, err := dropBetas(all, betas)
	if err != nil {
		return nil, err
	}
	k, err := newKnowledge(counted, indexChips(s.Data))
	if err != nil {
		return nil, err
	}
	return k.rows(l.Address), nil
}

// indexChips returns the table's chips by their PCI ids.
func indexChips(d *artefact.Data) map[string]chip {
	chips := map[string]chip{}
	g := d.Grids["gpu"]
	for i, row := range g.Rows {
		for _, id := range strings.Fields(g.Cell(i, "pci_ids")) {
			chips[id] = chip{row[0], g.Cell(i, "architecture"), g.Cell(i, "first_branch")}
		}
	}
	return chips
}

func (k *knowledge) rows(address string) []artefact.Row {
	newer := map[string]bool{}
	for id, name := range k.names {
		newer[name] = newer[name] || k.launchedAfter(id)
	}
	source := address + "/blob/" + k.releases[len(k.releases)-1].Version + "/README.md"
	var rows []artefact.Row
	for _, id := range slices.SortedFunc(maps.Keys(k.names), sheet.CompareNaturally) {
		if !newer[k.names[id]] {
			continue
		}
		first := "none"
		if k.launchedAfter(id) {
			first = k.firstDrivers(id)
		}
		rows = append(rows, artefact.Row{Table: "product", Sources: map[string]string{address: source},
			Cells: map[string]string{"pci_id": id, "name": k.names[id], "listed": first}})
	}
	return rows
}

// launchedAfter reports whether a product is newer than the READMEs: its chip is, or the oldest of them does not list
// it and does list another product of its chip and kind.
func (k *knowledge) launchedAfter(id string) bool {
	oldest := k.releases[0]
	if reading.CompareVersions(k.chips[id].firstBranch, oldestListed) > 0 {
		return true
	}
	return oldest.Products[id] == "" && k.listsOthers(oldest, id)
}

var kinds = []struct {
	kind string
	name *regexp.Regexp
}{
	{"geforce", regexp.MustCompile(`GeForce|TITAN`)},
	{"mining", regexp.MustCompile(`^CMP `)},
	{"rtx", regexp.MustCompile(`^Quadro|^RTX|^T\d+`)},
}

// kindOf returns what kind of product a name is. "A16" is none of the named kinds, so it is for data centres.
func kindOf(name string) string {
	for _, k := range kinds {
		if k.name.MatchString(name) {
			return k.kind
		}
	}
	return "data-centre"
}

// firstDrivers returns, for each branch since the chip's first, the first driver that knows a product, if that is later
// than the branch: "525.105.17", or ">530.41.03" if the newest one that was read does not know it. It returns "none" if
// there is no such branch.
func (k *knowledge) firstDrivers(id string) string {
	var list []string
	for _, branch := range branches(k.releases) {
		first := slices.IndexFunc(branch, func(r readme) bool { return r.Products[id] != "" })
		before := first - 1
		if first < 0 {
			before = len(branch) - 1
		}
		switch {
		case reading.CompareVersions(branchOf(branch[0].Version), k.chips[id].firstBranch) < 0, before < 0, !k.ignores(branch[before], id):
		case first < 0:
			list = append(list, ">"+branch[before].Version)
		default:
			list = append(list, branch[first].Version)
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
func (k *knowledge) ignores(r readme, id string) bool {
	return slices.ContainsFunc(k.releases, func(later readme) bool {
		return later.Products[id] == "" && !later.before(r) && k.listsOthers(later, id) && !k.lost(later, id)
	})
}

// lost reports whether a README leaves a product out that one before it lists.
func (k *knowledge) lost(r readme, id string) bool {
	return slices.ContainsFunc(k.releases, func(earlier readme) bool {
		return earlier.Products[id] != "" && !r.before(earlier)
	})
}

// before reports whether a release came before another, or is in a lower branch and lacks something that the other has.
func (r readme) before(other readme) bool {
	return r.Date < other.Date || reading.CompareVersions(branchOf(r.Version), branchOf(other.Version)) < 0
}

// listsOthers reports whether a release's README lists another product of the chip, and one of its architecture of the
// same kind.
func (k *knowledge) listsOthers(r readme, id string) bool {
	own, kind := k.chips[id], kindOf(k.names[id])
	var ofChip, ofKind bool
	for other, name := range r.Products {
		if c := k.chips[other]; other != id {
			ofChip = ofChip || c.name == own.name
			ofKind = ofKind || c.architecture == own.architecture && kindOf(name) == kind
		}
	}
	return ofChip && ofKind
}

// branches returns the releases, branch by branch.
func branches(releases []readme) [][]readme {
	var list [][]readme
	for _, r := range releases {
		if n := len(list); n > 0 && branchOf(list[n-1][0].Version) == branchOf(r.Version) {
			list[n-1] = append(list[n-1], r)
			continue
		}
		list = append(list, []readme{r})
	}
	return list
}
