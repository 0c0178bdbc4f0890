// Package inputs reads what the arguments name: files, releases such as torch==2.9.0, the directory of a project, an
// example, an image, logs, standard input.
//
// Read returns the machines that documents describe. Files of one machine are merged; a list of packages applies to each
// machine. What a file includes is read only below the file's own directory, because the file may come from a stranger:
// see Fence. Every read has a limit in bytes, and gives up at the deadline of its context.
//
// The package also turns the words for a machine, those of --driver, --gpu, --instance and --platform, into targets. It
// judges nothing.
package inputs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cudacompat/internal/deadline"
	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/internal/usage"
	"cudacompat/matrix"
	"cudacompat/matrix/pin"
	"cudacompat/probe"
	"cudacompat/probe/facts"
)

// JoinNames returns the name of the input: a file, or requirements, which are the lines of a file that nobody wrote.
func JoinNames(args []string) string { return strings.Join(args, "\n") }

// Label returns such a name on one line.
func Label(name string) string { return strings.ReplaceAll(name, "\n", " ") }

// IsRequirement reports whether a name is one or more requirements, such as torch==2.9.0, torch>=2.9, torch or the
// address of a wheel, and not an existing file. A word without a release is one if the tables judge a package of that
// name.
func IsRequirement(name string) bool {
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

// IsImageName reports whether a name is an image in a registry whose contents the tables or its tag describe
// (vllm/vllm-openai:v0.11.0), and not an existing file. It is judged like a Dockerfile's base image. Nothing is
// downloaded.
func IsImageName(name string) bool {
	m := imageReference.FindStringSubmatch(name)
	return m != nil && !Exists(name) && matrix.KnowsImage(matrix.Embedded(), m[1])
}

func AreRequirements(args []string) bool {
	return !slices.ContainsFunc(args, func(arg string) bool { return !IsRequirement(arg) })
}

// loosePin matches a package with its release as people write them in sentences and conda in its files: "torch 2.9.0",
// "torch=2.9.0".
var loosePin = lazyregexp.New(`^\s*([A-Za-z0-9][A-Za-z0-9._-]*)(?:\s*=\s*|\s+)v?(\d+(?:\.\d+)+(?:\.?post\d+)?(?:\+[a-z0-9.]+)?)\s*$`)

// FindPin returns a package with its release as pip names it, "torch==2.9.0"; empty for what loosePin does not match.
func FindPin(text string) string {
	m := loosePin.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return m[1] + "==" + m[2]
}

func Exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil || name == "-"
}

// IsFile reports whether a name is that of a file, and not standard input, an example, an image in a registry or a
// requirement.
func IsFile(name string) bool {
	return name != "-" && !strings.HasPrefix(name, ExamplePrefix) && !IsRequirement(name) && !IsImageName(name)
}

// MaxFile limits a file of facts, in bytes. A report of a node with dozens of environments is below 1 MB.
const MaxFile = 8 << 20

// headBytes are enough of a file to tell an archive from a text.
const headBytes = 64 << 10

// Read returns the machines that files and releases describe. If a file has sets for several Pythons, it takes
// those for python; if python is "", it takes all.
func Read(args []string, python, includeRoot string, stdin io.Reader) ([]Description, error) {
	var names, releases []string
	for _, arg := range args {
		if IsRequirement(arg) {
			releases = append(releases, arg)
		} else {
			names = append(names, arg)
		}
	}
	if len(releases) > 0 {
		names = append(names, JoinNames(releases))
	}
	if slices.ContainsFunc(names, isProject) {
		if len(names) > 1 {
			return nil, &usage.Error{Message: "a directory is checked by itself", Hint: "name its files instead, or describe the machine with --gpu and --driver"}
		}
		return readProject(names[0], python, includeRoot)
	}
	var documents []Description
	for _, name := range names {
		list, err := readDocuments(name, python, includeRoot, stdin)
		if err != nil {
			return nil, err
		}
		documents = append(documents, list...)
	}
	return groupMachines(documents), nil
}

// ReadFacts returns the facts of a file about one machine.
func ReadFacts(name, python, includeRoot string, stdin io.Reader) (probe.Facts, error) {
	list, err := readDocuments(name, python, includeRoot, stdin)
	switch {
	case err != nil:
		return probe.Facts{}, err
	case len(list) > 1:
		return probe.Facts{}, &usage.Error{Message: fmt.Sprintf("%q is of %d machines, which say otherwise of each other", name, len(list)),
			Hint: "`cudacompat check` judges each; give the report of one"}
	}
	return list[0].Facts, list[0].Foreign
}

// readDocuments returns the machines in one file. includeRoot is --include-root.
func readDocuments(name, python, includeRoot string, stdin io.Reader) ([]Description, error) {
	includes, err := NewFence(name, includeRoot)
	if err != nil {
		return nil, err
	}
	in, err := openInput(name, stdin)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, MaxFile+1))
	if err != nil {
		return nil, &usage.Error{Message: fmt.Sprintf("cannot read %q: %v", name, usage.StripPath(err)), Hint: givenHint}
	}
	if len(data) > MaxFile {
		_, err := probe.GivenFile(NewDocument(name, data[:headBytes], includes)) // an archive is called one
		return nil, explainUnreadableFile(name, len(data), err)
	}
	var list []Description
	for _, d := range probe.Machines(NewDocument(name, data, includes)) {
		m := Description{Name: name, Text: append(bytes.Repeat([]byte("\n"), d.Above), d.Data...), Pasted: probe.IsPaste(d)}
		m.Facts, err = probe.GivenFile(d)
		switch {
		case errors.Is(err, probe.ErrForeign) && !d.Typed && !IsStructured(data):
			m.Pasted, m.Foreign = true, explainUnreadableFile(name, len(data), err)
			m.Unknown = []UnknownText{{m.Text, m.Foreign}}
			m.Facts.Complete()
		case err != nil:
			return nil, explainUnreadableFile(name, len(data), err)
		}
		m.Facts.OnPython(python)
		list = append(list, m)
	}
	for i := range list {
		list[i].apart = len(list) > 1
	}
	return list, nil
}

// IsStructured reports whether a text is JSON or XML. None of its lines is quoted as an error.
func IsStructured(data []byte) bool {
	data = bytes.TrimSpace(data)
	return bytes.HasPrefix(data, []byte("{")) || bytes.HasPrefix(data, []byte("<")) || json.Valid(data)
}

// explainUnreadableFile says why a file of this size is not read.
func explainUnreadableFile(name string, size int, err error) error {
	switch {
	case errors.Is(err, probe.ErrArchive):
		return &usage.Error{Message: fmt.Sprintf("%q: %v", name, err), Hint: archiveHint}
	case size > MaxFile:
		return &usage.Error{Message: fmt.Sprintf("cannot read %q: it is larger than %d MiB, which no report and no lock is",
			name, MaxFile>>20), Hint: givenHint}
	case size == 0:
		return &usage.Error{Message: fmt.Sprintf("%q is empty", name), Hint: givenHint}
	case IsRequirement(name):
		return &usage.Error{Message: fmt.Sprintf("%q is not a requirement", Label(name)),
			Hint: "give releases as pip names them: torch==2.9.0 torchvision==0.24.0"}
	}
	return &usage.Error{Message: fmt.Sprintf("%q: %v", name, err), Hint: hintForUnsupportedFile(name)}
}

// NewDocument returns the document read under a name.
func NewDocument(name string, data []byte, includes Fence) probe.Document {
	d := probe.Document{Data: data, Typed: IsRequirement(name) || IsImageName(name)}
	if IsFile(name) {
		d.Name = name
	}
	if len(includes.roots) > 0 {
		d.Beside = includes.Read
	}
	return d
}

const (
	givenHint   = "give a collect_env report, nvidia-smi's output, requirements, a lock, the output of pip list or conda list, a pyproject.toml, an environment.yml, a Dockerfile, or what cudacompat wrote; - is standard input"
	AbsentHint  = "check the path, or give - for standard input"
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
	if example, ok := strings.CutPrefix(name, ExamplePrefix); ok {
		return openExample(example)
	}
	if IsRequirement(name) {
		return io.NopCloser(strings.NewReader(name)), nil
	}
	if p, ok := stdin.(pipe); ok && p.name == name {
		return io.NopCloser(p), nil
	}
	if IsImageName(name) {
		return io.NopCloser(strings.NewReader("FROM " + imageReference.FindStringSubmatch(name)[1] + "\n")), nil
	}
	f, err := os.Open(name)
	link, notLink := os.Readlink(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && notLink == nil:
		return nil, &usage.Error{Message: fmt.Sprintf("cannot read %q: it is a link to %q, which is not there", name, link), Hint: AbsentHint}
	case errors.Is(err, fs.ErrNotExist) && imageReference.MatchString(name):
		return nil, &usage.Error{Message: fmt.Sprintf("%q is not a file, and no image is fetched", name),
			Hint: "pipe it: docker save " + pin.Word(imageReference.FindStringSubmatch(name)[1]) + " | cudacompat check -"}
	case errors.Is(err, fs.ErrNotExist):
		hint := AbsentHint
		if pinned := FindPin(name); pinned != "" {
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

// ReadInTime reads files of facts. A file that does not arrive in time was not looked at, which leaves the outcome
// open.
func ReadInTime(ctx context.Context, args []string, python, includeRoot string, stdin io.Reader) ([]Description, error) {
	read, err := deadline.Run(ctx, func() ([]Description, error) { return Read(args, python, includeRoot, stdin) })
	if late := new(deadline.Error); errors.As(err, &late) {
		return []Description{DescribeUnread(args, late)}, nil
	}
	return read, err
}

// DescribeUnread describes a machine of which nothing was read in time.
func DescribeUnread(args []string, late *deadline.Error) Description {
	return Description{Facts: probe.Facts{Unread: []facts.Unread{{Place: Label(JoinNames(args)), Reason: late.Error(), Kind: facts.UnreadCut}}}}
}

// pipeWait is how long explain waits for the first byte of a pipe that no argument names. Many programs leave one open.
const pipeWait = 2 * time.Second

// OpenPipe returns standard input if it is a pipe or file with data, and nil otherwise.
func OpenPipe(in io.Reader) io.Reader {
	file, ok := in.(*os.File)
	if !ok {
		return nil
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() && info.Mode()&os.ModeNamedPipe == 0 {
		return nil
	}
	head := bufio.NewReader(file)
	first := make(chan error, 1)
	go func() {
		_, err := head.Peek(1)
		first <- err
	}()
	select {
	case err := <-first:
		if err == nil {
			return head
		}
	case <-time.After(pipeWait):
	}
	return nil
}
