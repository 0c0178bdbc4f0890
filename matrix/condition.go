package matrix

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
	Severity level     `csv:"severity"`
	When     condition `csv:"when"`
	Message  string    `csv:"message"` // one sentence: what goes wrong
	Fix      string    `csv:"fix"`     // what to do
	origin
}

// level is how bad an advisory is: error, warning or note.
type level string

// UnmarshalText reads the cell.
func (l *level) UnmarshalText(text []byte) error {
	if *l = level(text); !slices.Contains([]level{"error", "warning", "note"}, *l) {
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
