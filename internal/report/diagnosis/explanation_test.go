package diagnosis

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestNewExplanation(t *testing.T) {
	page := "# a: one\n\nLead.\n\n## What it means\n\nText, see <https://example.com/a>.\n\n    # no heading\n\n## Sources\n\n- https://example.com/a\n- https://example.com/b.\n"
	want := Explanation{Schema: "cudacompat/explanation/v1", Name: "a", Title: "a: one", Text: "Lead.",
		Sections: []Section{{"What it means", "Text, see <https://example.com/a>.\n\n    # no heading"}, {"Sources", "- https://example.com/a\n- https://example.com/b."}},
		Source:   []string{"https://example.com/a", "https://example.com/b"}}
	if diff := cmp.Diff(want, NewExplanation("a", []byte(page)), cmpopts.IgnoreUnexported(Explanation{})); diff != "" {
		t.Error(diff)
	}
}
