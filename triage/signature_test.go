package triage

import (
	"slices"
	"strings"
	"testing"
)

// TestParseSignaturesRefuses holds what the linter finds, one fault a row.
func TestParseSignaturesRefuses(t *testing.T) {
	good := map[string]string{"id": "an-id", "cause": "a-cause", "blame": "program", "weight": "5", "literal": "it failed", "pattern": `it failed: (?P<why>\w+)`,
		"because": "It failed for {why}.", "do": "mend it", "positive": "it failed: badly", "source": "https://example.com/1", "checked": "2026-11-21"}
	row := func(change map[string]string) string {
		var fields []string
		for _, name := range header {
			v, changed := change[name]
			if !changed {
				v = good[name]
			}
			fields = append(fields, `"`+strings.ReplaceAll(v, `"`, `""`)+`"`)
		}
		return strings.Join(fields, ",") + "\n"
	}
	head := strings.Join(header, ",") + "\n"
	if all, err := ParseSignatures(strings.NewReader("# comment\n" + head + row(nil))); err != nil || len(all) != 1 {
		t.Fatalf("a good row: %d, %v", len(all), err)
	}
	for name, c := range map[string]struct{ text, says string }{
		"header":             {"id,cause\n", "wrong number of fields"},
		"other_header":       {strings.Replace(head, "cause", "reason", 1), "header is not"},
		"no_header":          {"", "header is not"},
		"double_id":          {head + row(nil) + row(nil), "not unique"},
		"id":                 {head + row(map[string]string{"id": "An ID"}), "lower-case words"},
		"blame":              {head + row(map[string]string{"blame": "me"}), `blame "me"`},
		"two_blames":         {head + row(nil) + row(map[string]string{"id": "b", "blame": "hardware"}), "blamed on both program and hardware"},
		"rule":               {head + row(map[string]string{"rule": "No Rule"}), `rule "No Rule"`},
		"weight":             {head + row(map[string]string{"weight": "9"}), "weight 9"},
		"weight_no_number":   {head + row(map[string]string{"weight": "heavy"}), `weight "heavy"`},
		"needs":              {head + row(map[string]string{"needs": "nobody"}), `unknown signature "nobody"`},
		"reads":              {head + row(map[string]string{"reads": "palm"}), `reads "palm"`},
		"pattern":            {head + row(map[string]string{"pattern": "("}), "missing closing"},
		"literal_short":      {head + row(map[string]string{"literal": "it"}), "shorter than"},
		"literal_not_needed": {head + row(map[string]string{"pattern": `it failed: (?P<why>\w+)|broke`}), "not every match"},
		"positive":           {head + row(map[string]string{"positive": "all is well"}), "does not match its own"},
		"positive_is_advice": {head + row(map[string]string{"positive": "# it failed: badly"}), "does not match its own"},
		"placeholder":        {head + row(map[string]string{"because": "{who} failed"}), "has a group for {who}"},
		"hole":               {head + row(map[string]string{"pattern": `it failed(?:: (?P<why>\w+))?`}), "has a group for {why}"},
		"no_words":           {head + row(map[string]string{"because": "", "do": ""}), "because and do"},
		"steps_as_a_pipe":    {head + row(map[string]string{"do": "dmesg | grep Xid | reboot"}), "is a pipe"},
		"source":             {head + row(map[string]string{"source": "https://example.com/1 | a friend"}), `"a friend"] is not made of`},
		"no_source":          {head + row(map[string]string{"source": ""}), "is not made of"},
		"checked":            {head + row(map[string]string{"checked": "today"}), `checked "today"`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ParseSignatures(strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v; want … %s …", err, c.says)
			}
		})
	}
}

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

// TestFinder compares the finder with a search for every literal on its own.
func TestFinder(t *testing.T) {
	all := []Signature{{Literal: []string{"ababab", "babab"}}, {Literal: []string{"abab"}}, {Literal: []string{"cabc", "ababc"}}, {Literal: []string{"ababab"}}}
	for _, text := range []string{"", "aba", "abab", "xababcabc", "abababababab", "cbabab\nababc", "ababa", "xcabcab"} {
		type hit struct{ end, signature int }
		var got, want []hit
		newFinder(all).find([]byte(text), func(end int, signatures []int) {
			for _, s := range signatures {
				got = append(got, hit{end, s})
			}
		})
		for end := range len(text) + 1 {
			for i, s := range all {
				for _, lit := range s.Literal {
					if strings.HasSuffix(text[:end], lit) {
						want = append(want, hit{end, i})
					}
				}
			}
		}
		order := func(a, b hit) int { return (a.end-b.end)*10 + a.signature - b.signature }
		slices.SortFunc(got, order)
		slices.SortFunc(want, order)
		if !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestStamps(t *testing.T) {
	for _, pair := range [][2]string{
		{"2025-05-19 10:10:29,701 [ERROR] x", "2025-05-19T10:10:29.900Z y"},
		{"[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:607] x", "[rank0]:[E1206 18:44:12.715298746 ProcessGroupNCCL.cpp:607] y"},
		{"ERROR 02-06 16:34:06 [core.py:936] x", "ERROR 02-06 16:34:07 [core.py:936] y"},
		{"[Fri Aug 30 11:43:09 2024] x", "Sep  8 03:19:01 node kernel: y"},
	} {
		first, second := stampBefore([]byte(pair[0]), len(pair[0])), stampBefore([]byte(pair[1]), len(pair[1]))
		if !first.before(second) || second.before(first) {
			t.Errorf("%q is not before %q: %v, %v", pair[0], pair[1], first, second)
		}
	}
	above := "2025-05-19 10:10:29 start\nTraceback\n  File x\nRuntimeError"
	if s := stampBefore([]byte(above), len(above)); s.layout == 0 {
		t.Error("the stamp above a traceback is not taken")
	}
	if s := stampBefore([]byte("step 12:30 of 2025"), 18); s.layout != 0 || s.before(s) {
		t.Errorf("no time is read as %v", s)
	}
}
