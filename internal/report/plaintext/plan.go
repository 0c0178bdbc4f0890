package plaintext

import (
	"strings"

	"cudacompat/internal/report"
	"cudacompat/internal/report/layout"
	"cudacompat/probe/facts"
)

// writePlan writes what an installer's dry run would replace, add and remove, if the report is a forecast. It counts
// the wheels of CUDA libraries, of which torch alone has fifteen.
func writePlan(p *layout.Page, r report.Report) {
	if r.Facts.Plan == nil || len(DescribePlan(*r.Facts.Plan)) == 0 {
		return
	}
	p.WriteLine()
	for _, line := range DescribePlan(*r.Facts.Plan) {
		verb, rest, _ := strings.Cut(line, " ")
		p.WriteWrapped(11, rest, "  ", layout.Paint(layout.Bold, verb), strings.Repeat(" ", max(9-len(verb), 1)))
	}
}

// DescribePlan describes a plan: "replaces torch 2.6.0 with 2.7.0 and 14 libraries", "installs vllm 0.19.1".
func DescribePlan(p facts.Plan) []string {
	var replaced, installed, removed []string
	libraries := map[string]int{}
	for _, i := range p.Installs {
		before, there := p.Removed(i.Name)
		switch {
		case isLibrary(i.Name) && there:
			libraries["replaces"]++
		case isLibrary(i.Name):
			libraries["installs"]++
		case there && before == i.Version:
			replaced = append(replaced, i.Name+" "+before+" with itself")
		case there:
			replaced = append(replaced, i.Name+" "+before+" with "+i.Version)
		default:
			installed = append(installed, strings.TrimSpace(i.Name+" "+i.Version))
		}
	}
	for _, gone := range p.Removes {
		if _, comes := p.Installed(gone.Name); !comes {
			removed = append(removed, strings.TrimSpace(gone.Name+" "+gone.Version))
		}
	}
	var lines []string
	for _, group := range []struct {
		verb string
		list []string
	}{{"replaces", replaced}, {"installs", installed}, {"removes", removed}} {
		list := group.list
		if n := libraries[group.verb]; n > 0 {
			list = append(list, layout.CountNoun(n, "wheel")+" of CUDA's libraries")
		}
		if len(list) > 0 {
			lines = append(lines, group.verb+" "+strings.Join(list, ", "))
		}
	}
	return lines
}

func isLibrary(name string) bool {
	return strings.HasPrefix(name, "nvidia-") || strings.HasPrefix(name, "cuda-")
}
