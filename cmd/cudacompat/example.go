package main

import (
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"cudacompat/examples"
	"cudacompat/internal/usage"
)

// examplePrefix begins the name of an embedded example.
const examplePrefix = "example:"

// openExample opens an embedded example by name: broken is collect_env/broken.txt.
func openExample(name string) (io.ReadCloser, error) {
	files := exampleFiles()
	i := slices.IndexFunc(files, func(file string) bool { return exampleName(file) == name })
	if i < 0 {
		return nil, usage.RejectUnknown("example", name, exampleNames())
	}
	return examples.FS.Open(files[i])
}

// listExamples makes check list the embedded examples.
const listExamples = examplePrefix + "?"

// exampleNames returns the names of the embedded examples.
func exampleNames() []string {
	var names []string
	for _, file := range exampleFiles() {
		names = append(names, exampleName(file))
	}
	return names
}

func exampleFiles() []string {
	files, err := fs.Glob(examples.FS, "*/*")
	if err != nil {
		panic(err) // a bad pattern
	}
	return files
}

func exampleName(file string) string {
	base := path.Base(file)
	return strings.TrimSuffix(base, path.Ext(base))
}
