package version

import "testing"

// TestPythonRanges: ranges as requirements write them.
func TestPythonRanges(t *testing.T) {
	for _, c := range []struct {
		text, number string
		want         bool
	}{
		{"~=2.8.0", "2.8.3", true}, {"~=2.8.0", "2.9.0", false}, {"~=2.8.1", "2.8.0", false},
		{"~=2.8", "2.14.1", true}, {"~=2.8", "3.0.0", false}, {"~=2.8", "2.7.9", false},
		{"~=0.5.2,!=0.5.3", "0.5.3", false}, {"==2.9.*", "2.9.1", true}, {"==2.9.*", "2.10.0", false},
		{">=0.5.2,<0.11", "0.10.2", true}, {">=0.5.2,<0.11", "0.11.0", false},
	} {
		r, err := ParseRange(c.text)
		if err != nil || r.Has(Of(c.number)) != c.want {
			t.Errorf("%s has %s: %v, %v", c.text, c.number, !c.want, err)
		}
	}
}
