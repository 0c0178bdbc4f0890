package pixi

import (
	"testing"

	"cudacompat/probe/internal/input/conda"
)

// TestWheelAddresses reads what pixi's lock says of a package from PyPI: an address that names no wheel names nothing.
func TestWheelAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"https://files.example.org/ab/torch-2.9.0-cp312-cp312-manylinux_2_28_x86_64.whl":          "torch 2.9.0",
		"https://download.pytorch.org/whl/cu126/torch-2.9.0%2Bcu126-cp312-cp312-linux_x86_64.whl": "torch 2.9.0+cu126",
		"https://files.example.org/ab/flash-attn-2.8.3.tar.gz":                                    "flash-attn 2.8.3",
		"https://files.example.org/ab/torch-2.9.0%zz.whl":                                         "",
		"./local": "",
		"":        "",
	} {
		c := &conda.List{}
		c.Wheel(address)
		got := ""
		for _, p := range c.Packages {
			got += p.Name + " " + p.Version
		}
		if got != want {
			t.Errorf("%q: %q, want %q", address, got, want)
		}
	}
}
