package loader

import (
	"fmt"
	"slices"

	"cudacompat/internal/fatbin"
	"cudacompat/internal/version"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
)

// ReadCode lists the machine code of a build's own libraries in one directory. A library's targets are those of most of
// its containers; a kernel written for a single GPU says nothing about the rest. The libraries are read in the
// background, and the returned function waits for them and stores the result.
func ReadCode(h *host.Host, dir string, patterns ...string) func(*facts.Build) error {
	var reads []func(*facts.Build) error
	for _, pattern := range patterns {
		for _, name := range h.GlobIn(dir, pattern) {
			reads = append(reads, startCode(h, name))
		}
	}
	return func(b *facts.Build) error {
		var failed host.Errors
		for _, take := range reads {
			failed.Add(take(b))
		}
		return failed.Err()
	}
}

// AddCode returns readCode for one library.
func AddCode(b *facts.Build, h *host.Host, name string) error { return startCode(h, name)(b) }

// startCode opens a library and begins to read it, in a goroutine that has nothing but the file.
func startCode(h *host.Host, name string) (take func(*facts.Build) error) {
	f, err := h.Open(name)
	if err != nil {
		return func(*facts.Build) error { return err }
	}
	var code fatbin.Code
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer f.Close()
		code, err = codeOf(f)
	}()
	return func(b *facts.Build) error {
		<-done
		if err != nil {
			err = host.Damaged(name, err.Error())
			b.Damaged = err.Error()
			return err
		}
		takeCode(b, code)
		takeGroups(b, name, code.Groups)
		return nil
	}
}

// codeOf reads one library; a panic on a file that nobody foresaw costs that file.
func codeOf(f host.File) (code fatbin.Code, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("bug in this probe: %v", r)
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return code, err
	}
	readScattered(f)
	return fatbin.Read(f, info.Size())
}

// takeCode adds one library's code.
func takeCode(b *facts.Build, all fatbin.Code) {
	code := all.Common(fatbin.BuildList)
	b.SASS = union(b.SASS, code.SASS)
	b.PTX = union(b.PTX, code.PTX)
	b.Zstd = union(b.Zstd, zstdTargets(all.SASS))
	b.Zstd = union(b.Zstd, zstdTargets(all.PTX))
	for _, t := range code.PTX {
		if b.PTXISA == nil {
			b.PTXISA = map[string]string{}
		}
		if have := b.PTXISA[t.String()]; version.ParseOrZero(have).Less(version.ParseOrZero(t.PTXVersion)) {
			b.PTXISA[t.String()] = t.PTXVersion
		}
	}
}

// takeGroups adds one library's groups.
func takeGroups(b *facts.Build, library string, groups []fatbin.Group) {
	for _, g := range groups {
		one := facts.CodeGroup{Library: library, Section: g.Section, Containers: g.Containers, PTXISA: map[string]string{}}
		one.SASS, one.PTX = union(nil, g.SASS), union(nil, g.PTX)
		for _, t := range g.PTX {
			one.PTXISA[t.String()] = t.PTXVersion
		}
		b.Groups = append(b.Groups, one)
	}
}

func zstdTargets(list []fatbin.Target) []fatbin.Target {
	return slices.DeleteFunc(slices.Clone(list), func(t fatbin.Target) bool { return !t.Zstd })
}

func union(list []string, more []fatbin.Target) []string {
	for _, t := range more {
		if !slices.Contains(list, t.String()) {
			list = append(list, t.String())
		}
	}
	return list
}
