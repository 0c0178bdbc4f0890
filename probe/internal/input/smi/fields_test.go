package smi

import (
	"bufio"
	"os"
	"strings"
	"testing"
)

// TestFields holds that each field that nvidia-smi prints is read, or known to need no reading. testdata/fields.txt has
// the fields of drivers 470 to 610 by their places, taken from their output: "q" of -q, "x" of -x -q.
func TestFields(t *testing.T) {
	file, err := os.Open("testdata/fields.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	read := map[string]bool{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		kind, place, ok := strings.Cut(lines.Text(), " ")
		if !ok || kind == "#" {
			continue
		}
		f, mapped, known := fieldOf(strings.Split(place, "/"))
		if kind == "x" {
			f, mapped, known = elementOf(strings.Split(place, ">"))
		}
		if !known {
			t.Errorf("%s: %s is neither read nor ignored", kind, place)
		}
		if mapped {
			read[kind+f.query], read[kind+f.xml] = true, true
		}
	}
	for _, f := range fields {
		if !read["q"+f.query] || !read["x"+f.xml] && !read["x"+f.query] {
			t.Errorf("no driver's output has %s, or its element %s", f.query, f.xml)
		}
	}
	for name, reason := range ignored {
		if reason == "" {
			t.Errorf("%s is ignored without a reason", name)
		}
	}
}
