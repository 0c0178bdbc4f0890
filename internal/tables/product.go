package tables

import (
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/version"
)

// Product is one GPU product by its PCI id: the first driver that knows it, where that is later than the first branch
// of its chip. Rows are written by tools/tables.
type Product struct {
	PCIID string `csv:"pci_id"` // "27b8"
	Name  string `csv:"name"`   // as the READMEs have it, without "NVIDIA "
	// Listed is what the READMEs of NVIDIA's open modules prove, one word a branch: "525.105.17", the first that lists
	// it; ">530.30.02", the newest that was read and does not. A branch that is not here is not proven to ignore it.
	Listed []string `csv:"listed"`
	// Noted are the first releases by a release note or a product page, one a branch. "?595" is one that a source asks for
	// and another disputes.
	Noted []string `csv:"noted"`
	Origin
}

// Products returns the rows of a PCI device, "10de:27b8", or else those of a name: several boards share one.
func (t *Tables) Products(id, name string) []*Product {
	if id, ok := strings.CutPrefix(id, "10de:"); ok {
		if rows := RowsOf[Product](t, id); len(rows) > 0 {
			return []*Product{&rows[0]}
		}
		return nil
	}
	for _, key := range t.spellings(name) {
		for key := range spellBrands(key) {
			if rows := t.productsByName()[key]; rows != nil {
				return rows
			}
		}
	}
	return nil
}

func (t *Tables) indexProductNames() map[string][]*Product {
	index := map[string][]*Product{}
	rows := Rows[Product](t)
	for i := range rows {
		key := NormalGPU(rows[i].Name)
		index[key] = append(index[key], &rows[i])
	}
	return index
}

// Before reports whether a driver is older than the first that a release note or a product page names: of its branch,
// or of every branch, where its own branch's READMEs do not list the product either.
func (p *Product) Before(driver version.Number) (first version.Number, older bool) {
	for _, text := range p.Noted {
		if noted := version.ParseOrZero(text); noted.Major() == driver.Major() {
			return noted, driver.Parts() > 1 && driver.Less(noted)
		}
	}
	first = p.firstNoted()
	if !first.Known() || driver.Major() > first.Major() {
		return version.Number{}, false
	}
	_, _, unlisted := p.Unlisted(driver)
	return first, unlisted
}

// Disputed returns the driver that one source asks for, if another lists the product for this older one.
func (p *Product) Disputed(driver version.Number) (asked version.Number, disputed bool) {
	first := p.firstNoted()
	for _, word := range p.Noted {
		text, disputed := strings.CutPrefix(word, "?")
		if asked := version.ParseOrZero(text); disputed && first.Known() && !driver.Less(first) && driver.Less(asked) {
			return asked, true
		}
	}
	return version.Number{}, false
}

func (p *Product) firstNoted() version.Number {
	if len(p.Noted) == 0 {
		return version.Number{}
	}
	return version.ParseOrZero(p.Noted[0])
}

// Unlisted reports whether the READMEs prove that a driver does not know the product, and names the first of its branch
// that lists it, or the newest that was read and does not. A branch alone ("525") stands for its newest release.
func (p *Product) Unlisted(driver version.Number) (first, last version.Number, unlisted bool) {
	for _, word := range p.Listed {
		text, none := strings.CutPrefix(word, ">")
		at := version.ParseOrZero(text)
		switch {
		case at.Major() != driver.Major():
		case none:
			return version.Number{}, at, !at.Less(driver)
		default:
			return at, version.Number{}, driver.Parts() > 1 && driver.Less(at)
		}
	}
	return version.Number{}, version.Number{}, false
}

// KnownFrom returns the oldest release that knows the product: the first that a release note names, else the first that
// lists it, else the branch after the last that does not. Not known where nothing is later than the chip.
func (p *Product) KnownFrom(t *Tables) version.Number {
	if first := p.firstNoted(); first.Known() {
		return first
	}
	for _, word := range p.Listed {
		if first := version.ParseOrZero(word); first.Known() {
			return first
		}
	}
	last := version.ParseOrZero(strings.TrimPrefix(p.Listed[len(p.Listed)-1], ">"))
	branches := Rows[Branch](t)
	after := func(b Branch) bool { return version.Int(b.Branch) > last.Major() }
	if i := slices.IndexFunc(branches, after); last.Known() && i >= 0 {
		return version.ParseOrZero(branches[i].Branch)
	}
	return version.Number{}
}

// instances checks that an EC2 row's first driver is that of its product, else of its chip. A part of a GPU has a
// driver of its own.
func (t *Tables) instances() error {
	s, _ := sheetNamed("ec2")
	g, err := s.ReadGrid(t.from)
	if err != nil {
		return err
	}
	column := g.Column("first_branch")
	for i, row := range Rows[Instance](t) {
		want := t.ChipNamed(row.GPU).FirstBranch
		for _, p := range t.Products("", row.GPU) {
			if first := p.KnownFrom(t); first.Known() {
				want = first
			}
		}
		if row.GRID != "yes" && row.FirstBranch.Compare(want) != 0 {
			return g.Places[i](column).WrapError(fmt.Errorf("the first driver of %s is %s (product.csv, gpu.csv)", row.GPU, want))
		}
	}
	return nil
}

// Mentioned returns the drivers that the row speaks of.
func (p *Product) Mentioned() []version.Number {
	var list []version.Number
	for _, word := range append(slices.Clone(p.Noted), p.Listed...) {
		if v := version.ParseOrZero(strings.TrimPrefix(word, ">")); v.Known() {
			list = append(list, v)
		}
	}
	return list
}
