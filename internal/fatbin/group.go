package fatbin

import (
	"slices"
	"strings"
)

// Group is a section in which nearly all containers have the same targets, because it was compiled with the same
// options. A GPU without code in a group lacks kernels there, whatever other sections contain. If the targets differ
// between containers, the program chooses variants by GPU, and the section is no group.
type Group struct {
	Section    string
	SASS       []Target // by capability, then suffix; Containers counts in this section
	PTX        []Target // likewise
	Containers int      // with exactly these targets
}

const (
	// uniform is the share of a group's containers that have its set of targets. torch 2.8.0's libtorch_cuda.so has
	// one set in 389 of 393; in cuBLASLt and in vLLM's _C none reaches half.
	uniform = 0.95

	// minGroup is the minimum number of containers from which a common set of targets is meaningful.
	minGroup = 10
)

// groups finds the sections that are groups.
func groups(list []listing) (found []Group) {
	for start, end := 0, 0; start < len(list); start = end {
		in := list[start].in
		end = start + slices.IndexFunc(list[start:], func(l listing) bool { return l.in != in })
		if end < start {
			end = len(list)
		}
		if g, ok := group(list[start:end]); ok && !in.relocatable() {
			found = append(found, g)
		}
	}
	return found
}

// group sums up one section.
func group(list []listing) (Group, bool) {
	all, sets, full, names := tallies{}, map[string]int{}, 0, map[target]string{}
	for i, l := range list {
		if len(l.entries) == 0 || l.linked {
			continue // says nothing of what the section was built for
		}
		all.add(l.entries, i+1)
		sets[setOf(l.entries, names)]++
		full++
	}
	most := ""
	for set, n := range sets {
		if n > sets[most] || n == sets[most] && set < most {
			most = set
		}
	}
	if n := sets[most]; n < minGroup || float64(n) < uniform*float64(full) {
		return Group{}, false
	}
	g := Group{Section: list[0].in.name, Containers: sets[most]}
	g.SASS, g.PTX = all.targets()
	in := strings.Fields(most)
	rare := func(t Target) bool { return !slices.Contains(in, t.String()) }
	g.SASS, g.PTX = slices.DeleteFunc(g.SASS, rare), slices.DeleteFunc(g.PTX, rare)
	return g, true
}

// setOf names the targets of a container, each once, by the names that targets got before: there are few of them in
// thousands of containers.
func setOf(list []entry, known map[target]string) string {
	names := make([]string, 0, len(list))
	for _, e := range list {
		name, ok := known[e.target]
		if !ok {
			name = e.target.String()
			known[e.target] = name
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), " ")
}

// hasGroup reports whether a group has the target.
func (c Code) hasGroup(t Target) bool {
	return slices.ContainsFunc(c.Groups, func(g Group) bool {
		same := func(o Target) bool { return o.String() == t.String() }
		return slices.ContainsFunc(g.SASS, same) || slices.ContainsFunc(g.PTX, same)
	})
}
