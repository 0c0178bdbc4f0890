//go:build linux && cgo

package nvml

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"cudacompat/probe/host/hosttest"
	"cudacompat/probe/internal/nvml/nvmltest"
)

const hang = "for (;;) sleep(1000)"

// asked asks a library whose nvmlInit does so much before it returns.
func asked(t *testing.T, limit time.Duration, does string, defines ...string) *Answer {
	t.Helper()
	dir := nvmltest.Library(t, append(defines, "-DINIT="+does+"; return 0")...)
	return askChild(context.Background(), map[string]string{"LD_LIBRARY_PATH": dir, "LEFT_MARK": t.Name()}, limit)
}

// leftWith returns the processes whose environment has this test's mark.
func leftWith(mark string) []string {
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	var left []string
	for _, name := range environs {
		if data, _ := os.ReadFile(name); bytes.Contains(data, []byte("LEFT_MARK="+mark+"\x00")) {
			stat, _ := os.ReadFile(filepath.Dir(name) + "/stat")
			left = append(left, string(stat[:min(len(stat), 40)]))
		}
	}
	return left
}

// gone waits until nothing with the mark is left.
func gone(t *testing.T, mark string) {
	t.Helper()
	var left []string
	for range 1000 {
		if left = leftWith(mark); len(left) == 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Errorf("left: %q", left)
}

// TestAnswerStands checks that a library's output, and processes that it leaves behind, do not spoil a complete answer.
func TestAnswerStands(t *testing.T) {
	for name, does := range map[string]string{
		"banner":    `puts("a banner"); fflush(stdout)`,
		"complaint": `fputs("a complaint\n", stderr)`,
		"helper":    "if (fork() == 0) " + hang,
		"closed":    "close(0); close(1); close(2)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if a := asked(t, time.Minute, does); a.NVML.Status != "ok" || a.NVML.Message != "" || len(a.GPUs) != 2 || !a.Whole {
				t.Errorf("%+v", a)
			}
			gone(t, t.Name())
		})
	}
}

// TestEnded checks that a child that floods, hangs or starts others is ended together with everything it started, and
// that this is reported.
func TestEnded(t *testing.T) {
	flood := func(fd int) string {
		return fmt.Sprintf("static char b[65536]; memset(b, 'x', sizeof b); for (;;) write(%d, b, sizeof b)", fd)
	}
	for name, tt := range map[string]struct{ does, status, says string }{
		"errors":   {flood(2), "crashed", "it wrote error messages without end"},
		"answers":  {flood(answerFD), "crashed", "it wrote an answer without end"},
		"output":   {flood(1), "timeout", "no answer within 1s"},
		"helper":   {"if (fork() == 0) " + hang + "; " + hang, "timeout", "no answer within 1s"},
		"deaf":     {"for (int i = 1; i < 65; i++) signal(i, SIG_IGN); " + hang, "timeout", "no answer within 1s"},
		"stopped":  {"raise(SIGSTOP)", "timeout", "no answer within 1s"},
		"closes":   {"for (int i = 0; i < 5; i++) close(i); " + hang, "timeout", "no answer within 1s"},
		"crash":    {"*(volatile int *)0 = 1", "crashed", "exit status 2: SIGSEGV: segmentation violation"},
		"no-start": {"_exit(0)", "crashed", "it wrote no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if a := asked(t, time.Second, tt.does); a.NVML.Status != tt.status || !strings.Contains(a.NVML.Message, tt.says) {
				t.Errorf("%+v", a.NVML)
			}
			gone(t, t.Name())
		})
	}
}

// TestMemoryAskedInVain checks that a library which always asks for longer process lists takes at most 512 MB, and that
// the driver and GPUs it reported before stay.
func TestMemoryAskedInVain(t *testing.T) {
	for name, tt := range map[string]struct{ define, says string }{
		"short": {"-DPROCESSES=return 7", "asked for in vain"},
		"crash": {"-DPROCESSES=*(volatile int *)0 = 1", "exit status 2: SIGSEGV: segmentation violation"},
		"more":  {"-DPROCESSES=*count = 1 << 30; return 0", ""},
		"flood": {"-DPROCESSES=static char b[65536]; memset(b, 'x', sizeof b); for (;;) write(3, b, sizeof b)", "it wrote an answer without end"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := asked(t, time.Minute, "", tt.define, "-DSHARE=0", "-DPEER=0", "-DLINK=0", "-DUSED=0")
			if a.NVML.Status != "ok" || len(a.GPUs) != 2 || a.Driver != "550.54.15" ||
				!strings.Contains(a.aside, tt.says) || a.NVML.Message != "" {
				t.Errorf("%+v", a)
			}
			gone(t, t.Name())
		})
	}
}

// TestManyProcesses reads the memory of as many processes as 64 GPUs with a thousand processes each have.
func TestManyProcesses(t *testing.T) {
	a := asked(t, time.Minute, "", "-DPROCESSES=if (*count < 32000) { *count = 32000; return 7; } for (unsigned i = 0; i < 32000; i++) "+
		"list[i] = (nvmlProcessInfo_t){4000000 + i, 81559LL << 20}; *count = 32000; return 0", "-DSHARE=0", "-DPEER=0", "-DLINK=0", "-DUSED=0")
	if a.NVML.Status != "ok" || a.NVML.Message != "" || len(a.GPUs) != 2 || len(a.Holders) != 64000 {
		t.Fatalf("%+v, %d GPUs, %d processes", a.NVML, len(a.GPUs), len(a.Holders))
	}
	if last := a.Holders[63999]; last != (holder{1, 4031999, 81559 << 20}) {
		t.Errorf("%+v", last)
	}
}

// TestParentKilled checks that nothing outlives the process that asked, however it ends and whatever NVML is doing.
func TestParentKilled(t *testing.T) {
	if dir := os.Getenv("ASK_AND_WAIT"); dir != "" {
		env := map[string]string{"LD_LIBRARY_PATH": dir, "LEFT_MARK": os.Getenv("ASK_MARK")}
		askChild(context.Background(), env, time.Minute)
		return
	}
	for name, does := range map[string]string{
		"hangs":   hang,
		"deaf":    "for (int i = 1; i < 65; i++) signal(i, SIG_IGN); " + hang,
		"stopped": "raise(SIGSTOP)",
		"helper":  "if (fork() == 0) " + hang + "; " + hang,
		"spins":   "for (;;) ;",
	} {
		for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
			t.Run(name+"-"+sig.String(), func(t *testing.T) {
				t.Parallel()
				asker := exec.Command("/proc/self/exe", "-test.run=^TestParentKilled$")
				dir := nvmltest.Library(t, "-DINIT="+does+"; return 0")
				asker.Env = append(os.Environ(), "ASK_AND_WAIT="+dir, "ASK_MARK="+t.Name())
				hosttest.Must(t, asker.Start())
				for range 2000 {
					if len(leftWith(t.Name())) > 0 {
						break
					}
					time.Sleep(5 * time.Millisecond)
				}
				time.Sleep(100 * time.Millisecond) // until it does so
				hosttest.Must(t, asker.Process.Signal(sig))
				_ = asker.Wait()
				gone(t, t.Name())
			})
		}
	}
}

// TestChildIsThisProgram replaces a running program's file, as an update does: the new file is not started.
func TestChildIsThisProgram(t *testing.T) {
	if dir := os.Getenv("ASK_REPLACED"); dir != "" {
		self, err := os.Executable()
		hosttest.Must(t, err)
		hosttest.Must(t, os.Remove(self))
		hosttest.Must(t, os.WriteFile(self, []byte("#!/bin/sh\ntouch "+self+".started\n"), 0o755))
		a := askChild(context.Background(), map[string]string{"LD_LIBRARY_PATH": dir}, time.Minute)
		if _, err := os.Stat(self + ".started"); err == nil || a.NVML.Status != "ok" {
			t.Errorf("%+v, %v", a.NVML, err)
		}
		return
	}
	program, err := os.ReadFile("/proc/self/exe")
	hosttest.Must(t, err)
	own := filepath.Join(t.TempDir(), "program")
	hosttest.Must(t, os.WriteFile(own, program, 0o755))
	cmd := exec.Command(own, "-test.run=^TestChildIsThisProgram$")
	cmd.Env = append(os.Environ(), "ASK_REPLACED="+nvmltest.Library(t))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestHangsInKernel waits on a vfork, which the kernel shows as state D, in a thread of a child.
func TestHangsInKernel(t *testing.T) {
	dir := nvmltest.Library(t, "-DINIT=if (vfork() == 0) { sleep(30); _exit(0); } return 0")
	c, err := startChild(map[string]string{"LD_LIBRARY_PATH": dir}, time.Minute)
	hosttest.Must(t, err)
	defer c.leash.Close()
	pid, stuck := c.pid, false
	for end := time.Now().Add(10 * time.Second); !stuck && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		stuck = hangsInKernel(pid)
	}
	c.end()
	if !stuck {
		t.Error("a child that waits in the kernel does not count as one")
	}
	if hangsInKernel(pid) {
		t.Error("a child that has ended counts as one that hangs")
	}
}

func TestThreadState(t *testing.T) {
	for stat, want := range map[string]string{
		"4711 (cudacompat) D 1 4711 4711 0 -1": "D",
		"4711 (a) b (c) S 1 4711":              "S",
		"4711 (cudacompat)":                    "",
		"":                                     "",
	} {
		if got := threadState(stat); got != want {
			t.Errorf("threadState(%q) = %q, want %q", stat, got, want)
		}
	}
}
