//go:build linux

package terminal

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// openTerminal returns the two ends of a pseudo-terminal.
func openTerminal(t *testing.T) (screen, tty *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { screen.Close() })
	if err := unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Skip(err)
	}
	n, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Skip(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { tty.Close() })
	return screen, tty
}

// TestShowWaiting checks that a terminal shows what is waited for within a second, and that the line is cleared.
func TestShowWaiting(t *testing.T) {
	screen, tty := openTerminal(t)
	done := ShowWaiting(tty, "guard: asking pip\x1b[31m")
	shown := make([]byte, 4096)
	if err := screen.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Logf("no deadline: %v", err)
	}
	n, err := screen.Read(shown)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(shown[:n]); !strings.Contains(text, "guard: asking pip") || strings.Contains(text, "\x1b[31m") {
		t.Errorf("shown: %q", text)
	}
	done()
	if n, err = screen.Read(shown); err != nil || !strings.HasSuffix(string(shown[:n]), "\r\x1b[K") {
		t.Errorf("not cleared: %q, %v", shown[:n], err)
	}
}

// TestShowWaitingElsewhere checks that nothing is written without a terminal.
func TestShowWaitingElsewhere(t *testing.T) {
	var b strings.Builder
	done := ShowWaiting(&b, "guard: asking pip")
	time.Sleep(waitingAfter + 100*time.Millisecond)
	if done(); b.Len() > 0 {
		t.Errorf("written: %q", b.String())
	}
}
