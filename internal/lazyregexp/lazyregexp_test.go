package lazyregexp

import "testing"

func TestBrokenFailsAtOnce(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a broken expression was taken, and a user would be the first to compile it")
		}
	}()
	New(`(`)
}

func TestCompiledWhenUsed(t *testing.T) {
	inTest = false
	defer func() { inTest = true }()
	New(`(`) // compiled by nobody
	if got := New(`b+`).FindString("abbc"); got != "bb" {
		t.Errorf("found %q", got)
	}
}
