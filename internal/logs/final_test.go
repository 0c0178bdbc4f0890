package logs

import (
	"strings"
	"testing"
)

// TestLastWords checks that a program's last loud line says why it ended. The same line is not believed if the program
// continues, if its area says nothing about the machine, or if it concerns a dispensable part.
func TestLastWords(t *testing.T) {
	const more = 40
	goesOn := strings.Repeat("\nepoch 1 loss 0.5", more)
	for _, c := range []struct {
		log  string
		want Blame
	}{
		{"ERROR: flurbtool is not installed", Environment},
		{"ERROR: flurbtool is not installed" + goesOn, Unknown},
		{"starting" + goesOn + "\n[FATAL] no GPU was found: flurb", Environment},
		{"flurb: error: could not resolve host flurb.example", Environment},
		{"ERROR: plugin flurb is not installed", Unknown},
		{"ERROR: flurb went wrong", Unknown},
		{"terminate called after throwing\n  what():  flurb(): subsystem dimensions mismatch\nAborted", Program},
		{"terminate called after throwing\n  what():  flurb(): subsystem dimensions mismatch" + goesOn, Unknown},
		{"AssertionError: flurb size must equal world size (4)", Unknown},
		{"KeyError: 'shape'", Unknown},
		{"curl: (28) Connection timed out", Environment},
		{"curl: (28) Connection timed out" + goesOn, Unknown},
	} {
		if d := explain(t, c.log); d.Blame != c.want {
			t.Errorf("%.80q: %s (%s), want %s", c.log, d.Blame, d.Cause, c.want)
		}
	}
}

// TestBuilds checks CMake's messages of several lines, and a Rust panic, whose message is on the next line.
func TestBuilds(t *testing.T) {
	for _, c := range []struct {
		log   string
		blame Blame
		cause string
	}{
		{"CMake Error at CMakeLists.txt:7 (find_package):\n  By not providing \"FindFlurb.cmake\" in CMAKE_MODULE_PATH this",
			Environment, "build-dependency-missing"},
		{"CMake Warning at CMakeLists.txt:7 (find_package):\n  By not providing \"FindFlurb.cmake\" in CMAKE_MODULE_PATH",
			Unknown, NothingFound},
		{"CMake Error at CMakeLists.txt:9 (add_library):\n  Cannot find source file:\n    flurb.cu", Program,
			"file-not-found"},
		{"thread 'main' panicked at src/main.rs:10:5:\ncould not resolve host: flurb.example\nnote: run with", Environment,
			"node-not-reached"},
		{"ERROR: Invalid option:2\nUsage:flurb [options]\n", Program, "wrong-usage"},
		{"[   29.7] BUG: unable to handle kernel NULL pointer dereference at 0340\n[   29.8] IP: [<ff>] _nv0117rm+0x1f/0x170\n",
			Environment, "driver-bug-in-kernel"},
		{"[   29.7] WARNING: CPU: 3 PID: 7 at flurb.c:9\n[   29.8] RIP: 0010:_nv011745rm+0x1f/0x170 [nvidia]\n", Unknown,
			NothingFound},
		{"Fatal error:\nThe flurb type is invalid for the group of size 3\n", Program, "input-refused"},
	} {
		if d := explain(t, c.log); d.Blame != c.blame || d.Cause != c.cause {
			t.Errorf("%.80q: %s, %s; want %s, %s", c.log, d.Blame, d.Cause, c.blame, c.cause)
		}
	}
}
