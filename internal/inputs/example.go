package inputs

import (
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"cudacompat/examples"
	"cudacompat/internal/usage"
)

// ExamplePrefix begins the name of an embedded example.
const ExamplePrefix = "example:"

// openExample opens an embedded example by name: broken is collect_env/broken.txt.
func openExample(name string) (io.ReadCloser, error) {
	files := listExampleFiles()
	i := slices.IndexFunc(files, func(file string) bool { return nameExample(file) == name })
	if i < 0 {
		return nil, usage.RejectUnknown("example", name, ExampleNames())
	}
	return examples.FS.Open(files[i])
}

// ExampleList makes check list the embedded examples.
const ExampleList = ExamplePrefix + "?"

// ExampleNames returns the names of the embedded examples.
func ExampleNames() []string {
	var names []string
	for _, file := range listExampleFiles() {
		names = append(names, nameExample(file))
	}
	return names
}

func listExampleFiles() []string {
	files, err := fs.Glob(examples.FS, "*/*")
	if err != nil {
		panic(err) // a bad pattern
	}
	return files
}

func nameExample(file string) string {
	base := path.Base(file)
	return strings.TrimSuffix(base, path.Ext(base))
}
