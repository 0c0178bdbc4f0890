package tables

import (
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/version"
)

// Advisory is one combination of versions that is known to fail.
type Advisory struct {
	ID       string    `csv:"id"`
	Severity Level     `csv:"severity"`
	When     Condition `csv:"when"`
	Message  string    `csv:"message"` // one sentence: what goes wrong
	Fix      string    `csv:"fix"`     // what to do
	Origin
}

// Level is the severity of an advisory: error, warning, note or Unseen.
type Level string

// Unseen is the level of an advisory on a package release that cannot load the CUDA libraries which its own extra
// installs. The release works only if the machine has these libraries elsewhere. A requirements file does not show this,
// so a check of the file answers "unknown".
const Unseen Level = "unseen"

// UnmarshalText parses the severity in a table cell.
func (l *Level) UnmarshalText(text []byte) error {
	if *l = Level(text); !slices.Contains([]Level{"error", "warning", "note", Unseen}, *l) {
		return fmt.Errorf("%q is not a severity: error, warning, note or unseen", text)
	}
	return nil
}

// Condition says when an advisory applies: clauses separated by spaces that must all hold for one build on one machine.
// A clause is a name and a version range, "cudnn>=9,<9.10.1". A "capability" clause holds if one visible GPU satisfies
// it. "gpus" is the number of visible GPUs.
type Condition struct {
	Text    string
	Clauses []Clause
}

// Clause is one comparison of a condition.
type Clause struct {
	Name    string
	Allowed version.Range
}

var (
	clauseText  = lazyregexp.New(`^([a-z_]+)((?:!=|<=|>=|=|<|>)\d+(?:\.\d+)*(?:,(?:!=|<=|>=|=|<|>)\d+(?:\.\d+)*)*)$`)
	clauseNames = []string{"torch", "tensorflow", "jax", "driver", "cuda", "cudnn", "built_cudnn", "nccl", "built_nccl",
		"cublas", "numpy", "python", "glibc", "capability", "gpus"}
)

// UnmarshalText parses a table cell. It accepts text that is not a valid condition; Valid reports the fault.
func (c *Condition) UnmarshalText(text []byte) error {
	*c = Condition{Text: string(text)}
	for part := range strings.FieldsSeq(c.Text) {
		name := strings.TrimRight(part, "!<>=,.0123456789")
		clause := Clause{Name: name}
		if err := clause.Allowed.UnmarshalText([]byte(part[len(name):])); err != nil {
			return err
		}
		c.Clauses = append(c.Clauses, clause)
	}
	return nil
}

// Valid returns an error if the condition was not written correctly.
func (c Condition) Valid() error {
	for i, part := range slices.Collect(strings.FieldsSeq(c.Text)) {
		if !clauseText.MatchString(part) {
			return fmt.Errorf("%q is not a clause such as cudnn>=9,<9.10.1", part)
		}
		if name := c.Clauses[i].Name; !slices.Contains(clauseNames, name) {
			return fmt.Errorf("there is no %q to compare; there are %s", name, strings.Join(clauseNames, ", "))
		}
		if err := c.Clauses[i].Allowed.Valid(); err != nil {
			return err
		}
	}
	if len(c.Clauses) == 0 {
		return fmt.Errorf("a condition without a clause holds everywhere")
	}
	return nil
}

// MarshalText returns the text of the cell.
func (c Condition) MarshalText() ([]byte, error) { return []byte(c.Text), nil }

// number matches each version in a range.
var number = lazyregexp.New(`\d+(?:\.\d+)*`)

// Mentions returns the versions in the clauses on a name.
func (c Condition) Mentions(name string) []version.Number {
	var list []version.Number
	for part := range strings.FieldsSeq(c.Text) {
		if m := clauseText.FindStringSubmatch(part); m != nil && m[1] == name {
			for _, text := range number.FindAllString(m[2], -1) {
				list = append(list, version.ParseOrZero(text))
			}
		}
	}
	return list
}
