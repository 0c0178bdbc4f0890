package usage

import "testing"

func TestSuggest(t *testing.T) {
	rules := []string{"driver-missing", "driver-too-old", "driver-too-old-for-gpu", "minor-compat"}
	for _, test := range []struct {
		name, word string
		known      []string
		want       string
	}{
		{"letter-missing", "driver-to-old", rules, "did you mean driver-too-old?"},
		{"letters-swapped", "dirver-missing", rules, "did you mean driver-missing?"},
		{"upper-case", "Minor-Compat", rules, "did you mean minor-compat?"},
		{"beginning-of-one", "minor", rules, "did you mean minor-compat?"},
		{"beginning-of-several", "driver-too", rules, "one of driver-too-old, driver-too-old-for-gpu"},
		{"nothing-like-it", "kernel", rules, "one of driver-missing, driver-too-old, driver-too-old-for-gpu, minor-compat"},
		{"empty", "", []string{"text", "json"}, "one of json, text"},
		{"nothing-known", "kernel", nil, ""},
		{"many", "zz", []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n"},
			"one of a, b, c, d, e, f, g, h, i, j, k, l and 2 more"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Suggest(test.word, test.known); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestEdits(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"abc", "abc", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abd", 1}, {"kitten", "sitting", 3},
		{"ab", "ba", 2},
	} {
		if got := countEdits(test.a, test.b); got != test.want {
			t.Errorf("edits(%q, %q) = %d, want %d", test.a, test.b, got, test.want)
		}
	}
}
