// Command structure measures how the packages of this repository hang together:
//
//	go run ./tools/structure ./matrix ./probe ./internal/tables
//
// For each package: files; the largest cycle of files (files that reach each other by what they use); how many uses run
// back up when the files stand in the best order that was found; exported names and those that no other package of the
// repository uses; lines of functions (median, longest); lines over 120 columns. Of one package alone it also names
// what runs back. Tests are left out.
package main

import (
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	patterns := os.Args[1:]
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	all, err := load("./...")
	if err == nil {
		var wanted []string
		if wanted, err = paths(patterns); err == nil {
			report(all, wanted)
			return
		}
	}
	fmt.Fprintln(os.Stderr, "structure:", err)
	os.Exit(70)
}

func report(all []*pkg, wanted []string) {
	used := usedElsewhere(all)
	fmt.Printf("%-34s %5s %5s %4s %8s %6s %6s %4s %5s\n",
		"package", "files", "cycle", "back", "exported", "unused", "median", "max", ">120")
	for _, p := range all {
		if !slices.Contains(wanted, p.path) {
			continue
		}
		uses := p.uses()
		against := back(uses)
		exported, unused := p.exported(used)
		lengths := p.functions()
		median, longest := 0, 0
		if n := len(lengths); n > 0 {
			median, longest = lengths[n/2], lengths[n-1]
		}
		fmt.Printf("%-34s %5d %5d %4d %8d %6d %6d %4d %5d\n",
			p.path, len(p.files), largestCycle(uses), total(against), exported, len(unused), median, longest, p.wide())
		if len(wanted) == 1 && len(unused) > 0 {
			fmt.Println("used by no other package:", unused)
		}
		if len(wanted) == 1 {
			p.printBack(against)
		}
	}
}

func total(against map[[2]int]int) int {
	n := 0
	for _, count := range against {
		n += count
	}
	return n
}

// printBack names the uses that run back, file by file.
func (p *pkg) printBack(against map[[2]int]int) {
	var lines []string
	for pair := range against {
		names := map[string]bool{}
		for id, o := range p.info.Uses {
			if o.Pkg() == p.types && topLevel(o) && p.fileOf(id.Pos()) == pair[0] && p.fileOf(o.Pos()) == pair[1] {
				names[o.Name()] = true
			}
		}
		lines = append(lines, fmt.Sprintf("%4d  %s uses %s of %s", against[pair], p.name(pair[0]),
			strings.Join(slices.Sorted(maps.Keys(names)), " "), p.name(pair[1])))
	}
	slices.Sort(lines)
	fmt.Println(strings.Join(lines, "\n"))
}

// name is a file's, without its directory.
func (p *pkg) name(file int) string {
	return filepath.Base(p.fset.Position(p.files[file].FileStart).Filename)
}

// uses counts, from file to file, how often one uses what the other declares at its top level.
func (p *pkg) uses() [][]int {
	n := len(p.files)
	counts := make([][]int, n)
	for i := range counts {
		counts[i] = make([]int, n)
	}
	for id, o := range p.info.Uses {
		if o.Pkg() != p.types || !topLevel(o) {
			continue
		}
		from, to := p.fileOf(id.Pos()), p.fileOf(o.Pos())
		if from >= 0 && to >= 0 && from != to {
			counts[from][to]++
		}
	}
	return counts
}

// topLevel reports whether an object is declared at a package's top level, or is a method.
func topLevel(o types.Object) bool {
	if f, ok := o.(*types.Func); ok && f.Signature().Recv() != nil {
		return true
	}
	return o.Parent() == o.Pkg().Scope()
}

// usedElsewhere are the objects that a package other than their own uses, by package and name.
func usedElsewhere(all []*pkg) map[string]bool {
	used := map[string]bool{}
	for _, p := range all {
		for _, o := range p.info.Uses {
			if o.Pkg() != nil && o.Pkg() != p.types {
				used[o.Pkg().Path()+"."+o.Name()] = true
			}
		}
	}
	return used
}

// exported counts the package's exported names, and lists those that nobody else uses.
func (p *pkg) exported(used map[string]bool) (n int, unused []string) {
	for _, name := range p.types.Scope().Names() {
		if !ast.IsExported(name) {
			continue
		}
		n++
		if !used[p.path+"."+name] {
			unused = append(unused, name)
		}
	}
	return n, unused
}

// functions are the lengths of all functions in lines, the shortest first.
func (p *pkg) functions() []int {
	var list []int
	for _, f := range p.files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				list = append(list, p.fset.Position(fn.End()).Line-p.fset.Position(fn.Pos()).Line+1)
			}
		}
	}
	slices.Sort(list)
	return list
}
