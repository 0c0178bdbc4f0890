package matrix

import (
	"fmt"
	"path"
	"strings"

	"cudacompat/internal/version"
)

// part is a section of one of a build's libraries that was built for one set of targets.
type part struct {
	version.Group
	library string // its path; empty where a table tells of it
	count   int    // its fat binaries; 0 where a table tells of it
}

// parts are those of the build itself where its code was read, else of its row in the tables.
func (b *build) parts() []part {
	var list []part
	for _, g := range b.Groups {
		isa := map[string]version.Number{}
		for target, v := range g.PTXISA {
			isa[target] = version.Of(v)
		}
		group := version.Group{Section: g.Section, SASS: g.SASS, PTX: g.PTX, ISA: isa}
		list = append(list, part{group, g.Library, g.Containers})
	}
	if len(b.SASS)+len(b.PTX) > 0 || b.Damaged != "" || len(b.rows) != 1 {
		return list
	}
	return b.rows[0].parts()
}

func (r row) parts() []part {
	var list []part
	for _, g := range r.groups {
		list = append(list, part{Group: g})
	}
	return list
}

// unserved finds a part without code for a GPU that others of its library serve. A library that serves it nowhere is
// for other GPUs, as vLLM's FlashAttention 3 is; so is a part whose targets all have a suffix.
func unserved(list []part, gpu version.Capability) *part {
	for i, p := range list {
		if p.Special() || p.Cover(gpu) != version.Uncovered {
			continue
		}
		for _, other := range list {
			if other.library == p.library && other.Cover(gpu) != version.Uncovered {
				return &list[i]
			}
		}
	}
	return nil
}

// String names the part: ".rodata of libtensorflow_cc.so.2".
func (p part) String() string {
	if p.library == "" {
		return p.Section
	}
	return p.Section + " of " + path.Base(p.library)
}

// evidence is what the part was built for.
func (p part) evidence(b *build) Evidence {
	text := strings.Join(append(p.SASS, p.PTX...), " ")
	if p.library == "" {
		row := "table row " + b.rows[0].Release + " " + b.rows[0].Variant
		return Evidence{Fact: "machine code in " + p.Section, Value: text, From: row}
	}
	fact := fmt.Sprintf("machine code of %d kernels' fat binaries", p.count)
	return Evidence{Fact: fact, Value: text, From: p.library + ", " + p.Section}
}
