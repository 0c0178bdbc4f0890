package ldso_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// The code below builds small programs and libraries with the C compiler and runs them under the machine's own loader,
// directly or in a root of their own.

// probeSource opens its arguments and prints what is mapped. "LIB>NAME" makes the open library LIB open NAME.
const probeSource = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

static int show(struct dl_phdr_info *info, size_t size, void *data) {
	puts(info->dlpi_name);
	return 0;
}

int main(int argc, char **argv) {
	for (int i = 1; i < argc; i++) {
		char *name = strchr(argv[i], '>');
		void *opened;
		if (name) {
			*name++ = 0;
			void *lib = dlopen(argv[i], RTLD_LAZY | RTLD_NOLOAD);
			opened = ((void *(*)(const char *))dlsym(lib, "opener"))(name);
		} else
			opened = dlopen(argv[i], RTLD_LAZY);
		if (!opened)
			fprintf(stderr, "%s\n", dlerror());
	}
	dl_iterate_phdr(show, NULL);
}
`

const openerSource = `
#include <dlfcn.h>
void *opener(const char *name) { return dlopen(name, RTLD_LAZY); }
`

// library is one to be built. Every $T in it stands for the tree's directory.
type library struct {
	path   string // in the tree
	soname string // empty: the base name of path; "-": none
	needs  string // sonames
	flags  string // for the compiler
	source string
}

// compiled caches the files built in this test run, by their input.
var compiled struct {
	sync.Mutex
	dir   string
	files map[string][]byte
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "ldso")
	if err != nil {
		panic(err)
	}
	compiled.dir, compiled.files = dir, map[string][]byte{}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// compile returns the C compiler's output for a source. Several files may share a source and differ only in linking.
func compile(t testing.TB, source string, args ...string) []byte {
	t.Helper()
	generate := slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return !strings.HasPrefix(arg, "-f") })
	object := cc(t, source, append(generate, "-c", "-x", "c", "-")...)
	return cc(t, string(object), append([]string{objectFile(t, object)}, args...)...)
}

// objectFile returns where the linker finds an object.
func objectFile(t testing.TB, object []byte) string {
	t.Helper()
	file := filepath.Join(compiled.dir, fmt.Sprintf("%x.o", sha256.Sum256(object)))
	if err := os.WriteFile(file, object, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// cc returns the C compiler's output for its arguments and an input, cached.
func cc(t testing.TB, input string, args ...string) []byte {
	t.Helper()
	path, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler to build libraries with")
	}
	compiled.Lock()
	defer compiled.Unlock()
	key := fmt.Sprintf("%x", sha256.Sum256([]byte(input+"\x00"+strings.Join(args, "\x00"))))
	if b, ok := compiled.files[key]; ok {
		return b
	}
	out := filepath.Join(compiled.dir, key)
	cmd := exec.Command(path, append([]string{"-o", out}, args...)...)
	cmd.Stdin = strings.NewReader(input)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, text)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	compiled.files[key] = b
	return b
}

// stub returns a library to link with: nothing but a soname.
func stub(t testing.TB, soname string) string {
	b := compile(t, "", "-shared", "-nostdlib", "-Wl,-soname,"+soname)
	file := filepath.Join(compiled.dir, fmt.Sprintf("stub-%x.so", sha256.Sum256(b)))
	if err := os.WriteFile(file, b, 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}
