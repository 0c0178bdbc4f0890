// Gpu keeps the tables of GPUs true: a chip's PCI ids come from Debian's pci.ids, and the first driver of each product
// from the README of every release of NVIDIA's open kernel modules.
//
//	go run ./tools/gpu ids pci.ids https://snapshot.debian.org/package/pci.ids/VERSION/   into data/gpu.csv
//	go run ./tools/gpu drivers open-gpu-kernel-modules                                    into data/product.csv
//
// A chip gets its row by hand and its ids here; what pci.ids names of a chip beside GPUs is left out. The second
// wants a clone of github.com/NVIDIA/open-gpu-kernel-modules with its tags.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

const usage = "gpu: call it as `gpu ids FILE ADDRESS` or `gpu drivers CLONE`"

func main() {
	today := time.Now().Format(time.DateOnly)
	var err error
	switch args := os.Args[1:]; {
	case len(args) == 3 && args[0] == "ids":
		err = update("data/gpu.csv", func(old []byte) ([]byte, error) { return withIDs(old, args[1], args[2], today) })
	case len(args) == 2 && args[0] == "drivers":
		err = update("data/product.csv", func(old []byte) ([]byte, error) { return withDrivers(old, args[1], today) })
	default:
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(64)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gpu:", err)
		os.Exit(1)
	}
}

// update writes a table anew where that changes it.
func update(table string, rewrite func(old []byte) ([]byte, error)) error {
	old, err := os.ReadFile(table)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	updated, err := rewrite(old)
	if err != nil {
		return fmt.Errorf("%s: %w", table, err)
	}
	if bytes.Equal(old, updated) {
		return nil
	}
	return os.WriteFile(table, updated, 0o644)
}

// withIDs is the table of chips with the ids of a pci.ids.
func withIDs(old []byte, file, address, day string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	updated, err := rewrite(old, entries(text), address, day)
	if err != nil {
		return nil, fmt.Errorf("with %s: %w", file, err)
	}
	return updated, nil
}
