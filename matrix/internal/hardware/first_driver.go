package hardware

import (
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
)

// Before explains why a driver does not know a GPU.
type Before struct {
	Proven bool           // by the chip, a release note or a product page; else by the READMEs of NVIDIA's open modules, which lag
	first  version.Number // the first driver of its branch that knows it
	last   version.Number // the newest of the driver's branch whose README was read and does not list the product
	Source []string       // where that is published
}

// Before returns why a driver does not know a GPU. It returns nil if the driver knows it or nothing says otherwise. A
// driver whose NVML shows the GPU knows it, whatever the documents say.
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

// beforeInWindows compares only branches, because the published numbers of single drivers are those of Linux.
func (m *Machine) beforeInWindows(g GPU, driver version.Number) *Before {
	first := g.Chip.FirstBranch
	if !first.Known() || m.Tables.BranchOfWindows(driver).Major() >= first.Major() {
		return nil
	}
	return &Before{Proven: true, first: version.ParseOrZero(fmt.Sprint(first.Major())), Source: g.Chip.Source}
}

// answersFor reports whether exactly this driver shows the GPU through NVML.
func (m *Machine) answersFor(g GPU, driver version.Number) bool {
	return g.Answers() && m.Target.Driver == "" && driver == m.Driver().Version
}

// beforeProduct compares a driver with the first one that knows the product. Boards of one name have several PCI ids,
// so the result must be true for all of them; it uses the id with the weakest statement.
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

// Dispute says that sources disagree on whether a driver knows a GPU, and returns them; it is empty if they do not.
func (m *Machine) Dispute(g GPU, driver version.Number) (words string, source []string) {
	if g.Chip == nil || !driver.Known() || m.WindowsNumbers() || m.answersFor(g, driver) {
		return "", nil
	}
	for _, p := range m.ProductsOf(g) {
		if asked, disputed := p.Disputed(driver); disputed && len(p.Source) > 1 {
			return fmt.Sprintf("sources disagree on the first driver for %s: %s lists it from %s on, %s asks for %s or newer",
				g.Label, repository(p.Source[0]), p.Noted[0], repository(p.Source[1]), asked), p.Source
		}
	}
	return "", nil
}

// repository returns the repository of an address on GitHub, "NVIDIA/open-gpu-kernel-modules", or else the address.
func repository(address string) string {
	if parts := strings.SplitN(strings.TrimPrefix(address, "https://github.com/"), "/", 3); len(parts) == 3 && !strings.Contains(parts[0], ":") {
		return parts[0] + "/" + parts[1]
	}
	return address
}

// ProductsOf returns the rows of the GPU's product, which drivers are compared with.
func (m *Machine) ProductsOf(g GPU) []*tables.Product {
	rows, ok := m.products[g]
	if !ok {
		rows = m.Tables.Products(g.pciID, g.Name)
		m.products[g] = rows
	}
	return rows
}

// beforeRow compares a driver with one row of product.csv. A release note proves the first driver; the list in a README
// is weaker evidence. A developer beta has a lower number than the releases of its branch, so their READMEs say nothing
// about it.
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

// Need describes the driver that would be new enough.
func (b *Before) Need() string {
	if b.first.Known() {
		return "driver >= " + b.first.String()
	}
	return "a driver branch newer than " + fmt.Sprint(b.last.Major())
}

// Words says which driver knows the GPU.
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

// Proven returns the products with a name if release notes prove for all of them which drivers do not know them.
func Proven(products []*tables.Product) []*tables.Product {
	if slices.ContainsFunc(products, func(p *tables.Product) bool { return len(p.Noted) == 0 }) {
		return nil
	}
	return products
}
