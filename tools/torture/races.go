//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// A race exchanges something in a root for a link out of it, again and again, while the root is read.
type race struct{ name, inside, link, outside, watched string }

// raceRuns are the runs of one case: the window is a few microseconds wide, and one run in thirty met it.
const raceRuns = 15

func raceCases(b *bench) ([]testCase, error) {
	var cases []testCase
	for _, r := range []race{
		{"a file for a link", "etc/os-release", "etc/swap", "secret", "secret"},
		{"a directory for a link", "var/lib/dpkg", "var/lib/swap", "dpkg", "dpkg/status"},
		{"a directory on the way for a link", "opt/venv", "opt/swap", "venv", "venv/pyvenv.cfg"},
		{"a file for a pipe", "etc/os-release", "etc/swap", "", "secret"},
	} {
		cases = append(cases, testCase{r.name, r.run})
	}
	return cases, nil
}

func (r race) run(b *bench) {
	root, outside := filepath.Join(b.dir, "raced"), filepath.Join(b.dir, "beyond")
	if err := r.plant(root, outside); err != nil {
		b.tally.fault("crashes", "torture itself: %v", err)
		return
	}
	hits, err := unix.InotifyInit1(unix.IN_NONBLOCK)
	if err != nil {
		b.tally.fault("crashes", "torture itself: %v", err)
		return
	}
	defer unix.Close(hits)
	if _, err := unix.InotifyAddWatch(hits, filepath.Join(outside, r.watched), unix.IN_OPEN); err != nil {
		b.tally.fault("crashes", "torture itself: %v", err)
		return
	}
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for one, other := filepath.Join(root, r.inside), filepath.Join(root,
			r.link); !stop.Load(); time.Sleep(20 * time.Microsecond) {
			_ = unix.Renameat2(unix.AT_FDCWD, one, unix.AT_FDCWD, other, unix.RENAME_EXCHANGE)
		}
	}()
	for range raceRuns {
		b.judge(b.rootOrder(root), demand{deadline: rootLimit, codes: judged, json: true, command: "doctor"})
	}
	stop.Store(true)
	<-done
	if n := countOpens(hits); n > 0 {
		b.tally.fault("opens outside", "%d opens of %s in %d runs", n, r.watched, raceRuns)
	}
}

// countOpens counts the events; each is a header of 16 bytes, since a watched file's own events carry no name.
func countOpens(hits int) int {
	var buffer [1 << 16]byte
	n, err := unix.Read(hits, buffer[:])
	if err != nil {
		return 0
	}
	return n / unix.SizeofInotifyEvent
}

func (r race) plant(root, outside string) error {
	for _, dir := range []string{root, outside} {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	files := map[string]string{"etc/os-release": "ID=ubuntu\n", "var/lib/dpkg/status": "Package: x\n",
		"opt/venv/pyvenv.cfg": "version = 3.12.3\n",
		"opt/venv/lib/python3.12/site-packages/torch/version.py": "__version__ = '2.9.0'\n"}
	for name, body := range files {
		if err := write(filepath.Join(root, name), []byte(body)); err != nil {
			return err
		}
	}
	for _, name := range []string{"secret", "dpkg/status", "venv/pyvenv.cfg"} {
		if err := write(filepath.Join(outside, name), []byte("ID="+secret+"\n")); err != nil {
			return err
		}
	}
	if r.outside == "" {
		return unix.Mkfifo(filepath.Join(root, r.link), 0o644)
	}
	return os.Symlink(filepath.Join(outside, r.outside), filepath.Join(root, r.link))
}

// write makes a file and the directories above it.
func write(name string, body []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("plant: %w", err)
	}
	return os.WriteFile(name, body, 0o644)
}
