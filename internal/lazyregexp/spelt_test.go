package lazyregexp

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cudacompat/data"
)

// TestLiterals checks the texts that an expression must contain.
func TestLiterals(t *testing.T) {
	for expr, want := range map[string][]string{
		`an error of (?P<x>\w+)`:           {"an error of "},
		`an? errors?: x`:                   {" error"},
		`(?:first|second) thing`:           {" thing"},
		`(?:first one|second one) x`:       {"first one", "second one"},
		`long enough|(?:also|very) longer`: {"long enough", " longer"},
		`a\.b\(c\)`:                        {"a.b(c)"},
		`[Ee]rror{2}abcd`:                  {"abcd"},
		`^\W*text with [a-z]{0,3}(?:x)?`:   {"text with "},
		`abc`:                              nil,
		`(?i)letters`:                      nil,
		`(?i:letters)and more`:             {"and more"},
		`good text|\d+`:                    nil,
		`[]abcdef`:                         nil,
		`(abcdef`:                          {"abcdef"},
		`[[:alpha:]]abcde`:                 {"abcde"},
		`\x60abcde`:                        {"abcde"},
	} {
		if got := Literals(expr, 4); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", expr, got, want)
		}
	}
}

// TestMay checks that a text without the fixed letters is not matched at all.
func TestMay(t *testing.T) {
	for expr, texts := range map[string]map[string]bool{
		`CUDA (?:error|failure)s? 34\b|exactly this`: {"CUDA error 34": true, "it is exactly this": true,
			"CUDA error 35": false, "34": false, "CUDA 34": false, "CUDA failures 34": true},
		`(?i)Device .* Lost`:      {"device is LOST": true, "DEVICE LOST": true, "the device": false, "deviceloſt": true},
		`a(?i)b|c`:                {"aB": true, "C": true, "A": false, "ac": true},
		`(?:a(?i)b|c)d`:           {"aBd": true, "Cd": true, "CD": false},
		`(?i:x)y`:                 {"Xy": true, "xY": false},
		`(?i)x(?-i:y)z`:           {"XyZ": true, "xYz": false},
		`(?i)é`:                   {"É": true, "": true},
		`(?P<name>a>b)`:           {"a>b": true, "a": false},
		`[]x]y`:                   {"]y": true, "]": false},
		`[^]x]y`:                  {"ay": true, "a": false},
		`[\]x]y[[:alpha:]]`:       {"]y": true, "]": false},
		`\x60\x{61}\p{Greek}\pLz`: {"z": true, "x": false},
		`\Qa|b\E|c`:               {"": true},
		`x?(?:none)?`:             {"": true},
		`x{0,2}y{2}`:              {"": true},
		`x{1|y{2}`:                {"yy": true, "x{1": true, "x": false},
		`(?:|none)`:               {"": true},
		"\ufffd":                  {"\xff": true},
	} {
		for text, want := range texts {
			if got := New(expr).may(text); got != want {
				t.Errorf("%s may match %q: %t, want %t", expr, text, got, want)
			}
		}
	}
}

// FuzzMay checks that every match contains the letters that the expression is said to need.
func FuzzMay(f *testing.F) {
	pattern, line := "", ""
	for text := range strings.Lines(all(f)) {
		text = strings.TrimSuffix(text, "\n")
		if p, ok := strings.CutPrefix(text, "pattern: "); ok {
			pattern = p
		} else if line, ok = strings.CutPrefix(text, "seen: "); ok {
			f.Add(pattern, line)
			f.Add(pattern, strings.ToUpper(line))
			f.Add("(?i)"+pattern, strings.ToUpper(line))
		}
	}
	f.Fuzz(func(t *testing.T, expr, text string) {
		literals := Literals(expr, 4)
		New(expr).read() // neither panics
		re, err := regexp.Compile(expr)
		if err != nil || len(expr) > 1000 || !re.MatchString(text) {
			t.Skip()
		}
		may := New(expr).may(text)
		holds := func(literal string) bool { return strings.Contains(re.FindString(text), literal) }
		if !may || literals != nil && !slices.ContainsFunc(literals, holds) {
			t.Fatalf("%q matches %q, which may be: %t, and holds one of %q", expr, text, may, literals)
		}
	})
}

// all returns the patterns of logs and the lines that they match.
func all(tb testing.TB) string {
	tb.Helper()
	var text strings.Builder
	err := fs.WalkDir(data.FS, "signature", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		part, err := fs.ReadFile(data.FS, name)
		text.Write(part)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return text.String()
}
