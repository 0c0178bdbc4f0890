package model

import (
	"fmt"
	"slices"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
)

// Before is why a driver does not know a GPU.
type Before struct {
	Proven bool           // by the chip, a release note or a product page; else by the READMEs of NVIDIA's open modules, which lag
	first  version.Number // the first driver of its branch that knows it
	last   version.Number // the newest of the driver's branch whose README was read and does not list the product
	Source []string       // where that is published
}

// Before says why a driver does not know a GPU; nil when it does, or nothing says that it does not. A driver that shows
// the GPU by NVML knows it, whatever the papers say.
func (m *Machine) Before(g GPU, driver version.Number) *Before {
	switch {
	case g.Chip == nil || !driver.Known() || m.answersFor(g, driver):
		return nil
	case m.WindowsNumbers():
		return m.beforeInWindows(g, driver)
	case g.Chip.FirstBranch.Known() && driver.Less(g.Chip.FirstBranch):
		return &Before{Proven: true, first: g.Chip.FirstBranch, Source: g.Chip.Source}
	}
	return m.beforeProduct(g, driver)
}

// beforeInWindows compares branches alone: what is published of single drivers has Linux' numbers.
func (m *Machine) beforeInWindows(g GPU, driver version.Number) *Before {
	first := g.Chip.FirstBranch
	if !first.Known() || m.Tables.BranchOfWindows(driver).Major() >= first.Major() {
		return nil
	}
	return &Before{Proven: true, first: version.Of(fmt.Sprint(first.Major())), Source: g.Chip.Source}
}

// answersFor reports whether this very driver shows the GPU by NVML.
func (m *Machine) answersFor(g GPU, driver version.Number) bool {
	return g.Answers() && m.Target.Driver == "" && driver == m.Driver().Version
}

// beforeProduct compares a driver with the first that knows the product. Boards of one name have several ids: what is
// said must be true of all of them, and of the one of which least is said.
func (m *Machine) beforeProduct(g GPU, driver version.Number) *Before {
	var mildest *Before
	for _, p := range m.ProductsOf(g) {
		b := m.beforeRow(p, driver)
		if b == nil {
			return nil
		}
		if mildest == nil || !b.Proven {
			mildest = b
		}
	}
	return mildest
}

// ProductsOf returns the rows of the GPU's product, which every driver is compared with.
func (m *Machine) ProductsOf(g GPU) []*tables.Product {
	rows, ok := m.products[g]
	if !ok {
		rows = m.Tables.Products(g.pciID, g.Name)
		m.products[g] = rows
	}
	return rows
}

// beforeRow compares a driver with one row of product.csv: what is noted proves, what READMEs list is weaker. A
// developer beta has a lower number than the releases of its branch, so READMEs of those say nothing of it.
func (m *Machine) beforeRow(p *tables.Product, driver version.Number) *Before {
	if first, older := p.Before(driver); older {
		return &Before{Proven: true, first: first, Source: p.Source}
	}
	if m.Tables.DeveloperBeta(driver) {
		return nil
	}
	first, last, unlisted := p.Unlisted(driver)
	if !unlisted {
		return nil
	}
	return &Before{first: first, last: last, Source: p.Source}
}

// Need returns the driver that would do.
func (b *Before) Need() string {
	if b.first.Known() {
		return "driver >= " + b.first.String()
	}
	return "a driver branch newer than " + fmt.Sprint(b.last.Major())
}

// Words say which driver knows the GPU.
func (b *Before) Words(driver version.Number, label string) string {
	switch {
	case b.Proven && b.first.Parts() > 1:
		return fmt.Sprintf("driver %s does not support %s; the first driver that does is %s", driver, label, b.first)
	case b.Proven:
		return fmt.Sprintf("driver %s does not support %s; the first branch that does is %s", driver, label, b.first)
	case b.first.Known():
		return fmt.Sprintf("driver %s may not know %s: the first driver of its branch whose README lists it is %s", driver, label,
			b.first)
	}
	return fmt.Sprintf("driver %s may not know %s: no README of its branch lists it, up to %s", driver, label, b.last)
}

// Proven returns the products of a name, where a release note proves of all of them which drivers do not know it.
func Proven(products []*tables.Product) []*tables.Product {
	if slices.ContainsFunc(products, func(p *tables.Product) bool { return len(p.Noted) == 0 }) {
		return nil
	}
	return products
}
