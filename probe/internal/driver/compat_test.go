package driver

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

const note575 = `{"format":1,"CUDA ` +
	`version":"12.9","driver":[535,550,560,565,570,575],"device":[1,2,7,8,9,10,11,12,13,14]}`

// elfNote writes a note as ld does.
func elfNote(owner, text string) []byte {
	pad := func(s string) string { return s + strings.Repeat("\x00", -len(s)&3) }
	head := binary.LittleEndian.AppendUint32(nil, uint32(len(owner)+1))
	head = binary.LittleEndian.AppendUint32(head, uint32(len(text)+1))
	return append(append(append(head, 0, 0, 0, 0), pad(owner+"\x00")...), pad(text+"\x00")...)
}

func TestParseCompatNote(t *testing.T) {
	whole := elfNote(noteOwner, note575)
	for _, c := range []struct {
		name string
		data []byte
		want *compatNote
		err  string
	}{
		{"575", whole, &compatNote{1, "12.9", []int{535, 550, 560, 565, 570, 575},
			[]int{1, 2, 7, 8, 9, 10, 11, 12, 13, 14}}, ""},
		{"orin", elfNote(noteOwner, `{"format":1,"CUDA version":"13.2"}`), &compatNote{Format: 1, CUDA: "13.2"}, ""},
		{"other-owner", elfNote("GNU", "x"), nil, ""},
		{"not-json", elfNote(noteOwner, `{"format":1,"CUDA version":"13.2",}`), nil, "not the JSON"},
		{"format-2", elfNote(noteOwner, `{"format":2}`), nil, "unknown format 2"},
		{"empty", nil, nil, "cut short"},
		{"cut", whole[:40], nil, "not the JSON"},
		{"huge-name", append([]byte{0xff, 0xff, 0xff, 0xff}, whole[4:]...), nil, "cut short"},
		{"long-text", append(bytes.Clone(whole[:4]), append([]byte{0xff, 0xff, 0xff, 0xff}, whole[8:]...)...),
			&compatNote{1, "12.9", []int{535, 550, 560, 565, 570, 575}, []int{1, 2, 7, 8, 9, 10, 11, 12, 13, 14}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := parseCompatNote(c.data, binary.LittleEndian)
			if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) || c.err == "" && err != nil {
				t.Errorf("error %v, want %q", err, c.err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("note differs (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzParseCompatNote(f *testing.F) {
	f.Add(elfNote(noteOwner, note575))
	f.Add(elfNote("GNU", ""))
	f.Fuzz(func(t *testing.T, data []byte) {
		if note, err := parseCompatNote(data, binary.LittleEndian); note != nil &&
			(err != nil || note.Format != noteFormat) {
			t.Errorf("a note of format %d with error %v", note.Format, err)
		}
	})
}

// TestRealNotes reads the libcuda files that the environment names, separated by colons, and prints their notes: by
// hand, with nvidia-container-toolkit's testdata/compat and the drivers of a distribution.
//
//	COMPAT_LIBS=libcuda.so.575.57.08:libcuda.so.535.261.03 go test -v -run RealNotes ./probe
func TestRealNotes(t *testing.T) {
	libs := os.Getenv("COMPAT_LIBS")
	if libs == "" {
		t.Skip("COMPAT_LIBS names no library")
	}
	for _, lib := range filepath.SplitList(libs) {
		f, err := os.Open(lib)
		if err != nil {
			t.Fatal(err)
		}
		note, err := forwardNote(f)
		f.Close()
		t.Logf("%s: %+v, %v", filepath.Base(lib), note, err)
	}
}

// compiled makes an ELF library of the given soname in a tree, with the note when text is given.
func compiled(t *testing.T, root, name, soname, text string) {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc")
	}
	file := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	source := "int cuInit(unsigned f) { return (int)f; }\n"
	if text != "" {
		source += `__asm__(".pushsection .note.cuda.fwd_compatibility, \"a\", @note\n.balign 4\n` +
			`.long 19, 1f - 0f, 0\n.asciz \"NVIDIA Corporation\"\n.balign 4\n0: .asciz \"` +
			strings.ReplaceAll(text, `"`, `\\\"`) + `\"\n1: .balign 4\n.popsection");` + "\n"
	}
	c := filepath.Join(t.TempDir(), "lib.c")
	if err := os.WriteFile(c, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-shared", "-fPIC", "-nostdlib", "-Wl,-soname,"+soname, "-o", file,
		c).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
}

// TestCompatTaken follows the loader to the libcuda of a container: the driver's own in a default directory, a compat
// directory that is taken only when LD_LIBRARY_PATH names it, and one mounted over the driver's.
func TestCompatTaken(t *testing.T) {
	const dir, compat = "usr/lib64/", "usr/local/cuda-12.9/compat/"
	tree := func(t *testing.T) string {
		root := t.TempDir()
		compiled(t, root, dir+"libcuda.so.535.183.01", "libcuda.so.1", "")
		compiled(t, root, dir+"libnvidia-ml.so.535.183.01", "libnvidia-ml.so.1", "")
		hosttest.Link(t, root, "libcuda.so.535.183.01", dir+"libcuda.so.1")
		hosttest.Link(t, root, "libnvidia-ml.so.535.183.01", dir+"libnvidia-ml.so.1")
		compiled(t, root, compat+"libcuda.so.575.57.08", "libcuda.so.1", note575)
		hosttest.Link(t, root, "libcuda.so.575.57.08", compat+"libcuda.so.1")
		hosttest.Link(t, root, "cuda-12.9", "usr/local/cuda")
		return root
	}
	own := []facts.Library{{Name: "libcuda", Version: "535.183.01", Path: "/" + dir + "libcuda.so.1"},
		{Name: "libnvidia-ml", Version: "535.183.01", Path: "/" + dir + "libnvidia-ml.so.1"}}
	packaged := facts.Compat{Name: "libcuda", Version: "575.57.08", Path: "/usr/local/cuda-12.9/compat/libcuda.so.1",
		Note: true, CUDA: "12.9",
		Branches: []int{535, 550, 560, 565, 570, 575}, Devices: []int{1, 2, 7, 8, 9, 10, 11, 12, 13, 14}}
	taken := packaged
	taken.Taken, taken.Reason, taken.Path = true, "LD_LIBRARY_PATH", "/usr/local/cuda/compat/libcuda.so.1"
	mounted := packaged
	mounted.Taken, mounted.Reason, mounted.Path = true, "default path", "/"+dir+"libcuda.so.1"

	for _, c := range []struct {
		name, path string
		mount      bool
		libraries  []facts.Library
		compat     []facts.Compat
	}{
		{"installed", "", false, own, []facts.Compat{packaged}},
		{"library-path", "/usr/local/cuda/compat", false, own, []facts.Compat{taken}},
		{"mounted", "", true, own[1:], []facts.Compat{mounted, packaged}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := tree(t)
			if c.mount {
				compiled(t, root, dir+"libcuda.so.575.57.08", "libcuda.so.1", note575)
				if err := os.Remove(filepath.Join(root, dir+"libcuda.so.1")); err != nil {
					t.Fatal(err)
				}
				hosttest.Link(t, root, "libcuda.so.575.57.08", dir+"libcuda.so.1")
			}
			h := &host.Host{Root: root, Env: map[string]string{"LD_LIBRARY_PATH": c.path}}
			apply, err := ReadLibraries(h)
			if err != nil {
				t.Fatal(err)
			}
			var f facts.Facts
			apply(&f)
			if diff := cmp.Diff(c.libraries, f.Driver.Libraries); diff != "" {
				t.Errorf("the driver's libraries (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.compat, f.Driver.Compat); diff != "" {
				t.Errorf("compat libraries (-want +got):\n%s", diff)
			}
		})
	}
}

// TestStub distinguishes a toolkit's stub from a driver's library by directory, size and name.
func TestStub(t *testing.T) {
	root := t.TempDir()
	compiled(t, root, "usr/local/cuda/lib64/stubs/libcuda.so", "libcuda.so.1", "")
	hosttest.Link(t, root, "libcuda.so", "usr/local/cuda/lib64/stubs/libcuda.so.1")
	compiled(t, root, "usr/lib64/libcuda.so.1", "libcuda.so.1", "")
	compiled(t, root, "opt/driver/libcuda.so.550.90.07", "libcuda.so.1", "")
	hosttest.Link(t, root, "libcuda.so.550.90.07", "opt/driver/libcuda.so.1")
	compiled(t, root, "usr/lib/wsl/lib/libcuda.so.1", "libcuda.so.1", "")
	for dir, stub := range map[string]bool{"/usr/local/cuda/lib64/stubs": true, "": true, "/opt/driver": false,
		"/usr/lib/wsl/lib": false} {
		t.Run(strings.ReplaceAll(dir, "/", "_"), func(t *testing.T) {
			h := &host.Host{Root: root, Env: map[string]string{"LD_LIBRARY_PATH": dir}}
			apply, err := ReadLibraries(h)
			if err != nil {
				t.Fatal(err)
			}
			var f facts.Facts
			apply(&f)
			if f.Driver.Stub != stub || f.Driver.Taken.Path == "" {
				t.Errorf("stub is %v of %+v, want %v", f.Driver.Stub, f.Driver.Taken, stub)
			}
		})
	}
}
