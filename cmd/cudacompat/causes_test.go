package main

import (
	"regexp"
	"strings"
	"testing"

	"cudacompat/internal/logs/finding"
	"cudacompat/internal/logs/signature"
	"cudacompat/internal/report/diagnosis"
	"cudacompat/internal/tables"
)

// TestCausePages checks that the page of every cause is one paragraph without an unfilled slot and without a repeated
// sentence.
func TestCausePages(t *testing.T) {
	byCause := map[string][]signature.Signature{}
	for _, s := range append(signature.Load(tables.Embedded()), finding.Answers()...) {
		if s.Because != "" {
			byCause[s.Cause] = append(byCause[s.Cause], s)
		}
	}
	if len(byCause) < 400 {
		t.Fatalf("%d causes", len(byCause))
	}
	slot := regexp.MustCompile(`\{[a-z]+\}|\b(?:SENTENCE|LIBRARY|MODULE|SYMBOL|HEADER|PRODUCT|SUBJECT|EXPRESSION|SPEAKER|ASKER|ASKED|WANTED|MEANING|SIGNAL)\b`)
	inCommand := regexp.MustCompile("`[^`]*`")
	for cause, own := range byCause {
		page := string(diagnosis.DescribeCause(own))
		_, meaning, _ := strings.Cut(page, "## What it means")
		meaning, _, _ = strings.Cut(meaning, "## ")
		if slot.MatchString(inCommand.ReplaceAllString(meaning, "")) || strings.TrimSpace(meaning) == "" {
			t.Errorf("%s: %q", cause, meaning)
		}
		if n := strings.Count(strings.TrimSpace(meaning), "\n\n"); n > 0 {
			t.Errorf("%s: %d paragraphs", cause, n+1)
		}
		seen := map[string]bool{}
		for sentence := range strings.SplitSeq(strings.Join(strings.Fields(meaning), " "), ". ") {
			if seen[sentence] {
				t.Errorf("%s: %q is there twice", cause, sentence)
			}
			seen[sentence] = true
		}
	}
}
