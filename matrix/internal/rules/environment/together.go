package environment

import (
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/matrix/internal/cudaof"
	"cudacompat/matrix/internal/fit"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// FitTogether makes the fixes of one machine's findings fit each other. Where the first fix of a report replaces torch,
// the other fixes in that environment are for the torch that will be there, and what was compiled for the old torch is
// installed anew with it.
func FitTogether(m *model.Machine, findings []*verdict.Finding) {
	if m.Policy.NoPins {
		return
	}
	for _, torch := range m.Builds {
		if torch.Name != "torch" || torch.Extension || torch.Origin == "image" {
			continue
		}
		var beside []*verdict.Finding
		subjects := subjectsBeside(m, torch)
		for _, f := range findings {
			if slices.Contains(subjects, f.Subject) && f.Severity != verdict.Note {
				beside = append(beside, f)
			}
		}
		if len(beside) > 0 {
			fitBeside(m, torch, beside)
		}
	}
}

// subjectsBeside returns the subjects of a torch and of what is compiled for one beside it.
func subjectsBeside(m *model.Machine, torch *model.Build) []string {
	list := []string{torch.Subject}
	for _, p := range packagesBeside(m, torch.Env) {
		if mayCompare(m, p) && !m.Tables.Trait("own-cuda", p.Name, p.Number) {
			list = append(list, p.Name+" "+p.Version+model.PlaceOf(torch.Env.Environment))
		}
	}
	return list
}

// fitBeside adjusts the fixes for one torch and for the packages beside it, so that all of them fit together.
func fitBeside(m *model.Machine, torch *model.Build, findings []*verdict.Finding) {
	for _, f := range findings {
		for i := range f.Pins {
			if row, ok := rowOf(m, torch, f.Pins[i]); ok {
				addCompiled(m, torch, row, &f.Pins[i])
			}
		}
	}
	first, row, ok := replacingTorch(m, torch, findings)
	if !ok {
		return
	}
	planned := buildOfRow(torch, row)
	for _, f := range findings {
		if f == first || installCommand(f) == "" && len(f.Steps) == 0 || installCommand(f) == first.Pins[0].Commands["uv"] {
			continue
		}
		name, _, _ := strings.Cut(f.Subject, " ")
		if f.Subject != torch.Subject && !mendedBy(m, planned, first.Pins[0], name) {
			continue
		}
		f.Pins, f.Steps, f.Do = slices.Clone(first.Pins[:1]), []pin.Step{}, []string{}
	}
}

// installCommand returns the command of a finding's first fix for an installer of Python; empty where it is no such
// fix.
func installCommand(f *verdict.Finding) string {
	if len(f.Pins) == 0 {
		return ""
	}
	return f.Pins[0].Commands["uv"]
}

// replacingTorch returns the finding whose first fix replaces torch, and the row of the new torch: the error of torch
// comes first, then that of an engine beside it, then a warning.
func replacingTorch(m *model.Machine, torch *model.Build, findings []*verdict.Finding) (*verdict.Finding, model.Row, bool) {
	for _, severity := range []verdict.Severity{verdict.Error, verdict.Warning} {
		for _, own := range []bool{true, false} {
			for _, f := range findings {
				if f.Severity != severity || (f.Subject == torch.Subject) != own || len(f.Pins) == 0 {
					continue
				}
				if row, ok := rowOf(m, torch, f.Pins[0]); ok && (row.Release != torch.Release.Number.String() || row.Variant != torch.Release.Local) {
					return f, row, true
				}
			}
		}
	}
	return nil, model.Row{}, false
}

// rowOf returns the row of the torch that a pin installs, by itself or with engines.
func rowOf(m *model.Machine, torch *model.Build, p verdict.Pin) (model.Row, bool) {
	rows := pins.Ranked(m, torch)
	i := slices.IndexFunc(rows, func(r model.Row) bool {
		if p.Package == "torch" {
			return r.Requirement().Version == p.Version
		}
		if !slices.Contains(strings.Fields(p.Commands["uv"]), "torch=="+r.Release) {
			return false
		}
		set := pins.EngineSet(m, torch, enginesBeside(m, torch, p.Package), r)
		return set != nil && set[0].Version == p.Version && strings.HasPrefix(p.Commands["uv"], pins.EnginePin(m, torch, r, set).Commands["uv"])
	})
	if i < 0 {
		return model.Row{}, false
	}
	return rows[i], true
}

// buildOfRow returns the build that results if the torch is replaced by a row's release.
func buildOfRow(torch *model.Build, row model.Row) *model.Build {
	return &model.Build{Build: &facts.Build{Name: "torch", Version: row.Requirement().Version}, Env: torch.Env, Interpreter: torch.Interpreter,
		Subject: torch.Subject, Rows: []model.Row{row}, Answer: cudaof.Exactly(row.CUDA, cudaof.Framework),
		Release: version.Release{Number: row.Number, Local: row.Variant}}
}

// fitPlanned compares an installed package with a torch that is not there yet. What its libraries found beside the old
// torch says nothing of the new one.
func fitPlanned(m *model.Machine, planned *model.Build, p *model.Installed) (result fit.Result, comparison bool) {
	own := fitPackage(m, planned, Neighbour{Installed: p, Build: findBuild(m, planned.Env, p.Name)})
	if !mayCompare(m, p) || !comparable(m, own) {
		return result, false
	}
	own.Resolved = false
	return fit.Compare(m.Tables, fitTorch(m, planned), own, fitTarget(m, planned)), true
}

// isRefused reports whether a result excludes that the package runs beside torch.
func isRefused(r fit.Result) bool {
	return slices.ContainsFunc(r[:], func(a fit.Answer) bool { return a.State == fit.Differs || a.State == fit.Doubtful })
}

// mendedBy reports whether a pin of another torch mends a package's finding: it installs the package, too, or the
// package fits the new torch, or the pin says that it has to be compiled again.
func mendedBy(m *model.Machine, planned *model.Build, p verdict.Pin, name string) bool {
	if namesPackage(p, name) || strings.Contains(p.Why, name+" must be compiled again") {
		return true
	}
	i := slices.IndexFunc(packagesBeside(m, planned.Env), func(p *model.Installed) bool { return p.Name == name })
	if i < 0 {
		return false
	}
	result, compared := fitPlanned(m, planned, packagesBeside(m, planned.Env)[i])
	k, bad := result.Worst()
	return compared && (!bad || result[k].State == fit.Unknown)
}

// namesPackage reports whether a pin's command names a package.
func namesPackage(p verdict.Pin, name string) bool {
	return slices.ContainsFunc(strings.Fields(p.Commands["uv"]), func(word string) bool {
		word = strings.Trim(word, "'")
		return word == name || strings.HasPrefix(word, name+"==")
	})
}

// addCompiled lets a pin of torch install again what is compiled for the old torch and does not load beside the new
// one. It names what has no release for it. An engine brings its own kernels.
func addCompiled(m *model.Machine, torch *model.Build, row model.Row, p *verdict.Pin) {
	planned := buildOfRow(torch, row)
	for _, n := range packagesBeside(m, torch.Env) {
		own := findBuild(m, torch.Env, n.Name)
		if n.Name == "triton" || namesPackage(*p, n.Name) || own != nil && own.PartOf != "" {
			continue
		}
		result, compared := fitPlanned(m, planned, n)
		if !compared || !isRefused(result) {
			continue
		}
		install, release, ok := reinstalled(m, n, planned)
		if !ok {
			p.Why += fmt.Sprintf("; %s must be compiled again", pin.Quoted(n.Name))
			continue
		}
		p.Why += fmt.Sprintf("; installs %s %s for it", pin.Quoted(n.Name), release)
		for tool, command := range pins.Install(torch.Place(), install) {
			if p.Commands[tool] != "" {
				p.Commands[tool] = pin.Sequence(p.Commands[tool], command)
			}
		}
	}
}

// reinstalled returns how to install the release of a package that is made for a torch: of what PyTorch releases with
// it the one of that torch, else the newest that the tables have.
func reinstalled(m *model.Machine, p *model.Installed, planned *model.Build) (install pin.Install, release string, ok bool) {
	if m.Tables.Trait("companion", p.Name, version.Number{}) {
		want, index := FindCompanion(m, planned, p.Name)
		return pin.Install{Packages: []string{p.Name + "==" + want}, Index: index, NoDeps: index == ""}, want, want != ""
	}
	e := FindExtension(m, p, planned)
	if e == nil {
		return install, "", false
	}
	install, ok = InstallExtension(m, p, *e, planned)
	return install, e.Release, ok
}
