package pages

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"cudacompat/tools/artefact"
	"cudacompat/tools/artefact/reading"
)

// windowsBuild is what a PyTorch release says about its own builds for Windows, whose wheels are on no package index.
type windowsBuild struct {
	Release string            // "2.9.0"
	Pythons string            // "3.10 3.11"
	CUDAs   []string          // for which it is built: "12.6"
	Targets map[string]string // for every CUDA of which there is a list, built for or not: "5.0;6.0;9.0" by "126"
}

// buildRows returns the machine code of PyTorch's Windows wheels, read from a clone of PyTorch's repository. It
// completes the rows of releases in the table, and adds rows for newer releases.
func buildRows(ctx context.Context, s *artefact.Source, l artefact.Listed) ([]artefact.Row, error) {
	list, err := fromClone(s, l, windowsBuildsIn)
	if err != nil {
		return nil, err
	}
	g := s.Data.Grids["torch"]
	newest, known := "", map[string]bool{}
	for i := range g.Rows {
		if g.Cell(i, "platform") == windows {
			newest = reading.PickNewer(newest, g.Cell(i, "release"))
			known[g.Cell(i, "release")+" "+g.Cell(i, "variant")] = true
		}
	}
	var rows []artefact.Row
	for _, b := range list {
		for _, cuda := range b.CUDAs {
			number := strings.ReplaceAll(cuda, ".", "")
			row := artefact.Row{Table: "torch", Sources: map[string]string{l.Address: l.Address + b.Release}, Cells: map[string]string{
				"release": b.Release, "variant": "cu" + number, "platform": windows}}
			switch {
			case known[b.Release+" cu"+number]:
			case reading.CompareVersions(b.Release, newest) > 0:
				row.Cells["cuda"], row.Cells["python"], row.Cells["verified"] = cuda, b.Pythons, "single-source"
			default:
				continue // what is built is not always published, and somebody has looked at this release
			}
			sass, ptx, err := codeOf(b.Targets[number])
			if err != nil {
				return nil, fmt.Errorf("PyTorch %s for CUDA %s: %w", b.Release, cuda, err)
			}
			artefact.SetCode(row.Cells, sass, ptx)
			rows = append(rows, row)
		}
	}
	return rows, nil
}

const windows = "win_amd64"

// windowsBuildsIn reads every tagged release in a clone that has scripts for Windows; those before 2.6 were built by
// another repository.
func windowsBuildsIn(clone string) ([]windowsBuild, error) {
	tags, err := git(clone, "tag", "--list", "v*")
	if err != nil {
		return nil, err
	}
	var list []windowsBuild
	for _, tag := range strings.Fields(tags) {
		release := strings.TrimPrefix(tag, "v")
		if !artefact.FinalVersion.MatchString(release) {
			continue
		}
		names, err := git(clone, "ls-tree", "-r", "--name-only", tag, windowsScripts)
		if err != nil {
			return nil, err
		}
		if names == "" {
			continue
		}
		matrix, err := git(clone, "show", tag+":"+buildMatrix)
		if err != nil {
			return nil, err
		}
		b := windowsBuild{Release: release, Pythons: strings.Join(listIn(matrix, "FULL_PYTHON_VERSIONS"), " "),
			CUDAs: builtForWindows(matrix), Targets: map[string]string{}}
		if b.Pythons == "" || len(b.CUDAs) == 0 {
			return nil, fmt.Errorf("%s of %s names no Python or no CUDA: its form has changed", buildMatrix, tag)
		}
		for _, name := range strings.Fields(names) {
			text, err := git(clone, "show", tag+":"+name)
			if err != nil {
				return nil, err
			}
			if err := b.take(name, text); err != nil {
				return nil, fmt.Errorf("%s: %w", tag, err)
			}
		}
		list = append(list, b)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s has no tagged release with %s: is it a clone with its tags?", clone, windowsScripts)
	}
	slices.SortFunc(list, func(a, b windowsBuild) int { return reading.CompareVersions(a.Release, b.Release) })
	return list, nil
}

const (
	windowsScripts = ".ci/pytorch/windows"
	buildMatrix    = ".github/scripts/generate_binary_build_matrix.py"
)

var (
	// ofOneCUDA matches the list in the script for one CUDA, whose name says which, cuda126.bat:
	//
	//	set TORCH_CUDA_ARCH_LIST=5.0;6.0;6.1;7.0;7.5;8.0;8.6;9.0
	ofOneCUDA = regexp.MustCompile(`\bTORCH_CUDA_ARCH_LIST=(\d[\d.;a-z+PTX]*)`)
	cudaName  = regexp.MustCompile(`^cuda(\d+)\.bat$`)

	// ofEachCUDA matches the lists of all in one file, cuda_config.bat or build_env_setup.py:
	//
	//	if "%CUDA_VER%"=="126" (
	//	    set "CUDA_ARCH_LIST=5.0;6.0;6.1;7.0;7.5;8.0;8.6;9.0"
	//
	//	"126": "5.0;6.0;6.1;7.0;7.5;8.0;8.6;9.0",
	ofEachCUDA = regexp.MustCompile(`"(\d{3})"(?:: "| \([^()]*?\bCUDA_ARCH_LIST=)(\d[\d.;a-z+PTX]*)`)
)

// take reads the lists of GPUs in a script. Two different lists for one CUDA are rejected.
func (b *windowsBuild) take(name, text string) error {
	found := ofEachCUDA.FindAllStringSubmatch(text, -1)
	if file := cudaName.FindStringSubmatch(path.Base(name)); file != nil {
		if m := ofOneCUDA.FindStringSubmatch(text); m != nil {
			found = [][]string{{"", file[1], m[1]}}
		}
	}
	for _, m := range found {
		if have := b.Targets[m[1]]; have != "" && have != m[2] {
			return fmt.Errorf("%s says %s of CUDA %s, and another script %s", name, m[2], m[1], have)
		}
		b.Targets[m[1]] = m[2]
	}
	return nil
}

// builtForWindows returns the CUDAs of CUDA_ARCHES without those that the branch for Windows leaves out: it names them,
// or a list of them.
func builtForWindows(matrix string) []string {
	_, branch, _ := strings.Cut(matrix, `elif os == "windows":`)
	branch, _, _ = strings.Cut(branch, "elif")
	left := listIn(matrix, "CUDA_ARCHES_NO_WINDOWS")
	return slices.DeleteFunc(listIn(matrix, "CUDA_ARCHES"), func(cuda string) bool {
		return slices.Contains(left, cuda) || strings.Contains(branch, `"`+cuda+`"`)
	})
}

var quoted = regexp.MustCompile(`"([^"]*)"`)

// listIn returns a list of Python's: CUDA_ARCHES = ["12.6", "13.0"].
func listIn(text, name string) []string {
	m := regexp.MustCompile(`(?m)^` + name + `(?:: [\w\[\]]+)? = \[([^\]]*)\]`).FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	var list []string
	for _, word := range quoted.FindAllStringSubmatch(m[1], -1) {
		list = append(list, word[1])
	}
	return list
}

// capabilityTarget matches an entry of TORCH_CUDA_ARCH_LIST: "8.6", "9.0a", "3.7+PTX".
var capabilityTarget = regexp.MustCompile(`^(\d+)\.(\d[af]?)(\+PTX)?$`)

// codeOf returns the machine code that a TORCH_CUDA_ARCH_LIST stands for: sm_37 and compute_37 for "3.7+PTX".
func codeOf(list string) (sass, ptx []string, err error) {
	for entry := range strings.SplitSeq(list, ";") {
		m := capabilityTarget.FindStringSubmatch(entry)
		if m == nil {
			return nil, nil, fmt.Errorf("%q is no list of GPUs", list)
		}
		sass = append(sass, "sm_"+m[1]+m[2])
		if m[3] != "" {
			ptx = append(ptx, "compute_"+m[1]+m[2])
		}
	}
	return sass, ptx, nil
}
