package host

import (
	"strings"
	"testing"
	"testing/iotest"
)

func TestHasLine(t *testing.T) {
	text := "first,1\nsecond,2\n" + strings.Repeat("x", 200) + "\nlast,3"
	for beginning, want := range map[string]bool{"first,": true, "second,2": true, "last,3": true, "econd": false,
		"last,3\n": false, "1": false, "xx": true, "": true} {
		for size := len(beginning) + 2; size < 300; size += 11 {
			block := make([]byte, size)
			if got := hasLine(iotest.OneByteReader(strings.NewReader(text)), "\n"+beginning, block); got != want {
				t.Fatalf("%q with a block of %d: %v", beginning, size, got)
			}
			if got := hasLine(strings.NewReader(text), "\n"+beginning, block); got != want {
				t.Fatalf("%q with a block of %d: %v", beginning, size, got)
			}
		}
	}
	if hasLine(strings.NewReader(text), "\nsecond", make([]byte, 3)) {
		t.Error("found in a block that is too small")
	}
}
