package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cudacompat/tools/artefact"
)

// TestTables checks that someone vouches for every cell of today's tables. `go run ./tools/tables lint` prints the same
// list.
func TestTables(t *testing.T) {
	complaints, err := artefact.Lint("../../data", time.Now().Format(time.DateOnly))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range complaints {
		t.Error(line)
	}
}

// TestLint changes cells, sources and lines of hand.csv, and wants each to be found.
func TestLint(t *testing.T) {
	const today = "2026-11-26"
	for _, c := range []struct {
		name, file, old, changed string
		day, want                string
		seal                     bool // somebody read it again
	}{
		{name: "nothing"},
		{name: "typed cell", file: "torch.csv", old: ",linux_x86_64,10.2.89,7.6.5.32,2.7.8,sm_37 sm_50", changed: ",linux_x86_64,10.2.89,7.6.5.32,2.7.8,sm_50",
			want: "torch.csv: 1.8.0 cu102 linux_x86_64, or another row that names it, was changed since"},
		{name: "typed cell, read again", file: "torch.csv", old: ",linux_x86_64,10.2.89,7.6.5.32,2.7.8,sm_37 sm_50", changed: ",linux_x86_64,10.2.89,7.6.5.32,2.7.8,sm_50", seal: true},
		{name: "cell of a program that never read its source", file: "forward_compat.csv", old: "13.5,620,", changed: "13.5,610,",
			want: "was changed since https://developer.download.nvidia.com/compute/nvidia-driver/redist/redistrib_620.70.06.json"},
		{name: "cell of a program", file: "triton.csv", old: "\n2.0.0,12.0.76,", changed: "\n2.0.0,12.0.99,",
			want: "triton: its rows are not as they were when it was read: run `tables sync -w triton`"},
		{name: "cell that no reader fills", file: "extension.csv", old: "sglang,0.5.23,pypi,linux_x86_64,2.14.1,13,,,,", changed: "sglang,0.5.23,pypi,linux_x86_64,2.14.1,13,,sm_90,,",
			seal: true, want: "extension.csv: sglang 0.5.23 pypi linux_x86_64: sass is neither read by a program nor a line of hand.csv"},
		{name: "source without an entry", file: "sources.toml", old: `address = "https://github.com/"`,
			changed: `address = "https://gitlab.com/"`, want: "was changed since https://github.com/"},
		{name: "derived cell", file: "ec2.csv", old: "g3.4xlarge,Tesla M60,5.2,", changed: "g3.4xlarge,Tesla M60,5.0,", seal: true,
			want: `ec2.csv: g3.4xlarge: capability is "5.0", and what follows from other cells is "5.2"`},
		{name: "derived cell of an instance without NVSwitches", file: "ec2.csv", old: "g3.4xlarge,Tesla M60,5.2,1,,linux_x86_64,no,no,",
			changed: "g3.4xlarge,Tesla M60,5.2,1,,linux_x86_64,no,yes,", seal: true,
			want: `ec2.csv: g3.4xlarge: fabric_manager is "yes", and what follows from other cells is "no"`},
		{name: "line past its day", day: "2028-01-01", want: "look again, it was to be done by 2027-05-01"},
		{name: "line that follows", file: "hand.csv", old: "\ndriver_branch,440,", seal: true,
			changed: "\ncuda,12.8.0,branch,570,I think so,2027-11-01,https://example.com/\ndriver_branch,440,",
			want:    "hand.csv: what follows from other cells says so too of cuda 12.8.0 branch"},
		{name: "line that a source says", file: "lock.json", old: `"triton": {`,
			changed: `"triton": {"overruled": {"driver_branch 580 end_of_life": "2028-06"},`,
			want:    "hand.csv: triton says so too of driver_branch 580 end_of_life"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := &bench{data: t.TempDir()}
			if err := os.CopyFS(b.data, os.DirFS("../../data")); err != nil {
				t.Fatal(err)
			}
			if c.file != "" {
				text := b.table(t, c.file)
				if !strings.Contains(text, c.old) {
					t.Fatalf("%s has no %q", c.file, c.old)
				}
				text = strings.Replace(text, c.old, c.changed, 1)
				if err := os.WriteFile(filepath.Join(b.data, c.file), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if c.seal {
				if err := b.seal(); err != nil {
					t.Fatal(err)
				}
			}
			day := today
			if c.day != "" {
				day = c.day
			}
			complaints, err := artefact.Lint(b.data, day)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(complaints, "\n")
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("%.600s\nwant %s", got, c.want)
			}
		})
	}
}

// TestVouch changes a typed cell. The linter complains until a person records that its pages were read.
func TestVouch(t *testing.T) {
	b := &bench{data: t.TempDir()}
	if err := os.CopyFS(b.data, os.DirFS("../../data")); err != nil {
		t.Fatal(err)
	}
	const cell, source = "restart-program", "https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html"
	text := b.table(t, "xid.csv")
	if err := os.WriteFile(filepath.Join(b.data, "xid.csv"), []byte(strings.Replace(text, cell, "reset-gpu", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	call := func(args ...string) (int, string) {
		var out, errs strings.Builder
		code := run(t.Context(), append(args, "--data", b.data), &out, &errs)
		return code, out.String() + errs.String()
	}
	code, out := call("lint") // of each page that the row names
	if code != exitDiffers || strings.Count(out, "tables vouch '") != 2 || !strings.Contains(out, source) {
		t.Fatalf("exit %d\n%s", code, out)
	}
	if code, out := call("vouch", source); code != exitSame {
		t.Fatalf("exit %d\n%s", code, out)
	}
	if code, out := call("lint"); code != exitSame {
		t.Errorf("exit %d\n%s", code, out)
	}
	if lock := b.table(t, "lock.json"); !strings.Contains(lock, `"`+source+`": "`+time.Now().Format(time.DateOnly)) {
		t.Errorf("the lock does not say that %s was read today", source)
	}
	if code, out := call("vouch", "https://example.com/"); code != exitUsage || !strings.Contains(out, "no row that a person typed names") {
		t.Errorf("exit %d\n%s", code, out)
	}
}
