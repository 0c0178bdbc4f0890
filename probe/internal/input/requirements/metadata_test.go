package requirements

import (
	"testing"

	"cudacompat/probe/facts"
)

// TestRequirement reads the lines of METADATA that real wheels have.
func TestRequirement(t *testing.T) {
	env := facts.Environment{Python: "3.12.1"}
	for _, c := range []struct {
		line    string
		extras  []string
		want    string // empty: it does not apply
		accepts string
		refuses string
	}{
		{"numpy>=1.26; python_version >= \"3.11\"", nil, "numpy>=1.26", "2.0.1", "1.25.0"},
		{"numpy>=1.22; python_version < \"3.11\"", nil, "", "", ""},
		{"librmm-cu12 (>=26.10,<26.12)", nil, "librmm-cu12>=26.10,<26.12", "26.10.1", "26.12.0"},
		{"torch==2.9.0", nil, "torch==2.9.0", "2.9.0+cu128", "2.9.1"},
		{"Pillow!=8.3.*,>=5.3.0", nil, "pillow!=8.3.*,>=5.3.0", "12.0.0", "8.3.1"},
		{"fastapi[standard]>=0.115.0 ; extra == 'serve'", nil, "", "", ""},
		{"fastapi[standard]>=0.115.0 ; extra == 'serve'", []string{"serve"}, "fastapi>=0.115.0", "0.120", "0.1"},
		{"pywin32; sys_platform == 'win32'", nil, "", "", ""},
		{"mine @ https://example.org/mine-1.0-py3-none-any.whl", nil, "mine", "9", ""},
		{"regex", nil, "regex", "2026.1", ""},
	} {
		r, ok := ParseRequirement(c.line)
		if !ok {
			t.Errorf("%s: is not read", c.line)
			continue
		}
		if applies := r.Applies(env, "x86_64", c.extras); applies != (c.want != "") || applies && r.String() != c.want {
			t.Errorf("%s: %q applies: %v, want %q", c.line, r, applies, c.want)
		}
		if c.accepts != "" && !r.Accepts(c.accepts) || c.refuses != "" && r.Accepts(c.refuses) {
			t.Errorf("%s: accepts %s, or not %s", c.line, c.refuses, c.accepts)
		}
	}
	if _, ok := ParseRequirement("!!"); ok {
		t.Error("what is no requirement was read")
	}
}
