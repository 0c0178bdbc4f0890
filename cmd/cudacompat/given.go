package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cudacompat/internal/deadline"
	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/internal/usage"
	"cudacompat/matrix"
	"cudacompat/matrix/pin"
	"cudacompat/probe"

	"github.com/spf13/cobra"
)

// inputName returns the name of the input: a file, or requirements, which are the lines of a file that nobody wrote.
func inputName(args []string) string { return strings.Join(args, "\n") }

// inputLabel returns such a name on one line.
func inputLabel(name string) string { return strings.ReplaceAll(name, "\n", " ") }

// isRequirement reports whether a name is one or more requirements, such as torch==2.9.0, torch>=2.9, torch or the
// address of a wheel, and not an existing file. A word without a release is one if the tables judge a package of that
// name.
func isRequirement(name string) bool {
	if _, err := os.Stat(name); err == nil {
		return false
	}
	return !slices.ContainsFunc(strings.Split(name, "\n"), func(line string) bool {
		return !strings.Contains(line, "==") && !rangedPackage.MatchString(line) && !wheelAddress.MatchString(line) && !isJudgedPackage(line)
	})
}

// rangedPackage matches a package with a range of releases.
var rangedPackage = lazyregexp.New(`^[A-Za-z0-9][\w.-]*(\[[\w.,-]*\])? *(~=|!=|[<>]=?) *\d[^/]*$`)

// wheelAddress matches the address of a wheel, after the package's name or by itself, as pip accepts it.
var wheelAddress = lazyregexp.New(`^(?:[A-Za-z0-9][\w.-]*(?:\[[\w.,-]*\])? *@ *)?https?://\S+\.whl(?:#\S*)?$`)

// imageReference matches an image name with a tag or digest, as container engines accept it.
var imageReference = lazyregexp.New(`^(?:docker://|docker-daemon:|containers-storage:)?([a-z0-9][a-z0-9._/-]*(?::\d+/[a-z0-9._/-]+)?(?::\w[\w.-]*|@sha256:[0-9a-f]{64}))$`)

// bareName matches a package name, with extras.
var bareName = lazyregexp.New(`^([A-Za-z0-9][A-Za-z0-9_-]*)(\[[\w.,-]*\])?$`)

// isJudgedPackage reports whether the tables judge a package with this name.
func isJudgedPackage(word string) bool {
	m := bareName.FindStringSubmatch(word)
	if m == nil {
		return false
	}
	name := strings.ReplaceAll(strings.ToLower(m[1]), "_", "-")
	return slices.Contains(matrix.Frameworks(), name) || len(tables.RowsOf[tables.Extension](matrix.Embedded(), name)) > 0
}

// isImageName reports whether a name is an image in a registry whose contents the tables or its tag describe
// (vllm/vllm-openai:v0.11.0), and not an existing file. It is judged like a Dockerfile's base image. Nothing is
// downloaded.
func isImageName(name string) bool {
	m := imageReference.FindStringSubmatch(name)
	return m != nil && !exists(name) && matrix.KnowsImage(matrix.Embedded(), m[1])
}

func areRequirements(args []string) bool {
	return !slices.ContainsFunc(args, func(arg string) bool { return !isRequirement(arg) })
}

// loosePin matches a package with its release as people write them in sentences and conda in its files: "torch 2.9.0",
// "torch=2.9.0".
var loosePin = lazyregexp.New(`^\s*([A-Za-z0-9][A-Za-z0-9._-]*)(?:\s*=\s*|\s+)v?(\d+(?:\.\d+)+(?:\.?post\d+)?(?:\+[a-z0-9.]+)?)\s*$`)

// asPinned returns a package with its release as pip names it, "torch==2.9.0"; empty for what loosePin does not match.
func asPinned(text string) string {
	m := loosePin.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return m[1] + "==" + m[2]
}

// oneFile takes a file, or requirements.
func oneFile(cmd *cobra.Command, args []string) error {
	if len(args) == 1 || len(args) > 1 && areRequirements(args) {
		return nil
	}
	if len(args) > 1 && !slices.ContainsFunc(args, exists) {
		if pinned := asPinned(strings.Join(args, " ")); pinned != "" {
			return &usage.Error{Message: fmt.Sprintf("%s takes one file, or releases with their versions, not %q", cmd.Name(),
				inputLabel(strings.Join(args, " "))), Hint: "did you mean " + pinned + "?"}
		}
		return &usage.Error{Message: fmt.Sprintf("%s takes one file, or releases with their versions, not %q", cmd.Name(),
			inputLabel(strings.Join(args, " "))), Hint: "cudacompat " + cmd.Name() + " torch==2.9.0 torchvision==0.24.0"}
	}
	return &usage.Error{Message: fmt.Sprintf("%s takes one file, not %d", cmd.Name(), len(args)),
		Hint: "cudacompat " + cmd.Name() + " FILE, or - for standard input"}
}

// filesOrReleases accepts files and releases of one or more machines, or several images.
func filesOrReleases(cmd *cobra.Command, args []string) error {
	strange := func(arg string) bool { return !exists(arg) && !isRequirement(arg) && isFile(arg) }
	i := slices.IndexFunc(args, strange)
	switch {
	case len(args) < 2, i >= 0 && !slices.ContainsFunc(args, exists):
		return oneFile(cmd, args)
	case i >= 0:
		return &usage.Error{Message: fmt.Sprintf("%q is neither a file nor a release with its version", args[i]), Hint: absentHint}
	}
	return nil
}

// argsInTime returns an argument check that may read files, limited by --timeout.
func argsInTime(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		limit, _ := cmd.Flags().GetDuration("timeout")
		ctx, cancel := deadline.Set(cmd.Context(), max(cmp.Or(limit, deadline.Live), deadline.JudgingReserve))
		defer cancel()
		_, err := deadline.Run(ctx, func() (struct{}, error) { return struct{}{}, check(cmd, args) })
		return err
	}
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil || name == "-"
}

// oneArtefact accepts what oneFile does, or nothing if flags name the environment.
func oneArtefact(cmd *cobra.Command, args []string) error {
	if areRequirements(args) {
		return nil
	}
	return atMostOne(cmd, args)
}

// isFile reports whether a name is that of a file, and not standard input, an example, an image in a registry or a
// requirement.
func isFile(name string) bool {
	return name != "-" && !strings.HasPrefix(name, examplePrefix) && !isRequirement(name) && !isImageName(name)
}

// givenCap limits a file of facts, in bytes. A report of a node with dozens of environments is below 1 MB.
const givenCap = 8 << 20

// headBytes are enough of a file to tell an archive from a text.
const headBytes = 64 << 10

// givenAll returns the machines that files and releases describe. If a file has sets for several Pythons, it takes
// those for python; if python is "", it takes all.
func givenAll(args []string, python, includeRoot string, stdin io.Reader) ([]description, error) {
	var names, releases []string
	for _, arg := range args {
		if isRequirement(arg) {
			releases = append(releases, arg)
		} else {
			names = append(names, arg)
		}
	}
	if len(releases) > 0 {
		names = append(names, inputName(releases))
	}
	if slices.ContainsFunc(names, isProject) {
		if len(names) > 1 {
			return nil, &usage.Error{Message: "a directory is checked by itself", Hint: "name its files instead, or describe the machine with --gpu and --driver"}
		}
		return givenProject(names[0], python, includeRoot)
	}
	var documents []description
	for _, name := range names {
		list, err := givenMachines(name, python, includeRoot, stdin)
		if err != nil {
			return nil, err
		}
		documents = append(documents, list...)
	}
	return groupMachines(documents), nil
}

// givenFacts returns the facts of a file about one machine.
func givenFacts(name, python, includeRoot string, stdin io.Reader) (probe.Facts, error) {
	list, err := givenMachines(name, python, includeRoot, stdin)
	switch {
	case err != nil:
		return probe.Facts{}, err
	case len(list) > 1:
		return probe.Facts{}, &usage.Error{Message: fmt.Sprintf("%q is of %d machines, which say otherwise of each other", name, len(list)),
			Hint: "`cudacompat check` judges each; give the report of one"}
	}
	return list[0].facts, list[0].foreign
}

// givenMachines returns the machines in one file. includeRoot is --include-root.
func givenMachines(name, python, includeRoot string, stdin io.Reader) ([]description, error) {
	includes, err := fenceOf(name, includeRoot)
	if err != nil {
		return nil, err
	}
	in, err := openInput(name, stdin)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, givenCap+1))
	if err != nil {
		return nil, &usage.Error{Message: fmt.Sprintf("cannot read %q: %v", name, usage.StripPath(err)), Hint: givenHint}
	}
	if len(data) > givenCap {
		_, err := probe.GivenFile(documentOf(name, data[:headBytes], includes)) // an archive is called one
		return nil, unreadableFile(name, len(data), err)
	}
	var list []description
	for _, d := range probe.Machines(documentOf(name, data, includes)) {
		m := description{name: name, text: append(bytes.Repeat([]byte("\n"), d.Above), d.Data...), pasted: probe.IsPaste(d)}
		m.facts, err = probe.GivenFile(d)
		switch {
		case errors.Is(err, probe.ErrForeign) && !d.Typed && !isStructured(data):
			m.pasted, m.foreign = true, unreadableFile(name, len(data), err)
			m.unknown = []unknownText{{m.text, m.foreign}}
			m.facts.Complete()
		case err != nil:
			return nil, unreadableFile(name, len(data), err)
		}
		m.facts.OnPython(python)
		list = append(list, m)
	}
	for i := range list {
		list[i].apart = len(list) > 1
	}
	return list, nil
}

// isStructured reports whether a text is JSON or XML. None of its lines is quoted as an error.
func isStructured(data []byte) bool {
	data = bytes.TrimSpace(data)
	return bytes.HasPrefix(data, []byte("{")) || bytes.HasPrefix(data, []byte("<")) || json.Valid(data)
}

// unreadableFile says why a file of this size is not read.
func unreadableFile(name string, size int, err error) error {
	switch {
	case errors.Is(err, probe.ErrArchive):
		return &usage.Error{Message: fmt.Sprintf("%q: %v", name, err), Hint: archiveHint}
	case size > givenCap:
		return &usage.Error{Message: fmt.Sprintf("cannot read %q: it is larger than %d MiB, which no report and no lock is",
			name, givenCap>>20), Hint: givenHint}
	case size == 0:
		return &usage.Error{Message: fmt.Sprintf("%q is empty", name), Hint: givenHint}
	case isRequirement(name):
		return &usage.Error{Message: fmt.Sprintf("%q is not a requirement", inputLabel(name)),
			Hint: "give releases as pip names them: torch==2.9.0 torchvision==0.24.0"}
	}
	return &usage.Error{Message: fmt.Sprintf("%q: %v", name, err), Hint: hintForUnsupportedFile(name)}
}

// documentOf returns the document read under a name.
func documentOf(name string, data []byte, includes fence) probe.Document {
	d := probe.Document{Data: data, Typed: isRequirement(name) || isImageName(name)}
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

// hintForUnsupportedFile returns the advice for a file that is not a supported input: which file or command to use
// instead.
func hintForUnsupportedFile(name string) string {
	switch filepath.Base(name) {
	case "setup.py", "setup.cfg", "Pipfile":
		return "give what the project installs: its lock file, or the output of `pip freeze` where it is installed"
	}
	if strings.HasSuffix(name, ".log") {
		return "a log is for `cudacompat explain " + pin.Word(name) + "`, which says whose fault its error is"
	}
	return givenHint
}

// openInput returns a reader for the file of that name, standard input for -, the embedded example for example:NAME, or
// the requirements given as arguments.
func openInput(name string, stdin io.Reader) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(stdin), nil
	}
	if example, ok := strings.CutPrefix(name, examplePrefix); ok {
		return openExample(example)
	}
	if isRequirement(name) {
		return io.NopCloser(strings.NewReader(name)), nil
	}
	if p, ok := stdin.(readPipe); ok && p.name == name {
		return io.NopCloser(p), nil
	}
	if isImageName(name) {
		return io.NopCloser(strings.NewReader("FROM " + imageReference.FindStringSubmatch(name)[1] + "\n")), nil
	}
	f, err := os.Open(name)
	link, notLink := os.Readlink(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && notLink == nil:
		return nil, &usage.Error{Message: fmt.Sprintf("cannot read %q: it is a link to %q, which is not there", name, link), Hint: absentHint}
	case errors.Is(err, fs.ErrNotExist) && imageReference.MatchString(name):
		return nil, &usage.Error{Message: fmt.Sprintf("%q is not a file, and no image is fetched", name),
			Hint: "pipe it: docker save " + pin.Word(imageReference.FindStringSubmatch(name)[1]) + " | cudacompat check -"}
	case errors.Is(err, fs.ErrNotExist):
		hint := absentHint
		if pinned := asPinned(name); pinned != "" {
			return nil, &usage.Error{Message: fmt.Sprintf("cannot read %q: %v", name, usage.StripPath(err)), Hint: "did you mean " + pinned + "?"}
		}
		if bareName.MatchString(name) {
			hint += "; a release of a package is given as pip names it: " + pin.Word(name+"==VERSION")
		}
		return nil, &usage.Error{Message: fmt.Sprintf("cannot read %q: %v", name, usage.StripPath(err)), Hint: hint}
	case errors.Is(err, fs.ErrPermission):
		return nil, &usage.Error{Message: fmt.Sprintf("cannot read %q: %v", name, usage.StripPath(err)), Hint: "run it as a user who may read the file"}
	case err != nil:
		return nil, &usage.Error{Message: fmt.Sprintf("cannot read %q: %v", name, usage.StripPath(err)), Hint: givenHint}
	}
	return f, nil
}
