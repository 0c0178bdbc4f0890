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

// Err returns one error that names all of them, or nil.
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

// Unread returns the errors about things that were not read, without those about damaged ones.
func (l Errors) Unread() []string {
	return slices.DeleteFunc(slices.Clone(l), func(text string) bool { return strings.HasSuffix(text, damagedMark) })
}
