package model

import (
	"cmp"
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
)

// Assembles reports whether the Triton of a torch row compiles for every GPU here. If the table does not know, the
// answer is yes for GPUs before Blackwell.
func (m *Machine) Assembles(r Row) bool {
	if r.Framework != "torch" {
		return true
	}
	i := slices.IndexFunc(r.Companions, func(c pin.Package) bool { return c.Package == "triton" })
	t := m.Tables.Triton(version.ParseOrZero(r.Companions[i].Version))
	return !slices.ContainsFunc(m.GPUs, func(g hardware.GPU) bool {
		switch {
		case t == nil:
			return g.Capability.Major >= hardware.Blackwell
		case g.Capability.Major >= hardware.Blackwell && t.PTXASBlackwell.Known():
			return hardware.JITCompiler{Version: t.PTXASBlackwell}.Older(g)
		}
		return hardware.JITCompiler{Version: t.PTXAS}.Older(g)
	})
}

// EvidenceCode returns the available machine code as evidence.
func (m *Machine) EvidenceCode(b *Build, proof string) verdict.Evidence {
	list := slices.Concat(b.SASS, b.PTX)
	from := cmp.Or(b.Path, b.From)
	if b.BringsTorch() && proof == tableRow {
		list = nil
	}
	if proof == Unsupported {
		least, _ := m.Tables.LeastCapability(b.Name, b.Release.Number)
		return verdict.Evidence{Fact: "least compute capability", Value: least.String(), From: "trait.csv"}
	}
	if len(list) == 0 && len(b.Rows) > 0 {
		list, from = b.Rows[0].SASS, "table row "+b.Rows[0].Release+" "+b.Rows[0].Variant
	}
	if len(list) == 0 {
		return verdict.Evidence{Fact: "machine code", Value: proof, From: from}
	}
	return verdict.Evidence{Fact: "machine code", Value: strings.Join(list, " "), From: from}
}
