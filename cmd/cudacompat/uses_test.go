package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shipped is a fenced block that stands for a file of examples/: "```yaml examples/container/compose.yaml".
var shipped = regexp.MustCompile("(?ms)^```\\w* (examples/\\S+)\n(.*?)^```$")

// TestUsesShowTheExamples keeps what docs/uses.md shows equal to the files that are shipped.
func TestUsesShowTheExamples(t *testing.T) {
	page, err := os.ReadFile("../../docs/uses.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, b := range shipped.FindAllSubmatch(page, -1) {
		name := "../../" + string(b[1])
		shown[name] = true
		file, err := os.ReadFile(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(string(file), string(b[2])); diff != "" {
			t.Errorf("%s (-file +docs/uses.md):\n%s", b[1], diff)
		}
	}
	for _, name := range usesExamples(t) {
		if !shown[name] {
			t.Errorf("docs/uses.md does not show %s", name)
		}
	}
}

// usesExamples are the files of examples/ that are for other programs.
func usesExamples(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, pattern := range []string{"*.yaml", "container/Dockerfile", "container/*.yaml", "container/*.json", "cloud-init/*", "imagebuilder/*", "packer/*", "ssm/*"} {
		files, err := filepath.Glob("../../examples/" + pattern)
		if err != nil || len(files) == 0 {
			t.Errorf("examples/%s: %d files, %v", pattern, len(files), err)
		}
		names = append(names, files...)
	}
	return names
}
