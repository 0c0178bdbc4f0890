package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cudacompat/internal/logs"
)

const (
	programsFault = "Indexing.cu:1292: indexSelectLargeIndex: block: [654,0,0], thread: [46,0,0] Assertion `srcIndex < " +
		"srcSelectDimSize` failed.\nRuntimeError: CUDA error: device-side assert triggered\n"
	environmentsFault = "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
)

// mostLogs is how many files of a directory are read.
const mostLogs = 4096

// TestPartOfADirectory checks that explain names the files in a directory that it does not read, and then blames
// neither the program nor says that nothing is wrong. A fault of the environment stays one whatever else is there.
func TestPartOfADirectory(t *testing.T) {
	elsewhere := filepath.Join(t.TempDir(), "other.log")
	if err := os.WriteFile(elsewhere, []byte(environmentsFault), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, first, last string // what the first and the last log say
		logs              int
		link              string // where a link in the directory leads; empty: there is none
		code              int
		unread            string
	}{
		{"whole", programsFault, "", 2, "", exitOK, ""},
		{"many more", programsFault, environmentsFault, mostLogs + 100, "", exitInconclusive, "more than 4096 files are in it; left out: 100"},
		{"nothing wrong", "", "", mostLogs + 1, "", exitInconclusive, "left out: 1 "},
		{"the environment", environmentsFault, programsFault, mostLogs + 1, "", exitIncompatible, "left out: 1 "},
		{"a link to elsewhere", programsFault, "", 2, elsewhere, exitInconclusive, "links to files elsewhere were not followed: 1"},
		{"a link within", programsFault, "", 2, "0000.log", exitOK, ""},
		{"a link to nothing", programsFault, "", 2, "none.log", exitOK, ""},
		{"a link to a directory", programsFault, "", 2, filepath.Dir(elsewhere), exitOK, ""},
	} {
		dir := t.TempDir()
		for i := range test.logs {
			text := "epoch 1\n"
			if i == 0 {
				text += test.first
			} else if i == test.logs-1 {
				text += test.last
			}
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%04d.log", i)), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if test.link != "" {
			if err := os.Symlink(test.link, filepath.Join(dir, "latest.log")); err != nil {
				t.Fatal(err)
			}
		}
		var out, errs bytes.Buffer
		code := run([]string{"explain", dir, "-o", "json"}, streams{strings.NewReader(""), &out, &errs})
		var d logs.Diagnosis
		if err := json.Unmarshal(out.Bytes(), &d); err != nil {
			t.Fatalf("%s: %v: %s", test.name, err, errs.String())
		}
		unread := strings.Join(d.Unread, "; ")
		if code != test.code || !strings.Contains(unread, test.unread) || (test.unread == "") != (unread == "") {
			t.Errorf("%s: exit %d, want %d; %s; not read: %q, want %q", test.name, code, test.code, d.Blame, unread, test.unread)
		}
	}
}
