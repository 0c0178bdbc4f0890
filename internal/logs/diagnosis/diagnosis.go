// Package diagnosis parses data/diagnosis: for each cause, one stanza with its meaning, the answers of the grammars,
// the other causes that it may be, and the exceptions that mean it.
package diagnosis

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/logs/advise"
)

// Book is all stanzas.
type Book struct {
	Answers  map[string]*Answer // by name
	May      map[string][]May   // by cause
	Means    map[string]string  // by cause: the paragraph of its page
	Refusals []Refusal          // in their order
}

// Answer is what a record means, in words whose {names} are its slots.
type Answer struct {
	Name, Cause, Blame, Rule, Weight string
	Because                          string
	Do                               []string // each with its conditions behind [advise.Mark]
}

// May is another cause that an unclear one may be, and what decides that.
type May struct{ Cause, Blame, Fetch string }

// Refusal is what an exception means by its class, its words and whose call raised it.
type Refusal struct {
	Order           int
	By, Class, Said string
	Answer          string
}

// Read reads the stanzas of all files. A stanza ends at an empty line; a field is "name: value":
//
//	cause: shm-too-small
//	blame: environment
//	rule: shm-too-small
//	means: Shared memory (/dev/shm) is where the processes of a job hand tensors to each other. …
//	may: host-out-of-memory program dmesg | grep -i 'out of memory'
//	answer: worker-shm cause
//	because: A DataLoader worker got a bus error: shared memory (/dev/shm) was full.
//	do: give the container more: `docker run --shm-size=8g`, or `--ipc=host`
//	for: platform container
//	refuse: 120 anyone OSError
//	said: No space left on device.*shm
//
// Lines before the first answer belong to the cause. A "for" is a condition of the "do" before it.
func Read(fsys fs.FS) (*Book, error) {
	entries, err := fs.ReadDir(fsys, "diagnosis")
	if err != nil {
		return nil, err
	}
	r := reader{book: &Book{Answers: map[string]*Answer{}, May: map[string][]May{}, Means: map[string]string{}}, known: map[string]bool{}}
	for _, e := range entries {
		r.file = path.Join("diagnosis", e.Name())
		text, err := fs.ReadFile(fsys, r.file)
		if err != nil {
			return nil, err
		}
		r.number, r.cause, r.answer = 0, nil, nil
		for line := range strings.SplitSeq(string(text), "\n") {
			r.number++
			if err := r.line(line); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", r.file, r.number, err)
			}
		}
	}
	slices.SortStableFunc(r.book.Refusals, func(a, b Refusal) int { return cmp.Compare(a.Order, b.Order) })
	return r.book, nil
}

// reader is where in the files reading is.
type reader struct {
	book   *Book
	known  map[string]bool // the causes so far
	file   string
	number int
	cause  *Answer // what the stanza says of its cause
	answer *Answer // the answer that is read; nil before the first
}

func (r *reader) line(line string) error {
	if line == "" {
		r.cause, r.answer = nil, nil
		return nil
	}
	if strings.HasPrefix(line, "#") {
		return nil
	}
	name, value, said := strings.Cut(line, ": ")
	if !said || value == "" {
		return fmt.Errorf("%q is not a field", line)
	}
	if name == "cause" {
		return r.begin(value)
	}
	if r.cause == nil {
		return errors.New("a field comes before its cause")
	}
	return r.field(name, value)
}

// begin begins the stanza of a cause. Answers with a cause of their own are below "-".
func (r *reader) begin(cause string) error {
	if r.known[cause] {
		return fmt.Errorf("the cause %s has two stanzas", cause)
	}
	r.known[cause] = true
	r.cause, r.answer = &Answer{Cause: strings.TrimPrefix(cause, "-")}, nil
	return nil
}

func (r *reader) field(name, value string) error {
	of := cmp.Or(r.answer, r.cause)
	switch name {
	case "blame":
		of.Blame = value
	case "rule":
		of.Rule = strings.TrimPrefix(value, "none")
	case "means":
		r.book.Means[r.cause.Cause] = value
	case "may":
		cause, rest, _ := strings.Cut(value, " ")
		blame, fetch, said := strings.Cut(rest, " ")
		if !said {
			return fmt.Errorf("%q is not a cause, its blame and what decides it", value)
		}
		r.book.May[r.cause.Cause] = append(r.book.May[r.cause.Cause], May{cause, blame, fetch})
	case "answer":
		return r.newAnswer(value)
	case "because":
		of.Because = value
	case "do":
		of.Do = append(of.Do, value)
	case "for":
		if len(of.Do) == 0 {
			return errors.New("a condition comes before its step")
		}
		last := &of.Do[len(of.Do)-1]
		*last += advise.Mark + value
	case "refuse":
		return r.refuse(value)
	case "said":
		if len(r.book.Refusals) == 0 {
			return errors.New("words of an exception come before its class")
		}
		r.book.Refusals[len(r.book.Refusals)-1].Said = value
	default:
		return fmt.Errorf("there is no field %q", name)
	}
	return nil
}

func (r *reader) newAnswer(value string) error {
	name, weight, _ := strings.Cut(value, " ")
	if r.book.Answers[name] != nil {
		return fmt.Errorf("the answer %s stands twice", name)
	}
	a := *r.cause
	a.Name, a.Weight, a.Do = name, weight, nil
	r.answer = &a
	r.book.Answers[name] = r.answer
	return nil
}

func (r *reader) refuse(value string) error {
	fields := strings.SplitN(value, " ", 3)
	if len(fields) < 3 || r.answer == nil {
		return fmt.Errorf("%q is not an order, a caller and a class below an answer", value)
	}
	order, err := strconv.Atoi(fields[0])
	if err != nil {
		return err
	}
	r.book.Refusals = append(r.book.Refusals, Refusal{Order: order, By: fields[1], Class: fields[2], Answer: r.answer.Name})
	return nil
}

// Check returns the errors in a book: unusable expressions, conditions, candidates and words. Read does not check,
// because every run reads.
func (b *Book) Check() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	for name, a := range b.Answers {
		for _, step := range a.Do {
			if err := advise.Check(step); err != nil {
				fault("answer %s: %w", name, err)
			}
		}
		if a.Weight == "" {
			fault("answer %s has no weight", name)
		}
	}
	for _, r := range b.Refusals {
		for _, expression := range []string{r.Class, r.Said} {
			if _, err := regexp.Compile(expression); err != nil {
				fault("refusal %d: %w", r.Order, err)
			}
		}
		if r.By != "" && !slices.Contains([]string{"anyone", "own", "theirs", "cloned", "visible", "unseen", "ending"}, r.By) {
			fault("refusal %d: nobody is called %q", r.Order, r.By)
		}
	}
	for i := 1; i < len(b.Refusals); i++ {
		if b.Refusals[i].Order == b.Refusals[i-1].Order {
			fault("two refusals have the order %d", b.Refusals[i].Order)
		}
	}
	return errors.Join(faults...)
}
