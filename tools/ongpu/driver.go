package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// count asks the driver itself how many GPUs a program is shown: -1 where cuInit fails, with its code.
const count = `
import ctypes
try:
    cuda = ctypes.CDLL("libcuda.so.1")
    code = cuda.cuInit(0)
    n = ctypes.c_int(0)
    cuda.cuDeviceGetCount(ctypes.byref(n))
    print(code, n.value)
except OSError as e:
    print("none", 0)
`

// driverCounts runs it with more variables in its environment.
func (b *bench) driverCounts(ctx context.Context, env ...string) (code string, n int, err error) {
	cmd := exec.CommandContext(ctx, b.python, "-c", count)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.Output()
	if err != nil {
		return "", 0, err
	}
	code, text, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	n, err = strconv.Atoi(text)
	return code, n, err
}

// visible tries values of CUDA_VISIBLE_DEVICES that people set, right and wrong, and compares which GPUs are left.
func (b *bench) visible(ctx context.Context, s *section) {
	for _, value := range []string{"0", "", "-1", "99", "0,0", "0,99", "1,0", "99,0,0", "0,-1,0", "0,99,0", "0,1,0", "-1,0", "GPU-deadbeef",
		"MIG-deadbeef", "0,MIG-deadbeef", "0,GPU-deadbeef", "GPU-", "MIG-", "none", "void", "all", "NoDevFiles", " ", " 0", "0 ", "0 0", "0, 0", "0;0",
		"0x0", "0x", "+0", "-0", "00", "0000000000", "0a", "a0", "0.5", "0,", ",0", "0,,", ",", "0,abc", "2147483648", "4294967296", "0\n"} {
		env := "CUDA_VISIBLE_DEVICES=" + value
		code, n, err := b.driverCounts(ctx, env)
		if err != nil {
			s.say("the driver could not be asked (%s): %v", b.python, err)
			return
		}
		v, err := b.ask(ctx, []string{env}, "--env", "none")
		if err != nil {
			s.differs("%s: %v", env, err)
			continue
		}
		s.say("%-40q cuInit %s, %d GPUs; doctor shows %d", env, code, n, v.shown())
		if code != "none" && v.shown() != n {
			s.differs("%q: the driver shows %d GPUs, doctor %d", env, n, v.shown())
		}
	}
}

// stub is a libcuda as toolkits have it to link against: every call fails with CUDA_ERROR_STUB_LIBRARY.
const stub = `int cuInit(unsigned flags) { return 34; } int cuDeviceGetCount(int *n) { *n = 0; return 34; }`

// neighbours puts libraries in the way that break programs: a stub and each cuda-compat of this machine.
func (b *bench) neighbours(ctx context.Context, s *section) {
	dir, err := stubDir(ctx)
	if err != nil {
		s.say("no stub: %v", err)
	} else {
		defer os.RemoveAll(filepath.Dir(dir))
		b.neighbour(ctx, s, dir)
	}
	compat, _ := filepath.Glob("/usr/local/cuda*/compat")
	for _, dir := range compat {
		b.neighbour(ctx, s, dir)
	}
}

// stubDir compiles the stub into a directory named as toolkits name it.
func stubDir(ctx context.Context) (string, error) {
	top, err := os.MkdirTemp("", "ongpu")
	if err != nil {
		return "", err
	}
	dir := filepath.Join(top, "stubs")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "cc", "-shared", "-fPIC", "-xc", "-", "-o", filepath.Join(dir, "libcuda.so.1"))
	cmd.Stdin = strings.NewReader(stub)
	return dir, cmd.Run()
}

// neighbour puts a directory first and compares whether the driver still starts with what doctor finds.
func (b *bench) neighbour(ctx context.Context, s *section, dir string) {
	env := "LD_LIBRARY_PATH=" + dir + ":" + os.Getenv("LD_LIBRARY_PATH")
	code, _, err := b.driverCounts(ctx, env)
	if err != nil {
		s.say("the driver could not be asked (%s): %v", b.python, err)
		return
	}
	v, err := b.ask(ctx, []string{env}, "--env", "none", "--require", "gpu")
	if err != nil {
		s.differs("%s: %v", dir, err)
		return
	}
	s.say("%s first: cuInit %s; doctor says %s", anonymous(dir), code, v.Outcome)
	if fails := code != "0"; fails != (v.Outcome == "incompatible") {
		s.differs("with %s first cuInit gives %s, and doctor says %s", anonymous(dir), code, v.Outcome)
	}
}
