package inputs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/usage"
	"cudacompat/probe"
	"cudacompat/probe/facts"
)

// maxProjectFiles limits how many files of a project are judged.
const maxProjectFiles = 50

// listProjectFiles returns the files in a directory that say what is installed. Each is judged separately. A lock
// replaces its pyproject.toml, and a requirements file the list that it was compiled from.
func listProjectFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, &usage.Error{Message: fmt.Sprintf("cannot read %q: %v", dir, usage.StripPath(err)), Hint: AbsentHint}
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
	locked := slices.ContainsFunc(names, func(name string) bool { return slices.Contains(ProjectLocks, name) })
	names = slices.DeleteFunc(names, func(name string) bool {
		compiled, isSource := strings.CutSuffix(name, ".in")
		return locked && name == "pyproject.toml" || isSource && slices.Contains(names, compiled+".txt")
	})
	switch {
	case len(names) == 0:
		return nil, &usage.Error{Message: fmt.Sprintf("%q has no lock, pyproject.toml, requirements, Dockerfile or compose file", dir),
			Hint: "name the file; a tree of installed files is for cudacompat doctor --root DIR"}
	case len(names) > maxProjectFiles:
		return nil, &usage.Error{Message: fmt.Sprintf("%q has %d files that say what is installed, and no more than %d are judged", dir, len(names), maxProjectFiles),
			Hint: "name the files"}
	}
	for i := range names {
		names[i] = filepath.Join(dir, names[i])
	}
	return names, nil
}

var (
	// otherFile matches the files of a project that name packages in a form which is not read.
	otherFile = lazyregexp.New(`^(?:Pipfile|pixi\.toml|setup\.cfg|setup\.py)$`)
	// namesStack matches a package of a CUDA stack with the release that such a file asks for.
	namesStack = lazyregexp.New(`(?im)(?:^|["' \t])(?:torch|pytorch(?:-gpu)?|jax|jaxlib|tensorflow|cupy[\w-]*|vllm|xformers|flash[-_]attn|` +
		`onnxruntime-gpu)(?:\[[^\]\n]*\])?["']?[ \t]*(?:=|[<>~!]=|[<>@])`)
)

// listOtherFiles returns the files of a directory that name packages of a CUDA stack in a form which is not read. A lock, or a
// pyproject.toml with a list of its own, says what is installed instead.
func listOtherFiles(dir string, names []string) (list []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	pyproject, _ := readStart(filepath.Join(dir, "pyproject.toml"))
	for _, entry := range entries {
		name := entry.Name()
		lock := map[string]string{"Pipfile": "Pipfile.lock", "pixi.toml": "pixi.lock"}[name]
		if !entry.Type().IsRegular() || !otherFile.MatchString(name) || slices.Contains(names, filepath.Join(dir, lock)) ||
			lock == "" && bytes.Contains(append([]byte("\n"), pyproject...), []byte("\n[project]")) {
			continue
		}
		if text, err := readStart(filepath.Join(dir, name)); err == nil && namesStack.Match(text) {
			list = append(list, filepath.Join(dir, name))
		}
	}
	return list
}

// readStart reads the first part of a file in a project.
func readStart(name string) ([]byte, error) {
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return nil, fs.ErrInvalid
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxFile))
}

// errOtherFile is a file of a form that is not read.
var errOtherFile = errors.New("it names packages of a CUDA stack, and files of this kind are not read; give its lock, or what " +
	"`pip freeze` prints")

// readProject returns what each file in a directory describes. A file that is not understood leaves the outcome open.
func readProject(dir, python, includeRoot string) ([]Description, error) {
	names, err := listProjectFiles(dir)
	if err != nil {
		return nil, err
	}
	var list []Description
	for _, name := range append(names, listOtherFiles(dir, names)...) {
		found, err := []Description(nil), errOtherFile
		if !otherFile.MatchString(filepath.Base(name)) {
			found, err = readProjectFile(name, python, includeRoot)
		}
		if err == nil && len(found) > 0 {
			err = found[0].Foreign
		}
		if err != nil {
			found = []Description{{Name: name, Facts: probe.Facts{Unread: []facts.Unread{{Place: name, Reason: err.Error(), Kind: facts.UnreadNeeded}}}}}
		}
		for i := range found {
			found[i].apart = true
		}
		list = append(list, found...)
	}
	return groupMachines(list), nil
}

// readProjectFile reads a file of a project. It follows links, and rejects anything that is not a regular file, such as
// a pipe.
func readProjectFile(name, python, includeRoot string) ([]Description, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, fmt.Errorf("it cannot be read: %w", usage.StripPath(err))
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	}
	return readDocuments(name, python, includeRoot, strings.NewReader(""))
}

// isProject reports whether a name is that of a directory.
func isProject(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// FindOnlyFile returns the single file of a project's directory that says what is installed, and any other name
// unchanged. A Python environment is not a project.
func FindOnlyFile(name string) (string, error) {
	if name == "" || !isProject(name) || probe.IsEnvironment(probe.This(), name) {
		return name, nil
	}
	files, err := listProjectFiles(name)
	switch {
	case err != nil: // what is installed there is looked for
		return name, nil
	case len(files) > 1:
		return "", &usage.Error{Message: fmt.Sprintf("%q has %d files that say what is installed, and requires takes one", name, len(files)),
			Hint: "name one, such as " + files[0]}
	}
	return files[0], nil
}

// projectFile matches the files of a project that name builds.
var projectFile = lazyregexp.New(`(?i)^(?:.*requirements.*\.(?:txt|in)|uv\.lock|pylock(?:\.[^/]*)?\.toml|poetry\.lock|pixi\.lock|` +
	`(?:[^/]*[.-])?conda-lock\.ya?ml|Pipfile\.lock|pyproject\.toml|environment[^/]*\.ya?ml|Dockerfile[^/]*|[^/]*\.Dockerfile|Containerfile|` +
	`(?:docker-)?compose[^/]*\.ya?ml)$`)

// IsProjectFile reports whether a file names builds, judging by its name or by a directory called requirements.
func IsProjectFile(path string) bool {
	dir, name := filepath.Split(path)
	return projectFile.MatchString(name) || strings.EqualFold(filepath.Base(dir), "requirements") && projectFile.MatchString("requirements/"+name)
}

// ProjectLocks lists lock files, which say what the pyproject.toml beside them installs.
var ProjectLocks = []string{"uv.lock", "poetry.lock", "pixi.lock"}
