// Command ldpairs compares the loader that package ldso follows with the machine's own, on pairs of a library and an
// LD_LIBRARY_PATH that a seed draws from directories: which file is taken for each name, and which is not found.
//
//	go run ./tools/lab/ldpairs -n 20000 -seed 1 /opt/venv/lib /usr/lib
//
// It prints each difference, and exits 1 if there is one. The machine's loader lists and runs nothing (--list).
package main

import (
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"cudacompat/probe/host"
)

const loader = "/lib64/ld-linux-x86-64.so.2"

func main() {
	n := flag.Int("n", 1000, "pairs")
	seed := flag.Uint64("seed", 1, "of the draw")
	flag.Parse()
	differ := 0
	compared := pairs(flag.Args(), *n, *seed, func(text string) {
		differ++
		fmt.Println(text)
	})
	fmt.Printf("%d pairs, %d differ\n", compared, differ)
	if differ > 0 {
		os.Exit(1)
	}
}

// pairs draws n pairs, compares them and reports differences; it returns how many were compared.
func pairs(roots []string, n int, seed uint64, report func(string)) int {
	libraries, dirs := find(roots)
	if len(libraries) == 0 {
		return 0
	}
	random := rand.New(rand.NewPCG(seed, 0))
	compared := 0
	for range n {
		file := libraries[random.IntN(len(libraries))]
		var path []string
		for range random.IntN(4) {
			path = append(path, dirs[random.IntN(len(dirs))])
		}
		want, ok := real(file, path)
		if !ok {
			continue // no library, or for another machine
		}
		compared++
		if got := ours(file, path); !slices.Equal(want, got) {
			report(fmt.Sprintf("%s\n  LD_LIBRARY_PATH=%s\n  loader %q\n  ours   %q", file, strings.Join(path, ":"), subtract(want, got), subtract(got, want)))
		}
	}
	return compared
}

// find lists the libraries below some directories, and the directories that hold them.
func find(roots []string) (libraries, dirs []string) {
	for _, root := range roots {
		_ = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && (strings.HasSuffix(name, ".so") || strings.Contains(filepath.Base(name), ".so.")) {
				libraries = append(libraries, name)
				if dir := filepath.Dir(name); !slices.Contains(dirs, dir) {
					dirs = append(dirs, dir)
				}
			}
			return nil
		})
	}
	return libraries, dirs
}

// listed is a line of the loader: "libz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x00007f…)", "libx.so => not found".
var listed = regexp.MustCompile(`(?m)^\t(\S+) => (not found|\S+)`)

// real returns what the machine's loader takes, sorted: "name => file". It returns false if the loader refuses the
// library itself.
func real(file string, path []string) ([]string, bool) {
	cmd := exec.Command(loader, "--list", file)
	cmd.Env = []string{"LD_LIBRARY_PATH=" + strings.Join(path, ":")}
	out, err := cmd.CombinedOutput()
	if err != nil && !strings.Contains(string(out), "=>") || strings.Contains(string(out), "error while loading") {
		return nil, false
	}
	list := []string{}
	for _, m := range listed.FindAllStringSubmatch(string(out), -1) {
		if m[2] != loader && m[1] != loader {
			list = append(list, m[1]+" => "+m[2])
		}
	}
	slices.Sort(list)
	return slices.Compact(list), true
}

// ours returns the same by package ldso. The machine's loader lists an object by the name that it was first needed by.
func ours(file string, path []string) []string {
	resolver := *(&host.Host{Root: "/"}).Loader()
	resolver.LibraryPath, resolver.Preload = path, nil
	p, err := resolver.Start(file)
	if err != nil {
		return []string{err.Error()}
	}
	list := []string{}
	for _, o := range p.Objects[1:] {
		name := filepath.Base(o.Path)
		for _, by := range p.Objects {
			for _, needed := range by.ELF.Needed {
				if p.Loaded(needed) == o && filepath.Base(needed) == name {
					name = needed
				}
			}
		}
		if !strings.HasPrefix(filepath.Base(o.Path), "ld-linux") {
			list = append(list, name+" => "+o.Path)
		}
	}
	for _, m := range p.Missing {
		list = append(list, m.Name+" => not found")
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// subtract returns the lines of one list that the other does not have.
func subtract(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}
