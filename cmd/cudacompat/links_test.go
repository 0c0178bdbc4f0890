package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestOpensNoConnection checks that no package that talks to other machines is linked, with any build tags.
func TestOpensNoConnection(t *testing.T) {
	for _, tags := range []string{"", "packed"} {
		out, err := exec.Command("go", "list", "-deps", "-tags", tags, ".").Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		linked := strings.Fields(string(out))
		if !slices.Contains(linked, "net/url") { // a list that lacks what is surely there would prove nothing
			t.Fatalf("go list names only %d packages", len(linked))
		}
		for _, speaks := range []string{"net/http", "crypto/tls", "net/rpc", "net/smtp", "golang.org/x/crypto/ssh"} {
			if slices.Contains(linked, speaks) {
				t.Errorf("-tags %q links %s", tags, speaks)
			}
		}
	}
}
