package main

import (
	"os"
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
	blocks := shipped.FindAllSubmatch(page, -1)
	if len(blocks) < 9 {
		t.Errorf("docs/uses.md shows %d files; the pattern no longer finds them", len(blocks))
	}
	for _, b := range blocks {
		file, err := os.ReadFile("../../" + string(b[1]))
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(string(file), string(b[2])); diff != "" {
			t.Errorf("%s (-file +docs/uses.md):\n%s", b[1], diff)
		}
	}
}
