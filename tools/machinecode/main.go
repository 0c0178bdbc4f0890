// Machinecode prints what internal/fatbin reads of libraries: a line for each with all its targets and one for each
// group. second.py, which shares no code with it, prints the same lines. With --projects the two are compared on the
// wheels of an index: the newest releases of each project, and older ones drawn by a seed.
//
//	go run ./tools/machinecode libtensorflow_cc.so.2
//	go run ./tools/machinecode --projects torch,tensorflow,vllm --newest 3 --more 10 --seed 12
//
// It exits 1 when the two differ, or something could not be read; 64 when it was called wrongly.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"cudacompat/internal/fatbin"

	"github.com/spf13/pflag"
)

func main() {
	var c comparison
	flags := pflag.NewFlagSet("machinecode", pflag.ContinueOnError)
	flags.StringSliceVar(&c.projects, "projects", nil, "compare the wheels of these")
	flags.StringVar(&c.index, "index", "", "address of the index's simple API; else pip's own")
	flags.StringVar(&c.second, "second", "tools/machinecode/second.py", "the other reader")
	flags.IntVar(&c.newest, "newest", 3, "releases of each project")
	flags.IntVar(&c.more, "more", 0, "older releases, of all projects together")
	flags.Uint64Var(&c.seed, "seed", 0, "by which they are drawn")
	err := flags.Parse(os.Args[1:])
	if err != nil || len(c.projects)+flags.NArg() == 0 {
		fmt.Fprint(os.Stderr, "machinecode [flags] [LIBRARY…]\n", flags.FlagUsages())
		os.Exit(64)
	}
	for _, name := range flags.Args() {
		text, e := lines(name)
		fmt.Print(text)
		err = errors.Join(err, e)
	}
	if len(c.projects) > 0 {
		err = errors.Join(err, c.run(context.Background()))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "machinecode:", err)
		os.Exit(1)
	}
}

// lines returns the machine code of a library, in lines that end.
func lines(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	code, err := fatbin.Read(f, info.Size())
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	var b strings.Builder
	if code.Containers > 0 {
		fmt.Fprintln(&b, "all", code.Containers, targets(code.SASS, code.PTX))
	}
	for _, g := range code.Groups {
		fmt.Fprintln(&b, "group", g.Section, g.Containers, targets(g.SASS, g.PTX))
	}
	return b.String(), nil
}

// targets returns named with how many containers have them, the newest PTX version, and whether zstd compresses some.
func targets(sass, ptx []fatbin.Target) string {
	var words []string
	for _, t := range slices.Concat(sass, ptx) {
		word := fmt.Sprintf("%v:%d", t, t.Containers)
		if t.PTXVersion != "" {
			word += ":" + t.PTXVersion
		}
		if t.Zstd {
			word += ":zstd"
		}
		words = append(words, word)
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}
