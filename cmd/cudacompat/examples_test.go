package main

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// filled replaces the variables of the examples' own languages by values.
var filled = strings.NewReplacer("'{{ Instances }}'", "g6e.xlarge,p5.48xlarge", `${join(",", var.instances)}`,
	"g6e.xlarge,p5.48xlarge", "{{ require }}", "driver,gpu")

// exampleCommand matches a call of the program in an example. In cloud-init's folded text it continues on the next
// line.
var exampleCommand = regexp.MustCompile(`/usr/local/bin/cudacompat (doctor(?:[^\n"]|\n    -)*)`)

// TestExamplesCall parses every call of the program in the examples for image builders and first boot.
func TestExamplesCall(t *testing.T) {
	examples := os.DirFS("../../examples")
	for _, file := range []string{"packer/cudacompat.pkr.hcl", "imagebuilder/cudacompat.yaml",
		"cloud-init/cudacompat.yaml", "ssm/cudacompat.yaml"} {
		data, err := fs.ReadFile(examples, file)
		if err != nil {
			t.Fatal(err)
		}
		calls := exampleCommand.FindAllStringSubmatch(filled.Replace(string(data)), -1)
		if len(calls) == 0 {
			t.Errorf("%s: no call of cudacompat doctor", file)
		}
		for _, call := range calls {
			args := strings.Fields(call[1])
			var out, errs strings.Builder
			if code := run(append(args, "--help"), streams{strings.NewReader(""), &out, &errs}); code != exitOK {
				t.Errorf("%s: %q: exit %d: %s", file, args, code, errs.String())
			}
		}
	}
}
