package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cudacompat/internal/report/layout"
)

// maxListed limits each list in the formats for programs. No machine has been seen with more entries, and so many still
// fit into 64 MB.
const maxListed = 500

// ShortenLists shortens each list that grows with the input. More counts the entries left out. The worst findings come
// first.
func (r Report) ShortenLists() Report {
	r.More = maps.Clone(r.More)
	if r.More == nil {
		r.More = map[string]int{}
	}
	cutList(&r, "findings", &r.Findings)
	cutList(&r, "passed", &r.Passed)
	cutList(&r, "unknown", &r.Unknown)
	cutList(&r, "suppressed", &r.Suppressed)
	cutList(&r, "waivers", &r.Waivers)
	cutList(&r, "disagreements", &r.Disagreements)
	return r
}

func cutList[T any](r *Report, name string, list *[]T) {
	if more := len(*list) - maxListed; more > 0 {
		*list = (*list)[:maxListed:maxListed]
		r.More[name] += more
	}
}

// Leave records that the lists were shortened for lack of time.
func (r *Report) Leave(left map[string]int) {
	r.More = left
	r.Facts.Leave(left)
}

// QualifyCount returns a prefix for counts, "at least", if the lists were shortened.
func (r Report) QualifyCount() string {
	if len(r.More) > 0 {
		return "at least "
	}
	return ""
}

// DescribeLeftOut says what a shortened report leaves out, "801 more findings, 20 more unknown", or returns "".
func (r Report) DescribeLeftOut() string {
	var list []string
	for name, n := range r.More {
		list = append(list, fmt.Sprintf("%d more %s", n, layout.Clean(name)))
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}
