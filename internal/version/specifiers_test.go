package version

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestSpecifiers: ranges as requirements write them.
func TestSpecifiers(t *testing.T) {
	for _, c := range []struct {
		text, release string
		want          bool
	}{
		{"~=2.8.0", "2.8.3", true}, {"~=2.8.0", "2.9.0", false}, {"~=2.8.1", "2.8.0", false},
		{"~=2.8", "2.14.1", true}, {"~=2.8", "3.0.0", false}, {"~=2.8", "2.7.9", false},
		{"~=0.5.2,!=0.5.3", "0.5.3", false}, {"==2.9.*", "2.9.1", true}, {"==2.9.*", "2.10.0", false},
		{">=0.5.2,<0.11", "0.10.2", true}, {">=0.5.2,<0.11", "0.11.0", false}, {">=0.5.2, <0.11,", "0.10.2", true},
		{"<=2.9", "2.9.1", false}, {"<=2.9", "2.9.0+cu126", true}, {">2.9", "2.9.1", true}, {">2.9", "2.9.0.post1", false},
		{"==2.7", "2.7.0+cu128", true}, {"==2.7.0+cu128", "2.7.0", false}, {">=1!2.0", "3.0", false}, {"<1!2.0", "3.0", true},
		{">=2.15", "2.15.0.post1", true}, {"==2.15.0", "2.15.0.post1", false}, {"<2.9", "2.9.0rc1", false},
		{"", "1.0", true}, {">=1.0", "abc", false},
	} {
		s, err := ParseSpecifiers(c.text)
		if err != nil || s.Has(c.release) != c.want {
			t.Errorf("%s has %s: %v, %v", c.text, c.release, !c.want, err)
		}
	}
	for _, text := range []string{"2.0", "=2.0", "*", ">=2 || <1", ">=", "(no version given)", "~=2", ">=2.*", ">=1 <2"} {
		if _, err := ParseSpecifiers(text); err == nil {
			t.Errorf("%q is none", text)
		}
	}
}

// packagingProgram answers as Python's packaging does; what it cannot read is null.
const packagingProgram = `
import json, sys
try:
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version
except ImportError:
    from pip._vendor.packaging.specifiers import SpecifierSet
    from pip._vendor.packaging.version import Version
answers = []
for specifiers, release in json.load(sys.stdin):
    try:
        answers.append(SpecifierSet(specifiers).contains(Version(release), prereleases=True))
    except Exception:
        answers.append(None)
print(json.dumps(answers))
`

// TestAgainstPackaging compares ranges with Python's own library on a seed.
func TestAgainstPackaging(t *testing.T) {
	const count = 6_000
	random := rand.New(rand.NewPCG(5, 6))
	pairs := make([][2]string, count)
	for i := range pairs {
		pairs[i] = [2]string{randomSpecifiers(random), randomRelease(random, true)}
	}
	input, err := json.Marshal(pairs)
	if err != nil {
		t.Fatal(err)
	}
	python := exec.Command("python3", "-I", "-c", packagingProgram)
	python.Stdin = bytes.NewReader(input)
	out, err := python.Output()
	if err != nil {
		t.Skip("no python3 with packaging or pip here")
	}
	var want []*bool
	if err := json.Unmarshal(out, &want); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for i, pair := range pairs {
		if want[i] == nil || oddSpecifier.MatchString(pair[0]) {
			continue
		}
		compared++
		s, err := ParseSpecifiers(pair[0])
		if err != nil || s.Has(pair[1]) != *want[i] {
			t.Errorf("%q has %q: we say %v (%v), packaging %v", pair[0], pair[1], s.Has(pair[1]), err, *want[i])
		}
	}
	t.Logf("%d of %d compared", compared, count)
}

// oddSpecifier matches specifiers that the library parses differently from packaging: "~=", "<" and ">" of a pre-,
// post- or development release, and prefixes of them.
var oddSpecifier = regexp.MustCompile(`(?:~=|[<>])[^=,]*[a-z]|[a-z][^,]*\.\*`)

func randomSpecifiers(random *rand.Rand) string {
	var list []string
	for range 1 + random.IntN(3) {
		operator := []string{"==", "!=", "<=", ">=", "<", ">", "~="}[random.IntN(7)]
		text := randomRelease(random, operator == "==" || operator == "!=")
		if (operator == "==" || operator == "!=") && random.IntN(3) == 0 {
			text, _, _ = strings.Cut(text, "+")
			text += ".*"
		}
		list = append(list, operator+text)
	}
	return strings.Join(list, []string{",", ", "}[random.IntN(2)])
}

// randomRelease returns one near others, so that comparisons are close.
func randomRelease(random *rand.Rand, local bool) string {
	text := fmt.Sprint(random.IntN(3))
	for range random.IntN(3) {
		text += fmt.Sprint(".", random.IntN(3))
	}
	if random.IntN(12) == 0 {
		text = "1!" + text
	}
	if random.IntN(5) == 0 {
		text += []string{"a1", "b2", "rc1", ".post1", ".post2", ".dev3", "rc1.post1", ".post1.dev2"}[random.IntN(8)]
	}
	if local && random.IntN(5) == 0 {
		text += []string{"+cu126", "+cpu", "+cu12.6", "+1"}[random.IntN(4)]
	}
	return text
}

// TestAllows checks a library with three known version parts against a range with four.
func TestAllows(t *testing.T) {
	for _, c := range []struct {
		specifiers, have string
		want             bool
	}{
		{"<10.0,>=9.10.2.21", "9.10.2", true}, {"<10.0,>=9.10.2.21", "9.10.2.20", false}, {"==9.1.0.70", "9.1.0", true},
		{"<10.0,>=9.10.2.21", "9.10.1", false}, {">=3.8", "3.12", true}, {">=2.18.1", "2.18.1-1+cuda12.4", true},
	} {
		if ok, err := Allows(c.specifiers, ParseOrZero(c.have)); ok != c.want || err != nil {
			t.Errorf("%s has %s: %v, %v", c.specifiers, c.have, ok, err)
		}
	}
}

// TestSameRelease checks that zeros at the end of a release do not matter.
func TestSameRelease(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"2.7", "2.7.0", true}, {"2.7.0", "2.7.1", false}, {"2.70", "2.7", false}, {"0.0.33.post2", "0.0.33.post2", true},
		{"2.0.post1", "2.post1", true}, {"10", "1", false}, {"2.7.0rc1", "2.7rc1", true}, {"2.7.0rc1", "2.7", false}, {"0", "0.0", true},
	} {
		if SameRelease(c.a, c.b) != c.want {
			t.Errorf("%s and %s: %v", c.a, c.b, !c.want)
		}
	}
}

// TestCutZeros compares with the regular expression that says the same.
func TestCutZeros(t *testing.T) {
	zeros := regexp.MustCompile(`^(\d+(?:\.\d+)*?)(?:\.0+)*($|[^\d.].*$|\.[^\d].*$)`)
	parts := []string{"", "0", "00", "1", "10", ".", ".0", ".00", ".1", ".10", "rc1", "+cu130", ".post1", ".dev0", "-"}
	for _, a := range parts {
		for _, b := range parts {
			for _, c := range parts {
				for _, d := range parts {
					text := a + b + c + d
					number, rest := cutZeros(text)
					if want := zeros.ReplaceAllString(text, "$1$2"); number+rest != want {
						t.Fatalf("%q is %q %q, want %q", text, number, rest, want)
					}
				}
			}
		}
	}
}
