package pin

import (
	"strings"

	"cudacompat/internal/lazyregexp"

	"mvdan.cc/sh/v3/syntax"
)

// Command is a command as a shell takes it, made of words: each reaches the program as it is, whatever is in it.
func Command(words ...string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = Word(word)
	}
	return strings.Join(quoted, " ")
}

// All are commands of which each is run when the one before it went well.
func All(commands ...string) string { return strings.Join(commands, " && ") }

// Word is one word of a command. Text of a machine or of a file stands in no command and in no step without it.
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

// plainWord matches what every shell leaves as it is.
var plainWord = lazyregexp.New(`^[\w./+@:,-][\w./+@:,=-]*$`)

// File is the name of a file that no program takes for an option.
func File(name string) string {
	if strings.HasPrefix(name, "-") {
		return "./" + name
	}
	return name
}

// Quoted is text of an input within a sentence: as it is, or quoted where a shell would read more than words in it.
func Quoted(text string) string {
	if plainText.MatchString(text) {
		return text
	}
	return Word(text)
}

// plainText matches words and the brackets between which a sentence puts a remark.
var plainText = lazyregexp.New(`^[\w./+@:,=\[\] -]*(?:\([\w./+@:,= -]*\)[\w./+@:,=\[\] -]*)*$`)

// IsName reports whether a text can be the name of a package.
func IsName(text string) bool { return packageName.MatchString(text) }

var packageName = lazyregexp.New(`^[A-Za-z0-9][\w.+:-]*$`)
