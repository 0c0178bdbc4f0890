//go:build linux

package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cudacompat/probe"
	"cudacompat/probe/facts"
)

// TestEveryReaderHasItsBombs finds readers without a bomb: a format that check reads, or a source of facts.
func TestEveryReaderHasItsBombs(t *testing.T) {
	known := grid()
	for _, name := range probe.GivenFormats() {
		if len(known[name]) == 0 {
			t.Errorf("the format %q has no bomb: add it to documents", name)
		}
	}
	h, err := probe.Tree(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var sources []string
	for _, status := range probe.Run(context.Background(), h, probe.Options{}).Probes {
		sources = append(sources, status.Name)
		if _, thought := trees[status.Name]; !thought {
			t.Errorf("the source %q has no bomb: add it to trees", status.Name)
		}
	}
	for name := range trees {
		if !slices.Contains(sources, name) {
			t.Errorf("%q is no source any more", name)
		}
	}
	for name := range documents {
		if !slices.Contains(probe.GivenFormats(), name) {
			t.Errorf("%q is no format any more", name)
		}
	}
}

// TestDocumentsAreRead checks that a document of three parts is read. Otherwise a bomb would fail at its first line and
// test nothing.
func TestDocumentsAreRead(t *testing.T) {
	for name, d := range documents {
		f, err := probe.GivenFile(probe.Document{Name: d.file, Data: d.text(3)})
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, d.text(3))
			continue
		}
		if name != "an error of nvidia-smi" && f.Driver.Version == "" && len(f.Environments) == 0 && len(f.GPUs) == 0 &&
			f.Plan == nil {
			t.Errorf("%s: nothing was read of\n%s", name, d.text(3))
		}
	}
}

// TestTheLibraryIsWhole checks that the file with many fat binaries is a valid ELF file.
func TestTheLibraryIsWhole(t *testing.T) {
	dir := t.TempDir()
	if err := fatBinaries(dir); err != nil {
		t.Fatal(err)
	}
	h, err := probe.Tree(dir)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, packages, "torch/lib/libtorch_cuda.so")); err != nil || info.Size() < 60_000_000 {
		t.Fatal(info, err)
	}
	found := probe.Run(context.Background(), h, probe.Options{})
	i := slices.IndexFunc(found.Probes, func(s facts.Status) bool { return s.Name == "python" })
	if !strings.Contains(found.Probes[i].Error, "fat binaries") {
		t.Errorf("its code was read: %+v", found.Probes[i])
	}
}
