// Package probe finds out what CUDA software and hardware a machine, a container or a directory tree contains.
//
// It gathers facts and never judges. Run returns Facts, each with the place it was read, and package matrix says what
// they mean. Everything is read from files under one root; nothing there is imported or executed. The only library it
// calls is NVML, in a child process with a deadline.
//
// A program examines its own machine with This and a mounted image with Tree. Its main function calls ServeNVML first,
// so that a child can ask NVML. Given parses what somebody else has recorded. Package probe/facts describes the types
// of Facts, and package probe/host the methods of Host.
package probe

import (
	"strings"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/distname"
	"cudacompat/probe/internal/framework"
	"cudacompat/probe/internal/input"
	"cudacompat/probe/internal/input/dockerfile"
	"cudacompat/probe/internal/input/document"
	"cudacompat/probe/internal/input/pyproject"
	"cudacompat/probe/internal/nvml"
	"cudacompat/probe/internal/pyenv"
)

// FactsSchema is the schema name of Facts in JSON.
const FactsSchema = facts.Schema

// Facts contains everything that was found. It survives a JSON round trip. Package facts describes its fields.
type Facts = facts.Facts

// Host is what is examined: this machine, or a directory tree that stands for another one. Package host describes its
// methods.
type Host = host.Host

// This returns the running machine, with this process's environment variables.
func This() *Host { return host.This() }

// Tree returns the machine whose files lie under root: a mounted image, an unpacked container, a node's /host. Nothing
// in it is executed, and links in it resolve inside it. Tree fails if root is missing or is no directory.
func Tree(root string) (*Host, error) { return host.Tree(root) }

// Offline returns the running root as it will be after its next boot. No source of facts sees what runs now.
func Offline() *Host { return host.Offline() }

// IsEnvironment reports whether root is a Python environment.
func IsEnvironment(h *Host, root string) bool { return framework.IsEnvironment(h, root) }

// Document is a file to read with Given, and how to open the files that it refers to.
type Document = input.Document

// What Given says of a file that it does not read.
var (
	ErrForeign = input.ErrForeign // it is of no kind that is read
	ErrArchive = input.ErrArchive // it is an archive, such as an image
)

// Given reads facts that were recorded elsewhere: facts or a report as JSON, the output of nvidia-smi or collect_env, a
// list of packages, a lock, or a Dockerfile. It returns ErrForeign or ErrArchive for a file of an unknown kind, and
// another error for a file that is malformed.
func Given(data []byte) (Facts, error) { return input.Read(Document{Data: data}) }

// Excess reports why a JSON document of facts is too large to parse, or nil. Parsed facts take far more memory than
// their text, so call Excess before parsing a stranger's facts; Given does.
func Excess(data []byte) error { return document.Excess(data) }

// GivenFile parses a file that may include others, as Given does. If an included file cannot be opened, GivenFile names
// it in Facts.Unread and keeps the rest.
func GivenFile(d Document) (Facts, error) { return input.Read(d) }

// Machines splits a pasted bug report into one document for each machine that it describes. It returns any other
// document whole.
func Machines(d Document) []Document { return input.Machines(d) }

// IsPaste reports whether a document is a pasted report or output, which may also contain an error message.
func IsPaste(d Document) bool { return input.IsPaste(d) }

// Merge combines the facts about one machine from several documents. It names contradictions in Facts.Unread.
func Merge(list []Facts) Facts { return input.Together(list) }

// ListedDefaultGroups returns the groups that the text of a pyproject.toml lists in uv's default-groups.
func ListedDefaultGroups(project []byte) []string { return pyproject.ListedDefaultGroups(project) }

// DropDefaultGroups returns the text of a pyproject.toml, for reading, in which default-groups lacks some groups.
func DropDefaultGroups(project []byte, groups []string) ([]byte, error) {
	return pyproject.DropDefaultGroups(project, groups)
}

// DockerfileArg is an ARG before a Dockerfile's first FROM.
type DockerfileArg = dockerfile.Arg

// DockerfileArgs returns the ARGs before a Dockerfile's first FROM that have a default, in their order.
func DockerfileArgs(data []byte) []DockerfileArg { return dockerfile.GlobalArgs(data) }

// GoesWithFramework reports whether a distribution is chosen by the release of a framework: torchvision by torch's.
func GoesWithFramework(name string) bool {
	return distname.Companions.Match(name) || distname.Reported.Match(name)
}

// GivenFormats lists the kinds of files that Given reads, as people call them.
func GivenFormats() []string { return input.Formats() }

// ServeNVML answers NVML queries and does not return if this process is the child that was started for them. A program
// calls it first in main to have NVML asked in a child process; without the call, NVML runs in the program's own
// process.
func ServeNVML() { nvml.Serve() }

// NVMLSupport says whether this build can ask NVML: "with NVML".
func NVMLSupport() string { return nvml.Support() }

// ActiveEnvironment returns the prefix of the Python environment in which a program started here runs, or "".
func ActiveEnvironment(h *Host) string { return pyenv.Active(h) }

// PackageName returns the normalized distribution name of a requirement, without its version and extras.
func PackageName(requirement string) string {
	name := strings.FieldsFunc(requirement, func(r rune) bool { return strings.ContainsRune("[<>=!~; @", r) })
	if len(name) == 0 {
		return ""
	}
	return distname.Normal(name[0])
}
