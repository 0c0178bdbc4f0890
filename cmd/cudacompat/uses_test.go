package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
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

// played is what make uses writes into the page, and a command in it.
var (
	played        = regexp.MustCompile(`(?s)<!-- written by make uses -->\n(.*)<!-- end of what make uses writes -->`)
	playedCommand = regexp.MustCompile(`(?m)^\$ (.*)$`)
)

// TestUsesPlayTheExamples keeps the commands whose output docs/uses.md shows equal to those of the files that are shipped.
// The output itself is compared by tools/situations/uses.py --check, where this system lets a process have namespaces.
func TestUsesPlayTheExamples(t *testing.T) {
	page, err := os.ReadFile("../../docs/uses.md")
	if err != nil {
		t.Fatal(err)
	}
	words := func(text string) string {
		return strings.Join(strings.Fields(strings.NewReplacer(`"`, " ", ",", " ", "[", " ", "]", " ").Replace(text)), " ")
	}
	part := played.FindSubmatch(page)
	if part == nil {
		t.Fatal("docs/uses.md has no part that make uses writes")
	}
	found := map[string]int{}
	for _, m := range playedCommand.FindAllSubmatch(part[1], -1) {
		command := strings.Replace(string(m[1]), "--instance g6.xlarge", `--instance ${join(",", var.instances)}`, 1)
		for _, name := range []string{"container/Dockerfile", "packer/cudacompat.pkr.hcl", "cloud-init/cudacompat.yaml"} {
			file, err := os.ReadFile("../../examples/" + name)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(words(string(file)), words(command)) {
				found[name]++
			}
		}
	}
	if found["container/Dockerfile"] != 4 || found["packer/cudacompat.pkr.hcl"] != 2 || found["cloud-init/cudacompat.yaml"] != 2 {
		t.Errorf("commands of the examples among those that were played: %v", found)
	}
}

// usesExamples returns the files of examples/ that are for other programs.
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
