package fuse

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"cudacompat/internal/deadline"
	"cudacompat/internal/terminal"
	"cudacompat/internal/usage"
	"cudacompat/probe/host"
)

// grace is how long a run may exceed its limit. Judging and writing end sooner.
const grace = 170 * time.Millisecond

// RunInChild runs a command in a child process if it may read or write a FUSE file system, and reports whether it did. The
// kernel does not let a process out of a call that such a file system never answers, not even to end it, so the child
// stays until the mount is gone. It holds none of the caller's descriptors, so that `cudacompat doctor | cat` ends.
func RunInChild(args []string) (code int, done bool, err error) {
	mounts := findMountsInReach(args)
	if len(mounts) == 0 {
		return 0, false, nil
	}
	runtime.LockOSThread() // the kernel ends the child when this thread ends
	c := child{args: args, mounts: mounts, health: slices.Contains(args, "--healthcheck"), copied: make(chan error, 2)}
	if c.health {
		signal.Ignore(syscall.SIGPIPE)
	}
	if err := c.start(); err != nil { // no descriptors or processes are left
		return 0, false, nil
	}
	code, err = c.wait()
	return code, true, err
}

// child is this program, started again to run a command that may hang.
type child struct {
	args   []string
	mounts []host.Mount
	health bool
	pid    int
	code   *os.File   // it says its exit code here: one that hangs does not end
	copied chan error // what it wrote was passed on
}

// start starts the child with pipes instead of the caller's streams.
func (c *child) start() error {
	var pipes [4][2]*os.File
	closeAll := func() {
		for _, p := range pipes {
			_, _ = p[0].Close(), p[1].Close() // one that was not opened says so
		}
	}
	for i := range pipes {
		var err error
		if pipes[i][0], pipes[i][1], err = os.Pipe(); err != nil {
			closeAll()
			return err
		}
	}
	in, out, errs, code := pipes[0], pipes[1], pipes[2], pipes[3]
	kept := keepDescriptors(c.args)
	setup := childSetup{terminal.Width(os.Stdout), terminal.Width(os.Stderr), 3, describeMounts(c.mounts)}
	for slices.Contains(kept, setup.Code) {
		setup.Code++
	}
	files := []uintptr{in[0].Fd(), out[1].Fd(), errs[1].Fd()}
	for n := len(files); n < setup.Code; n++ {
		files = append(files, uintptr(n)) // kept
	}
	text, _ := json.Marshal(setup)
	var err error
	c.pid, err = syscall.ForkExec("/proc/self/exe", slices.Concat([]string{os.Args[0], childArg, string(text)}, c.args), &syscall.ProcAttr{
		Env: os.Environ(), Files: append(files, code[1].Fd()), Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}})
	if err != nil {
		closeAll()
		return err
	}
	_, _, _, _ = in[0].Close(), out[1].Close(), errs[1].Close(), code[1].Close()
	c.code = code[0]
	go c.copyOutput(os.Stdout, out[0])
	go c.copyOutput(os.Stderr, errs[0])
	if !namesInput(c.args) {
		in[1].Close() // what the command does not read stays the caller's
		return nil
	}
	go func() {
		_, _ = io.Copy(in[1], os.Stdin)
		in[1].Close()
	}()
	return nil
}

// keepDescriptors returns the descriptors that the arguments name, as in `check <(pip freeze)`. The child does not get
// the caller's other open descriptors.
func keepDescriptors(args []string) []int {
	var kept []int
	for _, arg := range args {
		_, number, _ := strings.Cut(arg, "/fd/") // /dev/fd/63, /proc/self/fd/63
		if n, err := strconv.Atoi(number); err == nil {
			kept = append(kept, n)
		}
	}
	open, _ := filepath.Glob("/proc/self/fd/*")
	for _, name := range open {
		if n, err := strconv.Atoi(filepath.Base(name)); err == nil && n > 2 && !slices.Contains(kept, n) {
			syscall.CloseOnExec(n)
		}
	}
	return kept
}

// namesInput reports whether an argument names standard input.
func namesInput(args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		return arg == "-" || strings.HasSuffix(arg, "=-") || strings.Contains(arg, "/dev/stdin") || strings.HasSuffix(arg, "/fd/0")
	})
}

// copyOutput copies the child's output. It writes as the command itself would, so that it notices when nobody reads any more.
func (c *child) copyOutput(to, from *os.File) {
	_, err := io.Copy(struct{ io.Writer }{to}, from)
	from.Close()
	c.copied <- err
}

// wait copies the child's output until the child reports its exit code, and gives up at the deadline.
func (c *child) wait() (code int, err error) {
	said := make(chan int, 1)
	go func() {
		code := [1]byte{}
		if n, _ := c.code.Read(code[:]); n == 1 {
			said <- int(code[0])
		}
		close(said)
	}()
	var late <-chan time.Time
	limit := findLimit(c.args)
	if limit > 0 {
		late = time.After(limit + grace)
	}
	select {
	case code, ok := <-said:
		if !ok {
			return 0, explainUnanswered("the process that read the files ended without an answer")
		}
		return c.finish(code)
	case <-late:
		_ = syscall.Kill(c.pid, syscall.SIGKILL)
		return 0, explainUnanswered(fmt.Sprintf("the time was up (--timeout %s): %s does not answer", limit, describeMounts(c.mounts)))
	}
}

// finish waits until all of the child's output was copied. The child closes its streams before it reports its code.
func (c *child) finish(code int) (int, error) {
	var failed error
	for range 2 {
		if err := <-c.copied; err != nil && !c.health {
			failed = fmt.Errorf("cannot write the report: %w", usage.StripPath(err))
		}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			if _, err := syscall.Wait4(c.pid, nil, 0, nil); err != syscall.EINTR {
				return
			}
		}
	}()
	select {
	case <-ended: // within a millisecond, unless a call holds it
	case <-time.After(20 * time.Millisecond):
		_ = syscall.Kill(c.pid, syscall.SIGKILL)
	}
	return code, failed
}

// explainUnanswered returns the error for a run without a result.
func explainUnanswered(why string) error {
	return &deadline.Error{Err: errors.New(why), Hint: "unmount it, or name fewer files"}
}

// ServeChild runs the command as the child, reports the exit code and ends the process. It returns if this process is
// not such a child.
func ServeChild(run func(args []string, in io.Reader, out, errs io.Writer) int) {
	var setup childSetup
	if len(os.Args) < 4 || os.Args[1] != childArg || json.Unmarshal([]byte(os.Args[2]), &setup) != nil {
		return
	}
	syscall.CloseOnExec(setup.Code)
	deadline.SetAbandonable(setup.FUSE)
	code := run(os.Args[3:], os.Stdin, pipeTo(os.Stdout, setup.Out), pipeTo(os.Stderr, setup.Err))
	_, _ = os.Stdout.Close(), os.Stderr.Close()
	_, _ = syscall.Write(setup.Code, []byte{byte(code)})
	os.Exit(code)
}

// pipeTo returns the pipe, with the width of the terminal behind it, if any.
func pipeTo(pipe *os.File, width int) io.Writer {
	if width > 0 {
		return terminalPipe{pipe, width}
	}
	return pipe
}

// terminalPipe is a pipe to the process that has the terminal.
type terminalPipe struct {
	*os.File
	width int // of the terminal
}

// TerminalWidth returns the width of the terminal behind the pipe.
func (p terminalPipe) TerminalWidth() int { return p.width }
