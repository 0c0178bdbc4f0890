package image

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestStorePlain reads what a store keeps uncompressed in memory, what it compresses after that, and what is not
// compressed yet, also after it was emptied and filled again.
func TestStorePlain(t *testing.T) {
	s, err := newStore(maxScratch)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	s.most = 2
	random := rand.New(rand.NewPCG(1, 2))
	for range 2 {
		data := make([]byte, 5*blockSize+1000)
		for i := range data {
			data[i] = byte(random.UintN(256))
		}
		for from := 0; from < len(data); from += 50_000 {
			if at, err := s.add(data[from:min(from+50_000, len(data))]); at != int64(from) || err != nil {
				t.Fatalf("added at %d, not %d: %v", at, from, err)
			}
		}
		if s.used != 2 || len(s.ends) != 3 {
			t.Errorf("%d blocks in memory, %d in the file", s.used, len(s.ends))
		}
		for _, from := range []int{0, blockSize - 7, 2*blockSize - 7, 4 * blockSize, 5*blockSize - 7} {
			got := make([]byte, min(blockSize+14, len(data)-from))
			if err := s.readAt(got, int64(from)); err != nil || !bytes.Equal(got, data[from:from+len(got)]) {
				t.Errorf("at %d it reads something else: %v", from, err)
			}
		}
		s.reset()
	}
}
