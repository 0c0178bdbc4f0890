package pyenv

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

// TestCondaListBounds reads a limited part of a list of any length.
func TestCondaListBounds(t *testing.T) {
	root := t.TempDir()
	hosttest.Must(t, os.WriteFile(filepath.Join(root, "environments.txt"),
		[]byte(strings.Repeat("/envs/x\n", 5*maxCondaList)), 0o644))
	s := &Search{Host: &host.Host{Root: root}}
	if got := len(s.condaList("/environments.txt")); got != maxCondaList {
		t.Errorf("%d lines taken, want %d", got, maxCondaList)
	}
	if len(s.Found.Unread) != 1 || s.Found.Unread[0].Kind != facts.UnreadCut {
		t.Errorf("the cap is not said: %+v", s.Found.Unread)
	}
}

// TestSearchBounds checks more environments than are searched, and exactly as many: what was left out is reported.
func TestSearchBounds(t *testing.T) {
	s := &Search{}
	list := make([]string, maxRoots+1)
	if got := len(firstOf(s, list[1:], maxRoots, "x", "%d of %d")); got != maxRoots || s.Found.Unread != nil {
		t.Errorf("%d of %d, not looked at: %+v", got, maxRoots, s.Found.Unread)
	}
	want := []facts.Unread{{Kind: facts.UnreadCut, Place: "Python environments", Reason: "the first 4000 of 4001"}}
	got := len(firstOf(s, list, maxRoots, "Python environments", "the first %d of %d"))
	if diff := cmp.Diff(want, s.Found.Unread); diff != "" || got != maxRoots {
		t.Errorf("%d, not looked at (-want +got):\n%s", got, diff)
	}
}
