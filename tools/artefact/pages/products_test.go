package pages

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestProductsOf(t *testing.T) {
	got := productsOf(`
| Product Name      | PCI ID         |
| ----------------- | -------------- |
| NVIDIA L4         | 27B8 10DE 16CA |
| NVIDIA L4 other   | 27B8 10DE 16EE |
| Quadro RTX 6000   | 1E30 103C 129E |
| NVIDIA A2         | 25B6 10DE      |
`)
	want := map[string]string{"27b8": "L4", "1e30": "Quadro RTX 6000", "25b6": "A2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// at returns a release whose README lists these ids.
func at(version, date string, ids ...string) readme {
	r := readme{version, date, map[string]string{}}
	for _, id := range ids {
		r.Products[id] = productNames[id]
	}
	return r
}

// Of AD104 a GeForce and two cards for data centres, of AD102 one of each, of TU104 two.
var (
	productNames = map[string]string{"a1": "GeForce RTX 4070 Ti", "a2": "L4", "a3": "L2",
		"b1": "GeForce RTX 4090", "b2": "L40", "c1": "GeForce RTX 2080", "c2": "Tesla T4"}
	chipsOfTest = map[string]chip{}
)

func init() {
	for id := range productNames {
		chipsOfTest[id] = map[byte]chip{'a': {"AD104", "Ada", "520"}, 'b': {"AD102", "Ada", "520"},
			'c': {"TU104", "Turing", "410"}}[id[0]]
	}
}

func TestFirstDrivers(t *testing.T) {
	k, err := newKnowledge([]readme{
		at("515.48.07", "2022-05-31", "c1"),
		at("520.61.05", "2022-10-11", "c1"),
		at("525.60.13", "2022-12-05", "c1"),
		at("525.78.01", "2023-01-05", "c1", "a1", "b1", "b2"),
		at("525.105.17", "2023-03-30", "c1", "a1", "a2", "b1", "b2"),
		at("530.30.02", "2023-03-01", "c1", "a1", "b1", "b2"),
		at("530.41.03", "2023-03-23", "c1", "a1", "a2", "b1", "b2"),
		at("535.54.03", "2023-06-14", "c1", "a1", "a2", "a3", "b1", "b2"),
		at("535.86.05", "2023-07-18", "c1", "c2", "a1", "a2", "b1", "b2"),
	}, chipsOfTest)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{
		"a2": ">520.61.05 525.105.17 530.41.03", // not monotone: 530.30.02 is the higher number and knows it not
		"b1": "none",                            // 525.60.13 lists nothing of Ada: it lags, and proves nothing
		"a3": ">520.61.05 >525.105.17 >530.41.03",
	} {
		if got := k.firstDrivers(id); got != want {
			t.Errorf("%s: %q, want %q", productNames[id], got, want)
		}
	}
	if k.launchedAfter("c2") {
		t.Error("the T4 stands in no early README because no card of its kind does: it is older than they are")
	}
	var got []string
	for _, row := range k.rows("https://github.com/NVIDIA/open-gpu-kernel-modules") {
		got = append(got, row.Cells["pci_id"]+" "+row.Cells["listed"]+" "+row.Sources["https://github.com/NVIDIA/open-gpu-kernel-modules"])
	}
	const readme = " https://github.com/NVIDIA/open-gpu-kernel-modules/blob/535.86.05/README.md"
	want := []string{"a1 none" + readme, "a2 >520.61.05 525.105.17 530.41.03" + readme, "a3 >520.61.05 >525.105.17 >530.41.03" + readme}
	if diff := cmp.Diff(want, slices.DeleteFunc(got, func(row string) bool { return row[0] != 'a' })); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if slices.ContainsFunc(got, func(row string) bool { return strings.HasPrefix(row, "c2") }) {
		t.Error("the T4 has a row")
	}
}

func TestWithoutBetas(t *testing.T) {
	list := []readme{at("550.40.07", "2024-01-24", "c1"), at("550.40.53", "2024-02-28", "a1"),
		at("550.40.55", "2024-03-07", "a1"), at("550.54.14", "2024-02-23", "c1")}
	counted, err := dropBetas(list, []string{"550.40"})
	if err != nil || len(counted) != 1 || counted[0].Version != "550.54.14" {
		t.Errorf("%v %v", counted, err)
	}
	if _, err := dropBetas(list, nil); err == nil || !strings.Contains(err.Error(), "550.40") {
		t.Errorf("a series of betas that nobody named: %v", err)
	}
}

// TestUnknownID reads a README with an id that no chip has yet.
func TestUnknownID(t *testing.T) {
	if _, err := newKnowledge([]readme{at("515.48.07", "2022-05-31", "a1")}, nil); err == nil ||
		!strings.Contains(err.Error(), "pci-ids") {
		t.Error(err)
	}
}
