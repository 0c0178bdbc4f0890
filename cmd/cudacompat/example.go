package main

import (
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"cudacompat/examples"
)

// examplePrefix begins the name of an embedded example.
const examplePrefix = "example:"

// openExample opens an embedded example by name: broken is collect_env/broken.txt.
func openExample(name string) (io.ReadCloser, error) {
	files := exampleFiles()
	i := slices.IndexFunc(files, func(file string) bool { return exampleName(file) == name })
	if i < 0 {
		names := make([]string, len(files))
		for i, file := range files {
			names[i] = exampleName(file)
		}
		return nil, misspelt("example", name, names)
	}
	return examples.FS.Open(files[i])
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
