// Package pydist reads installed Python distributions: the files that RECORD lists, and what METADATA and WHEEL say
// (https://packaging.python.org/en/latest/specifications/recording-installed-packages/).
package pydist
