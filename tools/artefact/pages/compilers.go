package pages

import (
	"context"
	"fmt"
	"regexp"
	"strconv"

	"cudacompat/tools/artefact"
)

const compilerHeader = "nvidia/*/include/crt/host_config.h"

// The lines by which nvcc's header refuses compilers. It has more conditions on clang, for other systems, each with another
// message:
//
//	#if __GNUC__ > 16
//
//	#error -- unsupported GNU version! …
//	…
//	#if (__clang_major__ >= 23) || (__clang_major__ < 3) || ((__clang_major__ == 3) &&  (__clang_minor__ < 3))
//	#error -- unsupported clang version! …
var (
	refusedGCC   = regexp.MustCompile(`#if __GNUC__ > (\d+)\s+#error -- unsupported GNU version!`)
	refusedClang = regexp.MustCompile(`#if \(__clang_major__ >= (\d+)\) \|\| \(__clang_major__ < (\d+)\) \|\| ` +
		`\(\(__clang_major__ == (\d+)\) && +\(__clang_minor__ < (\d+)\)\)\s+#error -- unsupported clang version!`)
)

// compilerRows returns the host compilers that each toolkit's nvcc accepts, from the newest wheel of each minor
// release. If the table lists patch releases, that is the last of them.
func compilerRows(ctx context.Context, s *artefact.Source, l artefact.Listed) ([]artefact.Row, error) {
	var rows []artefact.Row
	for _, project := range l.Projects {
		wheels, err := findHeaders(s, ctx, project, true)
		if err != nil {
			return nil, err
		}
		for _, f := range wheels {
			text, err := readMember(&s.Reader, ctx, f, compilerHeader)
			if err != nil {
				return nil, err
			}
			cells, err := compilersIn(text)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.Name, err)
			}
			tag, _ := f.Tag()
			cells["cuda"] = findLastOfMinor(s.Data, "host_compiler", artefact.Shorten(tag.Version))
			rows = append(rows, newHeaderRow(f, "host_compiler", cells))
		}
	}
	return rows, nil
}

// compilersIn returns the limits in nvcc's header. It refuses no old gcc.
func compilersIn(header string) (map[string]string, error) {
	gcc, clang := refusedGCC.FindStringSubmatch(header), refusedClang.FindStringSubmatch(header)
	if gcc == nil || clang == nil || clang[2] != clang[3] {
		return nil, fmt.Errorf("its header refuses gcc or clang in another form than those before")
	}
	refused, err := strconv.Atoi(clang[1])
	if err != nil {
		return nil, err
	}
	return map[string]string{"gcc_max": gcc[1], "clang_min": clang[2] + "." + clang[4], "clang_max": strconv.Itoa(refused - 1)}, nil
}

// findLastOfMinor returns the key of the last row of a minor release, or the minor release itself if the table has
// none.
func findLastOfMinor(d *artefact.Data, table, minor string) string {
	last := minor
	for _, row := range d.Grids[table].Rows {
		if artefact.Shorten(row[0]) == minor {
			last = row[0]
		}
	}
	return last
}
