package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"cudacompat/tools/artefact"
	"cudacompat/tools/artefact/wheel"
)

// comparison reads libraries of wheels twice.
type comparison struct {
	projects      []string
	index, second string
	newest, more  int
	seed          uint64

	libraries, differences int
}

// leastSize is that of a library worth reading, in bytes, as in the probe.
const leastSize = 1 << 20

func (c *comparison) run(ctx context.Context) error {
	if c.index == "" {
		var err error
		if c.index, err = wheel.ThisPip().Index(); err != nil {
			return err
		}
	}
	web := wheel.NewWeb(time.Second)
	wheels, err := c.choose(ctx, &wheel.Index{Address: c.index, Web: web})
	if err != nil {
		return err
	}
	for _, f := range wheels {
		if err := c.wheel(ctx, web, f); err != nil {
			return err
		}
	}
	fmt.Printf("%d wheels, %d libraries with code, %d differences\n", len(wheels), c.libraries, c.differences)
	if c.differences > 0 {
		return fmt.Errorf("the two readers differ")
	}
	return nil
}

// choose lists the wheels to read.
func (c *comparison) choose(ctx context.Context, index *wheel.Index) (chosen []wheel.File, err error) {
	var older []wheel.File
	for _, project := range c.projects {
		files, err := index.Files(ctx, project)
		if err != nil {
			return nil, err
		}
		releases := artefact.Releases(files, "linux_x86_64")
		for i, r := range releases {
			if i < c.newest {
				chosen = append(chosen, r)
			} else {
				older = append(older, r)
			}
		}
	}
	draw := rand.New(rand.NewPCG(c.seed, 0))
	draw.Shuffle(len(older), func(i, j int) { older[i], older[j] = older[j], older[i] })
	return append(chosen, older[:min(c.more, len(older))]...), nil
}

// wheel compares the libraries of one wheel, which come one at a time: together they can be gigabytes.
func (c *comparison) wheel(ctx context.Context, web *wheel.Web, f wheel.File) error {
	w, err := web.Open(ctx, f)
	if err != nil {
		return err
	}
	defer w.Close()
	for _, name := range w.Libraries(leastSize) {
		if err := c.library(w, name); err != nil {
			return err
		}
	}
	return nil
}

func (c *comparison) library(w *wheel.Wheel, name string) error {
	dir, err := os.MkdirTemp("", "machinecode-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if _, err := w.Extract(dir, name); err != nil {
		return err
	}
	file := filepath.Join(dir, name)
	ours, err := lines(file)
	if err != nil {
		ours += err.Error() + "\n"
	}
	theirs, err := exec.Command("python3", c.second, file).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", w.Name, name, err, theirs)
	}
	if ours == "" && len(theirs) == 0 {
		return nil
	}
	c.libraries++
	fmt.Printf("%s %s\n%s", w.Name, name, ours)
	if ours != string(theirs) {
		c.differences++
		fmt.Printf("DIFFERENT, the other reader says:\n%s", theirs)
	}
	return nil
}
