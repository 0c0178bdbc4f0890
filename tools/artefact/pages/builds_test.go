package pages

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cudacompat/tools/artefact"
	"cudacompat/tools/artefact/reading"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// pytorch has the lines that are read, in the three forms that PyTorch's scripts have had, a release each.
var pytorch = []struct{ tag, files string }{
	{"v2.5.1", `
-- .github/scripts/generate_binary_build_matrix.py --
CUDA_ARCHES = ["12.1", "12.4"]
`}, {"v2.7.0", `
-- .github/scripts/generate_binary_build_matrix.py --
CUDA_ARCHES = ["11.8", "12.8"]
FULL_PYTHON_VERSIONS = ["3.9", "3.13t"]
        elif os == "windows":
            arches += CUDA_ARCHES + XPU_ARCHES
        elif os == "linux-aarch64":
-- .ci/pytorch/windows/cuda118.bat --
IF "%BUILD_VISION%" == "" (
    set TORCH_CUDA_ARCH_LIST=3.7+PTX;5.0;9.0
) ELSE (
    set NVCC_FLAGS=-gencode=arch=compute_35,code=sm_35
)
-- .ci/pytorch/windows/cuda128.bat --
    set TORCH_CUDA_ARCH_LIST=5.0;6.1;12.0
`}, {"v2.98.0", `
-- .github/scripts/generate_binary_build_matrix.py --
CUDA_ARCHES = ["12.6", "12.9", "13.0"]
FULL_PYTHON_VERSIONS = ["3.10", "3.14"]
        elif os == "windows":
            windows_cuda_arches = list_without(CUDA_ARCHES, ["12.9"])
        elif os == "linux-aarch64":
            arches = ["13.0"]
-- .ci/pytorch/windows/internal/cuda_config.bat --
if "%CUDA_VER%"=="126" (
    set "CUDA_DOTTED_VERSION=12.6"
    set "CUDA_ARCH_LIST=5.0;9.0"
    set "VISION_GENCODE=-gencode=arch=compute_50,code=sm_50"
) else if "%CUDA_VER%"=="130" (
    set "CUDA_DOTTED_VERSION=13.0"
    set "CUDA_ARCH_LIST=7.5;12.0"
)
`}, {"v2.99.0", `
-- .github/scripts/generate_binary_build_matrix.py --
CUDA_ARCHES = [
    "13.2",
    "13.4",
]
CUDA_ARCHES_NO_WINDOWS: list[str] = ["13.4"]
FULL_PYTHON_VERSIONS = ["3.11", "3.15"]
        elif os == "windows":
            arches += list_without(CUDA_ARCHES, CUDA_ARCHES_NO_WINDOWS)
-- .ci/pytorch/windows/internal/cuda_config.bat --
if "%CUDA_VER%"=="132" (
    set "CUDA_ARCH_LIST=7.5;12.0"
)
-- .ci/pytorch/windows/build_env_setup.py --
TORCH_CUDA_ARCH_LIST_TABLE: dict[str, str] = {
    "132": "7.5;12.0",
    "126": "5.0",
}
`}, {"v2.99.1-rc1", ""},
}

// cloneOf returns a repository with these tags.
func cloneOf(t *testing.T, releases []struct{ tag, files string }) string {
	t.Helper()
	dir := t.TempDir()
	call := func(args ...string) {
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=test", "-c", "user.email=test@example.com"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	call("init", "-q")
	for _, release := range releases {
		if release.files != "" {
			call("rm", "-rqf", "--ignore-unmatch", ".")
		}
		for _, f := range txtar.Parse([]byte(release.files)).Files {
			name := filepath.Join(dir, f.Name)
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, f.Data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		call("add", "-A")
		call("commit", "-q", "--allow-empty", "-m", release.tag)
		call("tag", release.tag)
	}
	return dir
}

// TestBuildRows reads the machine code of Windows wheels: for a release in the table, for newer ones, and again from
// the kept part of the clone.
func TestBuildRows(t *testing.T) {
	d, err := artefact.OpenData("../../../data")
	if err != nil {
		t.Fatal(err)
	}
	l := artefact.Listed{ID: "torch-windows", Address: "https://github.com/pytorch/pytorch/tree/v", Copy: "get it"}
	s := &artefact.Source{Data: d, Reader: reading.Reader{Cache: t.TempDir()}}
	if _, err := buildRows(t.Context(), s, l); err == nil || !strings.Contains(err.Error(), "--copy torch-windows=PATH (get it)") {
		t.Errorf("without a copy: %v", err)
	}
	want := []string{
		"2.7.0 cu118 sass=sm_37 sm_50 sm_90 ptx=compute_37 tree/v2.7.0",
		"2.7.0 cu128 sass=sm_50 sm_61 sm_120 ptx=none tree/v2.7.0",
		"2.98.0 cu126 sass=sm_50 sm_90 ptx=none cuda=12.6 python=3.10 3.14 tree/v2.98.0",
		"2.98.0 cu130 sass=sm_75 sm_120 ptx=none cuda=13.0 python=3.10 3.14 tree/v2.98.0",
		"2.99.0 cu132 sass=sm_75 sm_120 ptx=none cuda=13.2 python=3.11 3.15 tree/v2.99.0",
	}
	for _, copies := range []map[string]string{{l.ID: cloneOf(t, pytorch)}, nil} {
		s.Copies = copies
		rows, err := buildRows(t.Context(), s, l)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, row := range rows {
			line := row.Cells["release"] + " " + row.Cells["variant"]
			for _, column := range []string{"sass", "ptx", "cuda", "python"} {
				if cell, ok := row.Cells[column]; ok {
					line += " " + column + "=" + cell
				}
			}
			got = append(got, line+" "+strings.TrimPrefix(row.Sources[l.Address], "https://github.com/pytorch/pytorch/"))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("from %v (-want +got):\n%s", copies, diff)
		}
	}
}

// TestBuildRowsStop checks contradicting scripts, a CUDA without a list, an invalid list, and a matrix in another
// format.
func TestBuildRowsStop(t *testing.T) {
	d, err := artefact.OpenData("../../../data")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ from, to, want string }{
		{`"132": "7.5;12.0"`, `"132": "7.5"`, "v2.99.0: .ci/pytorch/windows/internal/cuda_config.bat says 7.5;12.0 of CUDA 132, and another script 7.5"},
		{`["13.4"]`, `[]`, `PyTorch 2.99.0 for CUDA 13.4: "" is no list of GPUs`},
		{"=3.7+PTX;5.0;9.0", "=3.7+PTX;;9.0", `PyTorch 2.7.0 for CUDA 11.8: "3.7+PTX;;9.0" is no list of GPUs`},
		{"CUDA_ARCHES = [\n", "CUDA_ARCHES = (\n", "generate_binary_build_matrix.py of v2.99.0 names no Python or no CUDA"},
	} {
		releases := slices.Clone(pytorch)
		for i := range releases {
			releases[i].files = strings.Replace(releases[i].files, c.from, c.to, 1)
		}
		l := artefact.Listed{ID: "torch-windows", Address: "https://github.com/pytorch/pytorch/tree/v"}
		s := &artefact.Source{Data: d, Reader: reading.Reader{Cache: t.TempDir()}, Copies: map[string]string{l.ID: cloneOf(t, releases)}}
		if _, err := buildRows(t.Context(), s, l); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.to, err, c.want)
		}
	}
}
