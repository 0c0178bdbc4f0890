package ldso_test

import (
	"bytes"
	"debug/elf"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"cudacompat/internal/ldso"
)

// run runs a program of the tree and returns its output. A tree with its own root needs the right to change root or to
// make a user namespace.
func (w *tree) run(env []string, dir string, args ...string) (stdout, stderr string, err error) {
	w.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env, cmd.Dir = env, dir
	if w.own {
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: w.dir}
		if os.Geteuid() != 0 {
			cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
			cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
			cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
		}
	}
	var out, text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &text
	err = cmd.Run()
	if errors.Is(err, fs.ErrPermission) {
		w.Skipf("no right to run a program in a root of its own: %v", err)
	}
	return out.String(), text.String(), err
}

// ldconfig makes the tree's cache.
func (w *tree) ldconfig() {
	w.Helper()
	out, err := exec.Command(ldconfig(w), "-X", "-r", w.dir).CombinedOutput()
	if err != nil {
		w.Fatalf("ldconfig: %v\n%s", err, out)
	}
}

func ldconfig(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"ldconfig", "/sbin/ldconfig", "/usr/sbin/ldconfig"} {
		if file, err := exec.LookPath(name); err == nil {
			return file
		}
	}
	t.Skip("no ldconfig to compare with")
	return ""
}

// interpreter returns the machine's loader.
func interpreter(t testing.TB) string {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(compile(t, probeSource, "-ldl")))
	if err != nil {
		t.Fatal(err)
	}
	b, err := f.Section(".interp").Data()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimRight(string(b), "\x00")
}

var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// resolver returns a resolver for the tree as it is.
func (w *tree) resolver() *ldso.Resolver {
	w.Helper()
	fsys := &rootFS{}
	if w.own {
		fsys.dir = w.dir
	}
	r := &ldso.Resolver{FS: fsys, Machine: machines[runtime.GOARCH], Hwcaps: cpuHwcaps(w)}
	var err, cacheErr error
	r.SystemDirs, err = ldso.SystemDirs(fsys, interpreter(w))
	if r.Cache, cacheErr = ldso.ReadCache(fsys); errors.Is(cacheErr, fs.ErrNotExist) {
		cacheErr = nil
	}
	if err := errors.Join(err, cacheErr); err != nil {
		w.Fatal(err)
	}
	return r
}

var cpuFlags = regexp.MustCompile(`(?m)^flags\s*:(.*)$`)

func cpuHwcaps(t testing.TB) []string {
	t.Helper()
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Fatal(err)
	}
	m := cpuFlags.FindSubmatch(b)
	if m == nil {
		return nil
	}
	return ldso.X86Hwcaps(strings.Fields(string(m[1])))
}
