package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// rival is a program that looks at the same environment.
type rival struct {
	what string
	args []string
}

// known returns the rivals in the environment: PyTorch's own, which every one has, and the installed doctors from the
// package index (env-doctor 0.3.5, cuda-doctor 0.2.0 and rigsolve 1.0.0 were examined).
func (b *bench) known() []rival {
	bin := func(name string) string { return filepath.Join(b.beside, "bin", name) }
	python := filepath.Join(b.torch, "bin", "python")
	list := []rival{{"python -m torch.utils.collect_env", []string{python, "-m", "torch.utils.collect_env"}}}
	for _, r := range []rival{{"env-doctor check", []string{bin("env-doctor"), "check"}},
		{"cuda-doctor diagnose", []string{bin("cuda-doctor"), "diagnose"}},
		{"rigsolve doctor", []string{bin("rigsolve"), "doctor"}}, {"rigsolve check", []string{bin("rigsolve"), "check"}}} {
		if _, err := os.Stat(r.args[0]); err == nil {
			list = append(list, r)
		}
	}
	return list
}

// offline sends network requests to a closed port, so that only the examination is measured.
var offline = []string{"HTTPS_PROXY=http://127.0.0.1:9", "HTTP_PROXY=http://127.0.0.1:9"}

// compare measures the rivals beside what this program took.
func (b *bench) compare(ctx context.Context) error {
	for _, r := range b.known() {
		few := *b
		few.runs = 3
		got, err := few.run(ctx, offline, r.args[0], r.args[1:]...)
		if err != nil {
			return err
		}
		got.what = r.what
		if err := b.trace(ctx, &got, r.args); err != nil {
			return err
		}
		b.rivals = append(b.rivals, got)
	}
	return nil
}

// trace counts a program's system calls and the bytes that they read, in one more run under strace. It does not count
// mapped files. Without strace it returns nothing.
func (b *bench) trace(ctx context.Context, c *cost, args []string) error {
	file := filepath.Join(b.dir, "trace")
	cmd := exec.CommandContext(ctx, "strace", append([]string{"-f", "-qq", "-s", "0", "-o", file, "--"}, args...)...)
	cmd.Env = append(os.Environ(), offline...)
	if err := cmd.Run(); errors.Is(err, exec.ErrNotFound) {
		return nil
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	c.calls, c.read, err = counted(f)
	return err
}

// counted reads strace's lines:
//
//	18422 pread64(8, ""..., 512, 925841776) = 512
//	18423 <... read resumed>""..., 4096) = 832
func counted(trace io.Reader) (calls, read int64, err error) {
	lines := bufio.NewScanner(trace)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		_, call, _ := strings.Cut(strings.TrimSpace(lines.Text()), " ")
		call = strings.TrimPrefix(strings.TrimSpace(call), "<... ")
		at := strings.LastIndex(call, " = ")
		if at < 0 { // a signal, an end, or a call that goes on below
			continue
		}
		calls++
		result, _, _ := strings.Cut(call[at+len(" = "):], " ")
		if n, err := strconv.ParseInt(result, 10, 64); err == nil && n > 0 && reads(call) {
			read += n
		}
	}
	return calls, read, lines.Err()
}

func reads(call string) bool {
	return strings.HasPrefix(call, "read(") || strings.HasPrefix(call, "read ") || strings.HasPrefix(call, "pread64") ||
		strings.HasPrefix(call, "readv")
}
