// Package offer answers what to install on a machine: the sets for one framework or one engine, or the one set that has
// everything that is wanted. Package matrix picks the rows, and its check decides whether a set may be offered.
package offer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/report/catalog"
	"cudacompat/matrix"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe"
	"cudacompat/probe/facts"
)

// Sets returns the sets for some wants on the machine of the facts, with a target over it. Unknown properties of the
// machine are assumed, and the sets say so.
func Sets(ctx context.Context, t *matrix.Tables, here probe.Facts, target matrix.Target, wants []pin.Want) pin.Sets {
	if matrix.PythonOf(t, here, target) == "" {
		return assume(t, target, wants[0], func(target matrix.Target) pin.Sets { return on(ctx, t, here, target, wants) })
	}
	return on(ctx, t, here, target, wants)
}

// on returns what is offered on a machine whose Python is known.
func on(ctx context.Context, t *matrix.Tables, here probe.Facts, target matrix.Target, wants []pin.Want) pin.Sets {
	switch {
	case !Alone(t, wants):
		sets := matrix.PinsWanted(t, here, target, wants, refuses(ctx, t, here))
		if build := oneBuild.FindStringSubmatch(wants[0].Specifier); build != nil && len(wants) == 1 && len(sets.Sets) == 0 {
			nameNearest(&sets, on(ctx, t, here, target, []pin.Want{{Package: wants[0].Package, Specifier: build[1]}}))
		}
		return sets
	case matrix.IsEngine(t, wants[0].Package):
		return matrix.NewEngine(t, here, target, wants[0], refuses(ctx, t, here)).On(target.Driver)
	}
	return matrix.Pins(t, here, target, pin.Wanted{Framework: wants[0].Package,
		Release: strings.TrimPrefix(wants[0].Specifier, "==")})
}

// Alone reports whether one framework or one engine is wanted, for which there are several sets to choose from.
func Alone(t *matrix.Tables, wants []pin.Want) bool {
	return len(wants) == 1 && wants[0].Extras == "" && oneRelease.MatchString(wants[0].Specifier) &&
		(slices.Contains(matrix.Frameworks(), wants[0].Package) || matrix.IsEngine(t, wants[0].Package))
}

// oneRelease matches a release in full or in part: 2.9 is the newest of 2.9.
var oneRelease = lazyregexp.New(`^(?:==\d+(?:\.\d+){1,3})?$`)

// oneBuild matches one build of a release, "==2.9.0+cu130".
var oneBuild = lazyregexp.New(`^(==\d+(?:\.\d+){1,3})\+[a-z0-9]+$`)

// nameNearest adds to why there is no set of one build the release that runs on the driver, nearest to the build's own.
func nameNearest(sets *pin.Sets, other pin.Sets) {
	i := slices.IndexFunc(other.Sets, func(s pin.Set) bool { return s.Choice == pin.KeepDriver || s.Choice == pin.Together })
	if i < 0 {
		return
	}
	p := other.Sets[i].Packages[0]
	for n := range sets.Missing {
		sets.Missing[n].Why += fmt.Sprintf("; the nearest that runs here is %s==%s", p.Package, p.Version)
	}
}

// refuses checks a set's requirements file on the machine that the set is for.
func refuses(ctx context.Context, t *matrix.Tables, here probe.Facts) matrix.Refuses {
	return func(set pin.Set, target matrix.Target) string {
		facts, err := probe.Given([]byte(catalog.FormatRequirements(set)))
		if err != nil {
			return err.Error()
		}
		facts.System.Libc, facts.System.Arch, facts.System.WSL = here.System.Libc, here.System.Arch, here.System.WSL
		if here.System.Windows() {
			facts.System.OS = here.System.OS
		}
		result := matrix.Check(ctx, t, facts, []matrix.Target{target}, verdict.Policy{NoPins: true})
		switch {
		case result.Outcome == verdict.Compatible:
			return ""
		case len(result.Findings) > 0 && result.Findings[0].Severity == verdict.Error:
			return result.Findings[0].Message
		case len(result.Unknown) > 0:
			return "cannot judge " + result.Unknown[0].Subject + ": " + result.Unknown[0].Missing
		}
		return "it is " + string(result.Outcome)
	}
}

// Space returns the sets for one want on every host in the tables, with Linux or with the target's Windows. It reads
// nothing from the machine it runs on.
func Space(ctx context.Context, t *matrix.Tables, here probe.Facts, want pin.Want, python string) pin.Space {
	here = probe.Facts{System: facts.System{OS: here.System.OS}}
	check := refuses(ctx, t, here)
	engines := map[string]*matrix.Engine{} // by host: what it offers on a branch does not depend on the driver that is there
	return matrix.Space(t, here, want, python, func(target matrix.Target) pin.Sets {
		if !matrix.IsEngine(t, want.Package) {
			return Sets(ctx, t, here, target, []pin.Want{want})
		}
		key := fmt.Sprint(target.GPUs, target.Instance)
		if engines[key] == nil {
			engines[key] = matrix.NewEngine(t, here, target, want, check)
		}
		return engines[key].On(target.Driver)
	})
}
