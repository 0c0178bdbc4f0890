package matrix

import (
	"fmt"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
)

// before is why a driver does not know a GPU.
type before struct {
	proven bool           // by the chip, a release note or a product page; else by the READMEs of NVIDIA's open modules, which lag
	first  version.Number // the first driver of its branch that knows it
	last   version.Number // the newest of the driver's branch whose README was read and does not list the product
	source []string       // where that is published
}

// before says why a driver does not know a GPU; nil when it does, or nothing says that it does not. A driver that shows
// the GPU by NVML knows it, whatever the papers say.
func (m *machine) before(g gpu, driver version.Number) *before {
	switch {
	case g.chip == nil || !driver.Known() || m.answersFor(g, driver):
		return nil
	case g.chip.FirstBranch.Known() && driver.Less(g.chip.FirstBranch):
		return &before{proven: true, first: g.chip.FirstBranch, source: g.chip.Source}
	}
	return m.beforeProduct(g, driver)
}

// answersFor reports whether this very driver shows the GPU by NVML.
func (m *machine) answersFor(g gpu, driver version.Number) bool {
	return g.answers() && m.target.Driver == "" && driver == m.driver().version
}

// beforeProduct compares a driver with the first that knows the product. Boards of one name have several ids: what is
// said must be true of all of them, and of the one of which least is said.
func (m *machine) beforeProduct(g gpu, driver version.Number) *before {
	var mildest *before
	for _, p := range m.productsOf(g) {
		b := m.beforeRow(p, driver)
		if b == nil {
			return nil
		}
		if mildest == nil || !b.proven {
			mildest = b
		}
	}
	return mildest
}

// productsOf are the rows of the GPU's product, which every driver is compared with.
func (m *machine) productsOf(g gpu) []*tables.Product {
	rows, ok := m.products[g]
	if !ok {
		rows = m.t.Products(g.pciID, g.name)
		m.products[g] = rows
	}
	return rows
}

// beforeRow compares a driver with one row of product.csv: what is noted proves, what READMEs list is weaker. A
// developer beta has a lower number than the releases of its branch, so READMEs of those say nothing of it.
func (m *machine) beforeRow(p *tables.Product, driver version.Number) *before {
	if first, older := p.Before(driver); older {
		return &before{proven: true, first: first, source: p.Source}
	}
	if m.t.DeveloperBeta(driver) {
		return nil
	}
	first, last, unlisted := p.Unlisted(driver)
	if !unlisted {
		return nil
	}
	return &before{first: first, last: last, source: p.Source}
}

// need is the driver that would do.
func (b *before) need() string {
	if b.first.Known() {
		return "driver >= " + b.first.String()
	}
	return "a driver branch newer than " + fmt.Sprint(b.last.Major())
}

// words say which driver knows the GPU.
func (b *before) words(driver version.Number, label string) string {
	switch {
	case b.proven && b.first.Parts() > 1:
		return fmt.Sprintf("driver %s does not support %s; the first driver that does is %s", driver, label, b.first)
	case b.proven:
		return fmt.Sprintf("driver %s does not support %s; the first branch that does is %s", driver, label, b.first)
	case b.first.Known():
		return fmt.Sprintf("driver %s may not know %s: the first driver of its branch whose README lists it is %s", driver, label,
			b.first)
	}
	return fmt.Sprintf("driver %s may not know %s: no README of its branch lists it, up to %s", driver, label, b.last)
}
