package hardware

import (
	"slices"
	"testing"

	"cudacompat/internal/tables"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// TestProductsByName checks boards of one name with several PCI ids: only what holds for all of them is reported. The
// RTX 3060 was sold before the READMEs, and again, as 10de:24c7, after them.
func TestProductsByName(t *testing.T) {
	embedded := tables.Embedded()
	named := func(name, driver string) *Before {
		m := NewMachine(embedded, &facts.Facts{}, Target{GPUs: []string{name}, Driver: driver}, verdict.Policy{})
		return m.Before(m.GPUs[0], m.Driver().Version)
	}
	if b := named("GeForce RTX 3060", "515.48.07"); b != nil {
		t.Errorf("an RTX 3060 may be older than the READMEs, and %+v is said", *b)
	}
	if b := named("NVIDIA L4", "530.30.02"); b == nil || b.Proven || b.first.String() != "530.41.03" {
		t.Errorf("the L4 came to branch 530 with 530.41.03: %+v", b)
	}
	if b := named("RTX PRO 6000 Blackwell Server Edition", "570.211.01"); b == nil || !b.Proven ||
		b.first.String() != "575.57.08" {
		t.Errorf("a product page says 575.57.08: %+v", b)
	}
	if b := named("L4", "530"); b != nil {
		t.Errorf("branch 530 knows the L4 in the end: %+v", *b)
	}
	if rows := embedded.Products("", "GeForce RTX 3060"); len(rows) < 3 ||
		!slices.ContainsFunc(rows, func(p *tables.Product) bool { return p.PCIID == "24c7" }) {
		t.Errorf("%d boards are called GeForce RTX 3060", len(rows))
	}
}
