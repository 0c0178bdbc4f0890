package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"cudacompat/probe"
	"cudacompat/probe/facts"
)

// maxProjectFiles limits how many files of a project are judged.
const maxProjectFiles = 50

// filesOfProject returns the files in a directory that say what is installed. Each is judged separately. A lock
// replaces its pyproject.toml, and a requirements file the list that it was compiled from.
func filesOfProject(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, &usageError{fmt.Sprintf("cannot read %q: %v", dir, cause(err)), absentHint}
	}
	var names []string
	for _, entry := range entries {
		if !entry.IsDir() && projectFile.MatchString(entry.Name()) {
			names = append(names, entry.Name())
		}
	}
	below, err := os.ReadDir(filepath.Join(dir, "requirements"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		names = append(names, "requirements") // a place that is not looked at
	}
	for _, entry := range below {
		if name := "requirements/" + entry.Name(); !entry.IsDir() && projectFile.MatchString(name) {
			names = append(names, name)
		}
	}
	locked := slices.ContainsFunc(names, func(name string) bool { return slices.Contains(projectLocks, name) })
	names = slices.DeleteFunc(names, func(name string) bool {
		compiled, isSource := strings.CutSuffix(name, ".in")
		return locked && name == "pyproject.toml" || isSource && slices.Contains(names, compiled+".txt")
	})
	switch {
	case len(names) == 0:
		return nil, &usageError{fmt.Sprintf("%q has no lock, pyproject.toml, requirements, Dockerfile or compose file", dir),
			"name the file; a tree of installed files is for cudacompat doctor --root DIR"}
	case len(names) > maxProjectFiles:
		return nil, &usageError{fmt.Sprintf("%q has %d files that say what is installed, and no more than %d are judged", dir, len(names), maxProjectFiles),
			"name the files"}
	}
	for i := range names {
		names[i] = filepath.Join(dir, names[i])
	}
	return names, nil
}

// givenProject returns what each file in a directory describes. A file that is not understood leaves the outcome open.
func givenProject(dir, python, includeRoot string) ([]description, error) {
	names, err := filesOfProject(dir)
	if err != nil {
		return nil, err
	}
	var list []description
	for _, name := range names {
		found, err := givenOfProject(name, python, includeRoot)
		if err == nil && len(found) > 0 {
			err = found[0].foreign
		}
		if err != nil {
			found = []description{{name: name, facts: probe.Facts{Unread: []facts.Unread{{Place: name, Reason: err.Error(), Kind: facts.UnreadNeeded}}}}}
		}
		for i := range found {
			found[i].apart = true
		}
		list = append(list, found...)
	}
	return groupMachines(list), nil
}

// givenOfProject reads a file of a project. It follows links, and rejects anything that is not a regular file, such as
// a pipe.
func givenOfProject(name, python, includeRoot string) ([]description, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, fmt.Errorf("it cannot be read: %w", cause(err))
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	}
	return givenMachines(name, python, includeRoot, strings.NewReader(""))
}

// isProject reports whether a name is that of a directory.
func isProject(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// onlyFileOf returns the single file of a project's directory that says what is installed, and any other name
// unchanged. A Python environment is not a project.
func onlyFileOf(name string) (string, error) {
	if name == "" || !isProject(name) || probe.IsEnvironment(probe.This(), name) {
		return name, nil
	}
	files, err := filesOfProject(name)
	switch {
	case err != nil: // what is installed there is looked for
		return name, nil
	case len(files) > 1:
		return "", &usageError{fmt.Sprintf("%q has %d files that say what is installed, and requires takes one", name, len(files)),
			"name one, such as " + files[0]}
	}
	return files[0], nil
}
