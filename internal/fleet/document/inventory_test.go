//go:build unix

package document

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// TestReadInventory reads the names of a list with a byte order mark, and does not wait for a pipe without a writer.
func TestReadInventory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "nodes")
	for text, want := range map[string][]string{
		"node-1\nnode-2\n":                                       {"node-1", "node-2"},
		"\ufeffnode-1\r\nnode-2\r\n":                             {"node-1", "node-2"},
		"\ufeff{\"items\": [{\"metadata\": {\"name\": \"a\"}}]}": {"a"},
		"\ufeff": nil,
		"#\n\n":  nil,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadInventory(file); !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	ended := make(chan error, 1)
	go func() { _, err := ReadInventory(pipe); ended <- err }()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("a pipe without a writer is an inventory")
		}
	case <-time.After(10 * time.Second):
		t.Error("it waits for a writer")
	}
}
