package reading

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// PickNewer returns the newer of two versions of numbers and dots; an empty one is older than any.
func PickNewer(a, b string) string {
	if CompareVersions(a, b) < 0 {
		return b
	}
	return a
}

// CompareVersions compares versions by their numbers.
func CompareVersions(a, b string) int {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(x), len(y)) {
		if c := cmp.Compare(ParsePart(x, i), ParsePart(y, i)); c != 0 {
			return c
		}
	}
	return 0
}

// ParsePart returns a part of a version as a number, or -1.
func ParsePart(parts []string, i int) int {
	if i >= len(parts) {
		return -1
	}
	n, err := strconv.Atoi(parts[i])
	if err != nil {
		return -1
	}
	return n
}

// glibcOf returns the newest glibc symbol version that a library needs, "2.17" for GLIBC_2.17.
func glibcOf(f *elf.File) string {
	needs, err := f.DynamicVersionNeeds()
	if err != nil {
		return "" // it wants none by version
	}
	newest := ""
	for _, need := range needs {
		for _, version := range need.Needs {
			if number, ok := strings.CutPrefix(version.Dep, "GLIBC_"); ok {
				newest = PickNewer(newest, number)
			}
		}
	}
	return newest
}

// banner is what NCCL puts among its constants to be found: "NCCL version 2.27.5+cuda12.9".
var banner = regexp.MustCompile(`NCCL version (\d+\.\d+\.\d+)[^+\x00\n]*\+cuda(\d+\.\d+)`)

func bannerOf(f *elf.File) string {
	data := ReadSection(f, ".rodata")
	m := banner.FindSubmatch(data)
	if m == nil {
		return ""
	}
	return string(m[1]) + "+cuda" + string(m[2])
}

// ReadSection returns the bytes of a section, or nil.
func ReadSection(f *elf.File, name string) []byte {
	s := f.Section(name)
	if s == nil {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(s.Open(), 1<<28))
	if err != nil {
		return nil
	}
	return data
}

// constantsOf returns the numbers that a library's code hands to a function as its first argument. JAX's _versions.so
// has a function for each version that it was built with, which does nothing else: CUDA 12.9 is 12090 there.
func constantsOf(f *elf.File) []int {
	code := ReadSection(f, ".text")
	var list []int
	switch f.Machine {
	case elf.EM_X86_64:
		list = constantsX86(code)
	case elf.EM_AARCH64:
		list = constantsARM(code)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// constantsX86 finds `mov edi, imm32` before `call` or `jmp`:
//
//	bf 3a 2f 00 00 e8 12 08 05 00
func constantsX86(code []byte) []int {
	var list []int
	for at := 0; ; at++ {
		i := bytes.IndexByte(code[at:], 0xbf)
		if i < 0 || at+i+6 > len(code) {
			return list
		}
		at += i
		if next := code[at+5]; next == 0xe8 || next == 0xe9 {
			list = append(list, int(int32(binary.LittleEndian.Uint32(code[at+1:]))))
		}
	}
}

// constantsARM finds `mov w0, imm16`, maybe `movk w0, imm16, lsl 16`, before `b` or `bl`.
func constantsARM(code []byte) []int {
	var list []int
	word := func(at int) uint32 {
		if at+4 > len(code) {
			return 0
		}
		return binary.LittleEndian.Uint32(code[at:])
	}
	for at := 0; at+8 <= len(code); at += 4 {
		const x = 1 << 31 // the 64-bit register is as good
		if word(at)&^x&0xffe0001f != 0x52800000 {
			continue
		}
		n, next := int(word(at)>>5&0xffff), at+4
		if word(next)&^x&0xffe0001f == 0x72a00000 {
			n, next = n|int(word(next)>>5&0xffff)<<16, next+4
		}
		if word(next)&^x&0xfc000000 == 0x14000000 { // bl is b with the topmost bit
			list = append(list, n)
		}
	}
	return list
}

// cudaLibrary matches the CUDA libraries whose number is the family's.
var cudaLibrary = regexp.MustCompile(`\blib(?:cudart|cublas|cublasLt|nvrtc|nvJitLink)\.so\.(1[0-9])\b`)

// familiesOf returns the CUDA major versions of the libraries that a file links to or, if it links to none, of those
// whose names it contains for opening them.
func familiesOf(f *elf.File) []string {
	needed, _ := f.ImportedLibraries() // a broken list is an empty one
	list := familiesIn(strings.Join(needed, " "))
	if len(list) == 0 {
		list = familiesIn(string(ReadSection(f, ".rodata")))
	}
	return list
}

var cudnnLibrary = regexp.MustCompile(`^libcudnn\.so\.(\d+)$`)

// cudnnOf returns the major version of the cuDNN to which a library is linked.
func cudnnOf(f *elf.File) string {
	needed, _ := f.ImportedLibraries()
	for _, name := range needed {
		if m := cudnnLibrary.FindStringSubmatch(name); m != nil {
			return m[1]
		}
	}
	return ""
}

func familiesIn(text string) []string {
	var list []string
	for _, m := range cudaLibrary.FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// FindCuDNN returns the cuDNN release among the numbers in _versions.so: 8907 is 8.9.7, 91002 is 9.10.2.
func FindCuDNN(constants []int) string {
	var found []string
	for _, n := range constants {
		switch {
		case 8000 <= n && n < 9000:
			found = append(found, fmt.Sprintf("8.%d.%d", n/100%10, n%100))
		case 90000 <= n && n < 100000:
			found = append(found, fmt.Sprintf("9.%d.%d", n/100%100, n%100))
		}
	}
	if len(found) != 1 {
		return ""
	}
	return found[0]
}
