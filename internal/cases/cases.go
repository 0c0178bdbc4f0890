// Package cases reads the machines in the tests of rules. A case names a recorded machine and the difference that
// causes its verdict.
package cases

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/tools/txtar"
)

// Facts returns the facts of a case. Its head names a machine and the parts in which that is another, and patch.json is
// what is different beside them:
//
//	base: host T4 550.163.01 torch-2.6.0+cu124
//
// Anything other than a machine, such as a pasted report, is complete in facts.json.
func Facts(machines string, archive *txtar.Archive) ([]byte, error) {
	var whole, patch []byte
	for _, f := range archive.Files {
		switch f.Name {
		case "facts.json":
			whole = f.Data
		case "patch.json":
			patch = f.Data
		}
	}
	_, line, based := strings.Cut("\n"+string(archive.Comment), "\nbase: ")
	switch {
	case based && whole != nil, !based && patch != nil:
		return nil, errors.New(`a case has facts.json, or a line "base:" and, where something is different, patch.json`)
	case !based:
		return whole, nil
	}
	line, _, _ = strings.Cut(line, "\n")
	return Machine(machines, line, patch)
}

// Machine returns a recorded machine in some parts, with a patch over it.
func Machine(machines, base string, patch []byte) ([]byte, error) {
	words := strings.Fields(base)
	if len(words) == 0 {
		return nil, errors.New("base: names no machine")
	}
	tree, err := readRecording(filepath.Join(machines, words[0]+".json"))
	if err != nil {
		return nil, fmt.Errorf("base: %s is no recorded machine: %w", words[0], err)
	}
	for _, part := range words[1:] {
		change, err := recordedPart(machines, words[0], part)
		if err != nil {
			return nil, fmt.Errorf("base: %s is no recorded part of %s; what the machine has anyway is not named: %w", part, words[0], err)
		}
		tree = MergePatch(tree, change)
	}
	if len(patch) > 0 {
		var change any
		if err := json.Unmarshal(patch, &change); err != nil {
			return nil, fmt.Errorf("patch.json: %w", err)
		}
		tree = MergePatch(tree, change)
	}
	return json.Marshal(tree)
}

// recordedPart returns the patch for a part of a machine: the machine's own, or the one for all machines.
func recordedPart(machines, machine, part string) (any, error) {
	change, err := readRecording(filepath.Join(machines, machine, part+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return readRecording(filepath.Join(machines, "part", part+".json"))
	}
	return change, err
}

// parsedFiles are the files that were read: many cases are patches over one machine.
var parsedFiles sync.Map

func readRecording(file string) (any, error) {
	if tree, ok := parsedFiles.Load(file); ok {
		return tree, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	parsedFiles.Store(file, tree)
	return tree, nil
}
