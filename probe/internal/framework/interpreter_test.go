package framework

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/loader"

	"github.com/google/go-cmp/cmp"
)

// What the frameworks say themselves, once they run: their targets, and the files that the process has mapped.
var askFramework = map[string]string{
	"torch": `import torch; print("CODE", torch._C._cuda_getArchFlags())
print(open("/proc/self/maps").read())`,
	"tensorflow": `import tensorflow as tf
print("CODE", *tf.sysconfig.get_build_info().get("cuda_compute_capabilities", []))
print(open("/proc/self/maps").read())`,
	"jax": `import jax
try: jax.devices("cuda")
except Exception: pass
print(open("/proc/self/maps").read())`,
}

// TestAgainstInterpreter compares what is read from the files of an environment with what its frameworks say when
// they run there: by hand, since it imports them. LD_LIBRARY_PATH and LD_PRELOAD hold for both sides. -v prints it.
//
//	CUDACOMPAT_ENV=/opt/venv go test -v -run AgainstInterpreter ./probe/internal/framework
func TestAgainstInterpreter(t *testing.T) {
	root := os.Getenv("CUDACOMPAT_ENV")
	if root == "" {
		t.Skip("CUDACOMPAT_ENV names no environment")
	}
	found, err := Read(host.This(), []string{root})
	if err != nil {
		t.Error(err)
	}
	var f facts.Facts
	f.Environments = found.Environments
	for _, b := range f.Environments[0].Builds {
		program := askFramework[b.Name]
		if program == "" {
			continue
		}
		t.Run(b.Name, func(t *testing.T) {
			out, err := exec.Command(filepath.Join(root, "bin/python"), "-c", program).CombinedOutput()
			if err != nil {
				t.Fatalf("it does not start (unresolved here: %+v): %v\n%s", b.Unresolved, err, out)
			}
			compareCode(t, b, string(out))
			compareMapped(t, b, string(out))
		})
	}
}

// compareCode compares the targets, which JAX does not report. TensorFlow's compute_90 also stands for sm_90.
func compareCode(t *testing.T, b facts.Build, out string) {
	_, line, tells := strings.Cut(out, "CODE ")
	if !tells {
		return
	}
	line, _, _ = strings.Cut(line, "\n")
	said, read := strings.Fields(line), slices.Concat(b.SASS, b.PTX)
	if b.Name == "tensorflow" {
		for _, code := range said {
			if rest, ok := strings.CutPrefix(code, "compute_"); ok {
				said = append(said, "sm_"+rest)
			}
		}
	}
	slices.Sort(said)
	slices.Sort(read)
	t.Logf("%s %s: %s", b.Name, b.Version, strings.Join(read, " "))
	if diff := cmp.Diff(slices.Compact(said), slices.Compact(read)); diff != "" {
		t.Errorf("targets (-interpreter +files):\n%s", diff)
	}
}

var mappedFile = regexp.MustCompile(`(?m)\s(/\S+/lib\S+\.so[.\d]*)$`)

// compareMapped compares the CUDA libraries that the process has mapped with the predicted ones. Libraries that are
// opened at first use are not mapped yet.
func compareMapped(t *testing.T, b facts.Build, out string) {
	mapped := map[string]string{}
	for _, m := range mappedFile.FindAllStringSubmatch(out, -1) {
		if name := path.Base(m[1]); loader.CUDALibrary.MatchString(name) {
			mapped[name] = m[1]
		}
	}
	for _, taken := range b.Taken {
		t.Logf("%s: %s, by %s", taken.Name, taken.Path, taken.Reason)
		real, err := filepath.EvalSymlinks(taken.Path)
		if err != nil {
			t.Error(err)
		}
		if have := mapped[taken.Name]; have != "" && have != real {
			t.Errorf("%s: %s is mapped, not %s", taken.Name, have, real)
		}
		delete(mapped, taken.Name)
	}
	if len(mapped) > 0 {
		t.Errorf("mapped, and not said to be taken: %v", mapped)
	}
}
