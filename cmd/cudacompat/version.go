package main

import (
	"context"
	_ "embed"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"cudacompat/internal/report"
	"cudacompat/matrix"
	"cudacompat/probe"

	"github.com/spf13/cobra"
)

// version is set by the release's linker flags (-X main.version=…). Otherwise the archive's stamp or the build
// information provides it.
var version string

// site is the address of the rules' pages, set by the linker's flags (-X main.site=https://…), or "" if there is none.
var site string

// stamp is filled in by git in a source archive: commit, seconds, date, and the nearest tag, if any.
//
//go:embed stamp.txt
var stamp string

func versionCommand(s streams) *cobra.Command {
	var f tablesFlag
	cmd := &cobra.Command{
		Use: "version", Short: "Show the version, the tables' date and hash, and whether NVML support is built in", Args: noArgs,
		Long:        "Shows the version, the date and hash of the tables, and whether NVML support is built in.",
		Annotations: map[string]string{exitNote: exitPlain},
		Example:     "  cudacompat version\n  cudacompat version --matrix DIR",
		RunE:        func(cmd *cobra.Command, _ []string) error { return sayVersion(cmd.Context(), s, f) },
	}
	f.add(cmd)
	return cmd
}

// sayVersion writes one line about this program and its tables.
func sayVersion(ctx context.Context, s streams, f tablesFlag) error {
	t, err := f.load(ctx)
	if err != nil {
		return err
	}
	tables, err := f.tellTables(t)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "cudacompat %s, %s, %s, %s/%s\n",
		toolVersion(), tables, probe.NVMLSupport(), runtime.GOOS, runtime.GOARCH)
	return err
}

// tellTables describes the tables in use: "tables of 2026-11-22 (1f2e3d4c5b6a)", and those with a site's own rows.
func (f *tablesFlag) tellTables(t *matrix.Tables) (string, error) {
	sources, err := t.Sources()
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("tables of %s (%.12s)", t.Checked(), matrix.Digest(sources))
	if own := report.OwnTables(sources); len(own) > 0 {
		text += fmt.Sprintf(" with rows of %s in %s", f.path, strings.Join(own, ", "))
	}
	return text, nil
}

// tool describes this program with its tables. Hashing them takes as long as a judgement, so only JSON output has
// hashes.
func tool(t *matrix.Tables, hashed bool) report.Tool {
	tool := report.Tool{Version: toolVersion(), Site: site, Matrix: t.Checked(), Run: time.Now().Unix()}
	if !hashed {
		return tool
	}
	var err error
	if tool.Tables, err = t.Sources(); err != nil { // they have been loaded before
		panic(err)
	}
	return tool
}

func toolVersion() string {
	info, _ := debug.ReadBuildInfo()
	for _, known := range []string{version, archiveVersion(stamp), buildVersion(info)} {
		if known != "" {
			return strings.TrimPrefix(known, "v")
		}
	}
	return "development"
}

// archiveVersion reads an archive's stamp, or nothing from that of a checkout. Without a tag it says day and commit:
//
//	5d4f9d4f0d0c6b2c8f0e8a1b3c5d7e9f0a1b2c3d 1795332622 2026-11-22 v0.1.0-4-g5d4f9d4
func archiveVersion(stamp string) string {
	fields := strings.Fields(stamp)
	switch {
	case len(fields) < 3 || len(fields[0]) < 12 || strings.HasPrefix(stamp, "$Format"):
		return ""
	case len(fields) > 3:
		return fields[3]
	}
	return "0.0.0-" + strings.ReplaceAll(fields[2], "-", "") + "-" + fields[0][:12]
}

// buildVersion returns the version that the go command recorded: a module's, or a checkout's.
func buildVersion(info *debug.BuildInfo) string {
	if info == nil || info.Main.Version == "(devel)" {
		return ""
	}
	return info.Main.Version
}
