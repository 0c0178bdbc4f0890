package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/matrix"
	"cudacompat/pin"
	"cudacompat/probe"

	"github.com/spf13/cobra"
)

// asked is what the arguments name: one file, or requirements, which are the lines of a file that nobody wrote.
func asked(args []string) string { return strings.Join(args, "\n") }

// shown is what asked returned, in one line.
func shown(name string) string { return strings.ReplaceAll(name, "\n", " ") }

// isRequirement reports whether a name is a requirement, or several, such as torch==2.9.0, torch>=2.9 or torch, and leads
// to no file. A word without a release is one where it is the name of a package that the tables judge.
func isRequirement(name string) bool {
	if _, err := os.Stat(name); err == nil {
		return false
	}
	return !slices.ContainsFunc(strings.Split(name, "\n"), func(line string) bool {
		return !strings.Contains(line, "==") && !ranged.MatchString(line) && !judged(line)
	})
}

// ranged matches a package with a range of releases.
var ranged = lazyregexp.New(`^[A-Za-z0-9][\w.-]*(\[[\w.,-]*\])? *(~=|!=|[<>]=?) *\d[^/]*$`)

// bareName matches the name of a package, with its extras.
var bareName = lazyregexp.New(`^([A-Za-z0-9][A-Za-z0-9_-]*)(\[[\w.,-]*\])?$`)

// judged reports whether a word is the name of a package that the tables judge.
func judged(word string) bool {
	m := bareName.FindStringSubmatch(word)
	if m == nil {
		return false
	}
	name := strings.ReplaceAll(strings.ToLower(m[1]), "_", "-")
	return slices.Contains(matrix.Frameworks(), name) || len(tables.RowsOf[tables.Extension](matrix.Embedded(), name)) > 0
}

func areRequirements(args []string) bool {
	return !slices.ContainsFunc(args, func(arg string) bool { return !isRequirement(arg) })
}

// oneFile takes a file, or requirements.
func oneFile(cmd *cobra.Command, args []string) error {
	if len(args) == 1 || len(args) > 1 && areRequirements(args) {
		return nil
	}
	if len(args) > 1 && !slices.ContainsFunc(args, exists) {
		return &usageError{message: fmt.Sprintf("%s takes one file, or releases with their versions, not %q", cmd.Name(),
			shown(strings.Join(args, " "))), hint: "cudacompat " + cmd.Name() + " torch==2.9.0 torchvision==0.24.0"}
	}
	return &usageError{message: fmt.Sprintf("%s takes one file, not %d", cmd.Name(), len(args)),
		hint: "cudacompat " + cmd.Name() + " FILE, or - for standard input"}
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil || name == "-"
}

// oneFileOrImages takes what oneFile takes, or several images.
func oneFileOrImages(cmd *cobra.Command, args []string) error {
	if images := imagesNamed(args); images != nil {
		for _, image := range images {
			image.done()
		}
		return nil
	}
	return oneFile(cmd, args)
}

// oneArtefact takes what oneFile takes, or nothing where flags name the environment.
func oneArtefact(cmd *cobra.Command, args []string) error {
	if areRequirements(args) {
		return nil
	}
	return atMostOne(cmd, args)
}

// isFile reports whether a name is that of a file: not of standard input, of an example, or a requirement.
func isFile(name string) bool {
	return name != "-" && !strings.HasPrefix(name, examplePrefix) && !isRequirement(name)
}

// givenCap bounds a file of facts; a report of a node with dozens of environments is below 1 MB.
const givenCap = 8 << 20

// given are the facts of a file, of several sets for different Pythons those for one; python is empty for all.
// includeRoot is --include-root.
func given(name, python, includeRoot string, stdin io.Reader) (probe.Facts, error) {
	includes, err := fenceOf(name, includeRoot)
	if err != nil {
		return probe.Facts{}, err
	}
	in, err := opened(name, stdin)
	if err != nil {
		return probe.Facts{}, err
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, givenCap+1))
	if err != nil {
		return probe.Facts{}, &usageError{fmt.Sprintf("cannot read %q: %v", name, cause(err)), givenHint}
	}
	facts, err := probe.GivenFile(documentOf(name, data, includes))
	switch {
	case errors.Is(err, probe.ErrArchive):
		return facts, &usageError{fmt.Sprintf("%q: %v", name, err), archiveHint}
	case len(data) > givenCap:
		return facts, &usageError{fmt.Sprintf("cannot read %q: it is larger than %d MiB, which no report and no lock is",
			name, givenCap>>20), givenHint}
	case err != nil && isRequirement(name):
		return facts, &usageError{fmt.Sprintf("%q is not a requirement", shown(name)),
			"give releases as pip names them: torch==2.9.0 torchvision==0.24.0"}
	case err != nil:
		return facts, &usageError{fmt.Sprintf("%q: %v", name, err), hintFor(name)}
	}
	facts.OnPython(python)
	return facts, nil
}

// documentOf is what was read under a name.
func documentOf(name string, data []byte, includes fence) probe.Document {
	d := probe.Document{Data: data[:min(len(data), givenCap)], Typed: isRequirement(name)}
	if isFile(name) {
		d.Name = name
	}
	if len(includes.roots) > 0 {
		d.Beside = includes.read
	}
	return d
}

const (
	givenHint   = "give a collect_env report, nvidia-smi's output, requirements, a lock, the output of pip list or conda list, a pyproject.toml, an environment.yml, a Dockerfile, or what cudacompat wrote; - is standard input"
	absentHint  = "check the path, or give - for standard input"
	archiveHint = "an image is the directory of an OCI layout, or an archive of docker save, podman save or skopeo copy; a tree of files is for cudacompat doctor --root DIR"
)

// hintFor is what to give instead of a file that is not read.
func hintFor(name string) string {
	switch filepath.Base(name) {
	case "setup.py", "setup.cfg", "Pipfile":
		return "give what the project installs: its lock file, or the output of `pip freeze` where it is installed"
	}
	return givenHint
}

// opened is the file of that name, standard input for -, what the program carries for example:NAME, or the requirements
// that stand in place of a file.
func opened(name string, stdin io.Reader) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(stdin), nil
	}
	if example, ok := strings.CutPrefix(name, examplePrefix); ok {
		return openExample(example)
	}
	if isRequirement(name) {
		return io.NopCloser(strings.NewReader(name)), nil
	}
	f, err := os.Open(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		hint := absentHint
		if bareName.MatchString(name) {
			hint += "; a release of a package is given as pip names it: " + pin.Word(name+"==VERSION")
		}
		return nil, &usageError{fmt.Sprintf("cannot read %q: %v", name, cause(err)), hint}
	case err != nil:
		return nil, &usageError{fmt.Sprintf("cannot read %q: %v", name, cause(err)), givenHint}
	}
	return f, nil
}
