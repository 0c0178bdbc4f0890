package environment

import (
	"slices"

	"cudacompat/matrix/internal/fit"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
)

// FitEngine returns the fixes for an engine and a torch that do not fit: the torch that the engine requires, and the
// engine release for the installed torch, if these run here. Each also installs the other engines of the environment.
func FitEngine(m *model.Machine, p *model.Installed, b *model.Build) []verdict.Pin {
	var list []verdict.Pin
	engines := enginesBeside(m, b, p.Name)
	if len(engines) == 0 {
		return nil
	}
	for _, keep := range []func(model.Row, []pin.Package) bool{
		func(_ model.Row, set []pin.Package) bool { return set[0].Version == p.Version },
		func(r model.Row, _ []pin.Package) bool { return r.Number.Short() == b.Release.Number.Short() },
	} {
		for _, r := range pins.Ranked(m, b) {
			set := pins.EngineSet(m, b, engines, r)
			if set == nil || !keep(r, set) {
				continue
			}
			pin := pins.EnginePin(m, b, r, set)
			if !slices.ContainsFunc(list, func(have verdict.Pin) bool { return have.Commands["pip"] == pin.Commands["pip"] }) {
				list = append(list, pin)
			}
			break
		}
	}
	return list
}

// EnginePins returns what makes an engine fit the installed torch, if it was made for another torch. The companions of
// this torch would then have the wrong release.
func EnginePins(m *model.Machine, b *model.Build) []verdict.Pin {
	for _, engine := range pins.EnginesIn(m, b.Env) {
		if b.Name != "torch" {
			continue
		}
		for _, n := range CompareNeighbours(m, b) {
			if n.Name == engine.Name && n.Fit[fit.Release].State == fit.Differs {
				return FitEngine(m, engine, b)
			}
		}
	}
	return nil
}

// enginesBeside returns the engines beside a torch, with the named one first.
func enginesBeside(m *model.Machine, torch *model.Build, name string) []*model.Installed {
	var list []*model.Installed
	for _, p := range pins.Beside(torch.Env) {
		if p.Name == name && len(pins.EngineRows(m, name)) > 0 {
			list = append(list, p)
		}
	}
	for _, p := range pins.EnginesIn(m, torch.Env) {
		if p.Name != name {
			list = append(list, p)
		}
	}
	return list
}
