package main

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The budgets, side by side in one run (make bench). They start real processes, so that nothing which a user pays for
// is left out: CPU is user and system time of the process and its children, memory its peak resident set.

// BenchmarkPython is the yardstick: starting Python to do nothing.
func BenchmarkPython(b *testing.B) {
	python, err := exec.LookPath("python3")
	if err != nil {
		b.Skip("no python3 here")
	}
	if real, err := exec.Command(python, "-c", "import sys; print(sys.executable)").Output(); err == nil {
		python = strings.TrimSpace(string(real)) // not a version manager's shim
	}
	measure(b, nil, python, "-c", "pass")
}

// BenchmarkDoctorRoot is `doctor --root` on a tree with a torch environment that carries no big library.
func BenchmarkDoctorRoot(b *testing.B) {
	measure(b, nil, build(b), "doctor", "--root", tree(b), "--instance", "g5.xlarge")
}

// BenchmarkDoctorAllTables is the same with every table read and linted first, as --matrix does: what it saves to read
// only those that are asked for.
func BenchmarkDoctorAllTables(b *testing.B) {
	measure(b, nil, build(b), "doctor", "--root", tree(b), "--instance", "g5.xlarge", "--matrix", "../../data")
}

// BenchmarkDoctorRealTorch is the same on a real environment, named by CUDACOMPAT_BENCH_ENV.
func BenchmarkDoctorRealTorch(b *testing.B) {
	env := os.Getenv("CUDACOMPAT_BENCH_ENV")
	if env == "" {
		b.Skip("CUDACOMPAT_BENCH_ENV names no Python environment with a real torch")
	}
	measure(b, nil, build(b), "doctor", "--offline", "--env", env, "--instance", "g5.xlarge")
}

// BenchmarkDoctorNVML is a live doctor with a driver's library; compare with BenchmarkBareC.
func BenchmarkDoctorNVML(b *testing.B) {
	measure(b, []string{"LD_LIBRARY_PATH=" + fakeNVML(b), "PATH=/nonexistent"}, build(b), "doctor", "-o", "line")
}

// BenchmarkBareC makes the same calls in a C program and nothing else.
func BenchmarkBareC(b *testing.B) {
	dir := fakeNVML(b)
	measure(b, []string{"LD_LIBRARY_PATH=" + dir}, filepath.Join(dir, "bare"))
}

// measure runs a program b.N times and reports what one run costs.
func measure(b *testing.B, env []string, name string, args ...string) {
	b.Helper()
	var cpu time.Duration
	var peak int64
	for b.Loop() {
		cmd := exec.Command(name, args...)
		cmd.Env = append(os.Environ(), env...)
		if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
			b.Fatal(err)
		}
		cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			peak = max(peak, usage.Maxrss)
		}
	}
	b.ReportMetric(float64(cpu.Microseconds())/1000/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(peak)/1024, "MB-peak")
}

// build makes the binary as it is handed out.
func build(b *testing.B) string {
	b.Helper()
	if out, err := exec.Command("make", "-s", "-C", "../..", "build").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return filepath.Join("..", "..", "bin", "cudacompat")
}

// tree is a small Ubuntu with a torch environment.
func tree(b *testing.B) string {
	b.Helper()
	root := b.TempDir()
	site := "opt/venv/lib/python3.12/site-packages/"
	for name, text := range map[string]string{
		"etc/os-release":          "PRETTY_NAME=\"Ubuntu 22.04.5 LTS\"\nID=ubuntu\n",
		"opt/venv/pyvenv.cfg":     "home = /usr/bin\nversion = 3.12.3\n",
		site + "torch/version.py": "__version__ = '2.8.0+cu128'\ncuda: Optional[str] = '12.8'\n",
		site + "torch-2.8.0+cu128.dist-info/METADATA": "Name: torch\nVersion: 2.8.0+cu128\nRequires-Dist: " +
			"nvidia-nccl-cu12==2.27.3\n",
		site + "nvidia_nccl_cu12-2.27.3.dist-info/METADATA":  "Name: nvidia-nccl-cu12\nVersion: 2.27.3\n",
		"usr/lib/x86_64-linux-gnu/libcuda.so.550.90.07":      "",
		"usr/lib/x86_64-linux-gnu/libnvidia-ml.so.550.90.07": "",
		"usr/local/cuda-12.4/version.json":                   `{"cuda":{"version":"12.4.1"}}`,
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	for _, lib := range []string{"libcuda", "libnvidia-ml"} {
		if err := os.Symlink(lib+".so.550.90.07", filepath.Join(root, "usr/lib/x86_64-linux-gnu", lib+".so.1")); err != nil {
			b.Fatal(err)
		}
	}
	return root
}

// fakeNVML compiles a library that answers like a driver with two GPUs, and a C program that asks it what we ask.
func fakeNVML(b *testing.B) string {
	b.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		b.Skip("no C compiler here")
	}
	dir := b.TempDir()
	compile(b, cc, fakeSource, "-shared", "-fPIC", "-o", filepath.Join(dir, "libnvidia-ml.so.1"))
	compile(b, cc, bareSource, "-o", filepath.Join(dir, "bare"))
	return dir
}

func compile(b *testing.B, cc, source string, args ...string) {
	b.Helper()
	cmd := exec.Command(cc, append([]string{"-x", "c", "-"}, append(args, "-ldl")...)...)
	cmd.Stdin = strings.NewReader(source)
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
}

const fakeSource = `
#include <string.h>
int nvmlInit_v2(void) { return 0; }
int nvmlInitWithFlags(unsigned f) { return 0; }
int nvmlSystemGetDriverVersion(char *v, unsigned n) { strcpy(v, "550.54.15"); return 0; }
int nvmlSystemGetCudaDriverVersion_v2(int *v) { *v = 12040; return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) { *d = (void *)(long)(i + 1); return 0; }
int nvmlDeviceGetName(void *d, char *s, unsigned n) { strcpy(s, "NVIDIA L4"); return 0; }
int nvmlDeviceGetCudaComputeCapability(void *d, int *a, int *b) { *a = 8; *b = 9; return 0; }
`

//go:embed testdata/bare.c
var bareSource string
