package logtext

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"testing"
)

// TestUnpackedIsBounded checks that a compressed log is read only up to a limit.
func TestUnpackedIsBounded(t *testing.T) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(&b)
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, &boundedReader{r, 1 << 16})
	if n != 1<<16 || !errors.Is(err, errUnpacked) {
		t.Errorf("%d bytes (%v)", n, err)
	}
}
