package dockerfile

import (
	"testing"

	"cudacompat/probe/internal/input/request"
)

// TestDockerfileSettled: what a condition may install over another release is not known.
func TestDockerfileSettled(t *testing.T) {
	old, may := request.Package{Name: "torch", Version: "2.1.0"}, request.Package{Name: "torch", Specifier: "(under a condition)"}
	got := settle([]step{{list: []request.Package{old}}, {list: []request.Package{may}}})
	if len(got) != 1 || got[0].Specifier != may.Specifier {
		t.Errorf("%+v: what a condition may replace is not known", got)
	}
}
