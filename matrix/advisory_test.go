package matrix

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/pin"
)

func TestConditions(t *testing.T) {
	for _, c := range []struct{ text, err string }{
		{"cudnn>=9,<9.10.1 gpus>=2", ""},
		{"capability>=10.0,<12.0", ""},
		{"", "without a clause"},
		{"cudnn", "is not a clause"},
		{"cudnn>=new", "is not a clause"},
		{"cuddn>=9", `there is no "cuddn" to compare`},
		{"cudnn>=9 <10", "is not a clause"},
	} {
		var got tables.Condition
		err := cmp.Or(got.UnmarshalText([]byte(c.text)), got.Valid())
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q: the error is %v, want %q", c.text, err, c.err)
		}
	}
}

// FuzzConditions parses arbitrary text as a condition. A condition that parses must print as the same text.
func FuzzConditions(f *testing.F) {
	for _, a := range tables.Rows[tables.Advisory](Embedded()) {
		f.Add(a.When.Text)
	}
	f.Add("a>=1,,<2")
	f.Fuzz(func(t *testing.T, text string) {
		var c tables.Condition
		if err := cmp.Or(c.UnmarshalText([]byte(text)), c.Valid()); err != nil {
			return
		}
		if back, _ := c.MarshalText(); string(back) != text {
			t.Errorf("%q came back as %q", text, back)
		}
	})
}

// TestAdvisoriesAreSound checks every row: it says what happens and what to do, and a condition with a single clause
// names one release of a framework, not half of all machines.
func TestAdvisoriesAreSound(t *testing.T) {
	for _, a := range tables.Rows[tables.Advisory](Embedded()) {
		one := len(a.When.Clauses) == 1 && slices.Contains(Frameworks(), a.When.Clauses[0].Name) &&
			strings.HasPrefix(a.When.Text, a.When.Clauses[0].Name+"=")
		if a.Message == "" || a.Fix == "" || len(a.When.Clauses) == 1 && !one {
			t.Errorf("%s lacks a message, a fix or a second clause", a.ID)
		}
	}
}

// TestFaultyReleasesHaveNoPin checks that pins offer another release for one that pip installs without its libraries,
// or that does not find them.
func TestFaultyReleasesHaveNoPin(t *testing.T) {
	for _, c := range []struct{ python, asked, want string }{
		{"3.10", "2.14.1", "2.14.1"}, {"3.11", "2.14.1", "2.15.1"}, {"3.10", "2.15.0", "2.15.1"},
		{"3.12", "2.16.1", "2.16.2"}, {"3.11", "2.16", "2.16.2"},
	} {
		node := machineWith("550.163.01", version.Capability{Major: 8, Minor: 9}, c.python, "")
		for _, s := range Pins(Embedded(), node, Target{}, pin.Wanted{Framework: "tensorflow", Release: c.asked}).Sets {
			if got := s.Packages[0].Version; s.Choice == pin.KeepDriver && got != c.want {
				t.Errorf("Python %s, tensorflow %s: %s is proposed, want %s", c.python, c.asked, got, c.want)
			}
		}
	}
}
