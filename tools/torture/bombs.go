//go:build linux

package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// A bomb is small, or cheap to make, and large to read.
type bomb struct {
	name  string
	limit time.Duration
	plant func(dir string) error
	args  []string // after the binary; {} is the directory
	plain bool     // what it prints is no JSON
}

const bombLimit = 3 * time.Second

// module is where a tree has its driver's module.
const module = "lib/modules/6.1.0/updates/dkms/nvidia.ko"

var (
	doctorOn  = []string{"doctor", "--root", "{}", "-o", "json"}
	checkFile = []string{"check", "{}/input", "-o", "json"}
	explainIt = []string{"explain", "{}/input", "-o", "json"}
)

func bombCases(*bench) ([]testCase, error) {
	var cases []testCase
	for _, list := range [][]bomb{packedBombs(), treeBombs(), textBombs(), inputBombs(), gridBombs()} {
		for _, c := range list {
			cases = append(cases, testCase{c.name, c.run})
		}
	}
	return cases, nil
}

func (c bomb) run(b *bench) {
	dir := filepath.Join(b.dir, "bomb")
	defer os.RemoveAll(dir)
	if err := c.plant(dir); err != nil {
		b.tally.fault("crashes", "torture itself: %v", err)
		return
	}
	args := []string{b.binary}
	for _, arg := range c.args {
		args = append(args, strings.ReplaceAll(arg, "{}", dir))
	}
	if c.limit == 0 {
		c.limit = bombLimit
	}
	args = append(args, "--timeout", c.limit.String())
	b.judge(order{Args: args}, demand{deadline: c.limit, codes: c.codes(), json: !c.plain, command: c.args[0]})
}

// codes returns the accepted exit codes: those of a monitoring protocol if one is requested.
func (c bomb) codes() []int {
	if slices.Contains(c.args, "nagios") {
		return []int{0, 1, 2, 3, 64}
	}
	return []int{0, 1, 3, 64}
}

// file plants one file of the tree.
func file(name string, body func() []byte) func(string) error {
	return func(dir string) error { return write(filepath.Join(dir, name), body()) }
}

func repeated(s string, n int) func() []byte {
	return func() []byte { return bytes.Repeat([]byte(s), n) }
}

func packedBombs() []bomb {
	return []bomb{
		{name: "a .zst module with a window of 512 MB", plant: file(module+".zst",
			func() []byte { return zstdZeros(600<<20, 512<<20) }), args: doctorOn},
		{name: "a .zst module with a window of 8 MB", plant: file(module+".zst",
			func() []byte { return zstdZeros(600<<20, 8<<20) }), args: doctorOn},
		{name: "a .xz module that claims a dictionary of 128 MB", plant: file(module+".xz",
			func() []byte { return xzZeros(700<<20, 30) }), args: doctorOn},
		{name: "a .xz module that claims a dictionary of 4 GB", plant: file(module+".xz",
			func() []byte { return xzZeros(700<<20, 40) }), args: doctorOn},
		{name: "a .gz module of 2 GB", plant: file(module+".gz", func() []byte { return gzipZeros(2 << 30) }),
			args: doctorOn},
		{name: "sixty .gz modules of 256 MB", plant: sixtyModules, args: doctorOn},
		{name: "a .gz log of 2 GB", plant: file("input", func() []byte { return gzipZeros(2 << 30) }), args: explainIt},
	}
}

func sixtyModules(dir string) error {
	body := gzipZeros(256 << 20)
	for i := range 60 {
		if err := write(filepath.Join(dir, fmt.Sprintf("lib/modules/6.1.%d/updates/dkms/nvidia.ko.gz", i)),
			body); err != nil {
			return err
		}
	}
	return nil
}

// zeros writes n zero bytes.
func zeros(w interface{ Write([]byte) (int, error) }, n int) {
	block := make([]byte, 1<<20)
	for ; n > 0; n -= len(block) {
		if _, err := w.Write(block); err != nil {
			panic(err)
		}
	}
}

func zstdZeros(n, window int) []byte {
	var out bytes.Buffer
	w, err := zstd.NewWriter(&out, zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		panic(err)
	}
	zeros(w, n)
	if err := w.Close(); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// xzZeros returns a stream whose block claims a dictionary of another size: byte 12 begins the block's header (its size
// in words of four less one, flags, the filter 0x21 with one property), which a CRC-32 ends.
func xzZeros(n int, dictionary byte) []byte {
	var out bytes.Buffer
	w, err := xz.WriterConfig{DictCap: 1 << 16, CheckSum: xz.CRC32}.NewWriter(&out)
	if err != nil {
		panic(err)
	}
	zeros(w, n)
	if err := w.Close(); err != nil {
		panic(err)
	}
	data := out.Bytes()
	header := data[12 : 12+(int(data[12])+1)*4]
	at := bytes.Index(header, []byte{0x21, 1})
	header[at+2] = dictionary
	binary.LittleEndian.PutUint32(header[len(header)-4:], crc32.ChecksumIEEE(header[:len(header)-4]))
	return data
}

func gzipZeros(n int) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	zeros(w, n)
	if err := w.Close(); err != nil {
		panic(err)
	}
	return out.Bytes()
}

const packages = "opt/v/lib/python3.12/site-packages/"

// many plants n things below a virtual environment's packages.
func many(n int, name string, how func(string) error) func(string) error {
	return func(dir string) error {
		if err := write(filepath.Join(dir, "opt/v/pyvenv.cfg"), []byte("home = /usr/bin\nversion = 3.12.3\n")); err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Join(dir, packages), 0o755); err != nil {
			return err
		}
		for i := range n {
			if err := how(filepath.Join(dir, packages, fmt.Sprintf(name, i))); err != nil {
				return err
			}
		}
		return nil
	}
}

func mkdir(name string) error { return os.Mkdir(name, 0o755) }
func empty(name string) error { return os.WriteFile(name, nil, 0o644) }

func treeBombs() []bomb {
	return []bomb{
		{name: "400,000 files in site-packages", limit: 10 * time.Second, plant: many(400_000, "f%d", empty), args: doctorOn},
		{name: "100,000 distributions", limit: 10 * time.Second, plant: many(100_000, "pkg%d-1.0.dist-info", mkdir),
			args: doctorOn},
		{name: "20,000 of NVIDIA's wheels", plant: many(20_000, "nvidia_x%d_cu12-1.0.dist-info", mkdir), args: doctorOn},
		{name: "10,000 NCCLs", plant: many(10_000, "nvidia_nccl_cu%d-1.0.dist-info", mkdir), args: doctorOn},
		{name: "5,000 torches", plant: many(5_000, "torch-2.%d.dist-info", mkdir), args: doctorOn},
		{name: "200 environments and 400 GPUs", limit: 2 * time.Second, plant: manyEnvironments(200, 400), args: doctorOn},
		{name: "1,000 environments", limit: 5 * time.Second, plant: manyEnvironments(1000, 8), args: doctorOn},
		{name: "directories 3,000 deep", plant: deep, args: doctorOn},
		{name: "39 links to a directory", plant: chain, args: doctorOn},
		{name: "everything is a link to the root", plant: circles, args: doctorOn},
	}
}

// manyEnvironments have a torch each, on a machine with so many GPUs on its bus.
func manyEnvironments(environments, gpus int) func(string) error {
	return func(dir string) error {
		files := map[string]string{"proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel " +
			"Module  535.183.01  Sun May 12 19:39:15 UTC 2024\n"}
		for i := range gpus {
			device := fmt.Sprintf("sys/bus/pci/devices/%04x:%02x:00.0/", i/256, i%256)
			files[device+"vendor"], files[device+"class"], files[device+"device"] = "0x10de\n", "0x030200\n", "0x27b8\n"
		}
		for i := range environments {
			env := fmt.Sprintf("opt/e%d/", i)
			site := env + "lib/python3.12/site-packages/"
			files[env+"pyvenv.cfg"] = "home = /usr/bin\nversion = 3.12.3\n"
			files[site+"torch-2.9.0+cu130.dist-info/METADATA"] = "Name: torch\nVersion: 2.9.0+cu130\n"
			files[site+"torch-2.9.0+cu130.dist-info/WHEEL"] = "Tag: cp312-cp312-manylinux_2_28_x86_64\n"
			files[site+"torch/version.py"] = "__version__ = '2.9.0+cu130'\ncuda = '13.0'\n"
		}
		for name, body := range files {
			if err := write(filepath.Join(dir, name), []byte(body)); err != nil {
				return err
			}
		}
		return nil
	}
}

// deep makes each directory from inside its parent: the whole path is longer than a path may be.
func deep(dir string) error {
	at := filepath.Join(dir, "opt")
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	fd, err := syscall.Open(at, syscall.O_DIRECTORY, 0)
	for range 3000 {
		if err != nil {
			return err
		}
		if err = syscall.Mkdirat(fd, "lib", 0o755); err != nil {
			return err
		}
		below, openErr := syscall.Openat(fd, "lib", syscall.O_DIRECTORY, 0)
		syscall.Close(fd)
		fd, err = below, openErr
	}
	return syscall.Close(fd)
}

func chain(dir string) error {
	if err := write(filepath.Join(dir, "l39/v/lib/python3.12/site-packages/x"), nil); err != nil {
		return err
	}
	for i := range 39 {
		if err := os.Symlink(fmt.Sprintf("/l%d", i+1), filepath.Join(dir, fmt.Sprintf("l%d", i))); err != nil {
			return err
		}
	}
	return os.Symlink("/l0", filepath.Join(dir, "opt"))
}

func circles(dir string) error {
	if err := write(filepath.Join(dir, "pyvenv.cfg"),
		[]byte("home = /bin\ninclude-system-site-packages = true\nversion = 3.12.1\n")); err != nil {
		return err
	}
	for name, target := range map[string]string{"opt": "..", "home": "/", "srv": ".", "usr": "/", "lib": "/",
		"lib64": ".", "root": ".",
		"envs": ".", "python3.12": ".", "site-packages": ".", "local": "."} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return write(filepath.Join(dir, "torch/version.py"), []byte("__version__='2.9.0+cu130'\n"))
}

// textBombs returns files of a tree that are long, deep, or send their reader in circles.
func textBombs() []bomb {
	aliases := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		aliases += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", c-1), 9), ","))
	}
	files := []struct {
		file string
		body func() []byte
	}{
		{"etc/ld.so.conf", repeated("include /etc/ld.so.conf\ninclude /etc/*.conf\n", 1000)},
		{"etc/ld.so.conf", repeated("/directory\n", 130_000)},
		{"lib/modules/6.1.0/modules.dep", repeated("/nvidia.ko", 3_000_000)},
		{"lib/modules/6.1.0/modules.dep", repeated("../../../../etc/x/nvidia.ko:\n", 900_000)},
		{packages + "nvidia_nccl_cu12-2.dist-info/RECORD", repeated("nvidia/nccl/lib/libx.so.2,sha256=x,3\n", 700_000)},
		{"var/lib/dpkg/status",
			repeated("Package: libnvidia-compute-535\nStatus: install ok installed\nVersion: 1\n\n", 420_000)},
		{"var/lib/dpkg/status", repeated("Package: x", 3<<20)},
		{"proc/driver/nvidia/version", repeated("NVRM version: 1.1.1.1.1.1", 1<<20)},
		{"boot/grub/grub.cfg", repeated("submenu x {\n", 2_000_000)},
		{packages + "a.pth", repeated("/opt/d/d/d/d\n", 100_000)},
		{"etc/cdi/nvidia.yaml", func() []byte { return []byte(aliases) }},
		{"etc/cdi/nvidia.yaml", repeated("[", 1_000_000)},
		{"etc/cdi/nvidia.json", repeated("[", 30_000_000)},
		{"etc/docker/daemon.json", repeated(`{"a":`, 5_000_000)},
		{"etc/containerd/config.toml", repeated("a=[[[[[[[[[[", 1_000_000)},
		{"etc/ld.so.cache", looseCache},
		{"var/lib/rpm/rpmdb.sqlite", rpmRecursion},
	}
	var bombs []bomb
	for _, f := range files {
		plant := file(f.file, f.body)
		if f.file == "var/lib/rpm/rpmdb.sqlite" {
			plant = plantRecursion
		}
		bombs = append(bombs, bomb{name: f.file, plant: plant, args: doctorOn})
	}
	return bombs
}

// looseCache returns a cache of the loader (glibc's dl-cache.h) whose 80,000 entries share one name of 2 MB.
func looseCache() []byte {
	const entries = 80_000
	var out bytes.Buffer
	out.WriteString("glibc-ld.so.cache1.1")
	for _, n := range []uint32{entries, 2 << 20, 2, 0, 0, 0, 0} {
		_ = binary.Write(&out, binary.LittleEndian, n)
	}
	for range entries {
		_ = binary.Write(&out, binary.LittleEndian, []uint32{3, 48 + 24*entries, 48 + 24*entries, 0, 0, 0})
	}
	out.Write(bytes.Repeat([]byte("A"), 2<<20))
	return out.Bytes()
}

// numbered returns a head and n lines with their numbers.
func numbered(head, line string, n int) func() []byte {
	return func() []byte {
		out := []byte(head)
		for i := range n {
			out = fmt.Appendf(out, line, i)
		}
		return out
	}
}

// inputBombs returns what check and explain are given.
func inputBombs() []bomb {
	input := func(name string, args []string, body func() []byte) bomb {
		return bomb{name: args[0] + ": " + name, plant: file("input", body), args: args}
	}
	return []bomb{
		input("2,000 torch lines", checkFile, numbered("", "torch==2.%d\n", 2000)),
		input("4,000 torch lines", checkFile, numbered("", "torch==2.%d\n", 4000)),
		input("200,000 torch lines", checkFile, numbered("", "torch==2.%d\n", 200_000)),
		input("200,000 indexes", checkFile, numbered("torch==2.9.0\n", "-i a%d\n", 199_999)),
		input("60,000 names", checkFile, numbered("torch==2.9.0\n", "name%d==1.0\n", 60_000)),
		input("30,000 releases of one name", checkFile, numbered("", "vllm==0.1.%d\n", 30_000)),
		input("200,000 ifs in a Dockerfile", checkFile, func() []byte {
			return []byte("FROM python:3.12\nRUN " + strings.Repeat("if [ $A = 1 ]; then ", 200_000) +
				"pip install torch==2.9.0" + strings.Repeat("; fi", 200_000) + "\n")
		}),
		input("100,000 brackets in a marker", checkFile, func() []byte {
			return []byte("torch==2.9.0 ; " + strings.Repeat("(", 100_000) + "sys_platform == 'linux'\n")
		}),
		input("100,000 GPUs", checkFile, numbered(`{"schema":"cudacompat/facts/v1","gpus":[{"n":0}`, `,{"n":%d}`, 100_000)),
		input("100,000 empty GPUs without a schema", checkFile,
			func() []byte { return []byte(`{"gpus":[{}` + strings.Repeat(",{}", 99_999) + "]}") }),
		input("80,000 TOML tables", checkFile, numbered("lock-version = \"1.0\"\n", "[a%d]\n", 80_000)),
		input("60 MB of GPUs", checkFile, func() []byte {
			return []byte(`{"gpus":[{}` + strings.Repeat(",{}",
				20<<20) + "]}")
		}),
		input("60 MB of one string", checkFile,
			func() []byte { return []byte(`{"driver":{"version":"` + strings.Repeat("1", 60<<20) + `"}}`) }),
		input("45 MB of wheels", checkFile, func() []byte {
			return []byte("version = 1\n[[package]]\nname = \"torch\"\nversion = \"2.9.0\"\nwheels = " +
				"[{}" + strings.Repeat(",{}", 15<<20) + "]\n")
		}),
		input("deep JSON", checkFile, func() []byte { return []byte(`{"gpus":` + strings.Repeat("[", 10<<20)) }),
		input("20,000 environments", checkFile, numbered(`{"schema":"cudacompat/facts/v1","environments":[{}`,
			`,{"path":"/e%d","active":true,"builds":[{"name":"torch","version":"2.9.0+cu130","cuda":"13.0"}]}`, 20_000)),
		input("one line of 16 KB", explainIt, repeated("CUDA error ", 1500)),
		input("one line of 1 MB", explainIt, repeated("CUDA error ", 95_000)),
		input("100,000 tracebacks", explainIt,
			repeated("Traceback (most recent call last):\n  File \"/a.py\", line 1, in f\nRuntimeError: CUDA "+
				"error: an illegal memory access was encountered\n", 100_000)),
	}
}
