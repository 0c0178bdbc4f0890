package driver

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

// aDriver is a machine whose loader looks into /usr/lib/x86_64-linux-gnu alone.
const aDriver = `
-- @env --
LD_LIBRARY_PATH=/own
-- lib -> usr/lib --
-- lib64/ld-linux-x86-64.so.2 = elf x86_64 .rodata --
/lib/x86_64-linux-gnu/
/usr/lib/x86_64-linux-gnu/
/lib/
/usr/lib/
`

// inContainer adds what process 1 has in its environment.
const inContainer = "-- .dockerenv --\n-- proc/1/comm --\npython\n-- proc/1/environ --\nA=1\x00LD_LIBRARY_PATH=/given\x00HF_TOKEN=hf_secret\x00"

// TestLibcuda checks which file a program's loader finds, its state, and what is elsewhere.
func TestLibcuda(t *testing.T) {
	const distribution, gke, own = "usr/lib/x86_64-linux-gnu/libcuda.so.1", "usr/local/nvidia/lib64/libcuda.so.1", "own/libcuda.so.1"
	whole := hosttest.EmptyLibrary(t)
	cut := bytes.Clone(whole)
	binary.LittleEndian.PutUint64(cut[40:], 4096) // its section headers
	binary.LittleEndian.PutUint16(cut[58:], 64)
	binary.LittleEndian.PutUint16(cut[60:], 3)
	arm := bytes.Clone(whole)
	binary.LittleEndian.PutUint16(arm[18:], uint16(elf.EM_AARCH64))
	narrow := bytes.Clone(whole)
	narrow[elf.EI_CLASS] = byte(elf.ELFCLASS32)
	here := facts.Libcuda{Paths: "/own", Of: "this process"}
	with := func(l facts.Libcuda, path, state, elsewhere string) facts.Libcuda {
		l.Path, l.State, l.Elsewhere = path, state, elsewhere
		return l
	}
	for name, tt := range map[string]struct {
		files map[string][]byte
		more  string
		want  facts.Libcuda
		taken string
	}{
		"whole":        {map[string][]byte{distribution: whole}, "", with(here, "/lib/x86_64-linux-gnu/libcuda.so.1", "whole", ""), "/lib/x86_64-linux-gnu/libcuda.so.1"},
		"nowhere":      {nil, "", here, ""},
		"empty":        {map[string][]byte{distribution: {}}, "", with(here, "/lib/x86_64-linux-gnu/libcuda.so.1", "empty", ""), ""},
		"beginning":    {map[string][]byte{distribution: whole[:30]}, "", with(here, "/lib/x86_64-linux-gnu/libcuda.so.1", "cut short", ""), ""},
		"cut-short":    {map[string][]byte{distribution: cut}, "", with(here, "/lib/x86_64-linux-gnu/libcuda.so.1", "cut short", ""), "/lib/x86_64-linux-gnu/libcuda.so.1"},
		"pointer":      {map[string][]byte{distribution: []byte("version https://git-lfs.github.com/spec/v1\n")}, "", with(here, "/lib/x86_64-linux-gnu/libcuda.so.1", "unreadable", ""), ""},
		"arm":          {map[string][]byte{distribution: arm}, "", with(here, "/lib/x86_64-linux-gnu/libcuda.so.1", "other architecture", ""), ""},
		"32-bit":       {map[string][]byte{distribution: narrow}, "", with(here, "/lib/x86_64-linux-gnu/libcuda.so.1", "other architecture", ""), ""},
		"32-bit-apart": {map[string][]byte{"usr/lib/i386-linux-gnu/libcuda.so.1": narrow}, "", here, ""},
		"gke":          {map[string][]byte{gke: whole}, "", with(here, "", "", "/usr/local/nvidia/lib64/libcuda.so.1"), ""},
		"hidden-by-an-empty-one": {map[string][]byte{own: {}, distribution: whole, gke: whole}, "",
			with(here, "/own/libcuda.so.1", "empty", "/usr/local/nvidia/lib64/libcuda.so.1"), ""},
		"process-1":   {map[string][]byte{"given/libcuda.so.1": whole, own: whole}, inContainer, with(facts.Libcuda{Paths: "/given", Of: "process 1"}, "/given/libcuda.so.1", "whole", ""), "/given/libcuda.so.1"},
		"first-lacks": {map[string][]byte{own: whole}, "-- .dockerenv --\n-- proc/1/environ --\nA=1\x00", facts.Libcuda{Of: "process 1"}, ""},
		"shell-first": {map[string][]byte{own: whole}, "-- .dockerenv --\n-- proc/1/comm --\nbash\n-- proc/1/environ --\nA=1\x00", with(here, "/own/libcuda.so.1", "whole", ""), "/own/libcuda.so.1"},
		"pod-of-others": {map[string][]byte{own: whole}, inContainer +
			"\n-- proc/self/mountinfo --\n600 500 0:60 / / rw - overlay overlay rw\n-- proc/1/mountinfo --\n500 400 0:50 / / rw - overlay overlay rw\n",
			with(here, "/own/libcuda.so.1", "whole", ""), "/own/libcuda.so.1"},
		"host": {map[string][]byte{own: whole}, "-- proc/1/environ --\nLD_LIBRARY_PATH=/given\x00", with(here, "/own/libcuda.so.1", "whole", ""), "/own/libcuda.so.1"},
	} {
		t.Run(name, func(t *testing.T) {
			h := hosttest.Tree(t, aDriver+tt.more)
			for file, data := range tt.files {
				hosttest.Write(t, filepath.Join(h.Root, file), string(data))
			}
			apply, _ := ReadLibraries(h)
			var f facts.Facts
			apply(&f)
			if diff := cmp.Diff(&tt.want, f.Driver.Libcuda); diff != "" {
				t.Errorf("libcuda (-want +got):\n%s", diff)
			}
			if f.Driver.Taken.Path != tt.taken {
				t.Errorf("taken is %+v, want %q", f.Driver.Taken, tt.taken)
			}
		})
	}
}

// TestLibcudaClosed checks a file that this user may not read: the loader searches on.
func TestLibcudaClosed(t *testing.T) {
	if os.Geteuid() == 0 {
		hosttest.AsNobody(t)
		return
	}
	t.Run("closed", func(t *testing.T) {
		h := hosttest.Tree(t, aDriver)
		file := filepath.Join(h.Root, "usr/lib/x86_64-linux-gnu/libcuda.so.1")
		hosttest.Write(t, file, string(hosttest.EmptyLibrary(t)))
		hosttest.Must(t, os.Chmod(file, 0))
		apply, _ := ReadLibraries(h)
		var f facts.Facts
		apply(&f)
		if l := f.Driver.Libcuda; l.State != "unreadable" || l.Path != "/lib/x86_64-linux-gnu/libcuda.so.1" {
			t.Errorf("%+v", l)
		}
	})
}

func FuzzELFState(f *testing.F) {
	f.Add(hosttest.EmptyLibrary(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 {
			return
		}
		if elfState(bytes.NewReader(data), uint64(len(data)), elf.EM_X86_64) == "whole" && len(data) < 64 {
			t.Error("whole without a header")
		}
	})
}
