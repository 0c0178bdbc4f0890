package smi_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"cudacompat/probe/internal/input"
	"cudacompat/probe/internal/input/document"
)

// TestSMIFailures reads what nvidia-smi prints where it fails, and what a shell prints that does not find it.
func TestSMIFailures(t *testing.T) {
	const (
		notLoaded = "error 9"
		mismatch  = "error 18"
		lost      = "ok 15"
	)
	for _, tt := range []struct{ name, text, want string }{
		{"not loaded", "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.\n\n", notLoaded},
		{"prompt", "$ nvidia-smi\nNVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that\n", notLoaded},
		{"not loaded, in NVML's words", "Failed to initialize NVML: Driver Not Loaded\r\n", notLoaded},
		{"mismatch", "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.183\n", mismatch + " libnvidia-ml 535.183"},
		{"mismatch of old", "Failed to initialize NVML: Driver/library version mismatch\n", mismatch},
		{"mismatch with the kernel's line", "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 570.86\n" +
			"NVRM: API mismatch: the client has the version 570.86.15, but\nNVRM: this kernel module has the version 535.161.08.  Please\n", mismatch + " driver 535.161.08 libnvidia-ml 570.86"},
		{"unknown", "Failed to initialize NVML: Unknown Error\n", "error 0 unread driver"},
		{"blocked", "Failed to initialize NVML: GPU access blocked by the operating system\n", "error 0 unread driver"},
		{"none", "No devices were found\n", "ok 0 unread GPU"},
		{"lost", "Unable to determine the device handle for GPU 0000:0F:00.0: GPU is lost.  Reboot the system to recover this GPU\n", lost},
		{"handle", "Unable to determine the device handle for GPU0000:03:00.0: Unknown Error\n", " 0 unread GPU 0000:03:00.0"},
		{"handle of new", "Mon Nov  3 10:00:00 2025\nUnable to determine the device handle for GPU0: 0000:0F:00.0: Unknown Error\n", " 0 unread GPU 0000:0F:00.0"},
		{"no library", "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure that the NVIDIA Display Driver is properly installed and present in your system.\n", "absent 12 unread driver"},
		{"bash", "bash: nvidia-smi: command not found\n", " 0 unread driver"},
		{"sh", "/bin/sh: 1: nvidia-smi: not found\n", " 0 unread driver"},
		{"zsh", "zsh: command not found: nvidia-smi\n", " 0 unread driver"},
		{"Ubuntu", "Command 'nvidia-smi' not found, but can be installed with:\napt install nvidia-utils-470        # version 470.256.02-0ubuntu0.22.04.1, or\n", " 0 unread driver"},
		{"Windows", "'nvidia-smi' is not recognized as an internal or external command,\r\noperable program or batch file.\r\n", " 0 unread driver"},
		{"docker", `docker: Error response from daemon: OCI runtime create failed: exec: "nvidia-smi": executable file not found in $PATH: unknown.` + "\n", " 0 unread driver"},
	} {
		got, err := input.Read(document.Document{Data: []byte(tt.text)})
		said := fmt.Sprint(got.Driver.NVML.Status, " ", got.Driver.NVML.Code)
		if got.Driver.Version != "" {
			said += " driver " + got.Driver.Version
		}
		for _, l := range got.Driver.Libraries {
			said += " " + l.Name + " " + l.Version
		}
		for _, u := range got.Unread {
			said += " unread " + u.Place
		}
		if err != nil || said != tt.want {
			t.Errorf("%s: %q, want %q (%v)", tt.name, said, tt.want, err)
		}
	}
}

// TestSMIFailureBesideATable: the GPU that is lost stands above the table of those that answer.
func TestSMIFailureBesideATable(t *testing.T) {
	got, err := input.Read(document.Document{Data: []byte("Unable to determine the device handle for GPU 0000:0F:00.0: GPU is lost.  Reboot\n" +
		"GPU 1: NVIDIA L4 (UUID: GPU-5428af19-1e82-a38c-ee42-cdd3ad745b7e)\n")})
	if err != nil || got.Driver.NVML.Code != 15 {
		t.Errorf("%+v, %v", got.Driver.NVML, err)
	}
}

// TestNoSMIFailure: a log that quotes the line, and a file that looks for the program, are none.
func TestNoSMIFailure(t *testing.T) {
	for name, text := range map[string]string{
		"a log":    strings.Repeat("step 1 of 2\n", 40) + "Failed to initialize NVML: Driver/library version mismatch\n",
		"a script": "set -e\nnvidia-smi || echo 'no driver was found'\n",
	} {
		if _, err := input.Read(document.Document{Data: []byte(text)}); !errors.Is(err, document.ErrForeign) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
