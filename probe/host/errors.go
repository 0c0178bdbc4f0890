package host

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/budget"
)

// Errors collects what could not be read while the rest goes on.
type Errors []string

// Add keeps what went wrong, once, and of very many the first; that a thing is not there is no failure.
func (l *Errors) Add(err error) {
	switch {
	case err == nil || Absent(err) || len(*l) > budget.Shown || slices.Contains(*l, err.Error()):
	case len(*l) == budget.Shown:
		*l = append(*l, "and more")
	default:
		*l = append(*l, err.Error())
	}
}

// Err returns one error that names them all, nil when there is none.
func (l Errors) Err() error {
	if len(l) == 0 {
		return nil
	}
	return fmt.Errorf("%s", strings.Join(l, "; "))
}

// ErrAbsent means that a source looked and the thing is not there.
var ErrAbsent = errors.New("not there")

// damagedMark ends the errors of files that were read.
const damagedMark = "; is the file damaged?"

// Damaged returns an error that names a file and what is wrong with it.
func Damaged(name, why string) error {
	return fmt.Errorf("%s: %s%s", name, why, damagedMark)
}

// Unread returns those that tell of what was not read, rather than of what was and is damaged.
func (l Errors) Unread() []string {
	return slices.DeleteFunc(slices.Clone(l), func(text string) bool { return strings.HasSuffix(text, damagedMark) })
}
