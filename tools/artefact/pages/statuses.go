package pages

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cudacompat/tools/artefact"
	"cudacompat/tools/artefact/reading"
)

const (
	driverHeader   = "nvidia/*/include/cuda.h"
	runtimeLibrary = "nvidia/*/lib/libcudart.so.*"
)

// statusRows returns the statuses of CUDA's driver and runtime. The driver's names and numbers are in cuda.h, the
// runtime's, with its own words, in the library. 13.5 has everything of 11.8 and 12.9 with the same numbers, so the
// newest wheel is enough.
func statusRows(ctx context.Context, s *artefact.Source, l artefact.Listed) ([]artefact.Row, error) {
	wheel, err := findNewestHeaders(s, ctx, l.Projects[0])
	if err != nil {
		return nil, err
	}
	header, err := readMember(&s.Reader, ctx, wheel, driverHeader)
	if err != nil {
		return nil, err
	}
	library, err := readMember(&s.Reader, ctx, wheel, runtimeLibrary)
	if err != nil {
		return nil, err
	}
	driver, err := driverStatuses(header)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", wheel.Name, err)
	}
	runtime, err := runtimeStatuses([]byte(library))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", wheel.Name, err)
	}
	var rows []artefact.Row
	for _, one := range slices.Concat(driver, runtime) {
		cells := map[string]string{"name": one.name, "api": one.api, "code": strconv.Itoa(one.code)}
		if one.text != "" {
			cells["text"] = one.text
		}
		rows = append(rows, newHeaderRow(wheel, "status", cells))
	}
	return rows, nil
}

type status struct {
	name, api string
	code      int
	text      string // as the library puts it; empty: only the driver knows
}

var (
	comment     = regexp.MustCompile(`(?s)/\*.*?\*/`)
	driverCodes = regexp.MustCompile(`typedef enum cudaError_enum \{([^}]*)\}`)
	driverCode  = regexp.MustCompile(`(CUDA_\w+)\s*=\s*(\d+)`)
)

// driverStatuses reads the enumeration in cuda.h:
//
//	typedef enum cudaError_enum {
//	    /** … */
//	    CUDA_SUCCESS                              = 0,
func driverStatuses(header string) ([]status, error) {
	codes := driverCodes.FindStringSubmatch(comment.ReplaceAllString(header, ""))
	if codes == nil {
		return nil, fmt.Errorf("cuda.h has no enumeration of errors")
	}
	var list []status
	for _, m := range driverCode.FindAllStringSubmatch(codes[1], -1) {
		code, err := strconv.Atoi(m[2])
		if err != nil {
			return nil, err
		}
		list = append(list, status{name: m[1], api: "cuda-driver", code: code})
	}
	return list, nil
}

// runtimeStatuses reads the table from which cudaGetErrorName and cudaGetErrorString answer: a number, and the
// addresses of its name and its text, which the loader fills in.
func runtimeStatuses(library []byte) ([]status, error) {
	f, err := elf.NewFile(bytes.NewReader(library))
	if err != nil {
		return nil, err
	}
	table, texts := f.Section(".data.rel.ro"), f.Section(".rodata")
	if table == nil || texts == nil {
		return nil, fmt.Errorf("libcudart has no table of errors")
	}
	data, constants, filled := reading.ReadSection(f, ".data.rel.ro"), reading.ReadSection(f, ".rodata"), relativeOf(f)
	textAt := func(address uint64) string {
		to, ok := filled[address]
		if !ok || to < texts.Addr || to-texts.Addr >= uint64(len(constants)) {
			return ""
		}
		text, _, _ := bytes.Cut(constants[to-texts.Addr:], []byte{0})
		return string(text)
	}
	var list []status
	for at := 0; at+24 <= len(data); at += 8 {
		name := textAt(table.Addr + uint64(at) + 8)
		if name == "cudaSuccess" || strings.HasPrefix(name, "cudaError") {
			list = append(list, status{name, "cuda-runtime", int(binary.LittleEndian.Uint32(data[at:])),
				textAt(table.Addr + uint64(at) + 16)})
		}
	}
	if !slices.ContainsFunc(list, func(s status) bool { return s.name == "cudaSuccess" && s.code == 0 }) {
		return nil, fmt.Errorf("libcudart's table of errors has another form than before")
	}
	return list, nil
}

// relativeOf returns the addresses into which the loader writes other addresses of the same library: R_X86_64_RELATIVE.
func relativeOf(f *elf.File) map[uint64]uint64 {
	filled := map[uint64]uint64{}
	for entry := range slices.Chunk(reading.ReadSection(f, ".rela.dyn"), 24) {
		if len(entry) == 24 && elf.R_X86_64(binary.LittleEndian.Uint64(entry[8:])) == elf.R_X86_64_RELATIVE {
			filled[binary.LittleEndian.Uint64(entry)] = binary.LittleEndian.Uint64(entry[16:])
		}
	}
	return filled
}
