package lint

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"cudacompat/internal/logs/finding"
	"cudacompat/internal/logs/readers"
	"cudacompat/internal/logs/signature"
)

// TestReinstalls checks that no step and no page reinstalls a package without a version or a place.
func TestReinstalls(t *testing.T) {
	for step, want := range map[string]bool{"`pip install --force-reinstall torchvision`": true,
		"`pip install --no-deps --force-reinstall torchvision==0.29.1+cu126`":               false,
		"`pip install --force-reinstall torchvision --index-url https://x.example/whl/cu1`": false,
		"`pip install --force-reinstall torch_scatter -f https://x.example/torch.html`":     false,
		"`pip install --force-reinstall --no-deps -f torch torchvision`":                    true} {
		if got := reinstallsAny(step); got != want {
			t.Errorf("%s: %t", step, got)
		}
	}
	steps := []string{readers.RebuildCommand}
	for _, do := range readers.ListSteps() {
		steps = append(steps, do...)
	}
	for _, a := range finding.Book().Answers {
		steps = append(steps, a.Do...)
	}
	pages, err := filepath.Glob("../../../docs/rules/*.md")
	if err != nil || len(pages) < 50 {
		t.Fatal(len(pages), err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, strings.Split(string(text), "\n")...)
	}
	for _, step := range steps {
		if reinstallsAny(step) {
			t.Errorf("%q names neither a version nor a place", step)
		}
	}
}

// TestParseSignaturesRefuses checks the linter's errors, one fault in each file.
func TestParseSignaturesRefuses(t *testing.T) {
	const good = "cause: a-cause\nblame: program\nbecause: It failed for {why}.\ndo: mend it\n\nline: " +
		"an-id\nweight: cause\n" +
		"pattern: it failed: (?P<why>\\w+)\nseen: it failed: badly\nsource: https://example.com/1\nchecked: 2026-11-21\n"
	parse := func(text string) ([]signature.Signature, error) {
		return Parse(fstest.MapFS{"signature/a.txt": {Data: []byte(text)}})
	}
	if all, err := parse("# comment\n\n" + good); err != nil || len(all) != 1 ||
		!slices.Equal(all[0].Literal, []string{"it failed: "}) {
		t.Fatalf("a good line: %+v, %v", all, err)
	}
	for name, c := range map[string]struct{ old, text, says string }{
		"field":    {"cause: a", "reason: a", "none of the fields"},
		"no_field": {"do: mend it", "mend it", "none of the fields"},
		"twice":    {"weight: cause", "weight: cause\nweight: fault", "said twice"},
		"no_cause": {"cause: a-cause\nblame: program\nbecause: It failed for {why}.\ndo: mend it\n\n", "",
			"before the first cause"},
		"double_id": {"checked: 2026-11-21", "checked: 2026-11-21\n\nline: an-id\nweight: cause", "stands twice"},
		"id":        {"an-id", "An ID", "lower-case words"},
		"blame":     {"blame: program", "blame: me", `blame: "me"`},
		"two_blames": {"checked: 2026-11-21",
			"checked: 2026-11-21\n\nline: b\nblame: hardware\nweight: cause\npattern: it failed: (?P<why>\\w+)\nseen: it " +
				"failed: badly\nsource: https://example.com/1\nchecked: 2026-11-21", "blamed on both program and hardware"},
		"rule":          {"weight: cause", "weight: cause\nrule: No Rule", `rule "No Rule"`},
		"weight":        {"weight: cause", "weight: heavy", "weight"},
		"needs":         {"weight: cause", "weight: cause\nneeds: nobody", `unknown signature "nobody"`},
		"reads":         {"weight: cause", "weight: cause\nreads: palm", `reads "palm"`},
		"reads_other":   {"weight: cause", "weight: cause\nreads: capability", "needs no line"},
		"pattern":       {"(?P<why>\\w+)", "(", "missing closing"},
		"literal_short": {"pattern: it failed: ", "literal: it\npattern: it failed: ", "shorter than"},
		"literal_not_needed": {"pattern: it failed: (?P<why>\\w+)",
			"literal: it failed\npattern: it failed: (?P<why>\\w+)|broke", "not every match"},
		"no_literal":         {"pattern: it failed: (?P<why>\\w+)", "pattern: it (?P<why>\\w+)", "no literal"},
		"positive":           {"seen: it failed: badly", "seen: all is well", "does not match its own"},
		"positive_is_advice": {"seen: it failed: badly", "seen: # it failed: badly", "does not match its own"},
		"placeholder":        {"{why}", "{who}", "has a group for {who}"},
		"hole":               {": (?P<why>\\w+)", "(?:: (?P<why>\\w+))?", "has a group for {why}"},
		"no_words":           {"because: It failed for {why}.\ndo: mend it\n", "", "because and do"},
		"five_steps":         {"do: mend it", "do: a\ndo: b\ndo: c\ndo: d\ndo: e", "more than 4 steps"},
		"reinstalls_any":     {"do: mend it", "do: run `pip install --force-reinstall torchvision`", "neither its version nor where"},
		"source":             {"https://example.com/1", "a friend", `"a friend" is neither`},
		"no_source":          {"source: https://example.com/1\n", "", "is neither"},
		"checked":            {"2026-11-21", "today", `"today" is not a date`},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(good, c.old) {
				t.Fatalf("%q is not in the good file", c.old)
			}
			if _, err := parse(strings.Replace(good, c.old, c.text, 1)); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v; want … %s …", err, c.says)
			}
		})
	}
}
