package pages

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"cudacompat/tools/artefact"
	"cudacompat/tools/artefact/reading"
)

// readCopy returns a file of which somebody has a copy, or the kept part of one. dayOf reads its date from it.
func readCopy(s *artefact.Source, l artefact.Listed, dayOf func(text []byte) (string, error)) ([]byte, error) {
	if file := s.Copies[l.ID]; file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		day, err := dayOf(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		return text, reading.Keep(s.Cache, l.Address, day, string(text))
	}
	if p := s.FindKept(l.Address); p != nil {
		return p.Body, nil
	}
	return nil, noCopy(l)
}

// fromClone returns what is read from somebody's clone, or the kept part of one. Its date is that of its newest tag.
func fromClone[T any](s *artefact.Source, l artefact.Listed, read func(clone string) ([]T, error)) (list []T, err error) {
	if clone := s.Copies[l.ID]; clone != "" {
		if list, err = read(clone); err != nil {
			return nil, err
		}
		body, err := json.Marshal(list)
		if err != nil {
			return nil, err
		}
		day, err := git(clone, "for-each-ref", "--sort=-creatordate", "--count=1", "--format=%(creatordate:short)", "refs/tags")
		if err != nil {
			return nil, err
		}
		return list, reading.Keep(s.Cache, l.Address, strings.TrimSpace(day), string(body))
	}
	p := s.FindKept(l.Address)
	if p == nil {
		return nil, noCopy(l)
	}
	return list, json.Unmarshal(p.Body, &list)
}

func noCopy(l artefact.Listed) error {
	return fmt.Errorf("it is read from a copy: --copy %s=PATH (%s)", l.ID, l.Copy)
}

func git(clone string, args ...string) (string, error) {
	out, err := exec.Command("git", append([]string{"-C", clone}, args...)...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s in %s: %w", strings.Join(args, " "), clone, err)
	}
	return string(out), nil
}
