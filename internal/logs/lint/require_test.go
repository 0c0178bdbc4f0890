package lint

import "testing"

func TestMustContain(t *testing.T) {
	for _, c := range []struct {
		pattern  string
		literals []string
		want     bool
	}{
		{`an error`, []string{"error"}, true},
		{`an (?:error|fault)`, []string{"error"}, false},
		{`an (?:error|fault)`, []string{"error", "fault"}, true},
		{`cudaErrorAssert|cudaErrorUnknown`, []string{"cudaErrorAssert", "cudaErrorUnknown"}, true},
		{`cudaErrorAssert|cudaErrorUnknown`, []string{"cudaErrorAssert"}, false},
		{`(?:an error)?`, []string{"error"}, false},
		{`(?:an error)*`, []string{"error"}, false},
		{`(?:an error)+`, []string{"error"}, true},
		{`(?:an error){2,3}`, []string{"error"}, true},
		{`(?i)an error`, []string{"error"}, false},
		{`[Ee]rror`, []string{"rror"}, true},
		{`[Ee]rror:? x`, []string{"or x", "or: x"}, true},
		{`[Ee]rror.x`, []string{"or x"}, false},
		{`(`, []string{"x"}, false},
	} {
		if got := mustContain(c.pattern, c.literals); got != c.want {
			t.Errorf("mustContain(%q, %q) = %t", c.pattern, c.literals, got)
		}
	}
}
