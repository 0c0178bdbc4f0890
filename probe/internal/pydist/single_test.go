package pydist

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSinglePlace checks that only one place in the repository answers each question about an installed distribution.
func TestSinglePlace(t *testing.T) {
	const root = "../../.."
	for _, c := range []struct {
		what    string
		pattern *regexp.Regexp
		in      []string // the files that may have it
	}{
		{"opens RECORD or METADATA", regexp.MustCompile(`\.(Read\w*|Open|Size)\(.*"/?(RECORD|METADATA)"`),
			[]string{"probe/internal/pydist/distribution.go"}},
		{"says that a package is overwritten", regexp.MustCompile(`\.(Overwritten|Replaced)\b[^=\n]*[^=!<>:]=[^=]`),
			[]string{"probe/internal/pyimport/replaced.go"}},
		{"makes a hindrance of an overwritten build", regexp.MustCompile(`Kind: facts\.HindranceOverwritten`),
			[]string{"probe/internal/pyimport/replaced.go"}},
		{"compares a file with RECORD", regexp.MustCompile(`\.Record\(\)\.File\(`),
			[]string{"probe/internal/pydist/intact.go"}},
		{"knows by names which distributions own the same files", regexp.MustCompile(`"same-files"|"faiss-cpu"`),
			[]string{"matrix/internal/model/twins.go"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			found := map[string]bool{}
			for _, top := range []string{"probe", "matrix", "internal", "cmd"} {
				err := filepath.WalkDir(filepath.Join(root, top), func(file string, e fs.DirEntry, err error) error {
					if err != nil || e.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
						return err
					}
					text, err := os.ReadFile(file)
					for line := range strings.Lines(string(text)) {
						code, _, _ := strings.Cut(line, "//")
						if c.pattern.MatchString(code) {
							found[strings.TrimPrefix(filepath.ToSlash(file), root+"/")] = true
						}
					}
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			for _, file := range c.in {
				if !found[file] {
					t.Errorf("%s does so no more", file)
				}
				delete(found, file)
			}
			for file := range found {
				t.Errorf("%s does so, too", file)
			}
		})
	}
}
