package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"cudacompat/matrix"
	"cudacompat/probe"
	"cudacompat/report"

	"github.com/spf13/cobra"
)

// version is set by the release's linker flags (-X main.version=…); else the build's own record tells.
var version string

func versionCommand(s streams) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "The program's version, the date of its tables, and whether it has NVML", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			t := tool(matrix.Embedded())
			_, err := fmt.Fprintf(s.out, "cudacompat %s, tables of %s, %s, %s/%s\n", t.Version, t.Matrix, probe.NVMLSupport(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

func tool(t *matrix.Tables) report.Tool {
	return report.Tool{Version: toolVersion(), Matrix: t.Date()}
}

func toolVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "development"
}
