package pin

import (
	"strings"

	"cudacompat/internal/lazyregexp"

	"mvdan.cc/sh/v3/syntax"
)

// Command quotes words as one shell command. Each word reaches the program unchanged, whatever it contains.
func Command(words ...string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = Word(word)
	}
	return strings.Join(quoted, " ")
}

// Sequence joins commands so that each runs only if the one before it succeeded.
func Sequence(commands ...string) string { return strings.Join(commands, " && ") }

// Word quotes one word of a command. Every text that comes from a machine or a file must pass through it before it
// enters a command or a step.
func Word(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	quoted, err := syntax.Quote(text, syntax.LangBash)
	if err != nil { // a NUL, which no name of a file and no word of a command can have
		return Word(strings.ReplaceAll(text, "\x00", "\uFFFD"))
	}
	return quoted
}

// plainWord matches words that no shell changes.
var plainWord = lazyregexp.New(`^[\w./+@:,-][\w./+@:,=-]*$`)

// File returns a file name that no program takes for an option.
func File(name string) string {
	if strings.HasPrefix(name, "-") {
		return "./" + name
	}
	return name
}

// Quoted returns a text of an input for use in a sentence, quoted if a shell would read more than words in it.
func Quoted(text string) string {
	if plainText.MatchString(text) {
		return text
	}
	return Word(text)
}

// plainText matches words, and the brackets of a remark.
var plainText = lazyregexp.New(`^[\w./+@:,=\[\] -]*(?:\([\w./+@:,= -]*\)[\w./+@:,=\[\] -]*)*$`)

// IsName reports whether a text can be the name of a package.
func IsName(text string) bool { return packageName.MatchString(text) }

var packageName = lazyregexp.New(`^[A-Za-z0-9][\w.+:-]*$`)
