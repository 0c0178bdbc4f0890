package readers

import (
	"slices"
	"strings"
	"testing"
)

// TestGreyPictures checks the message for a grey picture that is normalised with three channels.
func TestGreyPictures(t *testing.T) {
	const line = "RuntimeError: output with shape [1, 28, 28] doesn't match the broadcast shape [3, 28, 28]"
	i := slices.IndexFunc(shapes, func(m meaning) bool { return m.said.MatchString(line) })
	if i < 0 || !strings.Contains(shapes[i].do[0], "Normalize((0.5,), (0.5,))") {
		t.Errorf("%d", i)
	}
	if shapes[i].said.MatchString(strings.Replace(line, "[1, 28", "[2, 28", 1)) {
		t.Error("two channels are taken for grey")
	}
}

// TestPatternsCompile compiles the patterns of all messages about shapes and devices.
func TestPatternsCompile(t *testing.T) {
	for _, m := range slices.Concat(shapes, devices) {
		m.said.SubexpNames() // panics if the pattern is invalid
	}
}
