package tables

import (
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/version"
)

// Advisory is one combination that is known to be bad.
type Advisory struct {
	ID       string    `csv:"id"`
	Severity Level     `csv:"severity"`
	When     Condition `csv:"when"`
	Message  string    `csv:"message"` // one sentence: what goes wrong
	Fix      string    `csv:"fix"`     // what to do
	Origin
}

// Level is how bad an advisory is: error, warning or note, or Unseen.
type Level string

// Unseen is the level for a release that does not find the CUDA libraries of its own extra by itself. Whether it finds
// others shows only after installation, so for a file the answer is unknown.
const Unseen Level = "unseen"

// UnmarshalText reads the cell.
func (l *Level) UnmarshalText(text []byte) error {
	if *l = Level(text); !slices.Contains([]Level{"error", "warning", "note", Unseen}, *l) {
		return fmt.Errorf("%q is not a severity: error, warning, note or unseen", text)
	}
	return nil
}

// Condition says when an advisory applies: clauses separated by spaces that must all hold for one build on one machine.
// A clause is a name and a version range, "cudnn>=9,<9.10.1". "capability" holds if it does for one of the GPUs that a
// program sees; "gpus" is their number.
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

// UnmarshalText reads a table's cell. Valid says what is wrong with it.
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

// Valid says what is wrong with a condition that was read from a cell.
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

// MarshalText writes it back.
func (c Condition) MarshalText() ([]byte, error) { return []byte(c.Text), nil }

// number matches the versions of a range.
var number = lazyregexp.New(`\d+(?:\.\d+)*`)

// Mentions returns the versions with which a name is compared.
func (c Condition) Mentions(name string) []version.Number {
	var list []version.Number
	for part := range strings.FieldsSeq(c.Text) {
		if m := clauseText.FindStringSubmatch(part); m != nil && m[1] == name {
			for _, text := range number.FindAllString(m[2], -1) {
				list = append(list, version.Of(text))
			}
		}
	}
	return list
}
