//go:build linux

package main

import (
	"bytes"
	"debug/elf"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

//go:embed nvml/fake.c
var fakeSource []byte

// prepared is what several families need and one makes.
type prepared struct {
	fake    []byte   // the false library
	symbols []string // that it has
	roots   []root
	seeds   []seed
}

// fake compiles the false library, once.
func (b *bench) fake() ([]byte, error) {
	if b.prepared.fake != nil {
		return b.prepared.fake, nil
	}
	source, library := filepath.Join(b.dir, "fake.c"), filepath.Join(b.dir, "fake.so")
	if err := os.WriteFile(source, fakeSource, 0o644); err != nil {
		return nil, err
	}
	if out, err := exec.Command("cc", "-shared", "-fPIC", "-w", "-O1", "-o", library,
		source).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cc: %w: %s", err, out)
	}
	var err error
	if b.prepared.symbols, err = functions(library); err != nil {
		return nil, err
	}
	b.prepared.fake, err = os.ReadFile(library)
	return b.prepared.fake, err
}

// functions returns the NVML functions that a library exports.
func functions(library string) ([]string, error) {
	f, err := elf.Open(library)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, s := range symbols {
		if strings.HasPrefix(s.Name, "nvml") && s.Section != elf.SHN_UNDEF {
			names = append(names, s.Name)
		}
	}
	return names, nil
}

// dropFunctions returns the library less some functions: under another name the loader's hash table does not find them.
func dropFunctions(library []byte, functions []string) []byte {
	library = bytes.Clone(library)
	for _, name := range functions {
		at := bytes.Index(library, []byte("\x00"+name+"\x00"))
		if at >= 0 {
			library[at+1] = 'x'
		}
	}
	return library
}

// nvmlLimit is the deadline of the runs that something hangs in: every one of them waits for it.
const nvmlLimit = time.Second

// An nvmlCase is a library, as bytes or as something that put creates in its place, and its behaviour.
type nvmlCase struct {
	name    string
	library []byte
	put     func(name string) error
	orders  string // FAKE_NVML
}

func nvmlCases(b *bench) ([]testCase, error) {
	fake, err := b.fake()
	if err != nil {
		return nil, err
	}
	var list []nvmlCase
	for _, orders := range slices.Concat(returns(b.prepared.symbols), deedsAt(b.prepared.symbols), values()) {
		list = append(list, nvmlCase{name: orders, library: fake, orders: orders})
	}
	for _, name := range b.prepared.symbols {
		list = append(list, nvmlCase{name: "no " + name, library: dropFunctions(fake, []string{name})})
	}
	for branch, lacking := range branches {
		for _, gpus := range []string{"0", "1", "8", "16"} {
			list = append(list, nvmlCase{name: branch + " with " + gpus + " GPUs", library: dropFunctions(fake, lacking),
				orders: "nvmlDeviceGetCount_v2=value:" + gpus})
		}
	}
	list = append(list, noLibraries(fake)...)
	var cases []testCase
	for _, c := range list {
		cases = append(cases, testCase{c.name, c.run})
	}
	return cases, nil
}

func (c nvmlCase) run(b *bench) {
	dir, err := os.MkdirTemp(b.dir, "nvml-")
	if err != nil {
		b.tally.fault("crashes", "torture itself: %v", err)
		return
	}
	defer os.RemoveAll(dir)
	library := filepath.Join(dir, "libnvidia-ml.so.1")
	if c.put != nil {
		err = c.put(library)
	} else {
		err = os.WriteFile(library, c.library, 0o755)
	}
	if err != nil {
		b.tally.fault("crashes", "torture itself: %v", err)
		return
	}
	b.judge(order{Args: b.doctorLive(nvmlLimit), Env: []string{"LD_LIBRARY_PATH=" + dir, "FAKE_NVML=" + c.orders}},
		demand{deadline: nvmlLimit, codes: c.codes(), json: true, command: "doctor with NVML", children: true})
}

// codes: a library that ends its parent gets what it asks for.
func (c nvmlCase) codes() []int {
	if strings.Contains(c.orders, "terminate-parent") {
		return append(slices.Clone(judged), -1)
	}
	return judged
}

// doctorLive returns a look at this machine for its driver library's sake.
func (b *bench) doctorLive(limit time.Duration) []string {
	return []string{b.binary, "doctor", "--env", filepath.Join(b.dir, "venv"), "--timeout", limit.String(), "-o", "json"}
}

// codes of nvmlReturn_t (nvml.h), and some that it does not have.
var nvmlCodes = []int{1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 25, 26, 29, 999,
	-1, 1<<31 - 1}

func returns(symbols []string) []string {
	var list []string
	for _, s := range symbols {
		for _, code := range nvmlCodes {
			list = append(list, fmt.Sprintf("%s=return:%d", s, code))
		}
	}
	return list
}

// deedsAt orders every deed while the library is loaded, at the start and in mid-enumeration, and those that differ
// most at every call.
func deedsAt(symbols []string) []string {
	deeds := strings.Fields("hang deaf masked spin stop slow crash abort divide trap overflow killed exit _exit exit2 " +
		"flood-out flood-errors banner claim colours close-out close-all terminate-parent helper helper-hang " +
		"detached borrowed gorge")
	var list []string
	for _, deed := range deeds {
		for _, place := range []string{"load", "unload", "nvmlInit_v2", "nvmlDeviceGetName"} {
			list = append(list, place+"="+deed)
		}
	}
	for _, s := range symbols {
		list = append(list, s+"=hang", s+"=crash", s+"=_exit")
	}
	return list
}

func values() []string {
	var list []string
	for _, s := range []string{"nvmlSystemGetDriverVersion", "nvmlDeviceGetName", "nvmlDeviceGetUUID"} {
		for _, v := range []string{"unended", "bytes", "escapes", "empty", "untouched", "changing"} {
			list = append(list, s+"=text:"+v)
		}
	}
	for _, v := range strings.Fields("0 1 -1 5 7 255 1024 1025 13000 120400 1000000 2147483647 2147483648 " +
		"4294967295 changing") {
		for _, s := range strings.Fields("nvmlDeviceGetCount_v2 nvmlSystemGetCudaDriverVersion_v2 " +
			"nvmlDeviceGetCudaComputeCapability " +
			"nvmlDeviceGetHandleByIndex_v2 nvmlDeviceGetRemappedRows nvmlDeviceGetTotalEccErrors " +
			"nvmlDeviceGetCurrentClocksThrottleReasons " +
			"nvmlDeviceGetGpuFabricInfo nvmlDeviceGetPersistenceMode nvmlDeviceGetBrand nvmlDeviceGetComputeMode " +
			"nvmlDeviceGetMigMode " +
			"nvmlDeviceGetP2PStatus nvmlDeviceGetMemoryInfo_v2 nvmlDeviceGetComputeRunningProcesses_v3 " +
			"nvmlDeviceGetPciInfo_v3") {
			list = append(list, s+"=value:"+v)
		}
		list = append(list, "nvmlDeviceGetMigMode=value:1,nvmlDeviceGetMaxMigDeviceCount=value:"+v)
	}
	for n := range 8 {
		list = append(list, fmt.Sprintf("nvmlDeviceGetCount_v2=value:8,nvmlDeviceGetHandleByIndex_v2=value:%d", n))
	}
	return list
}

// branches lists the symbols that the library of each driver branch lacks, read from Debian's libnvidia-ml1 (340.108,
// 390.157, 418.226.00, 450.248.02, 460.106.00, 470.256.02). 535.216.03, 550.54.15 and 555.58.02 have all of them.
var branches = map[string][]string{
	"R340": strings.Fields("nvmlSystemGetCudaDriverVersion nvmlSystemGetCudaDriverVersion_v2 " +
		"nvmlDeviceGetCudaComputeCapability " +
		"nvmlDeviceGetPciInfo_v3 nvmlDeviceGetRemappedRows nvmlDeviceGetGpuFabricInfo nvmlDeviceGetMigMode " +
		"nvmlDeviceGetMaxMigDeviceCount " +
		"nvmlDeviceGetMigDeviceHandleByIndex nvmlDeviceGetP2PStatus nvmlDeviceGetMemoryInfo_v2 " +
		"nvmlDeviceGetComputeRunningProcesses_v2 nvmlDeviceGetComputeRunningProcesses_v3"),
	"R390": strings.Fields("nvmlSystemGetCudaDriverVersion_v2 nvmlDeviceGetRemappedRows " +
		"nvmlDeviceGetGpuFabricInfo nvmlDeviceGetMigMode " +
		"nvmlDeviceGetMaxMigDeviceCount nvmlDeviceGetMigDeviceHandleByIndex nvmlDeviceGetMemoryInfo_v2 " +
		"nvmlDeviceGetComputeRunningProcesses_v2 nvmlDeviceGetComputeRunningProcesses_v3"),
	"R418": strings.Fields("nvmlDeviceGetRemappedRows nvmlDeviceGetGpuFabricInfo nvmlDeviceGetMigMode " +
		"nvmlDeviceGetMaxMigDeviceCount " +
		"nvmlDeviceGetMigDeviceHandleByIndex nvmlDeviceGetMemoryInfo_v2 nvmlDeviceGetComputeRunningProcesses_v2 " +
		"nvmlDeviceGetComputeRunningProcesses_v3"),
	"R450 to R470": strings.Fields("nvmlDeviceGetGpuFabricInfo nvmlDeviceGetMemoryInfo_v2 " +
		"nvmlDeviceGetComputeRunningProcesses_v3"),
	"R535 to R555": nil,
}

// noLibraries returns things that lie where the library should.
func noLibraries(fake []byte) []nvmlCase {
	patched := func(at int, with byte) []byte {
		library := bytes.Clone(fake)
		library[at] = with
		return library
	}
	return []nvmlCase{
		{name: "empty", library: nil}, {name: "text", library: []byte("hello\n")}, {name: "zeros",
			library: make([]byte, 1<<20)},
		{name: "cut short", library: fake[:5000]}, {name: "cut in the symbols", library: fake[:len(fake)/3]},
		{name: "another machine's", library: patched(18, 0xb7)}, {name: "32-bit", library: patched(4, 1)},
		{name: "a directory", put: func(name string) error { return os.Mkdir(name, 0o755) }},
		{name: "a pipe", put: func(name string) error { return syscall.Mkfifo(name, 0o644) }},
		{name: "a loop", put: func(name string) error { return os.Symlink(filepath.Base(name), name) }},
		{name: "a device", put: func(name string) error { return os.Symlink("/dev/zero", name) }},
		{name: "unreadable", put: func(name string) error { return os.WriteFile(name, fake, 0) }},
	}
}

// realCases load Debian's own libraries. Without a driver they report that there is none. The cases test loading, the
// symbols, and that no process remains.
func realCases(b *bench) ([]testCase, error) {
	if b.libraries == "" {
		return nil, fmt.Errorf("no -nvml: tools/torture/debian.sh fetches them")
	}
	dirs, err := filepath.Glob(filepath.Join(b.libraries, "*", "libnvidia-ml.so.1"))
	if err != nil || len(dirs) == 0 {
		return nil, fmt.Errorf("%s holds no */libnvidia-ml.so.1", b.libraries)
	}
	var cases []testCase
	for _, library := range dirs {
		dir := filepath.Dir(library)
		cases = append(cases, testCase{filepath.Base(dir), func(b *bench) {
			b.judge(order{Args: b.doctorLive(10 * time.Second), Env: []string{"LD_LIBRARY_PATH=" + dir}},
				demand{deadline: 10 * time.Second, codes: judged, json: true, command: "doctor with NVML", children: true})
		}})
	}
	return cases, nil
}

// inProcessCases ask NVML as an agent does that imports probe and did not opt in to a child: what crashes a process
// ends it, so only what answers, refuses or hangs is tried.
func inProcessCases(b *bench) ([]testCase, error) {
	fake, err := b.fake()
	if err != nil {
		return nil, err
	}
	all := slices.Concat(returns(b.prepared.symbols), values())
	all = append(all, "nvmlInit_v2=hang", "nvmlDeviceGetName=hang", "load=slow", "nvmlInit_v2=banner")
	var cases []testCase
	for _, orders := range all {
		if orders == "nvmlDeviceGetComputeRunningProcesses_v3=return:7" { // go-nvml asks for ever: its own process pays
			continue
		}
		cases = append(cases, testCase{orders, func(b *bench) {
			dir := filepath.Join(b.dir, "in-process")
			_ = os.MkdirAll(dir, 0o755)
			_ = os.WriteFile(filepath.Join(dir, "libnvidia-ml.so.1"), fake, 0o755)
			b.judge(order{Args: []string{b.self, "look", nvmlLimit.String()}, Env: []string{"LD_LIBRARY_PATH=" + dir,
				"FAKE_NVML=" + orders}},
				demand{codes: []int{0}, json: !strings.Contains(orders, "banner")})
		}})
	}
	return cases, nil
}
