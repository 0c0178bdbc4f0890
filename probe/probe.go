// Package probe finds out what CUDA software and hardware a machine, a container or a tree of files holds.
//
// It gathers and never judges: Run returns Facts, each with the place it was read, and package matrix says what
// they mean. Everything is read from files under one root; nothing found there is imported or executed. The only
// library asked is NVML, in a child process with a deadline.
//
// A program looks at its own machine with This and at a mounted image with Tree; its main calls ServeNVML first, so
// that NVML is asked in a child. What somebody else has written down is read by Given. The types of Facts are described
// in package probe/facts, the methods of Host in package probe/host.
package probe

import (
	"strings"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/distname"
	"cudacompat/probe/internal/framework"
	"cudacompat/probe/internal/input"
	"cudacompat/probe/internal/input/document"
	"cudacompat/probe/internal/nvml"
	"cudacompat/probe/internal/pyenv"
)

// FactsSchema names the form of Facts in JSON.
const FactsSchema = facts.Schema

// Facts is everything found, in a form that survives a JSON round trip. Package facts describes its fields and their types.
type Facts = facts.Facts

// Host is what is examined: this machine, or a tree of files that stands for another one. Package host describes its
// methods.
type Host = host.Host

// This is the running machine with this process's environment.
func This() *Host { return host.This() }

// Tree is the tree of files under root: a mounted image, an unpacked container, a node's /host. Nothing in it runs, and
// links in it stay inside. A root that is not there, or is no directory, is an error.
func Tree(root string) (*Host, error) { return host.Tree(root) }

// IsEnvironment reports whether a Python environment stands at root.
func IsEnvironment(h *Host, root string) bool { return framework.IsEnvironment(h, root) }

// Document is a file that somebody else has written, and how files that it refers to are opened.
type Document = input.Document

// What Given says of a file that it does not read.
var (
	ErrForeign = input.ErrForeign // it is of no kind that is read
	ErrArchive = input.ErrArchive // it is an archive, such as an image
)

// Given reads what was taken elsewhere: facts or a report as JSON, nvidia-smi's output, a list of packages, a lock, a
// Dockerfile, or a collect_env report as text. ErrForeign and ErrArchive say that it is of no kind that is read;
// any other error, what is wrong with it.
func Given(data []byte) (Facts, error) { return input.Read(Document{Data: data}) }

// Excess says what facts or a report in JSON have too much of to be read, as Given does before it parses them; nil where
// there is nothing. Whoever parses facts of strangers asks it first: they take far more memory than their text.
func Excess(data []byte) error { return document.Excess(data) }

// GivenFile is Given for a file that may refer to others. One that cannot be opened is no error: it is named in
// Facts.Unread, and what was read stands.
func GivenFile(d Document) (Facts, error) { return input.Read(d) }

// Machines divides what people paste into a bug report into one document for each machine that it is of; any other
// document stays whole.
func Machines(d Document) []Document { return input.Machines(d) }

// IsPaste reports whether a document is a report or an output as people paste it, beside which an error may stand.
func IsPaste(d Document) bool { return input.IsPaste(d) }

// Together are the facts of one machine, of which several documents tell a part each. What they tell otherwise is named in
// Facts.Unread.
func Together(list []Facts) Facts { return input.Together(list) }

// GivenFormats are the kinds of files that Given reads, as people call them.
func GivenFormats() []string { return input.Formats() }

// ServeNVML must be called first in main by a program that wants NVML asked in a child process: in the child it
// answers and does not return. A program that never calls it gets NVML in its own process.
func ServeNVML() { nvml.Serve() }

// NVMLSupport says in words whether this build can ask NVML, "with NVML".
func NVMLSupport() string { return nvml.Support() }

// ActiveEnvironment is the prefix of the Python environment that a program is started with here; empty where there is
// none.
func ActiveEnvironment(h *Host) string { return pyenv.Active(h) }

// PackageName is a distribution's name as facts have it: that of a requirement, without its version and its extras.
func PackageName(requirement string) string {
	name := strings.FieldsFunc(requirement, func(r rune) bool { return strings.ContainsRune("[<>=!~; @", r) })
	if len(name) == 0 {
		return ""
	}
	return distname.Normal(name[0])
}
