package fatbin

import (
	"cmp"
	"fmt"
	"slices"
)

// Kinds of entries, and the bits of their flags that matter.
const (
	kindPTX     = 1
	kindCubin   = 2
	kindLTO     = 8    // NVVM's code for the link at run time: those embedded in libcudf 26.8 and 26.10
	kindCubin16 = 0x10 // not in any library seen; cuobjdump 12.8 and 13.5 list it as a cubin, and no kind besides

	flagLZ4    = 1 << 13
	flagZstd   = 1 << 15
	flagArch   = 1 << 20 // "a"
	flagFamily = 1 << 21 // "f"
)

// maxArch bounds the number of different targets. The newest is 121.
const maxArch = 999

// firstSuffixed is the oldest architecture with suffixes.
const firstSuffixed = 90

// target is what makes an entry's code different from another's.
type target struct {
	ptx    bool
	arch   uint32
	suffix string
}

func (t target) String() string {
	kind := "sm"
	if t.ptx {
		kind = "compute"
	}
	return fmt.Sprintf("%s_%d%s", kind, t.arch, t.suffix)
}

// tally is what was seen of a target.
type tally struct {
	containers int
	last       int // number of the container that it was last seen in
	zstd       bool
	version    ptxVersion // newest
}

type ptxVersion struct{ major, minor uint16 }

// entry is one piece of code.
type entry struct {
	target
	zstd    bool
	version ptxVersion
}

// parseEntry reads the header b of an entry; one of another kind is no code.
func parseEntry(b []byte) (e entry, isCode bool, err error) {
	kind, arch, flags := le.Uint16(b), le.Uint32(b[28:]), le.Uint64(b[40:])
	if kind != kindPTX && kind != kindCubin && kind != kindCubin16 {
		return entry{}, false, nil
	}
	if arch > maxArch {
		return entry{}, false, fmt.Errorf("no such architecture: %d", arch)
	}
	return entry{target: target{kind == kindPTX, arch, suffix(flags)}, zstd: flags&flagZstd != 0,
		version: ptxVersion{le.Uint16(b[26:]), le.Uint16(b[24:])}}, true, nil
}

// hidesSuffix reports whether the code may be for a target with a suffix that the entry does not show.
func (e entry) hidesSuffix() bool { return e.ptx && e.arch >= firstSuffixed && e.suffix == "" }

// tallies is what was seen of each target.
type tallies map[target]*tally

// add counts a container's entries.
func (t tallies) add(list []entry, container int) {
	for _, e := range list {
		one := t[e.target]
		if one == nil {
			one = new(tally)
			t[e.target] = one
		}
		if one.last != container {
			one.last = container
			one.containers++
		}
		one.add(e)
	}
}

func (t *tally) add(e entry) {
	t.zstd = t.zstd || e.zstd
	if t.version.before(e.version) {
		t.version = e.version
	}
}

// oldest counts the containers by the oldest SASS of each generation that they have, without a suffix: GPUs of that
// generation run it, from its capability on.
func oldest(list []listing) map[int]int {
	counts := map[int]int{}
	for _, l := range list {
		var first [maxArch/10 + 1]int
		for _, e := range l.entries {
			arch := int(e.arch)
			if of := &first[arch/10]; !e.ptx && e.suffix == "" && (*of == 0 || arch < *of) {
				*of = arch
			}
		}
		for _, arch := range first {
			if arch > 0 {
				counts[arch]++
			}
		}
	}
	return counts
}

// suffix reads a target's suffix from its entry's flags. Both bits together were never seen; cuobjdump 13.5
// says "a", the narrower.
func suffix(flags uint64) string {
	switch {
	case flags&flagArch != 0:
		return "a"
	case flags&flagFamily != 0:
		return "f"
	}
	return ""
}

func (v ptxVersion) before(o ptxVersion) bool {
	return v.major < o.major || v.major == o.major && v.minor < o.minor
}

func (v ptxVersion) String() string { return fmt.Sprintf("%d.%d", v.major, v.minor) }

// targets gives what was counted, in order.
func (t tallies) targets() (sass, ptx []Target) {
	for of, seen := range t {
		one := Target{Arch: int(of.arch), Suffix: of.suffix, Zstd: seen.zstd, Containers: seen.containers}
		if of.ptx {
			one.PTXVersion = seen.version.String()
			ptx = append(ptx, one)
		} else {
			sass = append(sass, one)
		}
	}
	slices.SortFunc(sass, compareTargets)
	slices.SortFunc(ptx, compareTargets)
	return sass, ptx
}

func compareTargets(a, b Target) int {
	return cmp.Or(cmp.Compare(a.Arch, b.Arch), cmp.Compare(a.Suffix, b.Suffix))
}
