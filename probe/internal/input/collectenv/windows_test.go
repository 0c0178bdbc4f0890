package collectenv

import (
	"testing"

	"cudacompat/probe/internal/input/document"
)

// TestAdapters reads the display adapters that Windows' tools list: only NVIDIA's, with their own drivers.
func TestAdapters(t *testing.T) {
	for text, want := range map[string][3]string{ // GPU, driver, system
		"Name                            DriverVersion\n----                            -------------\nIntel(R) UHD Graphics 770       31.0.101.4502\nNVIDIA GeForce RTX 5070 Ti      32.0.15.7283\n": {"NVIDIA GeForce RTX 5070 Ti", "572.83", "Windows"},
		"DriverVersion  Name\n31.0.15.3713   NVIDIA GeForce RTX 3060\n":                                                                                                             {"NVIDIA GeForce RTX 3060", "537.13", "Windows"},
		"Name          : Intel(R) UHD Graphics 770\nDriverVersion : 31.0.101.4502\n\nName          : NVIDIA GeForce RTX 4070\nDriverVersion : 32.0.15.7652\n":                       {"NVIDIA GeForce RTX 4070", "576.52", "Windows"},
		"         Operating System: Windows 11 Pro 64-bit (10.0, Build 26100)\n           Card name: NVIDIA GeForce RTX 4070\n      Driver Version: 32.0.15.7283\n":                 {"NVIDIA GeForce RTX 4070", "572.83", "Windows 11 Pro 64-bit (10.0, Build 26100)"},
		"           Card name: NVIDIA GeForce RTX 4070\n      Driver Version: 32.0.15.7283\n           Card name: AMD Radeon(TM) Graphics\n      Driver Version: 32.0.11038.5002\n": {"NVIDIA GeForce RTX 4070", "572.83", "Windows"},
		"OS Name:                   Microsoft Windows 11 Pro\n  Card name: NVIDIA GeForce GTX 1070\n":                                                                               {"NVIDIA GeForce GTX 1070", "", "Microsoft Windows 11 Pro"},
	} {
		f := Parse(text)
		got := [3]string{"", f.Driver.Version, f.System.OS}
		if len(f.GPUs) == 1 {
			got[0] = f.GPUs[0].Name
		}
		if got != want || !Is(document.Document{Data: []byte(text)}) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{"Name: NVIDIA GeForce RTX 4070\n", "DriverVersion : 31.0.101.4502\n", "Description: a program\n"} {
		if Is(document.Document{Data: []byte(text)}) {
			t.Errorf("%q is taken for a report", text)
		}
	}
}
