package model

import (
	"fmt"
	"path"

	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// NowhereWords say that the loader finds libraries nowhere.
func NowhereWords(missing []string) string {
	if len(missing) > 1 {
		return verdict.Some(missing) + " are missing from the loader's path"
	}
	return missing[0] + " is missing from the loader's path"
}

// LostWords say of libraries which file is there that cannot be loaded, and that the others are nowhere.
func (b *Build) LostWords(libraries []string) string {
	bad := b.CannotLoad(libraries)
	if len(bad) == 0 {
		return NowhereWords(libraries)
	}
	words := bad[0].Path + " cannot be loaded (" + bad[0].Reason + ")"
	if more := len(libraries) - 1; more > 0 {
		words += fmt.Sprintf(", and %d more %s missing", more, verdict.Plural(more, "library is", "libraries are"))
	}
	return words
}

// MissingSymbolWords names the missing thing: a symbol with its version, or a whole version.
func MissingSymbolWords(u facts.Unresolved) string {
	switch {
	case u.Symbol == "":
		return "the version " + u.Version
	case u.Version == "" || u.Version == u.Library:
		return u.Symbol
	}
	return u.Symbol + " of version " + u.Version
}

// Removal returns the step that makes the loader find another file: LD_PRELOAD lists files, LD_LIBRARY_PATH
// directories.
func Removal(file, reason string) string {
	switch reason {
	case "LD_PRELOAD":
		return "remove " + pin.Word(file) + " from LD_PRELOAD, where the program is started"
	case "LD_LIBRARY_PATH":
		return "remove " + pin.Word(path.Dir(file)) + " from LD_LIBRARY_PATH, where the program is started"
	}
	text := "remove " + pin.Word(file) + " from the loader's path, where it is found by " + pin.Quoted(reason)
	if reason == "ld.so.cache" {
		text += ", and run `sudo ldconfig`"
	}
	return text
}

// PutFirst puts a directory before what LD_LIBRARY_PATH holds, as a shell reads it.
func PutFirst(dir string) string { return pin.Word(dir) + "${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" }
