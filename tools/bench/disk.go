package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"golang.org/x/sys/unix"
)

var versionLine = regexp.MustCompile(`(?m)^__version__ = '([^']+)'`)

// torchRelease reads which torch an environment has.
func torchRelease(env string) (string, error) {
	files, _ := filepath.Glob(filepath.Join(env, "lib/python3*/site-packages/torch/version.py"))
	if len(files) == 0 {
		return "", fmt.Errorf("%s has no torch", env)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		return "", err
	}
	m := versionLine.FindSubmatch(text)
	if m == nil {
		return "", fmt.Errorf("%s names no version", files[0])
	}
	return "torch " + string(m[1]), nil
}

// cold measures a run after the kernel was asked to forget the environment's files. The program's own are warm.
func (b *bench) cold(ctx context.Context) error {
	if b.torch == "" {
		return nil
	}
	once := *b
	once.runs = 1
	var all []cost
	for range 3 {
		if err := forget(b.torch); err != nil {
			return err
		}
		got, err := once.run(ctx, nil, b.tool, "doctor", "--env", b.torch)
		if err != nil {
			return err
		}
		all = append(all, got)
	}
	b.ask("the same, with a cold cache?", median(all))
	return nil
}

// forget drops the pages of all files below a directory from the kernel's cache, unless they are mapped.
func forget(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
	})
}

// layers measures an image beside what gzip and sha256sum take for the same layers.
func (b *bench) layers(ctx context.Context) error {
	if b.image == "" {
		return nil
	}
	blobs, err := packedLayers(b.image)
	if err != nil {
		return err
	}
	once := *b
	once.runs = 1
	var bare cost
	size := int64(0)
	for _, blob := range blobs {
		info, err := os.Stat(blob)
		if err != nil {
			return err
		}
		size += info.Size()
		for _, args := range [][]string{{"gzip", "-dc"}, {"sha256sum"}} {
			got, err := once.run(ctx, nil, args[0], append(args[1:], blob)...)
			if err != nil {
				return err
			}
			bare.cpu += got.cpu
		}
	}
	got, err := once.run(ctx, nil, b.tool, "check", b.image, "--gpu", "L4", "--driver", "580.95.05", "--timeout", "30m")
	if err != nil {
		return err
	}
	b.ask(fmt.Sprintf("does an image of %.2f GB in layers of gzip fit an L4 with driver 580?", float64(size)/1e9), got)
	times := float64(got.cpu) / float64(bare.cpu)
	b.rows = append(b.rows, row{"check of an image, CPU, as a multiple of `gzip -dc` and `sha256sum` of its layers",
		fmt.Sprintf("%.2f × (%s)", times, ms(got.cpu)), "≤ 1.1 ×", times > 1.1})
	return nil
}

// packedLayers returns the files of an OCI layout that gzip packed.
func packedLayers(dir string) ([]string, error) {
	index, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		return nil, err
	}
	var list struct {
		Manifests []struct{ Digest string }
	}
	if err := json.Unmarshal(index, &list); err != nil || len(list.Manifests) != 1 {
		return nil, errors.Join(err, fmt.Errorf("%s is not a layout of one image", dir))
	}
	blob := func(digest string) string {
		return filepath.Join(dir, "blobs", "sha256", filepath.Base(digest[len("sha256:"):]))
	}
	manifest, err := os.ReadFile(blob(list.Manifests[0].Digest))
	if err != nil {
		return nil, err
	}
	var parts struct {
		Layers []struct{ Digest string }
	}
	if err := json.Unmarshal(manifest, &parts); err != nil {
		return nil, err
	}
	var files []string
	for _, l := range parts.Layers {
		files = append(files, blob(l.Digest))
	}
	return files, nil
}
