// Pciids writes the PCI ids of Debian's pci.ids into the table of GPUs: the ids of a chip are those of the entries
// whose names begin with it.
//
//	go run ./tools/pciids pci.ids https://snapshot.debian.org/package/pci.ids/VERSION/
//
// A chip gets a row by hand, and its ids here. What pci.ids names of it beside GPUs is left out.
package main

import (
	"bytes"
	"fmt"
	"os"
	"time"
)

const table = "data/gpu.csv"

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "pciids: give a pci.ids and the address of its version")
		os.Exit(64)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "pciids:", err)
		os.Exit(1)
	}
}

func run(file, address string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	old, err := os.ReadFile(table)
	if err != nil {
		return err
	}
	updated, err := rewrite(old, entries(text), address, time.Now().Format(time.DateOnly))
	if err != nil {
		return fmt.Errorf("%s with %s: %w", table, file, err)
	}
	if bytes.Equal(old, updated) {
		return nil
	}
	return os.WriteFile(table, updated, 0o644)
}
