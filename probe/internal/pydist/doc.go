// Package pydist reads installed Python distributions: the files that RECORD lists, and what METADATA and WHEEL say
// (https://packaging.python.org/en/latest/specifications/recording-installed-packages/). No other package opens these
// files, and an Index opens each of them once.
package pydist
