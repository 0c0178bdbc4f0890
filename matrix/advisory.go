package matrix

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/internal/version"
)

// circumstances are true of so many machines that they alone make no question of what is missing.
var circumstances = []string{"torch", "tensorflow", "jax", "built_cudnn", "built_nccl", "python", "glibc", "gpus"}

// meets judges a condition for a build. Maybe names what is missing, once a clause that is no mere circumstance is
// known to be so.
func (m *machine) meets(c tables.Condition, b *build) (trilean, string) {
	missing, sure := "", false
	for _, clause := range c.Clauses {
		switch t := m.meetsClause(clause, b); {
		case t == no:
			return no, ""
		case t == maybe:
			missing = clause.Name
		case !slices.Contains(circumstances, clause.Name):
			sure = true
		}
	}
	switch {
	case missing == "":
		return yes, ""
	case sure:
		return maybe, missing
	}
	return no, ""
}

// meetsClause judges one clause of an advisory's condition; maybe is a fact that is missing.
func (m *machine) meetsClause(c tables.Clause, b *build) trilean {
	values, known := m.clauseValues(c, b)
	switch own := b.own(c.Name); {
	case !known && own.Known() && !c.Allowed.Has(own):
		return no // what the build brings is none of them, and nothing says that it takes another one
	case !known:
		return maybe
	case slices.ContainsFunc(values, c.Allowed.Has):
		return yes
	}
	return no
}

// own is the release of a library that the build was made with and brings or pins.
func (b *build) own(library string) version.Number {
	switch library {
	case "cudnn":
		return b.builtWith(b.CuDNN, func(r row) version.Number { return r.CuDNN })
	case "nccl":
		return b.builtWith(b.NCCL, func(r row) version.Number { return r.NCCL })
	}
	return version.Number{}
}

// spares reports whether a condition does not hold for one of the GPUs, which then can be used alone.
func (m *machine) spares(c tables.Condition) bool {
	return slices.ContainsFunc(c.Clauses, func(clause tables.Clause) bool {
		capabilities, _ := m.capabilities()
		return clause.Name == "capability" && slices.ContainsFunc(capabilities,
			func(v version.Number) bool { return !clause.Allowed.Has(v) })
	})
}

// clauseValues are what a clause's name stands for; not known is a fact that is missing.
func (m *machine) clauseValues(c tables.Clause, b *build) (values []version.Number, known bool) {
	one := func(v version.Number) ([]version.Number, bool) { return []version.Number{v}, v.Known() }
	switch c.Name {
	case "driver":
		return one(m.driver().version)
	case "cuda":
		return one(b.cuda)
	case "cudnn", "nccl", "cublas":
		l, ok := b.takes(c.Name)
		return []version.Number{l.version}, ok
	case "built_cudnn", "built_nccl":
		return one(b.own(strings.TrimPrefix(c.Name, "built_")))
	case "numpy":
		if p := b.env.Package("numpy"); p != nil {
			return one(p.version)
		}
		return nil, false
	case "python":
		return one(version.Of(b.python))
	case "glibc":
		return one(m.libc)
	case "gpus":
		return one(version.Of(strconv.Itoa(len(m.gpus))))
	case "capability":
		return m.capabilities()
	}
	if c.Name != b.Name {
		return nil, true
	}
	return one(b.release.Number)
}

// builtWith is the version that a build was made with: its own record's, else its table row's.
func (b *build) builtWith(own string, of func(row) version.Number) version.Number {
	if v := version.Of(own); v.Known() || len(b.rows) == 0 {
		return v
	}
	return of(b.rows[0])
}

// capabilities are those of the visible GPUs, each kind once; not known as long as one of them is not.
func (m *machine) capabilities() (list []version.Number, known bool) {
	for _, g := range m.kinds {
		if g.capability.Known() {
			list = append(list, g.capability.Number())
		}
	}
	return list, len(list) == len(m.kinds)
}

// knownBad: a combination of which an advisory says that it does not work. All that it requires is met, and it fails
// for a bug which its maker describes, so only a row can tell; the severity is the row's own.
func knownBad(m *machine, b *build) []*result {
	if b.accelerator != "cuda" || !b.framework() {
		return nil
	}
	return m.asShown((*machine).advised, b)
}

// advised are the advisories that hold for a build.
func (m *machine) advised(b *build) []*result {
	var results []*result
	missing := ""
	for _, a := range tables.Rows[tables.Advisory](m.t) {
		switch t, what := m.meets(a.When, b); t {
		case yes:
			f := Finding{
				Severity: Severity(a.Severity),
				Subject:  b.subject,
				Message:  a.Message,
				Need:     "a combination other than " + a.When.Text,
				Steps:    b.env.tabled(m.remedy(a.Fix, b)),
				Source:   a.Source,
				Evidence: append(b.evidence(), Evidence{Fact: "advisory", Value: a.ID, From: "advisory.csv"}),
			}
			// The build runs on a GPU of another capability.
			if f.Severity == Error && m.spares(a.When) {
				f.Severity = Warning
			}
			for _, c := range a.When.Clauses {
				if values, ok := m.clauseValues(c, b); ok && len(values) > 0 && !slices.Contains(Frameworks(), c.Name) {
					f.Evidence = append(f.Evidence, Evidence{Fact: c.Name, Value: values[0].String(), From: m.clauseFrom(c, b)})
				}
			}
			results = append(results, found(f)...)
		case maybe:
			missing = fmt.Sprintf("which %s %s loads (advisory %s)", what, b.Name, a.ID)
		}
	}
	switch {
	case len(results) > 0:
		return results
	case missing != "":
		return unknown(b.subject, missing)
	}
	return holds(b.subject)
}

// cudnnWheel matches the cuDNN of CUDA 12 in a remedy, with the range of its releases.
var cudnnWheel = lazyregexp.New(`nvidia-cudnn-cu12([<>=0-9.,]+)`)

// remedy is an advisory's, which names the wheel of CUDA 12, for the build's own CUDA.
func (m *machine) remedy(fix string, b *build) string {
	f := cudnnWheel.FindStringSubmatch(fix)
	if f == nil || b.cuda.Major() == 12 {
		return fix
	}
	for _, c := range tables.Rows[tables.CuDNN](m.t) {
		if ok, err := version.Allows(f[1], c.Release); err == nil && ok && c.CUDA.Major() == b.cuda.Major() {
			return strings.ReplaceAll(fix, "-cu12", fmt.Sprintf("-cu%d", b.cuda.Major()))
		}
	}
	return fmt.Sprintf("take a build of %s for CUDA 12: cuDNN %s is not there for CUDA %d", b.Name, f[1], b.cuda.Major())
}

// clauseFrom is where a clause's value was read.
func (m *machine) clauseFrom(c tables.Clause, b *build) string {
	switch c.Name {
	case "cudnn", "nccl", "cublas":
		l, _ := b.takes(c.Name)
		return l.from
	case "capability", "gpus":
		return m.gpus[0].from
	case "driver":
		return m.driver().from
	}
	return cmp.Or(b.From, b.Path)
}
