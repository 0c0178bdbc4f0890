package version

import "testing"

// TestRange holds versions against ranges as tables, pip, conda and Poetry write them.
func TestRange(t *testing.T) {
	for _, c := range []struct {
		text    string
		in, out []string
	}{
		{">=9.8,<10.0", []string{"9.8", "9.10.2.21"}, []string{"9.7.9", "10"}},
		{">=525.60.02", []string{"525.60.02", "525.60.13"}, []string{"525.60.01"}},
		{"<9.10.2.21", []string{"9.10.1"}, []string{"9.10.2", "9.10.2.5"}}, // three parts count
		{"<=12.4", []string{"12.4.1"}, []string{"12.5"}},
		{">12.4", []string{"12.5"}, []string{"12.4", "12.4.1"}},
		{"=12", []string{"12.0", "12.9"}, []string{"13"}},
		{"12.4.*", []string{"12.4", "12.4.1"}, []string{"12.5"}},
		{"=1.2.3.*", []string{"1.2.3", "1.2.3.4"}, []string{"1.2.4"}},
		{"!=2.1.*", []string{"2.2", "1.1"}, []string{"2.1", "2.1.9"}},
		{"*", []string{"0.1", "13"}, nil},
		{"=2.8.0+cu128", []string{"2.8.0"}, []string{"2.8.1"}},
		{"~1.2.3", []string{"1.2.3", "1.2.9"}, []string{"1.2.2", "1.3"}},
		{"~1", []string{"1.9"}, []string{"2", "0.9"}},
		{"^1.2", []string{"1.2", "1.9"}, []string{"1.1", "2"}},
		{"^0.2.3", []string{"0.2.9"}, []string{"0.2.2", "0.3"}},
		{"^0.0", []string{"0.0.9"}, []string{"0.1"}},
		{">= 1, < 2 || >=3 <4", []string{"1.5", "3.1"}, []string{"0.9", "2", "4"}},
	} {
		r, err := ParseRange(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
		}
		for i, list := range [][]string{c.in, c.out} {
			for _, v := range list {
				if r.Has(Of(v)) != (i == 0) {
					t.Errorf("%s has %s: %v", c.text, v, i != 0)
				}
			}
		}
	}
	if !(Range{}).Has(Of("1")) {
		t.Error("the empty range has not every version")
	}
}

// TestRangeRefuses is about what is no range: nothing is in it.
func TestRangeRefuses(t *testing.T) {
	for _, text := range []string{"", ">=", "==2.0", "~=2.0", ">=1,", ">=1,,<2", "=>1", ">=2.0rc1", "2026-04-14", "1.2.3.4.5",
		">=1 ||", "2*", "<4294967296"} {
		if r, err := ParseRange(text); err == nil {
			t.Errorf("%q is taken for a range", text)
		} else if text != "" && (r.Has(Of("2")) || r.Valid() == nil) {
			t.Errorf("%q has a version", text)
		}
	}
}
