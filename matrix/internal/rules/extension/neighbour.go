package extension

import (
	"cudacompat/matrix/internal/fit"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/rules/environment"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/verdict"
)

// reportOpenKey returns the open questions about a neighbour. If the package has an answer of its own, that answer
// becomes open; otherwise the outcome does.
func reportOpenKey(n environment.Neighbour, k fit.Key) []*rule.Result {
	missing := verdict.Question(n.Fit[k].Why)
	if n.Build != nil && n.Build.Named == nil {
		return rule.ReportUndecided(n.Subject, missing)
	}
	return rule.ReportOpen(n.Subject, missing)
}

// finder explains why a neighbour does not fit, for one key of the comparison.
type finder func(m *model.Machine, torch *model.Build, n environment.Neighbour, k fit.Key) verdict.Finding

// judgeNeighbours reports on the companions of a torch, or on the other packages beside it. It skips installed packages
// whose missing libraries were already reported with their own build. If torch is not PyTorch's own release, version
// numbers prove nothing.
func judgeNeighbours(m *model.Machine, torch *model.Build, companions bool, find finder) []*rule.Result {
	var results []*rule.Result
	for _, n := range environment.CompareNeighbours(m, torch) {
		if n.IsCompanion(m) != companions || n.Build != nil && len(n.Build.Unmet) > 0 {
			continue
		}
		// Skip an installed package, because its own libraries were checked. Skip a part that the package can do
		// without, because it is for other GPUs. A GPU that the project does not support is reported by
		// gpu-arch-missing.
		if n.Build != nil || n.IsOnDisk(torch) || m.Tables.Trait("dispensable", n.Name, n.Number) || n.HasUnsupportedGPU(m) {
			n.Fit[fit.Code] = fit.Answer{State: fit.Exempt}
		}
		k, bad := n.Fit.Worst()
		if companions && n.Fit[fit.CUDA].State == fit.Differs { // its own check comes before its libraries
			k = fit.CUDA
		}
		switch state := n.Fit.State(); {
		case !bad:
			results = append(results, rule.Pass(n.Subject)...)
		case state == fit.Unknown && k == fit.Code:
			results = append(results, rule.ReportMissing(n.Subject, verdict.Question(n.Fit[k].Why))...)
		case state == fit.Unknown && (!torch.Official() || !torch.Release.Final()) && !environment.PlanInstalls(m, n.Installed): // it loads there
		case state == fit.Unknown:
			results = append(results, reportOpenKey(n, k)...)
		default:
			f := find(m, torch, n, k)
			results = append(results, rule.ReportFinding(f)...)
			if state == fit.Doubtful && n.Name != "triton" {
				results = append(results, rule.ReportOpen(n.Subject, verdict.Question("whether it loads beside a torch that it was not built for"))...)
			}
		}
	}
	return results
}

// newNeighbourFinding returns a finding with the fields that all packages share: the two sides of the comparison and
// the severity.
func newNeighbourFinding(torch *model.Build, n environment.Neighbour, k fit.Key) verdict.Finding {
	a := n.Fit[k]
	f := verdict.Finding{Severity: verdict.Error, Subject: n.Subject, Source: a.Source, Need: a.Want,
		Evidence: append(torch.Evidence(), verdict.Evidence{Fact: n.Name, Value: n.Version, From: n.FoundIn(torch)})}
	if a.State != fit.Differs {
		f.Severity = verdict.Warning
	}
	switch k {
	case fit.Release:
		f.Need = "torch " + a.Have
		f.Message = n.Name + " " + n.Version + " was compiled for torch " + a.Have + ", but torch is " + torch.Version
		if n.OnlyPins() {
			f.Message = n.Name + " " + n.Version + " requires torch " + a.Have + " in its metadata, but torch is " + torch.Version
		}
	case fit.CUDA:
		f.Need = a.Have
		f.Message = n.Name + " " + n.Version + " was compiled for " + a.Have + "; torch " + torch.Version + " uses " + a.Want
	case fit.ABI:
		f.Need = "the same C++ ABI"
		f.Message = n.Name + " " + n.Version + " was compiled with " + a.Have + "; torch " + torch.Version + " has " + a.Want +
			": importing it ends in an undefined symbol"
	case fit.Python:
		f.Need = a.Want
		f.Message = "the wheel is for " + a.Have + ": pip does not install it for " + a.Want
	case fit.Platform:
		f.Need = "a wheel for " + a.Want
		f.Message = "the wheel is for " + a.Have + ": pip does not install it on " + a.Want
	case fit.Code:
		f.Need = "machine code for compute capability " + a.Want
		f.Message = n.Name + " " + n.Version + " has machine code for " + a.Have + ", and none for compute capability " + a.Want
	}
	return f
}
