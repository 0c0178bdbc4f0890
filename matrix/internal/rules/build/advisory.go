package build

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/internal/rules/library"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
)

// circumstances lists facts that hold for so many machines that one of them alone is no reason to ask for the missing
// rest of a condition.
var circumstances = []string{"torch", "tensorflow", "jax", "built_cudnn", "built_nccl", "python", "glibc", "gpus"}

// meets judges a condition for a build. It returns Maybe, with the name of the missing fact, only after a clause that
// is not a mere circumstance has been found true.
func meets(m *model.Machine, c tables.Condition, b *model.Build) (hardware.Trilean, string) {
	missing, sure := "", false
	for _, clause := range c.Clauses {
		switch t := meetsClause(m, clause, b); {
		case t == hardware.No:
			return hardware.No, ""
		case t == hardware.Maybe:
			missing = clause.Name
		case !slices.Contains(circumstances, clause.Name):
			sure = true
		}
	}
	switch {
	case missing == "":
		return hardware.Yes, ""
	case sure:
		return hardware.Maybe, missing
	}
	return hardware.No, ""
}

// meetsClause judges one clause of an advisory's condition. It returns maybe if the fact that the clause needs is
// missing.
func meetsClause(m *model.Machine, c tables.Clause, b *model.Build) hardware.Trilean {
	values, known := clauseValues(m, c, b)
	switch own := releaseBuiltWith(b, c.Name); {
	case !known && own.Known() && !c.Allowed.Has(own):
		return hardware.No // what the build brings is none of them, and nothing says that it takes another one
	case !known:
		return hardware.Maybe
	case slices.ContainsFunc(values, c.Allowed.Has):
		return hardware.Yes
	}
	return hardware.No
}

// releaseBuiltWith returns the release of a library that the build was compiled with and that it bundles or pins.
func releaseBuiltWith(b *model.Build, library string) version.Number {
	switch library {
	case "cudnn":
		return builtWith(b, b.CuDNN, func(r model.Row) version.Number { return r.CuDNN })
	case "nccl":
		return builtWith(b, b.NCCL, func(r model.Row) version.Number { return r.NCCL })
	}
	return version.Number{}
}

// failsForSomeGPU reports whether a condition does not hold for at least one GPU. A program can then use that GPU
// alone.
func failsForSomeGPU(m *model.Machine, c tables.Condition) bool {
	return slices.ContainsFunc(c.Clauses, func(clause tables.Clause) bool {
		capabilities, _ := capabilities(m)
		return clause.Name == "capability" && slices.ContainsFunc(capabilities,
			func(v version.Number) bool { return !clause.Allowed.Has(v) })
	})
}

// clauseValues returns the values of the fact that a clause names. If known is false, the fact is missing.
func clauseValues(m *model.Machine, c tables.Clause, b *model.Build) (values []version.Number, known bool) {
	one := func(v version.Number) ([]version.Number, bool) { return []version.Number{v}, v.Known() }
	switch c.Name {
	case "driver":
		return one(m.Driver().Version)
	case "cuda":
		return one(b.CUDANumber)
	case "cudnn", "nccl", "cublas":
		l, ok := b.Takes(c.Name)
		return []version.Number{l.Version}, ok
	case "built_cudnn", "built_nccl":
		return one(releaseBuiltWith(b, strings.TrimPrefix(c.Name, "built_")))
	case "numpy":
		if p := b.Env.Package("numpy"); p != nil {
			return one(p.Number)
		}
		return nil, false
	case "python":
		return one(version.ParseOrZero(b.Interpreter))
	case "glibc":
		return one(m.Libc)
	case "gpus":
		return one(version.ParseOrZero(strconv.Itoa(len(m.GPUs))))
	case "capability":
		return capabilities(m)
	}
	if c.Name != b.Name {
		return nil, true
	}
	return one(b.Release.Number)
}

// builtWith returns the version that a build was compiled with: from the build's own record, otherwise from its table
// row.
func builtWith(b *model.Build, own string, of func(model.Row) version.Number) version.Number {
	if v := version.ParseOrZero(own); v.Known() || len(b.Rows) == 0 {
		return v
	}
	return of(b.Rows[0])
}

// capabilities returns the compute capabilities of the visible GPUs without duplicates. If one of them is unknown,
// known is false.
func capabilities(m *model.Machine) (list []version.Number, known bool) {
	for _, g := range m.Kinds {
		if g.Capability.Known() {
			list = append(list, g.Capability.Number())
		}
	}
	return list, len(list) == len(m.Kinds)
}

// KnownBad reports combinations that an advisory says do not work. Every requirement is met, yet the combination fails
// because of a bug that its maker describes. Only a table row can know that, so the row also sets the severity.
func KnownBad(m *model.Machine, b *model.Build) []*rule.Result {
	if b.Device != "cuda" || !b.IsFramework() {
		return nil
	}
	return rule.AskForVisibleGPUs(m, advisories, b)
}

// advisories returns the advisories whose conditions hold for a build.
func advisories(m *model.Machine, b *model.Build) []*rule.Result {
	var results []*rule.Result
	var missing verdict.MissingFact
	for _, a := range tables.Rows[tables.Advisory](m.Tables) {
		switch t, what := meets(m, a.When, b); t {
		case hardware.Yes:
			severity := verdict.Severity(a.Severity)
			if a.Severity == tables.Unseen {
				if library.IsNamedOnSystem(b) && (slices.ContainsFunc(library.RequestedExtras(b), library.IsCUDAExtra) || library.NamesCuDNNWheel(b)) {
					return library.AskForLibraries(b, verdict.Statement(a.Message+"; "+a.Fix))
				}
				severity = verdict.Note
			}
			f := verdict.Finding{
				Severity: severity,
				Subject:  b.Subject,
				Message:  a.Message,
				Need:     "a combination other than " + a.When.Text,
				Steps:    stepsOfText(b.Env, remedy(m, a.Fix, b)),
				Source:   a.Source,
				Evidence: append(b.Evidence(), verdict.Evidence{Fact: "advisory", Value: a.ID, From: "advisory.csv"}),
			}
			// The build runs on a GPU of another capability.
			if f.Severity == verdict.Error && failsForSomeGPU(m, a.When) {
				f.Severity = verdict.Warning
			}
			for _, c := range a.When.Clauses {
				if values, ok := clauseValues(m, c, b); ok && len(values) > 0 && !slices.Contains(model.Frameworks(), c.Name) {
					f.Evidence = append(f.Evidence, verdict.Evidence{Fact: c.Name, Value: values[0].String(), From: clauseFrom(m, c, b)})
				}
			}
			results = append(results, rule.ReportFinding(f)...)
		case hardware.Maybe:
			missing = verdict.Question(fmt.Sprintf("which %s %s loads (advisory %s)", what, b.Name, a.ID))
		}
	}
	switch {
	case len(results) > 0:
		return results
	case missing.IsMissing():
		return rule.ReportMissing(b.Subject, missing)
	}
	return rule.Pass(b.Subject)
}

// cudnnWheel matches the cuDNN of CUDA 12 in a remedy, with the range of its releases.
var cudnnWheel = lazyregexp.New(`nvidia-cudnn-cu12([<>=0-9.,]+)`)

// remedy returns an advisory's fix. If the fix names a wheel for CUDA 12, remedy replaces it by the wheel for the
// build's own CUDA.
func remedy(m *model.Machine, fix string, b *model.Build) string {
	f := cudnnWheel.FindStringSubmatch(fix)
	if f == nil || b.CUDANumber.Major() == 12 {
		return fix
	}
	for _, c := range tables.Rows[tables.CuDNN](m.Tables) {
		if ok, err := version.Allows(f[1], c.Release); err == nil && ok && c.CUDA.Major() == b.CUDANumber.Major() {
			return strings.ReplaceAll(fix, "-cu12", fmt.Sprintf("-cu%d", b.CUDANumber.Major()))
		}
	}
	return fmt.Sprintf("take a build of %s for CUDA 12: cuDNN %s is not there for CUDA %d", b.Name, f[1], b.CUDANumber.Major())
}

// clauseFrom returns where the value of a clause was read.
func clauseFrom(m *model.Machine, c tables.Clause, b *model.Build) string {
	switch c.Name {
	case "cudnn", "nccl", "cublas":
		l, _ := b.Takes(c.Name)
		return l.From
	case "capability", "gpus":
		return m.GPUs[0].From
	case "driver":
		return m.Driver().From
	}
	return cmp.Or(b.From, b.Path)
}

// pipStart matches the pip command at the start of a step in the tables.
var pipStart = lazyregexp.New(`^pip (install|uninstall)\b`)

// stepsOfText turns a table's text into steps for this environment. The text lists alternatives separated by "or";
// those that begin with pip become commands.
func stepsOfText(e *model.Environment, text string) []pin.Step {
	var steps []pin.Step
	for i, way := range strings.Split(text, ", or ") {
		step := pin.Say(way)
		if command := pipCommandFor(e, way); command != "" {
			step = pin.Run(command)
		}
		step.Or = i > 0
		steps = append(steps, step)
	}
	return steps
}

// pipCommandFor returns a table's pip command in the form that this environment needs, or "" if the text is not a pip
// command.
func pipCommandFor(e *model.Environment, text string) string {
	m := pipStart.FindStringSubmatch(text)
	at := pins.Place(e)
	switch {
	case m == nil:
		return ""
	case at.Target != "":
		return pin.Command("pip", m[1], "--target", at.Target) + strings.TrimPrefix(text, m[0])
	case at.Python != "":
		return pin.Command(at.Python, "-m", "pip", m[1]) + strings.TrimPrefix(text, m[0])
	}
	return text
}
