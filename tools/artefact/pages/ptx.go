package pages

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"cudacompat/tools/artefact"
	"cudacompat/tools/artefact/reading"
)

const isaHeader = "nvidia/*/include/cccl/cuda/std/__cccl/ptx_isa.h"

// isaStep matches a line of the table in the header of CUDA's C++ libraries, the newest release first:
//
//	#if _CCCL_CUDACC_AT_LEAST(14, 0) && !_CCCL_CUDA_COMPILER(CLANG)
//	#  define __cccl_ptx_isa 950ULL
//	// PTX ISA 9.5 is available from CUDA 13.5
//	#elif _CCCL_CUDACC_AT_LEAST(13, 5) && !_CCCL_CUDA_COMPILER(CLANG)
//	#  define __cccl_ptx_isa 950ULL
var isaStep = regexp.MustCompile(`_CCCL_CUDACC_AT_LEAST\((\d+), (\d+)\).*\n# *define __cccl_ptx_isa (\d+)(\d)0ULL\b`)

// step is the PTX ISA of the toolkits from a minor release on.
type step struct{ from, isa string }

// isaRows returns the PTX ISAs of the toolkits that the table has.
func isaRows(ctx context.Context, s *artefact.Source, l artefact.Listed) ([]artefact.Row, error) {
	wheel, err := findNewestHeaders(s, ctx, l.Projects[0])
	if err != nil {
		return nil, err
	}
	text, err := readMember(&s.Reader, ctx, wheel, isaHeader)
	if err != nil {
		return nil, err
	}
	steps, err := isaSteps(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", wheel.Name, err)
	}
	var rows []artefact.Row
	for _, row := range s.Data.Grids["cuda"].Rows {
		if isa := isaOf(steps, row[0]); isa != "" {
			rows = append(rows, newHeaderRow(wheel, "cuda", map[string]string{"release": row[0], "ptx_isa": isa}))
		}
	}
	return rows, nil
}

// isaSteps reads the header's table. Its first line is for toolkits that do not exist yet: it repeats the newest ISA,
// and says nothing of theirs.
func isaSteps(header string) ([]step, error) {
	var steps []step
	for _, m := range isaStep.FindAllStringSubmatch(header, -1) {
		steps = append(steps, step{m[1] + "." + m[2], m[3] + "." + m[4]})
	}
	if len(steps) < 2 || steps[0].isa != steps[1].isa {
		return nil, errors.New("its header lists PTX ISAs in another form than those before")
	}
	return steps[1:], nil
}

// isaOf returns the PTX ISA of a toolkit, or "" if the header does not know the toolkit.
func isaOf(steps []step, release string) string {
	minor := artefact.Shorten(release)
	if reading.CompareVersions(minor, steps[0].from) > 0 {
		return ""
	}
	for _, s := range steps {
		if reading.CompareVersions(minor, s.from) >= 0 {
			return s.isa
		}
	}
	return ""
}
