package model

import (
	"slices"

	"cudacompat/internal/tables"
	"cudacompat/probe/facts"
)

// Unrecognised is Requested.Uses of a package that a file or an argument names and that nothing here knows.
const Unrecognised = "unrecognised"

// unrecognised returns the package where nothing recognises it: every one that was given as an argument, and in a file
// one whose name is a misspelling of a framework. Other names in a file are of packages that have nothing to do with a
// GPU: nil.
func (m *Machine) unrecognised(env *facts.Environment, w *facts.Requested) *Requested {
	near := meantName(w.Name)
	if w.Origin != "" || w.From != FromArgument && near == "" || m.recognises(env, w.Name) {
		return nil
	}
	return &Requested{tables: m.Tables, Requested: w, Environment: env, Uses: Unrecognised, Nearest: near}
}

// FromArgument is where a release stands that was given as an argument.
const FromArgument = "command line"

// recognises reports whether the tables, or the name itself, tell what a package is.
func (m *Machine) recognises(env *facts.Environment, name string) bool {
	companion := func(p facts.Package) bool { return p.Name == name }
	return slices.Contains(Frameworks(), name) || slices.ContainsFunc(env.Packages, companion) || m.UsesOf(&facts.Requested{Name: name}) != "" ||
		len(tables.RowsOf[tables.Extension](m.Tables, name)) > 0 || gpuName.MatchString(name) || Helper.MatchString(name) ||
		slices.Contains([]string{"numpy", "protobuf", "python"}, name)
}

// misspellings are names that people write for a package of another name.
var misspellings = map[string]string{"pytorch": "torch", "pytorch-gpu": "torch", "libtorch": "torch", "flashattn": "flash-attn",
	"flash-attention": "flash-attn", "flash-attn2": "flash-attn", "tensor-flow": "tensorflow", "tf": "tensorflow"}

// spelt are the packages of which a name that differs by one letter is taken for a misspelling. Among three letters too
// many names differ by one, so jax is not one of them.
var spelt = []string{"torch", "vllm", "tensorflow", "flash-attn"}

// ownNames are packages in their own right that differ by one letter from one of these.
var ownNames = []string{"torchx", "atorch", "ktorch", "llm", "mllm", "allm", "touch", "xllm"}

// meantName returns the package whose name is misspelt; empty for a name that is not near to one.
func meantName(name string) string {
	if meant := misspellings[name]; meant != "" {
		return meant
	}
	if slices.Contains(ownNames, name) {
		return ""
	}
	i := slices.IndexFunc(spelt, func(right string) bool { return oneEdit(name, right) })
	if i < 0 {
		return ""
	}
	return spelt[i]
}

// oneEdit reports whether one letter more, less or other, or two that are swapped, make one word of another.
func oneEdit(a, b string) bool {
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	a, b = a[head:], b[head:]
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	swapped := len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
	return swapped || len(a) <= 1 && len(b) <= 1 && len(a)+len(b) > 0
}
