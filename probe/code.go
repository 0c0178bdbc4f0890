package probe

import (
	"fmt"
	"slices"

	"cudacompat/internal/fatbin"
)

// readCode lists the machine code of a build's own libraries. A library's targets are those that most of its
// containers have: a kernel that is written for one GPU alone says nothing of the rest.
func (b *Build) readCode(h *Host, patterns ...string) error {
	var failed errorList
	for _, pattern := range patterns {
		for _, name := range h.Glob(pattern) {
			failed.add(b.addCode(h, name))
		}
	}
	return failed.err()
}

func (b *Build) addCode(h *Host, name string) error {
	f, err := h.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	code, err := fatbin.Read(f, info.Size())
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	code = code.Common(fatbin.BuildList)
	b.SASS = union(b.SASS, code.SASS)
	b.PTX = union(b.PTX, code.PTX)
	return nil
}

func union(list []string, more []fatbin.Target) []string {
	for _, t := range more {
		if !slices.Contains(list, t.String()) {
			list = append(list, t.String())
		}
	}
	return list
}
