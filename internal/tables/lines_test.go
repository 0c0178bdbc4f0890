package tables

import (
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// TestPlainLines takes texts apart as package csv does, and names the same places.
func TestPlainLines(t *testing.T) {
	for _, text := range []string{"", "\n\n", "a,b\n1,2\n", "a,b\n\n,\n1,2", "a\n\u00e9\n", "a,b,c\n,,\nx, y ,z\n", "a,b\n1\n", "a,b\n1,2,3\n"} {
		plain, ok := linesIn([]byte(text)).(*plainLines)
		if !ok {
			t.Fatalf("%q is not read as it is", text)
		}
		quoted := csv.NewReader(strings.NewReader(text))
		for {
			want, wantErr := quoted.Read()
			got, err := plain.Read()
			if wantErr != nil {
				if errors.Is(wantErr, io.EOF) != errors.Is(err, io.EOF) || err == nil || err.Error() != wantErr.Error() {
					t.Errorf("%q: %v, want %v", text, err, wantErr)
				}
				break
			}
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%q: %q, %v, want %q", text, got, err, want)
			}
			for i := range want {
				line, column := plain.FieldPos(i)
				if wantLine, wantColumn := quoted.FieldPos(i); line != wantLine || column != wantColumn {
					t.Errorf("%q: cell %q at %d:%d, want %d:%d", text, want[i], line, column, wantLine, wantColumn)
				}
			}
		}
	}
	if _, plain := linesIn([]byte("a\n\"b\"\n")).(*plainLines); plain {
		t.Error("a quote is taken for a part of its cell")
	}
}
