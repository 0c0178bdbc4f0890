// Package pyenv finds the Python environments of a machine, their interpreters, and the directories that these import from.
package pyenv
