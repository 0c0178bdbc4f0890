package model

import (
	"slices"

	"cudacompat/internal/tables"
	"cudacompat/probe/facts"
)

// Unrecognised is the value of Requested.Uses for a package that nothing here knows.
const Unrecognised = "unrecognised"

// unrecognised returns a package that nothing recognises: any argument, and in a file only a name that looks like a
// misspelt framework. Other names in a file have nothing to do with a GPU: it returns nil.
func (m *Machine) unrecognised(env *facts.Environment, w *facts.Requested) *Requested {
	near := meantName(w.Name)
	if w.Origin != "" || w.From != FromArgument && near == "" || m.recognises(env, w.Name) {
		return nil
	}
	return &Requested{tables: m.Tables, Requested: w, Environment: env, Uses: Unrecognised, Nearest: near}
}

// FromArgument is the place of a release that was given as an argument.
const FromArgument = "command line"

// recognises reports whether the tables, or the name itself, say what a package is.
func (m *Machine) recognises(env *facts.Environment, name string) bool {
	companion := func(p facts.Package) bool { return p.Name == name }
	return slices.Contains(Frameworks(), name) || slices.ContainsFunc(env.Packages, companion) || m.UsesOf(&facts.Requested{Name: name}) != "" ||
		len(tables.RowsOf[tables.Extension](m.Tables, name)) > 0 || gpuName.MatchString(name) || Helper.MatchString(name) ||
		slices.Contains([]string{"numpy", "protobuf", "python"}, name)
}

// misspellings maps names that people write to the package that they mean.
var misspellings = map[string]string{"pytorch": "torch", "pytorch-gpu": "torch", "libtorch": "torch", "flashattn": "flash-attn",
	"flash-attention": "flash-attn", "flash-attn2": "flash-attn", "tensor-flow": "tensorflow", "tf": "tensorflow"}

// spelt lists the packages for which a name that differs in one letter counts as a misspelling. jax is not among them,
// because too many three-letter names differ by one letter.
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
