package catalog

import (
	"strings"
	"testing"

	"cudacompat/internal/report/layout"
	"cudacompat/internal/tables/sheet"
)

// TestNarrowGrids checks that a narrow screen shows a few rows as records, and no rows as the header, which shows what
// was asked.
func TestNarrowGrids(t *testing.T) {
	g := sheet.Grid{Table: "driver", Keys: 1, Columns: []string{"branch", "a-column-that-is-wide", "another-wide-column", "source"},
		Rows: [][]string{{"580", "of thirty characters, or so on", "of thirty characters, or so on", "https://example.com"}}}
	write := func() string {
		var b strings.Builder
		if err := gridText(&b, g, layout.Style{Width: 40}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if got := write(); !strings.HasPrefix(got, "driver 580\n  a-column-that-is-wide  of thirty") || strings.Contains(got, "example.com") {
		t.Errorf("one row:\n%s", got)
	}
	g.Rows = nil
	if got := write(); !strings.HasPrefix(got, "branch") || !strings.Contains(got, "\n0 rows\n") {
		t.Errorf("no row:\n%s", got)
	}
}
