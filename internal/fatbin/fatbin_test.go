package fatbin

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A file is built from the inside: entries, containers, sections.

type testEntry struct {
	kind, major, minor uint16
	arch               uint32
	flags              uint64
	header, payload    int // header 0: 64
}

func sass(arch uint32, flags uint64) testEntry {
	return testEntry{kind: kindCubin, major: 1, minor: 7, arch: arch, flags: flags, payload: 5000}
}

func ptx(arch uint32, flags uint64, major, minor uint16) testEntry {
	return testEntry{kind: kindPTX, major: major, minor: minor, arch: arch, flags: flags, header: 80, payload: 1200}
}

func (e testEntry) bytes() []byte {
	head := max(e.header, entryHeaderSize)
	b := make([]byte, head+e.payload)
	le.PutUint16(b, e.kind)
	le.PutUint16(b[2:], 0x0101)
	le.PutUint32(b[4:], uint32(head))
	le.PutUint64(b[8:], uint64(e.payload))
	le.PutUint16(b[24:], e.minor)
	le.PutUint16(b[26:], e.major)
	le.PutUint32(b[28:], e.arch)
	le.PutUint64(b[40:], e.flags)
	return b
}

func container(entries ...testEntry) []byte {
	var body []byte
	for _, e := range entries {
		body = append(body, e.bytes()...)
	}
	return append(containerHeader(uint64(len(body))), body...)
}

func containerHeader(size uint64) []byte {
	b := le.AppendUint32(nil, magic)
	b = le.AppendUint16(b, containerVersion)
	b = le.AppendUint16(b, containerHeaderSize)
	return le.AppendUint64(b, size)
}

type elfSection struct {
	name  string
	kind  uint32 // 1 PROGBITS, 8 NOBITS
	flags uint64 // 2 ALLOC, 4 EXECINSTR; with any, data are aligned
	data  []byte
	size  uint64 // claimed; 0: what data has
}

// elfFile lays the data of the sections after the file header, then the names, then the table.
func elfFile(sections ...elfSection) []byte {
	sections = slices.Concat([]elfSection{{}}, sections, []elfSection{{name: ".shstrtab", kind: 3}})
	names, file, table := []byte{0}, make([]byte, fileHeaderSize), []byte(nil)
	for i, s := range sections {
		h := make([]byte, sectionHeaderSize)
		le.PutUint32(h, uint32(len(names)))
		names = append(append(names, s.name...), 0)
		if i == len(sections)-1 {
			s.data = names
		}
		le.PutUint32(h[4:], s.kind)
		if s.flags != 0 {
			file = append(file, make([]byte, -len(file)&7)...)
		}
		le.PutUint64(h[8:], s.flags)
		le.PutUint64(h[24:], uint64(len(file)))
		le.PutUint64(h[32:], max(s.size, uint64(len(s.data))))
		file = append(file, s.data...)
		table = append(table, h...)
	}
	copy(file, "\x7fELF\x02\x01\x01")
	le.PutUint64(file[40:], uint64(len(file)))
	le.PutUint16(file[58:], sectionHeaderSize)
	le.PutUint16(file[60:], uint16(len(sections)))
	le.PutUint16(file[62:], uint16(len(sections)-1))
	return append(file, table...)
}

func fatbinFile(containers ...[]byte) []byte {
	return elfFile(elfSection{name: ".text", kind: 1, data: []byte("code")},
		elfSection{name: ".nv_fatbin", kind: 1, data: slices.Concat(containers...)})
}

func read(t *testing.T, file []byte) Code {
	t.Helper()
	got, err := Read(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

type readCase struct {
	name string
	file []byte
	want Code
}

func testRead(t *testing.T, cases []readCase) {
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, read(t, tc.file), cmpopts.IgnoreUnexported(Code{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// noTable returns the file as sstrip leaves it.
func noTable(file []byte) []byte {
	clear(file[40:48])
	clear(file[58:64])
	return file
}

func TestReadSections(t *testing.T) {
	testRead(t, []readCase{
		{"no-sections", elfFile(), Code{}},
		{"no-section-table", noTable(fatbinFile(container(sass(90, 0x2011)))), Code{}},
		{"no-fatbin", elfFile(elfSection{name: ".text", kind: 1, data: container(sass(90, 0x2011))}), Code{}},
		{"segment-is-no-fatbin", elfFile(elfSection{name: ".nvFatBinSegment", kind: 1, data: container(sass(90, 0x2011))}),
			Code{}},
		{"amd", elfFile(elfSection{name: ".hip_fatbin", kind: 1, data: []byte("__CLANG_OFFLOAD_BUNDLE__")}), Code{}},
		{"debug-file", elfFile(elfSection{name: ".nv_fatbin", kind: 8, size: 1 << 40}), Code{}},
		{"empty-section", elfFile(elfSection{name: ".nv_fatbin", kind: 1}), Code{}},
		{"relocatable", elfFile(
			elfSection{name: "__nv_relfatbin", kind: 1, data: container(sass(80, 0x2011), ptx(80, 0x2011, 8, 8))},
			elfSection{name: ".nv_fatbin", kind: 1, data: container(sass(80, 0x11))},
		), Code{
			SASS:       []Target{{Arch: 80, Containers: 2}},
			PTX:        []Target{{Arch: 80, PTXVersion: "8.8", Containers: 1}},
			Containers: 2,
		}},
	})
}

// The flags are those that real libraries carry; see the package comment.
func TestReadEntries(t *testing.T) {
	testRead(t, []readCase{
		{"empty-container", fatbinFile(container()), Code{Containers: 1}},
		{"sorted", fatbinFile(container(sass(120, 0x1002011), sass(70, 0x2011), sass(90, 0x2011))), Code{
			SASS:       []Target{{Arch: 70, Containers: 1}, {Arch: 90, Containers: 1}, {Arch: 120, Containers: 1}},
			Containers: 1,
		}},
		{"suffixes", fatbinFile(container(
			sass(90, 0x2011), sass(90, 0x102011), sass(100, 0x1200011), sass(100, 0x1000011),
			ptx(90, 0x100011, 8, 4), ptx(100, 0x200011, 9, 0),
		)), Code{
			SASS: []Target{{Arch: 90, Containers: 1}, {Arch: 90, Suffix: "a", Containers: 1},
				{Arch: 100, Containers: 1}, {Arch: 100, Suffix: "f", Containers: 1}},
			PTX: []Target{{Arch: 90, Suffix: "a", PTXVersion: "8.4", Containers: 1},
				{Arch: 100, Suffix: "f", PTXVersion: "9.0", Containers: 1}},
			Containers: 1,
		}},
		{"both-suffix-bits", fatbinFile(container(sass(100, 0x1300011))), Code{
			SASS: []Target{{Arch: 100, Suffix: "a", Containers: 1}}, Containers: 1,
		}},
		{"zstd-per-target", fatbinFile(
			container(sass(90, 0x2011), sass(100, 0x1002011), ptx(120, 0x8011, 8, 7)),
			container(sass(90, 0x2011), sass(100, 0x1008011)),
		), Code{
			SASS:       []Target{{Arch: 90, Containers: 2}, {Arch: 100, Zstd: true, Containers: 2}},
			PTX:        []Target{{Arch: 120, PTXVersion: "8.7", Zstd: true, Containers: 1}},
			Containers: 2,
		}},
		{"newest-ptx", fatbinFile(
			container(ptx(52, 0x11, 8, 4)), container(ptx(52, 0x11, 8, 10)), container(ptx(52, 0x11, 7, 8)),
		), Code{
			PTX: []Target{{Arch: 52, PTXVersion: "8.10", Containers: 3}}, Containers: 3,
		}},
		{"twice-in-a-container", fatbinFile(container(sass(80, 0x11), sass(80, 0x2011)), container(sass(86, 0x11))), Code{
			SASS: []Target{{Arch: 80, Containers: 1}, {Arch: 86, Containers: 1}}, Containers: 2,
		}},
		{"other-kinds", fatbinFile(container(
			testEntry{kind: 8, arch: 90, payload: 8}, testEntry{kind: 0x40, arch: 4000, payload: 8},
			testEntry{kind: kindCubin16, arch: 100, header: 112},
		)), Code{SASS: []Target{{Arch: 100, Containers: 1}}, Containers: 1}},
		{"padding", fatbinFile(
			container(sass(80, 0x11)), make([]byte, 7), container(sass(86, 0x11)),
			make([]byte, 3*windowSize-2), // so that the next magic lies across two reads
			container(sass(89, 0x11)), make([]byte, 15),
		), Code{
			SASS: []Target{{Arch: 80, Containers: 1}, {Arch: 86, Containers: 1}, {Arch: 89, Containers: 1}}, Containers: 3,
		}},
	})
}

// overlong gives an entry a payload size that its container does not hold.
func overlong(size uint64) []byte {
	c := container(sass(80, 0x11), sass(86, 0x11))
	le.PutUint64(c[containerHeaderSize+entryHeaderSize+5000+8:], size)
	return c
}

// patched has another byte at i.
func patched(file []byte, i int, b byte) []byte {
	file = slices.Clone(file)
	file[i] = b
	return file
}

func TestReadDamaged(t *testing.T) {
	good := container(sass(80, 0x11))
	one := Code{SASS: []Target{{Arch: 80, Containers: 1}}, Containers: 1}
	two := Code{SASS: []Target{{Arch: 80, Containers: 2}}, Containers: 2}
	for _, tc := range []struct {
		name string
		file []byte
		err  string
		want Code
	}{
		{"empty", nil, "not an ELF file: too short", Code{}},
		{"text", []byte(strings.Repeat("GROUP ( libcudart.so.12 )", 10)), "not an ELF file: wrong magic number", Code{}},
		{"elf32", patched(fatbinFile(good), 4, 1), "not a 64-bit little-endian ELF file", Code{}},
		{"big-endian", patched(fatbinFile(good), 5, 2), "not a 64-bit little-endian ELF file", Code{}},
		{"table-entry-size", patched(fatbinFile(good), 58, 40), "ELF section table is malformed", Code{}},
		{"names-outside-table", patched(fatbinFile(good), 62, 99), "ELF section table is malformed", Code{}},
		{"table-offset", patched(fatbinFile(good), 47, 0x7f), "ELF section table is malformed", Code{}},
		{"too-many-sections", patched(fatbinFile(good), 60, 0), "ELF section table is malformed", Code{}},
		{"name-outside", patched(fatbinFile(good), len(fatbinFile(good))-2*sectionHeaderSize+3, 0x7f),
			"ELF section names are outside the file", Code{}},
		{"names-outside", patched(fatbinFile(good), len(fatbinFile(good))-sectionHeaderSize+31, 0x7f),
			"ELF section names are outside the file", Code{}},
		{"table-past-end", fatbinFile(good)[:len(fatbinFile(good))-1], "ELF section table: the file ends at", Code{}},
		{"section-past-end", elfFile(elfSection{name: ".nv_fatbin", kind: 1, data: good, size: math.MaxUint64}),
			`section ".nv_fatbin": no fat binary in the`, one},
		{"section-cut-between-containers", cutFile(good), "runs past the end of the file", one},
		{"no-container", fatbinFile(make([]byte, 4096)), "no fat binary in the 4096 bytes at 0x44", Code{}},
		{"gap-too-wide", fatbinFile(good, make([]byte, maxGap), good), "no fat binary in the 1048576 bytes", one},
		{"container-version", fatbinFile(good, patched(good, 4, 2)), "has version 2 and a header of 16 bytes", one},
		{"container-header", fatbinFile(good, patched(good, 6, 0)), "has version 1 and a header of 0 bytes", one},
		{"container-outside", fatbinFile(good, containerHeader(1<<40), sass(80, 0x11).bytes()),
			"of 1099511627776 bytes ends outside its section", two},
		{"container-overflow", fatbinFile(good, containerHeader(math.MaxUint64), sass(80, 0x11).bytes()),
			"ends outside its section", two},
		{"container-header-cut", fatbinFile(make([]byte, 20), containerHeader(0)[:10]),
			"fat binary at 0x58 is cut short", Code{}},
		{"entry-cut", fatbinFile(containerHeader(60), make([]byte, 60)),
			"fat-binary entry at 0x54 is cut short", Code{Containers: 1}},
		{"entry-header-zero", fatbinFile(good, patched(good, containerHeaderSize+4, 0)),
			"has a header of 0 and a payload of 5000 bytes, in the 5064 left", Code{SASS: one.SASS, Containers: 2}},
		{"entry-header-outside", fatbinFile(patched(good, containerHeaderSize+7, 0xff)),
			"has a header of 4278190144", Code{Containers: 1}},
		{"payload-outside", fatbinFile(overlong(5001)), "a payload of 5001 bytes, in the 5064 left", one},
		{"payload-overflow", fatbinFile(overlong(math.MaxUint64)), "a payload of 18446744073709551615 bytes", one},
		{"payload-wraps", fatbinFile(overlong(math.MaxUint64 - 63)), "a payload of 18446744073709551552 bytes", one},
		{"arch", fatbinFile(container(sass(80, 0x11), sass(1<<30, 0x11))), "no such architecture: 1073741824", one},
		{"other-section-still-read",
			elfFile(elfSection{name: "__nv_relfatbin", kind: 1, data: make([]byte, 64)},
				elfSection{name: ".nv_fatbin", kind: 1, data: good}),
			`section "__nv_relfatbin": no fat binary`, one},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Read(bytes.NewReader(tc.file), int64(len(tc.file)))
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("error %v, want one with %q", err, tc.err)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreUnexported(Code{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// cutFile has its section table in front and a section that the file ends in, right after a container.
func cutFile(c []byte) []byte {
	file := elfFile(elfSection{name: ".nv_fatbin", kind: 1, size: 1 << 30})
	h := file[len(file)-2*sectionHeaderSize:]
	le.PutUint64(h[24:], uint64(len(file)))
	return append(file, c...)
}

// A reader that has less than it said, or fails, is an error and no code.
func TestReadReaderFails(t *testing.T) {
	file := fatbinFile(container(sass(80, 0x11)))
	for _, tc := range []struct {
		name string
		r    io.ReaderAt
		want error
	}{
		{"shrunk", bytes.NewReader(file[:100]), io.ErrUnexpectedEOF},
		{"broken", failing{}, errBroken},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got, err := Read(tc.r, int64(len(file))); !errors.Is(err, tc.want) || len(got.SASS) > 0 {
				t.Errorf("%v, %v; want no code and %v", got, err, tc.want)
			}
		})
	}
}

func TestTargetString(t *testing.T) {
	c := read(t, fatbinFile(
		container(sass(90, 0x102011), sass(100, 0x1200011), sass(75, 0x11), ptx(120, 0x11, 8, 7), ptx(90, 0x100011, 8, 0)),
	))
	if diff := cmp.Diff([]string{"sm_75", "sm_90a", "sm_100f", "compute_90a", "compute_120"}, names(c)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The numbers of containers come from the named libraries. build is what their makers publish, if anything.
func TestCommon(t *testing.T) {
	for _, tc := range []struct{ name, all, served, build string }{
		{"empty", "", "", ""},
		{
			"libtorch_cuda_cu-1.13.1+cu117",
			"sm_35:50 sm_37:221 sm_50:271 sm_60:271 sm_70:274 sm_75:275 sm_80:287 sm_86:279",
			"sm_35 sm_37 sm_50 sm_60 sm_70 sm_75 sm_80 sm_86",
			"sm_37 sm_50 sm_60 sm_70 sm_75 sm_80 sm_86",
		}, {
			"libtorch_cuda-2.8.0+cu128",
			"sm_70:393 sm_75:393 sm_80:393 sm_86:393 sm_89:1 sm_90:393 sm_90a:4 sm_100:393 sm_100a:1 sm_120:393 sm_120a:1",
			"sm_70 sm_75 sm_80 sm_86 sm_90 sm_100 sm_120",
			"sm_70 sm_75 sm_80 sm_86 sm_90 sm_100 sm_120",
		}, {
			"libtorch_cuda-2.14.1+cu130",
			"sm_75:475 sm_80:475 sm_86:475 sm_89:1 sm_90:475 sm_90a:4 sm_100:475 sm_100a:59 sm_103f:59 sm_120:475 " +
				"sm_120a:1 sm_121a:1",
			"sm_75 sm_80 sm_86 sm_90 sm_100 sm_100a sm_103f sm_120",
			"sm_75 sm_80 sm_86 sm_90 sm_100 sm_120",
		}, {
			"vllm-0.11.0-C",
			"sm_52:1 sm_70:28 sm_75:29 sm_80:46 sm_87:14 sm_89:32 sm_90:43 sm_90a:19 sm_100:28 sm_100a:12 sm_120:28 sm_120a:6" +
				" compute_52:1 compute_89:1 compute_90:14",
			"sm_70 sm_75 sm_80 sm_87 sm_89 sm_90 sm_90a sm_100 sm_100a sm_120 sm_120a compute_90",
			"sm_70 sm_75 sm_80 sm_89 sm_90 sm_100 sm_120",
		}, {
			"libnccl-2.27.3",
			"sm_50:139 sm_90:139 sm_100:139 sm_100a:4 sm_120:139 sm_120a:4 compute_120:138",
			"sm_50 sm_90 sm_100 sm_120 compute_120",
			"sm_50 sm_90 sm_100 sm_120 compute_120",
		}, {
			"libcublasLt-12.8.4.1",
			"sm_50:90 sm_61:82 sm_80:477 sm_90:1319 sm_90a:272 sm_100:1362 sm_120:1411 sm_120a:21 compute_52:1 compute_120:135",
			"sm_50 sm_61 sm_80 sm_90 sm_90a sm_100 sm_120 compute_120",
			"sm_90 sm_100 sm_120",
		}, {
			"bitsandbytes-0.47.0-cuda128",
			"sm_70:3 sm_120:3 compute_120:2", "sm_70 sm_120 compute_120", "sm_70 sm_120 compute_120",
		}, {
			"onnxruntime_providers_cuda-1.31.1",
			"sm_75:217 sm_80:308 sm_86:308 sm_89:308 sm_90a:600 sm_120a:317",
			"sm_75 sm_80 sm_86 sm_89 sm_90a sm_120a",
			"sm_75 sm_80 sm_86 sm_89 sm_90a sm_120a",
		}, {
			"an accident beside kernels for one GPU",
			"sm_52:1 sm_90a:12 compute_52:1",
			"sm_52 sm_90a compute_52",
			"sm_90a",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code := parseCounts(t, tc.all)
			for share, want := range map[float64]string{ServedKernels: tc.served, BuildList: tc.build} {
				if diff := cmp.Diff(strings.Fields(want), names(code.Common(share))); diff != "" {
					t.Errorf("share %v: -want +got:\n%s", share, diff)
				}
			}
			if diff := cmp.Diff(parseCounts(t, tc.all), code, cmpopts.IgnoreUnexported(Code{})); diff != "" {
				t.Errorf("Common changed its receiver:\n%s", diff)
			}
		})
	}
}

// TestCommonTogether checks a generation whose GPUs share several targets, none of which is in most containers. torch
// 1.7.1's own torch._C._cuda_getArchFlags() confirms sm_37.
func TestCommonTogether(t *testing.T) {
	row := func(containers ...[]byte) Code { return read(t, fatbinFile(containers...)) }
	of := func(archs ...uint32) []byte {
		var entries []testEntry
		for _, arch := range archs {
			entries = append(entries, sass(arch, 0x11))
		}
		return container(entries...)
	}
	for _, tc := range []struct {
		name string
		code Code
		want string
	}{
		{"one or the other", row(of(35, 50), of(37, 50), of(35, 50), of(37, 50), of(50)), "sm_37 sm_50"},
		{"always both, and too few", row(of(35, 37, 50), of(35, 37, 50), of(50), of(50), of(50)), "sm_50"},
		{"the older one is common", row(of(80), of(80), of(80, 89), of(80)), "sm_80"},
		{"another generation", row(of(50), of(50), of(61), of(50)), "sm_50"},
	} {
		if diff := cmp.Diff(strings.Fields(tc.want), names(tc.code.Common(BuildList))); diff != "" {
			t.Errorf("%s: -want +got:\n%s", tc.name, diff)
		}
	}
}

// parseCounts reads targets and their numbers of containers.
func parseCounts(t *testing.T, text string) (c Code) {
	for _, word := range strings.Fields(text) {
		name, n, _ := strings.Cut(word, ":")
		kind, arch, _ := strings.Cut(name, "_")
		digits := strings.TrimRight(arch, "af")
		target := Target{Suffix: arch[len(digits):]}
		if _, err := fmt.Sscan(digits+" "+n, &target.Arch, &target.Containers); err != nil {
			t.Fatal(err)
		}
		if kind == "sm" {
			c.SASS = append(c.SASS, target)
		} else {
			target.PTXVersion = "8.7"
			c.PTX = append(c.PTX, target)
		}
	}
	return c
}

func names(c Code) []string {
	all := []string{}
	for _, t := range slices.Concat(c.SASS, c.PTX) {
		all = append(all, t.String())
	}
	return all
}
