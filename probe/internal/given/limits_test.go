package given

import (
	"errors"
	"testing"
)

// TestLimitsBelongToWhatIsRead: what has just as much as may be is read, one more is not.
func TestLimitsBelongToWhatIsRead(t *testing.T) {
	for n, want := range map[int]bool{0: true, 2: true, 3: false} {
		if err := tooMany(n, 2, "lines"); (err == nil) != want {
			t.Errorf("%d of 2: %v", n, err)
		}
	}
}

// TestWordsAreNoRequirements: a list of words is a requirements file where one of them has a release, an address, or the
// name of a framework; else it may be anything.
func TestWordsAreNoRequirements(t *testing.T) {
	for text, want := range map[string]bool{
		"numpy\nscipy>=1.14\n": true,
		"scipy @ https://files.example.org/scipy-1.14.1-cp312-cp312-linux_x86_64.whl\n": true,
		"numpy\ntorch\n":  true,
		"apples\npears\n": false,
	} {
		_, err := Read(Document{Data: []byte(text)})
		if got := !errors.Is(err, ErrForeign); got != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}
