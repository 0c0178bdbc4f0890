package signature

import (
	"slices"
	"strings"
	"testing"
)

// TestFinder compares the finder with a separate search for every literal.
func TestFinder(t *testing.T) {
	all := []Signature{{Literal: []string{"ababab", "babab"}}, {Literal: []string{"abab"}},
		{Literal: []string{"cabc", "ababc"}}, {Literal: []string{"ababab"}}}
	for _, text := range []string{"", "aba", "abab", "xababcabc", "abababababab", "cbabab\nababc", "ababa", "xcabcab"} {
		type hit struct{ end, signature int }
		var got, want []hit
		NewFinder(all).Find([]byte(text), func(end int, signatures []int) {
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
