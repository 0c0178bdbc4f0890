package matrix

import (
	"slices"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/requires"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// Releases lists the releases of a package that the tables know, oldest first.
func Releases(t *Tables, name string) []string {
	var list []string
	if slices.Contains(model.Frameworks(), name) {
		var none facts.Facts
		none.Complete()
		m := model.NewMachine(t, &none, Target{}, verdict.Policy{NoPins: true, Today: t.Date()})
		for _, r := range pins.Releases(m, name) {
			list = append(list, r.String())
		}
		return list
	}
	for _, e := range tables.RowsOf[tables.Extension](t, name) {
		if release, ok := version.ParseRelease(e.Release); ok && release.Final() && !slices.Contains(list, e.Release) {
			list = append(list, e.Release)
		}
	}
	slices.SortStableFunc(list, pins.CompareReleases)
	return list
}

// ReleasesIn lists, oldest first, the releases of a package that the tables know and PEP 440 specifiers admit. It
// returns none if the specifiers are invalid.
func ReleasesIn(t *Tables, name, specifiers string) []string {
	if specifiers == "" {
		return Releases(t, name)
	}
	wanted, err := version.ParseSpecifiers(specifiers)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(Releases(t, name), func(release string) bool { return !wanted.Has(release) })
}

// CompareReleases compares two releases of a package, with their post-releases.
func CompareReleases(a, b string) int { return pins.CompareReleases(a, b) }

// OldestDriver returns the oldest driver on which some discrete GPU runs an artefact, or may run it if facts are
// missing for all GPUs. It returns "" if there is none, or if every driver will do.
func OldestDriver(r requires.Requirement) string {
	left := r.ImageNeeds()
	for _, drivers := range []func(requires.GPU) requires.Drivers{
		func(g requires.GPU) requires.Drivers { return g.Drivers },
		func(g requires.GPU) requires.Drivers { return g.Undecided },
	} {
		var oldest version.Number
		for _, g := range r.GPUs {
			list := drivers(g.Given(left, left))
			if g.IgnoresDriver() || len(list) == 0 {
				continue
			}
			if from := version.ParseOrZero(list[0].From); from.Known() && (!oldest.Known() || from.Less(oldest)) {
				oldest = from
			}
		}
		if oldest.Known() {
			return oldest.String()
		}
	}
	return ""
}
