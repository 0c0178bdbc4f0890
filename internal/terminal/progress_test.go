package terminal

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// TestProgress checks that a line appears after a second, cut to the screen's width, and is gone at the end. A pipe
// gets none.
func TestProgress(t *testing.T) {
	says := func() string { return "reading /mnt/ami for 2 s: " + strings.Repeat("python", 40) }
	for _, tt := range []struct {
		name     string
		began    time.Duration // ago
		terminal bool
		want     string
	}{
		{"a terminal", 2 * time.Second, true, "\r\x1b[K" + cutLine(says(), 79) + "\r\x1b[K"},
		{"within the first second", time.Millisecond, true, ""},
		{"a pipe", 2 * time.Second, false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			p := NewProgress(write)
			if tt.terminal {
				p.out, p.width = write, 80
			}
			p.began = time.Now().Add(-tt.began)
			p.Tell(says)
			p.Tell(says) // too soon after the first
			p.End()
			p.Tell(says) // who reads a slow disk may still be at it
			write.Close()
			if got, _ := io.ReadAll(read); string(got) != tt.want {
				t.Errorf("it says %q, want %q", got, tt.want)
			}
		})
	}
}
