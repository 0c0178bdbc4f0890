package pydist

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/distname"
)

// topModule matches a module or package of a RECORD that is imported by its own name, "xgboost/__init__.py,".
var topModule = lazyregexp.New(`(?m)^(\w+)(?:/__init__)?\.py,`)

// ModulesIn lists the modules that a distribution brings to the top of the import path.
func ModulesIn(record []byte) []string {
	var list []string
	for m := range topModule.EachSubmatch(record) {
		list = append(list, string(m[1]))
	}
	return list
}

// InfoOf is the dist-info directory of a distribution in one directory, empty where it has none.
func InfoOf(h *host.Host, dir, name string) string {
	entries, err := h.ReadDir(dir)
	if err != nil {
		return ""
	}
	i := slices.IndexFunc(entries, func(e fs.DirEntry) bool {
		stem, ok := strings.CutSuffix(e.Name(), ".dist-info")
		dist, _, _ := strings.Cut(stem, "-")
		return ok && len(dist) == len(name) && distname.Normal(dist) == name
	})
	if i < 0 {
		return ""
	}
	return path.Join(dir, entries[i].Name())
}

var (
	RequiredName = lazyregexp.New(`(?m)^Requires-Dist: ([A-Za-z0-9._-]+)(.*)$`)
	Purelib      = []byte("Root-Is-Purelib: true")
)
