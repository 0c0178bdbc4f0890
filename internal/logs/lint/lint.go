// Package lint checks the table of signatures: that ids are unique, that each pattern compiles and matches its own
// line, that every match contains one of the literals the finder looks for, and that the words need no value that a
// match may lack.
//
// Tests lint the embedded table. A run lints only rows that a site adds, because linting costs more than reading most
// logs.
package lint

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/advise"
	"cudacompat/internal/logs/decide"
	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/logs/readers"
	"cudacompat/internal/logs/signature"
	"cudacompat/internal/tables"
)

// checkTable returns one error for each fault of the table.
func checkTable(all []signature.Signature) []error {
	var faults []error
	ids, blames := map[string]bool{}, map[string]decide.Blame{}
	for _, s := range all {
		if ids[s.ID] {
			faults = append(faults, fmt.Errorf("signature %q: id is not unique", s.ID))
		}
		ids[s.ID] = true
		if b, seen := blames[s.Cause]; seen && b != s.Blame {
			faults = append(faults, fmt.Errorf("signature %q: cause %q is blamed on both %s and %s", s.ID, s.Cause, b, s.Blame))
		}
		blames[s.Cause] = s.Blame
	}
	for _, s := range all {
		if err := checkRow(&s); err != nil {
			faults = append(faults, fmt.Errorf("signature %q: %w", s.ID, err))
		}
		if s.Needs != "" && !ids[s.Needs] {
			faults = append(faults, fmt.Errorf("signature %q: needs unknown signature %q", s.ID, s.Needs))
		}
	}
	return faults
}

func checkRow(s *signature.Signature) error {
	switch {
	case !slug.MatchString(s.ID) || !slug.MatchString(s.Cause):
		return errors.New("id and cause must be lower-case words joined by hyphens")
	case !slices.Contains(decide.Blames, s.Blame):
		return fmt.Errorf("blame %q is not one of %q", s.Blame, decide.Blames)
	case s.Blame == decide.None && s.Weight != decide.Consequence:
		return fmt.Errorf("a line that is harmless has the weight %d", decide.Consequence)
	case s.Rule != "" && !slug.MatchString(s.Rule):
		return fmt.Errorf("rule %q is not a rule id", s.Rule)
	case s.Weight < decide.Fact || s.Weight > decide.Cause:
		return errors.New("its weight is none of fact, consequence, warning, symptom, fault, cause")
	case s.Reads != "" && readers.ByName[s.Reads] == nil:
		return fmt.Errorf("reads %q, which no reader is called", s.Reads)
	case s.Reads == "capability" && s.Needs == "":
		return errors.New("reads the capability, and needs no line that says it")
	case len(s.Do) > advise.MaxSteps:
		return fmt.Errorf("more than %d steps", advise.MaxSteps)
	case s.Weight != decide.Fact && (s.Because == "" || len(s.Do) == 0 && s.Blame != decide.None):
		return errors.New("neither it nor another row of its cause says because and do")
	}
	if err := checkPattern(s); err != nil {
		return err
	}
	return checkWords(s)
}

func checkPattern(s *signature.Signature) error {
	if _, err := regexp.Compile(s.Pattern); err != nil {
		return err
	}
	if len(s.Literal) == 0 {
		return fmt.Errorf("no literal: the pattern %q spells nothing of %d letters", s.Pattern, signature.MinLiteral)
	}
	for _, lit := range s.Literal {
		if len(lit) < signature.MinLiteral {
			return fmt.Errorf("literal %q is shorter than %d bytes", lit, signature.MinLiteral)
		}
	}
	if !mustContain(s.Pattern, s.Literal) {
		return fmt.Errorf("not every match of %q holds one of the literals %q", s.Pattern, s.Literal)
	}
	text := logtext.Clean([]byte(s.Positive))
	if !slices.ContainsFunc(s.Literal, func(lit string) bool { return strings.Contains(s.Positive, lit) }) ||
		s.Match(text) == nil {
		return fmt.Errorf("does not match its own positive line %q", s.Positive)
	}
	return nil
}

func checkWords(s *signature.Signature) error {
	if s.Weight == decide.Fact {
		return nil // nobody reads its words
	}
	for _, step := range s.Do {
		if reinstallsAny(step) {
			return fmt.Errorf("the step %q installs a package again, and names neither its version nor where it is from", step)
		}
	}
	words := strings.Join(append([]string{s.Because}, s.Do...), " ")
	for _, m := range signature.Placeholder.FindAllStringSubmatch(words, -1) {
		if re, err := syntax.Parse(s.Pattern, syntax.Perl); err != nil || !fills(re, m[1]) {
			return fmt.Errorf("not every match of the pattern has a group for %s", m[0])
		}
	}
	return nil
}

// reinstallsAny reports whether a command reinstalls a package without a version or a place. pip then takes the newest
// from its index, which seldom fits. A package that is compiled here fits the installed torch.
func reinstallsAny(step string) bool {
	const named = `==| @ |git\+|(?:^|\s)(?:\./|--index-url |--find-links |-f +https?:|--no-binary\b)|\{address\}`
	return strings.Contains(step, "--force-reinstall") && !regexp.MustCompile(named).MatchString(step)
}

var (
	slug = lazyregexp.New(`^[a-z0-9]+(-[a-z0-9]+)*$`)
)

// Parse parses and lints the table. It returns all errors, with the lines' names.
func Parse(fsys fs.FS) ([]signature.Signature, error) {
	rows, err := tables.Read[tables.Signature](fsys)
	all := signature.ConvertRows(rows)
	return all, errors.Join(append([]error{err}, checkTable(all)...)...)
}

// LoadChecked returns the rows of tables with a site's own rows over them, or the first error.
func LoadChecked(t *tables.Tables) ([]signature.Signature, error) {
	all := signature.Load(t)
	if faults := checkTable(all); len(faults) > 0 {
		return nil, faults[0]
	}
	return all, nil
}
