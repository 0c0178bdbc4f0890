package config

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"cudacompat/internal/usage"
	"cudacompat/matrix/verdict"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestExampleConfig parses the shipped configuration and checks its values.
func TestExampleConfig(t *testing.T) {
	const name = "../../examples/cudacompat.yaml"
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	got, err := parse(name, data)
	if err != nil {
		t.Fatal(err)
	}
	want := Settings{Require: []string{"driver", "gpu"}, FailOn: "error", Waivers: []verdict.Waiver{
		{Rule: "driver-too-old", Match: map[string]string{"subject": "torch 2.9.* in /opt/venv", "driver": "535.*"},
			Reason: "drivers are replaced with the next machine image, INFRA-412", Until: "2027-01-31"},
		{Rule: "companion-mismatch", Match: map[string]string{}, Reason: "triton is pinned by the kernels team"},
	}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Settings{}, Promise{}), cmpopts.IgnoreFields(Settings{}, "lines")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestConfigKeepsText checks that YAML's numbers, dates and booleans stay text.
func TestConfigKeepsText(t *testing.T) {
	c, err := parse("c", []byte("version: 1\nignore:\n- rule: driver-too-old\n  reason: yes\n  match: {driver "+
		"CUDA: 12.10, python: 3.10, x: 2027-01-31, y: 0x1F}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := verdict.Waiver{Rule: "driver-too-old", Reason: "yes",
		Match: map[string]string{"driver CUDA": "12.10", "python": "3.10", "x": "2027-01-31", "y": "0x1F"}}
	if diff := cmp.Diff([]verdict.Waiver{want}, c.Waivers); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestConfigIsStrict checks every mistake with its line and hint.
func TestConfigIsStrict(t *testing.T) {
	waiver := func(text string) string {
		return "version: 1\nignore:\n  - rule: driver-too-old\n    reason: x\n    " + text + "\n"
	}
	for name, tt := range map[string]struct{ text, message, hint string }{
		"key":           {"version: 1\nignroe: []\n", `"c", line 2: "ignroe" is not a known key`, "did you mean ignore?"},
		"key-of-waiver": {waiver("untill: 2027-01-01"), `"c", line 5: "untill" is not a known key`, "did you mean until?"},
		"key-twice": {"version: 1\nrequire: [gpu]\nrequire: [driver]\n",
			`"c", line 3: the key "require" is here twice`, "keep one of them"},
		"rule": {"version: 1\nignore:\n- rule: driver-to-old\n  reason: x\n",
			`"c", line 3: "driver-to-old" is not a known rule`, "did you mean driver-too-old?"},
		"date": {waiver("until: 31.1.2027"), `"c", line 5: "31.1.2027" is not a date`,
			"write the year, the month and the day: 2027-01-31"},
		"date-not-there": {waiver("until: 2027-02-30"), `"c", line 5: "2027-02-30" is not a date`,
			"write the year, the month and the day: 2027-01-31"},
		"match-too-long": {waiver("match: {subject: \"" + strings.Repeat("*a", 600) + "\"}"),
			`"c", line 5: the text to match for subject has 1200 bytes`, "write at most 1000; * stands for any text"},
		"until-empty": {waiver("until:"), `"c", line 5: a text is wanted here, not nothing`,
			`write it between quotes: "text"`},
		"no-reason": {"version: 1\nignore:\n- rule: driver-too-old\n",
			`"c", line 3: the waiver of driver-too-old has no reason`, `reason: "who decided it and why"`},
		"blank-reason": {"version: 1\nignore:\n- rule: driver-too-old\n  reason: ' '\n",
			`"c", line 3: the waiver of driver-too-old has no reason`, `reason: "who decided it and why"`},
		"requirement": {"version: 1\nrequire: [gpus]\n", `"c", line 2: "gpus" is not a known requirement`,
			"did you mean gpu?"},
		"requirement-alone": {"version: 1\nrequire: gpu\n", `"c", line 2: a list is wanted here, not "gpu"`,
			`write "[a, b]", or a line "- a" for each`},
		"fail-on": {"version: 1\nfail-on: warnings\n", `"c", line 2: "warnings" is not a known severity for fail-on`,
			"did you mean warning?"},
		"no-version": {"require: [gpu]\n", `"c", line 1: the version of this file's form is missing`,
			"begin with version: 1"},
		"later-version": {"version: 2\n", `"c", line 1: "2" is not a known version`, "did you mean 1?"},
		"list": {"- version: 1\n", `"c", line 1: keys with their values are wanted here, not a list`,
			`write "key: value"`},
		"match-list": {waiver("match: [driver]"), `"c", line 5: keys with their values are wanted here, not a list`,
			`write "key: value"`},
		"match-nested": {waiver("match: {driver: [535, 550]}"), `"c", line 5: a text is wanted here, not a list`,
			`write it between quotes: "text"`},
		"two-documents": {"version: 1\n---\nversion: 1\n", `"c", line 1: the file holds more than one document`,
			"keep the first, and no line --- after it"},
		"alias": {"version: &v 1\nfail-on: *v\n", `"c", line 2: a text is wanted here, not an alias`,
			`write it between quotes: "text"`},
		"merge-key": {"version: 1\n<<: {require: [gpu]}\n", `"c", line 2: "<<" is not a known key`,
			"one of fail-on, ignore, require, supports, version"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse("c", []byte(tt.text))
			var mistake *usage.Error
			if !errors.As(err, &mistake) {
				t.Fatalf("no mistake of the caller: %v", err)
			}
			if diff := cmp.Diff([]string{tt.message, tt.hint}, []string{mistake.Message, mistake.Hint}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestConfigThatIsNoYAML checks that the error has a line number and none of the file's control bytes.
func TestConfigThatIsNoYAML(t *testing.T) {
	for _, text := range []string{"version: 1\n  x: [", "\tversion: 1", "version: 1\n\"\x1b[31m: x", "a: b: c",
		"\xff\xfe\x00"} {
		_, err := parse("c", []byte(text))
		var mistake *usage.Error
		if !errors.As(err, &mistake) || !strings.HasPrefix(mistake.Message, `"c" is not YAML: `) ||
			strings.ContainsAny(mistake.Message, "\n\x1b\x00") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestEmptyConfig checks that an empty configuration changes nothing.
func TestEmptyConfig(t *testing.T) {
	for _, text := range []string{"", "# only a comment\n"} {
		if c, err := parse("c", []byte(text)); err != nil || c.Require != nil || c.Waivers != nil {
			t.Errorf("%q: %+v, %v", text, c, err)
		}
	}
}

// FuzzConfig parses arbitrary text. What it accepts contains only known words.
func FuzzConfig(f *testing.F) {
	example, err := os.ReadFile("../../examples/cudacompat.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(example)
	for _, text := range []string{"version: 1\nignore: [{rule: driver-too-old, reason: x, until: 2027-01-31}]",
		"a: &a [*a]", "? [a]\n: b", "--- |\n x", "version: !!binary 1"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parse("c", data)
		if err != nil {
			return
		}
		for _, w := range c.Waivers {
			if _, err := time.Parse(time.DateOnly, w.Until); w.Reason == "" || w.Until != "" && err != nil {
				t.Errorf("waiver %+v", w)
			}
			w.Covers(verdict.Finding{Rule: w.Rule})
		}
	})
}
