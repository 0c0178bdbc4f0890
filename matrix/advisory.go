package matrix

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/version"
)

// Advisory is one combination that is known to be bad.
type Advisory struct {
	ID       string    `csv:"id"`
	Severity level     `csv:"severity"`
	When     condition `csv:"when"`
	Message  string    `csv:"message"` // one sentence: what goes wrong
	Fix      string    `csv:"fix"`     // what to do
	origin
}

// level is a severity as a table's cell.
type level Severity

// UnmarshalText reads the cell.
func (l *level) UnmarshalText(text []byte) error {
	if *l = level(text); !slices.Contains([]Severity{Error, Warning, Note}, Severity(*l)) {
		return fmt.Errorf("%q is no severity: error, warning or note", text)
	}
	return nil
}

// condition says when an advisory holds: clauses separated by spaces, all of which must hold for one build on one
// machine. A clause is a name and a range of versions, "cudnn>=9,<9.10.1"; "capability" holds when it does for one of
// the GPUs that a program sees, "gpus" is how many those are.
type condition struct {
	text    string
	clauses []clause
}

type clause struct {
	name    string
	allowed version.Range
}

var (
	clauseText  = lazyregexp.New(`^([a-z_]+)((?:!=|<=|>=|=|<|>)\d+(?:\.\d+)*(?:,(?:!=|<=|>=|=|<|>)\d+(?:\.\d+)*)*)$`)
	clauseNames = []string{"torch", "tensorflow", "jax", "driver", "cuda", "cudnn", "built_cudnn", "nccl", "built_nccl", "cublas", "numpy", "python", "glibc", "capability", "gpus"}
)

// UnmarshalText reads a table's cell.
func (c *condition) UnmarshalText(text []byte) error {
	c.text = string(text)
	for part := range strings.FieldsSeq(c.text) {
		m := clauseText.FindStringSubmatch(part)
		if m == nil {
			return fmt.Errorf("%q is no clause such as cudnn>=9,<9.10.1", part)
		}
		if !slices.Contains(clauseNames, m[1]) {
			return fmt.Errorf("there is no %q to compare; there are %s", m[1], strings.Join(clauseNames, ", "))
		}
		allowed, err := version.ParseRange(m[2])
		if err != nil {
			return err
		}
		c.clauses = append(c.clauses, clause{m[1], allowed})
	}
	if len(c.clauses) == 0 {
		return fmt.Errorf("a condition without a clause holds everywhere")
	}
	return nil
}

// MarshalText writes it back.
func (c condition) MarshalText() ([]byte, error) { return []byte(c.text), nil }

// circumstances are true of so many machines that they alone make no question of what is missing.
var circumstances = []string{"torch", "tensorflow", "jax", "built_cudnn", "built_nccl", "python", "glibc", "gpus"}

// holds judges the condition for a build. Maybe names what is missing, once a clause that is no mere circumstance is
// known to be so.
func (c condition) holds(m *machine, b *build) (trilean, string) {
	missing, sure := "", false
	for _, clause := range c.clauses {
		switch t := clause.holds(m, b); {
		case t == no:
			return no, ""
		case t == maybe:
			missing = clause.name
		case !slices.Contains(circumstances, clause.name):
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

func (c clause) holds(m *machine, b *build) trilean {
	values, known := c.values(m, b)
	switch own := b.own(c.name); {
	case !known && own.Known() && !c.allowed.Has(own):
		return no // what the build brings is none of them, and nothing says that it takes another one
	case !known:
		return maybe
	case slices.ContainsFunc(values, c.allowed.Has):
		return yes
	}
	return no
}

// own is the release of a library that the build was made with and brings or pins.
func (b *build) own(library string) version.Number {
	switch library {
	case "cudnn":
		return b.builtWith(b.CuDNN, func(r row) version.Number { return r.cudnn })
	case "nccl":
		return b.builtWith(b.NCCL, func(r row) version.Number { return r.nccl })
	}
	return version.Number{}
}

// spares says that the condition does not hold for one of the GPUs, which then can be used alone.
func (c condition) spares(m *machine) bool {
	return slices.ContainsFunc(c.clauses, func(clause clause) bool {
		capabilities, _ := m.capabilities()
		return clause.name == "capability" && slices.ContainsFunc(capabilities, func(v version.Number) bool { return !clause.allowed.Has(v) })
	})
}

// values are what a clause's name stands for; not known is a fact that is missing.
func (c clause) values(m *machine, b *build) (values []version.Number, known bool) {
	one := func(v version.Number) ([]version.Number, bool) { return []version.Number{v}, v.Known() }
	switch c.name {
	case "driver":
		return one(m.driver.version)
	case "cuda":
		return one(b.cuda)
	case "cudnn", "nccl", "cublas":
		l, ok := b.takes(c.name)
		return []version.Number{l.version}, ok
	case "built_cudnn", "built_nccl":
		return one(b.own(strings.TrimPrefix(c.name, "built_")))
	case "numpy":
		if p := b.env.Package("numpy"); p != nil {
			return one(version.Of(p.Version))
		}
		return nil, false
	case "python":
		return one(version.Of(b.python))
	case "glibc":
		return one(version.Of(m.f.System.Libc))
	case "gpus":
		return one(version.Of(strconv.Itoa(len(m.gpus))))
	case "capability":
		return m.capabilities()
	}
	if c.name != b.Name {
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

func (m *machine) capabilities() (list []version.Number, known bool) {
	for _, g := range m.gpus {
		if g.capability.Known() {
			list = append(list, version.Of(g.capability.String()))
		}
	}
	return list, len(list) == len(m.gpus)
}

// knownBad: a combination of which an advisory says that it does not work.
func knownBad(m *machine, b *build) []*result {
	if b.accelerator != "cuda" || !b.framework() {
		return nil
	}
	var results []*result
	missing := ""
	for _, a := range must(m.t.advisories()) {
		switch t, what := a.When.holds(m, b); t {
		case yes:
			f := Finding{Severity: Severity(a.Severity), Subject: b.subject, Message: a.Message, Need: "not: " + a.When.text, Do: []string{a.Fix}, Source: a.Source,
				Evidence: append(b.evidence(), Evidence{Fact: "advisory", Value: a.ID, From: "advisory.csv"})}
			if f.Severity == Error && a.When.spares(m) {
				f.Severity = Warning
			}
			for _, c := range a.When.clauses {
				if values, ok := c.values(m, b); ok && len(values) > 0 && !slices.Contains(Frameworks(), c.name) {
					f.Evidence = append(f.Evidence, Evidence{Fact: c.name, Value: values[0].String(), From: m.clauseFrom(c, b)})
				}
			}
			results = append(results, found(f)...)
		case maybe:
			missing = fmt.Sprintf("the %s that %s takes (advisory %s)", what, b.Name, a.ID)
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

// clauseFrom is where a clause's value was read.
func (m *machine) clauseFrom(c clause, b *build) string {
	switch c.name {
	case "cudnn", "nccl", "cublas":
		l, _ := b.takes(c.name)
		return l.from
	case "capability", "gpus":
		return m.gpus[0].from
	case "driver":
		return m.driver.from
	}
	return cmpOr(b.From, b.Path)
}
