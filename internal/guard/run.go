package guard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// Limits of a dry run. A resolution takes seconds, or minutes with source distributions. Its output is kilobytes; pip's
// report, with each package's description, is megabytes.
const (
	DryRunLimit = 120 * time.Second
	outputCap   = 8 << 20
)

// killDelay is what the kernel may take to end a dry run that is killed.
const killDelay = 100 * time.Millisecond

// runUntil runs a command and gives up soon after ctx ends, because a process that the command started in its own
// session may hold the pipes open.
func runUntil(ctx context.Context, cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(killDelay):
		return ctx.Err()
	}
}

// errFlood ends a dry run that says more than any plan has.
var errFlood = errors.New("it printed more than 8 MiB, which no plan has")

// cappedBuffer keeps a program's output up to a limit. The buffer is not embedded, because its ReadFrom ignores the
// limit.
type cappedBuffer struct {
	kept bytes.Buffer
	full func()
}

func (b *cappedBuffer) Write(p []byte) (int, error) {
	if b.kept.Len()+len(p) > outputCap {
		b.full()
		return 0, errFlood
	}
	return b.kept.Write(p)
}

// Failure is why a dry run gave no plan, in one sentence.
type Failure struct{ Why string }

func (f *Failure) Error() string { return f.Why }

// DryRun runs an installer's dry run and returns its output. It uses no shell. The program and its children end with
// ctx.
func DryRun(ctx context.Context, argv []string) (stdout, stderr []byte, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out, says := &cappedBuffer{full: func() { cancel(errFlood) }}, &cappedBuffer{full: func() { cancel(errFlood) }}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = out, says
	cmd.Env = append(os.Environ(), "NO_COLOR=1", "UV_NO_PROGRESS=1", "PIP_NO_COLOR=1", "PIP_NO_INPUT=1",
		"PIP_DISABLE_PIP_VERSION_CHECK=1", "COLUMNS=1000")
	cmd.SysProcAttr = ownGroup()
	cmd.Cancel = func() error { return endGroup(cmd.Process) }
	cmd.WaitDelay = 2 * time.Second
	err = runUntil(ctx, cmd)
	if cmd.Process != nil {
		_ = endGroup(cmd.Process) // what it started and left behind
	}
	if errors.Is(err, exec.ErrWaitDelay) { // it ended well; what it left behind keeps its pipe open
		err = nil
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errFlood):
		return nil, nil, &Failure{fmt.Sprintf("the dry run of %s was ended: %v", argv[0], errFlood)}
	case ctx.Err() != nil:
		return nil, nil, &Failure{fmt.Sprintf("the dry run of %s was ended: %v", argv[0], cause)}
	case err == nil && (bytes.IndexByte(out.kept.Bytes(), 0) >= 0 || bytes.IndexByte(says.kept.Bytes(), 0) >= 0):
		return nil, nil, &Failure{fmt.Sprintf("the dry run of %s did not print text", argv[0])}
	case err == nil:
		return out.kept.Bytes(), says.kept.Bytes(), nil
	}
	return nil, nil, failure(argv[0], err, says.kept.Bytes())
}

// failure returns why a dry run failed: the installer's last message, if any.
func failure(program string, err error, says []byte) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return &Failure{fmt.Sprintf("%s cannot be started: %v", program, plainCause(err))}
	}
	text := string(says)
	switch {
	case strings.Contains(text, "no such option: --dry-run"), strings.Contains(text, "no such option: --report"),
		strings.Contains(text, "unexpected argument '--dry-run'"):
		return &Failure{fmt.Sprintf("this %s is too old to say what it would do: guard needs pip 22.2 or uv 0.5.18 (uv sync: 0.5.30), or newer",
			program)}
	case exit.ExitCode() < 0:
		return &Failure{fmt.Sprintf("the dry run of %s died: %v", program, exit)}
	}
	if line := telling(text); line != "" {
		return &Failure{fmt.Sprintf("%s found no plan: %s", program, line)}
	}
	return &Failure{fmt.Sprintf("the dry run of %s failed with exit code %d and said nothing", program, exit.ExitCode())}
}

func plainCause(err error) error {
	var named *exec.Error
	if errors.As(err, &named) {
		return named.Err
	}
	return err
}

// telling returns the line of an installer's messages that says what went wrong: uv's cause, pip's last error,
// otherwise the last line.
func telling(text string) string {
	found := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "×╰─▶│├"))
		lower := strings.ToLower(line)
		switch {
		case line == "":
		case strings.HasPrefix(lower, "cause: "):
			return asSentence(line[len("cause: "):])
		case strings.HasPrefix(lower, "error: ") || strings.HasPrefix(lower, "because "):
			found = line
		case found == "":
			found = line
		}
	}
	return asSentence(found)
}

// asSentence keeps of a message as much as a sentence has.
func asSentence(text string) string {
	if len(text) > 300 {
		text = text[:300] + "..."
	}
	return text
}

// EndSignals returns those that ask for the end of a run, from now on. Those that the caller has turned off, as nohup
// does, stay off. They are not given back: one that came while guard is
// about to end would take its exit code away.
func EndSignals() chan os.Signal {
	signals := make(chan os.Signal, 4)
	for _, s := range endSignals {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	return signals
}

// Run runs a command as typed, on the caller's own streams, and returns its exit code. It passes on the signals that
// only guard received. Ctrl-C reaches every program of the terminal; guard waits for the command and reports the
// result.
func Run(argv []string, signals <-chan os.Signal, stdin io.Reader, stdout, stderr io.Writer) (code int, err error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	if err := cmd.Start(); err != nil {
		return 0, &Failure{fmt.Sprintf("%s cannot be started: %v", argv[0], plainCause(err))}
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for interrupted := false; ; {
		select {
		case s := <-signals:
			if interrupted = true; s != os.Interrupt { // the terminal has sent that one to the installer itself
				_ = cmd.Process.Signal(s)
			}
		case err := <-done:
			code = exitCode(err)
			if code == 128+int(syscall.SIGINT) && !interrupted { // guard's own is on its way
				select {
				case <-signals:
				case <-time.After(100 * time.Millisecond):
				}
			}
			for len(signals) > 0 {
				<-signals
			}
			return code, nil
		}
	}
}

// exitCode returns a program's own; one that a signal ended has the shells' code.
func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &exit):
		return 1
	case exit.ExitCode() < 0:
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return 128 + int(status.Signal())
		}
		return 1
	}
	return exit.ExitCode()
}
