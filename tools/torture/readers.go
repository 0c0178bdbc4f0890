//go:build linux

package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// grid returns the bombs of every reader, by the program's name for it: the formats of given files
// (probe.GivenFormats), the sources of facts (Facts.Probes), and every other argument that names a file. A test finds
// readers without a bomb.
func grid() map[string][]bomb {
	all := map[string][]bomb{}
	for name, d := range documents {
		all[name] = d.bombs(name)
	}
	for name, list := range trees {
		for _, t := range list {
			all[name] = append(all[name], t.bomb(name))
		}
	}
	for name, list := range others() {
		all[name] = list
	}
	all["written"], all["images"] = written(), images()
	return all
}

func gridBombs() (list []bomb) {
	for _, bombs := range grid() {
		list = append(list, bombs...)
	}
	return list
}

// A document describes an endless file of one format: a head, one line or part repeated, and a tail. %d is the part's
// number.
type document struct {
	file             string // its name where that tells the format; else "input"
	head, part, tail string
	first            string // in the place of the first part, as JSON has no comma before it
	most             int    // parts that the limits let through; 0: 19,000
}

// large is about what check reads of a file, in bytes.
const large = 8<<20 - 1<<10

func (d document) text(parts int) []byte {
	var b bytes.Buffer
	b.WriteString(d.head)
	for i := range parts {
		part := d.part
		if i == 0 && d.first != "" {
			part = d.first
		}
		if strings.Contains(part, "%") {
			part = fmt.Sprintf(part, i)
		}
		if b.Len()+len(part)+len(d.tail) > large {
			break
		}
		b.WriteString(part)
	}
	b.WriteString(d.tail)
	return b.Bytes()
}

// bombs returns a document just below the limits, which is read whole, and one that fills the largest file.
func (d document) bombs(name string) (list []bomb) {
	file := d.file
	if file == "" {
		file = "input"
	}
	most := d.most
	if most == 0 {
		most = 19_000
	}
	for _, command := range []string{"check", "requires"} {
		for _, parts := range []int{most, 8 << 20} {
			list = append(list, bomb{name: fmt.Sprintf("%s: %s of %d parts", command, name, parts), limit: 5 * time.Second,
				plant: func(dir string) error { return write(filepath.Join(dir, file), d.text(parts)) },
				args:  []string{command, "{}/" + file, "-o", "json"}})
		}
	}
	return list
}

const factsHead = `{"schema":"cudacompat/facts/v1","driver":{"version":"535.183.01"},` +
	`"gpus":[{"name":"NVIDIA L4","compute_capability":"8.9"}],`

// documents are the formats that check reads.
var documents = map[string]document{
	"Pipfile.lock": {file: "Pipfile.lock", head: `{"_meta":{"hash":{"sha256":"0"},"pipfile-spec":6},"default":{`,
		first: `"p%d":{"version":"==1"}`, part: `,"p%d":{"version":"==1"}`, tail: `}}`},
	"pip install --report": {head: `{"version":"1","pip_version":"23.2.1","install":[`,
		first: `{"metadata":{"name":"torch","version":"2.9.%d"}}`,
		part:  `,{"metadata":{"name":"p%d","version":"1"}}`, tail: `]}`},
	"conda install --dry-run --json": {head: `{"actions":{"FETCH":[],"LINK":[`,
		first: `{"name":"pytorch","version":"2.5.%d","build_string":"cuda126_0"}`,
		part:  `,{"name":"p%d","version":"1","build_string":"0"}`, tail: `]}}`},
	"pixi update --dry-run --json": {head: `{"version":1,"environment":{"default":{"linux-64":[`,
		first: `{"name":"torch","before":null,"after":{"conda":"https://x/linux-64/pytorch-2.5.%d-cuda126_0.conda"},"type":"conda"}`,
		part:  `,{"name":"p%[1]d","before":null,"after":{"conda":"https://x/noarch/p%[1]d-1-0.conda"},"type":"conda"}`, tail: `]}}}`},
	"uv pip install --dry-run, uv sync --dry-run": {head: "Resolved 3 packages in 4ms\nWould install 3 packages\n",
		part: " + p%d==1.0\n"},
	"pip install --dry-run": {head: "Would install torch-2.9.0", part: " p%d-1.0", tail: "\n"},
	"poetry install --dry-run": {head: "Installing dependencies from lock file\n\nPackage operations: 9 installs, 0 updates, 0 removals\n\n",
		part: "  - Installing p%d (1.0)\n"},
	"pip list --format=json": {head: "[", first: `{"name": "torch", "version": "2.9.%d"}`,
		part: `,{"name": "p%d", "version": "1.0"}`, tail: "]"},
	"conda list --json": {head: "[", first: `{"base_url": "https://c.example", "build_string": "0", "name": "pytorch", "version": "2.5.%d"}`,
		part: `,{"base_url": "x", "build_string": "0", "name": "p%d", "version": "1"}`, tail: "]"},
	"facts or a report from cudacompat": {head: factsHead + `"environments":[{"path":"/e","active":true,"builds":[`,
		first: `{"name":"torch","version":"2.9.%d+cu130","cuda":"13.0"}`,
		part:  `,{"name":"torch","version":"2.9.%d+cu130","cuda":"13.0"}`, tail: `]}]}`, most: 1900},
	"nvidia-smi -x -q": {head: "<?xml version=\"1.0\" ?>\n<nvidia_smi_log><driver_version>535.183.01</driver_version>",
		part: "<gpu id=\"00000000:%d:00.0\"><product_name>NVIDIA L4</product_name><a><b></b></a></gpu>",
		tail: "</nvidia_smi_log>", most: 1000},
	"nvidia-smi -q": {head: "==============NVSMI LOG==============\nDriver Version : 535.183.01\nCUDA Version : 12.2\nAttached GPUs : 9\n",
		part: "GPU %08d:00:1E.0\n    Product Name                          : NVIDIA L4\n", most: 1000},
	"nvidia-smi": {head: "| NVIDIA-SMI 535.183.01             Driver Version: 535.183.01   CUDA Version: 12.2     |\n",
		part: "|   %d  NVIDIA L4                      Off | 00000000:00:1E.0 Off |                    0 |\n", most: 1000},
	"nvidia-smi --version": {head: "NVIDIA-SMI version  : 580.95.05\nNVML version        : 580.95\nDRIVER version      : 580.95.05\n",
		part: "CUDA Version        : 13.%d\n"},
	"compose file":                        {file: "compose.yaml", head: "services:\n", part: "  s%d:\n    image: nvidia/cuda:12.%[1]d.0-base-ubuntu22.04\n", most: 1000},
	"nvidia-smi -L":                       {part: "GPU %d: NVIDIA L4 (UUID: GPU-aaaa-%[1]d)\n", most: 1000},
	"nvidia-smi --query-gpu":              {head: "name, driver_version\n", part: "NVIDIA L4 %d, 550.90.07\n", most: 1000},
	"nvidia-smi dmon, nvidia-smi topo -m": {head: "# gpu  sbecc  dbecc\n# Idx   errs   errs\n", part: "%d 0 1\n", most: 1000},
	"an error of nvidia-smi":              {head: "Failed to initialize NVML: Driver/library version mismatch\n", part: "NVML library version: 535.%d\n"},
	"poetry.lock": {file: "poetry.lock", part: "[[package]]\nname = \"torch\"\nversion = \"2.9.%d\"\nmarkers = \"python_version == '3.%[1]d'\"\n",
		tail: "[metadata]\nlock-version = \"2.1\"\ncontent-hash = \"0\"\n", most: 9000},
	"uv.lock": {file: "uv.lock", head: "version = 1\n", part: "[[package]]\nname = \"torch\"\nversion = \"2.%d.0\"\n" +
		"resolution-markers = [\"python_full_version == '3.%[1]d'\"]\n", most: 9000},
	"pylock.toml": {file: "pylock.toml", head: "lock-version = \"1.0\"\ncreated-by = \"x\"\n",
		part: "[[packages]]\nname = \"torch\"\nversion = \"2.9.%d\"\nmarker = \"python_version < '3.%[1]d'\"\n", most: 9000},
	"pyproject.toml": {file: "pyproject.toml", head: "[project]\ndependencies = [\n",
		part: "\"torch==2.9.%d; python_version >= '3.9'\",", tail: "]\n", most: 39_000},
	"pixi.lock": {file: "pixi.lock", head: "version: 6\nenvironments:\n",
		part: "  e%d:\n    packages:\n      linux-64:\n      - conda: https://c.example/linux-64/pytorch-2.5.1-cuda126_py312_0.conda\n",
		most: 9000},
	"conda-lock.yml": {file: "conda-lock.yml", head: "version: 1\npackage:\n",
		part: "- name: pytorch\n  version: 2.5.1\n  manager: conda\n  platform: linux-64\n  url: https://c.example/linux-64/pytorch-2.5.%d-cuda126_py312_0.conda\n",
		most: 39_000},
	"environment.yml":           {file: "environment.yml", head: "dependencies:\n", part: "  - p%d=1\n", most: 39_000},
	"conda list --explicit":     {head: "@EXPLICIT\n", part: "https://c.example/linux-64/pytorch-2.5.%d-cuda126_py312_0.conda\n"},
	"conda list":                {head: "# packages in environment at /opt/conda:\n#\n# Name                    Version                   Build  Channel\n", part: "pytorch   2.5.%d   py3.12_cuda12.4_0    pytorch\n"},
	"Dockerfile":                {file: "Dockerfile", head: "FROM python:3.12\nENV A=torch\n", part: "RUN pip install $A==2.9.%d $B $C $D\n"},
	"pip list":                  {head: "Package Version\n------- -------\ntorch 2.9.0\n", part: "p%d 1.0\n"},
	"requirements (pip freeze)": {file: "requirements.txt", head: "torch==2.9.0\n", part: "p%d==1.0\n"},
	"collect_env report": {head: "Collecting environment information...\nPyTorch version: 2.9.0+cu130\nCUDA used to build PyTorch: 13.0\nNvidia driver version: 535.183.01\nVersions of relevant libraries:\n",
		part: "[pip3] p%d==2.9.0\n", most: 100_000},
}

// A tree is the input of one source of facts: a file of many lines, or a directory of many entries.
type tree struct {
	file string // whose body is the line again and again, up to the size
	line string
	size int // bytes; 0: 8 MiB less a little, which is read whole
	dir  string
	n    int // entries of the directory, called name
	name string
}

func (t tree) bomb(source string) bomb {
	if t.dir == "" {
		size := t.size
		if size == 0 {
			size = large
		}
		return bomb{name: source + ": " + t.file, limit: 5 * time.Second, args: doctorOn,
			plant: file(t.file, repeated(t.line, max(1, size/len(t.line))))}
	}
	return bomb{name: fmt.Sprintf("%s: %d entries of %s", source, t.n, t.dir), limit: 5 * time.Second, args: doctorOn,
		plant: func(dir string) error {
			for i := range t.n {
				name := filepath.Join(dir, t.dir, fmt.Sprintf(t.name, i))
				if i == 0 {
					if err := write(name, nil); err != nil {
						return err
					}
				} else if err := empty(name); err != nil {
					return err
				}
			}
			return nil
		}}
}

const entries = 150_000

// live sources read nothing under --root.
var live = []tree{}

// trees are the sources of facts.
var trees = map[string][]tree{
	"system":   {{file: "etc/os-release", line: "PRETTY_NAME=\"x\"\n"}, {dir: "boot", n: entries, name: "vmlinuz-%d"}},
	"instance": {{file: "sys/class/dmi/id/sys_vendor", line: "A"}, {file: "sys/class/dmi/id/product_name", line: "A"}},
	"proc-driver": {{file: "proc/driver/nvidia/version", line: "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01\n"},
		{file: "sys/module/nvidia/version", line: "5"}},
	"driver-libraries": {{file: "etc/ld.so.conf", line: "/directory\n"}, {dir: "etc/ld.so.conf.d", n: 20_000, name: "%d.conf"},
		{dir: "usr/lib/x86_64-linux-gnu", n: entries, name: "libcuda.so.%d"}},
	"kernel-log": {{file: "var/log/kern.log", line: "Nov 22 10:00:00 host kernel: [    1.0] NVRM: Xid (PCI:0000:01:00): 79, pid=1\n",
		size: 60 << 20}, {file: "var/log/journal/0123/system.journal", line: "LPKSHHRH", size: 60 << 20}},
	"boot": {{file: "boot/grub/grub.cfg", line: "menuentry 'x' {\nlinux /vmlinuz-6.1.0\n}\n"},
		{dir: "boot/loader/entries", n: 20_000, name: "%d.conf"}, {dir: "lib/modules", n: entries, name: "6.1.%d"}},
	"installers":         {{file: "var/log/nvidia-installer.log", line: "nvidia-installer log file\n"}, {dir: "usr/bin", n: entries, name: "nvidia-%d"}},
	"firmware":           {{dir: "lib/firmware/nvidia", n: entries, name: "gsp%d.bin"}, {dir: "etc/modprobe.d", n: 20_000, name: "%d.conf"}},
	"secure-boot":        {{dir: "sys/firmware/efi/efivars", n: entries, name: "SecureBoot-%d"}},
	"module-signature":   live,
	"initramfs":          {{dir: "boot", n: entries, name: "vmlinuz-%d"}, {dir: "etc/dracut.conf.d", n: 20_000, name: "%d.conf"}, {file: "boot/initramfs-6.1.0.img", line: "07070100000000", size: 60 << 20}, {file: "boot/vmlinuz-6.1.0", line: "x"}, {file: "lib/modules/6.1.0/modules.dep", line: "x"}},
	"dkms":               {{dir: "var/lib/dkms/nvidia/535.1/source", n: entries, name: "dkms.conf%d"}, {dir: "lib/modules", n: entries, name: "6.1.%d"}},
	"module-build":       {{dir: "var/lib/dkms/nvidia", n: entries, name: "535.%d"}, {dir: "var/crash", n: entries, name: "nvidia-%d.crash"}},
	"container-runtimes": {{file: "etc/docker/daemon.json", line: `{"runtimes":`}, {file: "etc/containerd/config.toml", line: "[plugins.x]\nruntime_type = \"nvidia\"\n"}, {dir: "etc/cdi", n: 20_000, name: "%d.yaml"}},
	"driver-packages":    {{file: "var/lib/dpkg/status", line: "Package: libnvidia-compute-535\nStatus: install ok installed\nVersion: 1\n\n", size: 15 << 20}, {file: "var/lib/rpm/Packages.db", line: "RpmP"}, {file: "lib/apk/db/installed", line: "P:nvidia\nV:1\n\n", size: 15 << 20}},
	"fabric":             {{file: "usr/bin/nv-fabricmanager", line: "\x7fELF"}},
	"grid":               {{file: "etc/nvidia/gridd.conf", line: "FeatureType=1\n"}},
	"updates":            {{file: "etc/apt/apt.conf.d/50unattended-upgrades", line: "Unattended-Upgrade::Package-Blacklist { \"nvidia\"; };\n"}, {dir: "etc/yum.repos.d", n: 20_000, name: "%d.repo"}, {dir: "etc/apt/preferences.d", n: 20_000, name: "p%d"}},
	"processes":          live,
	"pci":                {{file: "sys/bus/pci/devices/0000:01:00.0/vendor", line: "0x10de"}, {dir: "sys/bus/pci/devices", n: entries, name: "0000:%d"}},
	"peer-to-peer":       live,
	"efa":                {{dir: "sys/class/infiniband", n: entries, name: "efa_%d"}, {file: "opt/amazon/efa_installed_packages", line: "EFA installer version: 1.30.0\n"}},
	"toolkits":           {{file: "usr/local/cuda-12.4/version.json", line: `{"cuda":`}, {dir: "usr/local", n: entries, name: "cuda-12.%d"}},
	"building":           {{file: "usr/lib/gcc/x86_64-linux-gnu/13/x", line: "x"}},
	"libraries":          {{dir: "usr/lib", n: entries, name: "libnccl.so.%d"}},
	"variables":          live,
	"devices":            live,
	"container":          live,
	"python": {{file: packages + "torch-2.9.0+cu130.dist-info/METADATA", line: "Requires-Dist: x\n"},
		{file: packages + "torch-2.9.0+cu130.dist-info/RECORD", line: "torch/lib/libx.so,sha256=x,3\n"},
		{file: packages + "torch/version.py", line: "cuda = '13.0'\n"}, {file: "opt/v/pyvenv.cfg", line: "version = 3.12.3\n"},
		{file: "home/a/.conda/environments.txt", line: "/data/e\n"}, {file: "opt/c/conda-meta/pytorch-2.5.1-0.json", line: `{"name":`},
		{dir: "opt", n: entries, name: "f%d"}, {dir: "home", n: entries, name: "f%d"}, {dir: packages, n: entries, name: "x%d.pth"}},
	"caches":         {{dir: "root/.cache/torch_extensions/py312_cu130", n: entries, name: "e%d"}, {dir: "root/.nv/ComputeCache", n: entries, name: "%d"}},
	"gpu-numbers":    {{file: "proc/driver/nvidia/gpus/0000:01:00.0/information", line: "Model: 	 NVIDIA L4\n"}, {dir: "proc/driver/nvidia/gpus", n: entries, name: "0000:%d"}},
	"driver-modules": {{file: "lib/modules/6.1.0/modules.dep", line: "updates/dkms/nvidia.ko:\n"}, {file: module, line: "\x7fELF"}},
	"nvml":           live, // the families nvml, nvml-real and in-process
}

// others returns what else a command line can name.
func others() map[string][]bomb {
	fleet := func(name, line string, n int, format string) bomb {
		return bomb{name: "fleet: " + name + " as " + format, plant: file("input", numbered("", line, n)), limit: 10 * time.Second,
			args: []string{"fleet", "{}/input", "-o", format}, plain: format != "json"}
	}
	const kinds = `{"node":"n%d","facts":{"schema":"cudacompat/facts/v1","driver":{"version":"535.%[1]d"},` +
		`"gpus":[{"name":"NVIDIA L4","compute_capability":"8.9"}]}}` + "\n"
	row := "torch,%d.0,x\n"
	return map[string][]bomb{
		"log": {{name: "explain: 100,000 errors", plant: file("input", numbered("", "RuntimeError: CUDA error %d: x\n", 100_000)), args: explainIt},
			{name: "explain: one line of 200 MB", limit: time.Second, args: explainIt,
				plant: file("input", repeated("RuntimeError: CUDA error", 200<<20/24))},
			{name: "explain: facts that never come", limit: time.Second, args: append(explainIt, "--facts", "{}/pipe"),
				plant: func(dir string) error {
					if err := write(filepath.Join(dir, "input"), []byte("RuntimeError: CUDA error: no kernel image is available\n")); err != nil {
						return err
					}
					return syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600)
				}},
			{name: "explain: a traceback of 400,000 lines", plant: file("input", numbered("Traceback (most recent call last):\n",
				"  File \"/a%d.py\", line 1, in f\n", 400_000)), args: explainIt, limit: 5 * time.Second}},
		"directory of logs": {{name: "explain: 20,000 logs", limit: time.Second, args: []string{"explain", "{}/logs", "-o", "json"},
			plant: func(dir string) error {
				for i := range 20_000 {
					if err := write(filepath.Join(dir, fmt.Sprintf("logs/%d.log", i)), []byte("RuntimeError: CUDA error: no kernel image is available for execution on the device\n")); err != nil {
						return err
					}
				}
				return nil
			}}},
		"fleet": {fleet("300,000 empty documents", "{}\n", 300_000, "json"), fleet("300,000 empty documents", "{}\n", 300_000, "text"),
			{name: "fleet: facts of many builds as json", limit: 10 * time.Second, args: []string{"fleet", "{}/input", "-o", "json"},
				plant: file("input", func() []byte { return documents["facts or a report from cudacompat"].text(8 << 20) })},
			fleet("300,000 words", "x%d\n", 300_000, "junit"),
			fleet("20,000 kinds", kinds, 20_000, "json"),
			{name: "fleet: 20,000 kinds in a second as csv", plant: file("input", numbered("", kinds, 20_000)), limit: time.Second,
				args: []string{"fleet", "{}/input", "-o", "csv"}, plain: true}},
		"tables in a directory": {
			{name: "version: a table of 1 TB", plant: sparseFile("m/torch.csv", 1<<40), args: []string{"check", "torch==2.9.0", "--matrix", "{}/m", "-o", "json"}},
			{name: "version: a table of many rows", plant: file("m/torch.csv", numbered("release\n", row, 400_000)), args: []string{"check", "torch==2.9.0", "--matrix", "{}/m", "-o", "json"}},
			{name: "version: 200,000 files", args: []string{"check", "torch==2.9.0", "--matrix", "{}/m", "-o", "json"},
				plant: tree{dir: "m", n: 200_000, name: "f%d"}.bomb("").plant}},
		"tables in a bundle": {{name: "check: a bundle of zeros", plant: file("m.zip", func() []byte { return gzipZeros(1 << 30) }),
			args: []string{"check", "torch==2.9.0", "--matrix", "{}/m.zip", "-o", "json"}}},
		"configuration": {{name: "check: 10,000 waivers", plant: file("c.yaml", numbered("version: 1\nignore:\n",
			"  - {rule: driver-eol, reason: r%d, match: {subject: \"*a*a*a*\"}}\n", 10_000)),
			args: []string{"check", "torch==2.9.0", "--driver", "535.183.01", "--gpu", "L4", "--config", "{}/c.yaml", "-o", "json"}},
			{name: "check: a pattern of 400 KB", plant: file("c.yaml", func() []byte {
				return append(append([]byte("version: 1\nignore:\n  - {rule: driver-eol, reason: r, match: {subject: \""),
					bytes.Repeat([]byte("*a"), 200_000)...), "\"}}\n"...)
			}), args: []string{"check", "torch==2.9.0", "--driver", "535.183.01", "--gpu", "L4", "--config", "{}/c.yaml", "-o", "json"}}},
		"machine code": {{name: "doctor: 4,000,000 empty fat binaries", plant: fatBinaries, args: doctorOn}},
	}
}

func sparseFile(name string, size int64) func(string) error {
	return func(dir string) error {
		if err := write(filepath.Join(dir, name), nil); err != nil {
			return err
		}
		return os.Truncate(filepath.Join(dir, name), size)
	}
}

// fatBinaries plants a library of torch's whose .nv_fatbin has 4,000,000 containers without entries.
func fatBinaries(dir string) error {
	for name, text := range map[string]string{"opt/v/pyvenv.cfg": "version = 3.12.3\n",
		packages + "torch-2.9.0+cu130.dist-info/METADATA": "Name: torch\nVersion: 2.9.0+cu130\n",
		packages + "torch/version.py":                     "__version__ = '2.9.0+cu130'\ncuda = '13.0'\n"} {
		if err := write(filepath.Join(dir, name), []byte(text)); err != nil {
			return err
		}
	}
	container := binary.LittleEndian.AppendUint32(nil, 0xBA55ED50)
	container = append(container, 1, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	return write(filepath.Join(dir, packages, "torch/lib/libtorch_cuda.so"),
		library(".nv_fatbin", bytes.Repeat(container, 4_000_000)))
}

// library returns an ELF file (elf(5)) for x86-64 with one section.
func library(name string, body []byte) []byte {
	names := "\x00" + name + "\x00.shstrtab\x00"
	var b bytes.Buffer
	put := func(values ...any) {
		for _, v := range values {
			_ = binary.Write(&b, binary.LittleEndian, v)
		}
	}
	text := uint64(64)
	namesAt, table := text+uint64(len(body)), text+uint64(len(body)+len(names))
	b.WriteString("\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	put(uint16(3), uint16(62), uint32(1), uint64(0), uint64(0), table, uint32(0), uint16(64), uint16(56), uint16(0),
		uint16(64), uint16(3), uint16(2))
	b.Write(body)
	b.WriteString(names)
	b.Write(make([]byte, 64))
	put(uint32(1), uint32(1), uint64(2), uint64(0), text, uint64(len(body)), uint32(0), uint32(0), uint64(8), uint64(0))
	put(uint32(2+len(name)), uint32(3), uint64(0), uint64(0), namesAt, uint64(len(names)), uint32(0), uint32(0), uint64(1),
		uint64(0))
	return b.Bytes()
}
