package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ran is the result of one run of the program.
type ran struct {
	code     int
	out, err string
}

func runs(t *testing.T, stdin string, args ...string) ran {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(args, streams{strings.NewReader(stdin), &out, &errs})
	return ran{code, out.String(), errs.String()}
}

func TestMatrixCommand(t *testing.T) {
	for _, c := range []struct {
		name      string
		args      []string
		code      int
		out, errs string // what must be said
	}{
		{"tables", []string{"matrix"}, 0, "\ntorch ", ""},
		{"rows", []string{"matrix", "torch", "cuda=12.6", "python=3.12"}, 0, "\n2.6.0    cu126    linux_x86_64", ""},
		{"record", []string{"matrix", "gpu", "L4"}, 0, "gpu AD104\n  capability    8.9\n", ""},
		{"record-colour", []string{"matrix", "gpu", "L4", "--color", "always"}, 0, "\x1b[1mgpu AD104\x1b[0m\n", ""},
		{"header-colour", []string{"matrix", "minor_compat", "--color", "always"}, 0, "\x1b[1mfamily  driver_linux", ""},
		{"why-colour", []string{"matrix", "why", "cuda", "12.6.3", "branch", "--color", "always"}, 0,
			"\x1b[1mcuda 12.6.3: branch is 560\x1b[0m\n", ""},
		{"pins-colour", []string{"pins", "--gpu", "L4", "--driver", "535.183.01", "--python", "3.12", "--color", "always"},
			0, "\n\x1b[1mkeep-driver\x1b[0m: torch ", ""},
		{"no-row", []string{"matrix", "torch", "cuda=9.0"}, 0, "\n0 rows\n", ""},
		{"csv", []string{"matrix", "minor_compat", "-o", "csv"}, 0, "\n12,525.60.13,528.33,https://", ""},
		{"markdown", []string{"matrix", "minor_compat", "-o", "markdown"}, 0, "| 12 | 525.60.13 | 528.33 |", ""},
		{"why", []string{"matrix", "why", "torch", "2.6.0+cu124", "linux_x86_64", "driver"}, 0, "driver is >= 525.60.13", ""},
		{"why-json", []string{"matrix", "why", "torch", "2.6.0+cu124", "nccl", "-o", "json"}, 0, `"value": "2.21.5"`, ""},
		{"no-table", []string{"matrix", "torhc"}, 64, "", "did you mean torch?"},
		{"no-column", []string{"matrix", "torch", "pyton=3.12"}, 64, "", "did you mean python?"},
		{"no-key", []string{"matrix", "ec2", "p5.48xlrge"}, 64, "", "did you mean p5.48xlarge?"},
		{"no-format", []string{"matrix", "torch", "-o", "markdwon"}, 64, "", "did you mean markdown?"},
		{"no-range", []string{"matrix", "torch", "cuda>=soon"}, 64, "", "not a range of versions"},
		{"no-such-pair", []string{"matrix", "torch", "2.12.0", "cu128"}, 0, "\n0 rows\n", ""},
		{"why-no-such-pair", []string{"matrix", "why", "torch", "2.12.0", "cu128", "cuda"}, 64, "",
			"no row of torch fits 2.12.0 cu128"},
		{"why-short", []string{"matrix", "why", "torch"}, 64, "", "hint: cudacompat matrix why"},
		{"why-column", []string{"matrix", "why", "torch", "2.6.0", "drver"}, 64, "", "did you mean driver?"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := runs(t, "", c.args...)
			if got.code != c.code || !strings.Contains(got.out, c.out) || !strings.Contains(got.err, c.errs) {
				t.Errorf("exit %d, want %d; stdout must have %q, stderr %q:\n%s%s", got.code, c.code, c.out, c.errs, got.out,
					got.err)
			}
		})
	}
}

// TestMatrixFitsTheScreen checks that every table fits 80 columns.
func TestMatrixFitsTheScreen(t *testing.T) {
	for _, row := range tableList(t) {
		for line := range strings.Lines(runs(t, "", "matrix", row["table"]).out) {
			if n := len([]rune(line)) - 1; n > 80 {
				t.Errorf("%s: a line of %d columns: %s", row["table"], n, line)
			}
		}
	}
}

// TestMatrixJSONNamesEveryColumn reads every table as JSON: one object for each row, with the header's names.
func TestMatrixJSONNamesEveryColumn(t *testing.T) {
	for _, row := range tableList(t) {
		var rows []map[string]string
		if err := json.Unmarshal([]byte(runs(t, "", "matrix", row["table"], "-o", "json").out), &rows); err != nil {
			t.Fatalf("%s: %v", row["table"], err)
		}
		for _, column := range strings.Fields(row["columns"]) {
			if _, ok := rows[0][column]; !ok {
				t.Errorf("%s: no %s", row["table"], column)
			}
		}
	}
}

func tableList(t *testing.T) []map[string]string {
	t.Helper()
	var rows []map[string]string
	if err := json.Unmarshal([]byte(runs(t, "", "matrix", "-o", "json").out), &rows); err != nil || len(rows) < 15 {
		t.Fatalf("%d tables, %v", len(rows), err)
	}
	return rows
}

// TestMatrixDirectory judges with a site's own table, and checks that an error names the cell.
func TestMatrixDirectory(t *testing.T) {
	dir := t.TempDir()
	write := func(cell string) {
		text := "family,driver_linux,driver_windows,source\n12," + cell +
			",528.33,https://example.com/policy\n"
		if err := os.WriteFile(filepath.Join(dir, "minor_compat.csv"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("530.30.02")
	if got := runs(t, "", "matrix", "minor_compat", "--matrix", dir); got.code != 0 ||
		!strings.Contains(got.out, "530.30.02") {
		t.Errorf("exit %d:\n%s%s", got.code, got.out, got.err)
	}
	write("soon")
	if got := runs(t, "", "matrix", "minor_compat", "--matrix", dir); got.code != 64 ||
		!strings.Contains(got.err, "minor_compat.csv:2:4: driver_linux:") {
		t.Errorf("exit %d, the cell is not named:\n%s", got.code, got.err)
	}
	if got := runs(t, "", "matrix", "--matrix", filepath.Join(dir, "absent")); got.code != 64 {
		t.Errorf("an absent directory: exit %d\n%s", got.code, got.err)
	}
}
