package pydist

import (
	"testing"
)

// TestAccepts has ranges as METADATA writes them. What is not understood accepts everything.
func TestAccepts(t *testing.T) {
	for _, c := range []struct {
		specifiers, have string
		want             bool
	}{
		{"==26.10.*", "26.10.0", true},
		{"==26.10.*", "25.10.0", false},
		{"==26.10.2", "26.10.2", true},
		{"==26.10.2", "26.10.0", false},
		{"<13.0,>=12.9.2", "12.9.10", true},
		{"<13.0,>=12.9.2", "13.0.1", false},
		{"~=26.10", "26.12.0", true},
		{"~=26.10", "27.2.0", false},
		{"~=26.10.1", "26.10.0", false},
		{"~=26.10.1", "26.12.0", false},
		{"==26.12.*,>=0.0.0a0", "26.12.0a17", true},
		{"===26.10", "25.10.0", false},
		{"@26.10", "25.10.0", true},
		{"==5.3.0.16", "5.3.0.16", true},
	} {
		if got := Accepts(c.specifiers, c.have); got != c.want {
			t.Errorf("%q accepts %s: %v", c.specifiers, c.have, got)
		}
	}
}
