package logtext

import (
	"bufio"
	"io"
	"strings"
	"testing"
)

// TestWholeLinesStay checks that lines that only look like broken ones are not joined.
func TestWholeLinesStay(t *testing.T) {
	same := strings.Repeat("lines of one same length\n", 9)
	for _, text := range []string{same, same + "CategoryInfo of lines\n" + strings.Repeat("as often of this length\n", 9)} {
		got, err := io.ReadAll(rejoin(bufio.NewReaderSize(strings.NewReader(text), ChunkSize)))
		if string(got) != text || err != nil {
			t.Errorf("%q became %q, %v", text, got, err)
		}
	}
}
