package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cudacompat/matrix"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
	"cudacompat/tools/artefact"
	"cudacompat/tools/artefact/reading"
)

// nextMonth returns a bench whose sources have what may come: a driver branch with its CUDA, and on the index a
// toolkit, a PyTorch and an NCCL.
func nextMonth(t *testing.T) *bench {
	b := newBench(t)
	b.pages = map[string]string{
		"/driver/": `<a href="redistrib_535.309.01.json">…</a> <a href="redistrib_640.10.01.json">…</a>` +
			` <a href="redistrib_640.20.02.json">…</a>`,
		"/driver/redistrib_640.10.01.json": `{"release_date": "2026-12-15", "release_label": "640.10.01",` +
			` "cuda_compat": {"version": "640.10.01", "cuda_variant": ["13.9"]}}`,
		"/driver/redistrib_640.20.02.json": `{"release_date": "2027-01-20", "release_label": "640.20.02",` +
			` "cuda_compat": {"version": "640.20.02", "cuda_variant": ["13.9"]}}`,
		"/toolkit/": `<a href="redistrib_11.0.1.json">…</a> <a href="redistrib_13.2.1.json">…</a>` +
			` <a href="redistrib_13.4.0.json">…</a> <a href="redistrib_13.4.2.json">…</a> <a href="redistrib_13.9.1.json">…</a>`,
		// Up to 13.3 a manifest names a driver; the others are what comes since.
		"/toolkit/redistrib_13.4.0.json": `{"release_date": "2026-07-16", "release_label": "13.4.0", "release_product": "cuda",` +
			` "nvidia_driver": {"name": "NVIDIA Linux Driver", "version": "615.11.22"}}`,
		"/toolkit/redistrib_13.4.2.json": `{"release_date": "2026-09-16", "release_label": "13.4.2", "release_product": "cuda"}`,
		"/toolkit/redistrib_13.9.1.json": `{"release_date": "2027-01-20", "release_label": "13.9.1", "release_product": "cuda"}`,
		"/releases.json": `{"640": {"type": "new feature branch", "driver_info": [{"release_version": "640.20.02",` +
			` "release_date": "2027-01-20"}]}}`,
	}
	name := filepath.Join(b.data, "sources.toml")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{
		"https://developer.download.nvidia.com/compute/nvidia-driver/redist/": b.URL + "/driver/",
		"https://developer.download.nvidia.com/compute/cuda/redist/":          b.URL + "/toolkit/",
		"https://docs.nvidia.com/datacenter/tesla/drivers/releases.json":      b.URL + "/releases.json",
	} {
		text = []byte(strings.ReplaceAll(string(text), from, to))
	}
	if err := os.WriteFile(name, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return b
}

var monthsSources = []string{"driver", "driver-releases", "cuda", "torch", "nccl"}

// TestMonthAhead adds the releases of a month in one run. The linter accepts the tables, a second run finds nothing, an
// offline run gives the same result, and a machine that was ahead of the tables no longer is.
func TestMonthAhead(t *testing.T) {
	b := nextMonth(t)
	newer := facts.Facts{Driver: facts.Driver{Version: "640.20.02"}}
	if !outdated(t, b.data, newer) {
		t.Error("driver 640 is in the tables already")
	}
	before := t.TempDir()
	if err := os.CopyFS(before, os.DirFS(b.data)); err != nil {
		t.Fatal(err)
	}
	// Addresses have to be https in the tables; here they are not.
	server := b.URL
	code, out, errs := b.run(monthsSources...)
	for _, want := range []string{
		"640,NFB,13.9,2026-12-15,,640.20.02,",
		"cuda-compat-13-9,13.9,640,",
		"13.9.0,,,,,,wheel cuda_toolkit-13.9.0-py2.py3-none-any.whl SHA",
		"torch.csv: 2.90.0 cu130 linux_x86_64: new",
		"nccl.csv: 2.90.1 13: new",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("want %s\n%s%s", want, out, errs)
		}
	}
	if code != exitDiffers {
		t.Errorf("exit %d", code)
	}
	clear(b.fetched)
	if _, again, _ := b.run(monthsSources...); again != out || b.fetched["/driver/"] > 0 {
		t.Errorf("asked again, fetched %v; want the same as\n%s\ngot\n%s", b.fetched, out, again)
	}
	b.Server.Close()
	if _, offline, errs := b.run(append([]string{"--offline", b.cache}, monthsSources...)...); offline != out {
		t.Errorf("offline, want the same as\n%s\ngot\n%s%s", out, offline, errs)
	}
	secure(t, b, server)
	if code, out, errs := b.run(append([]string{"--offline", b.cache, "-w"}, monthsSources...)...); !strings.Contains(out,
		"nccl.csv: 2.90.2 13: nothing is written, the linter refuses") {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	if _, err := matrix.Load(os.DirFS(b.data)); err != nil {
		t.Error(err)
	}
	// Rejected rows do not count as read. For the others, the linter knows who vouches for them. NVIDIA's own address
	// is not a source here.
	complaints, err := artefact.Lint(b.data, "2026-11-26")
	complaints = slices.DeleteFunc(complaints, func(line string) bool { return strings.Contains(line, "developer.download.nvidia.com") })
	if err != nil || len(complaints) != 1 || !strings.HasPrefix(complaints[0], "nccl: its rows are not as they were when it was read") {
		t.Errorf("%v %s", err, strings.Join(complaints, "\n"))
	}
	b.verdictsChange(t, before)
	if outdated(t, b.data, newer) {
		t.Error("driver 640 is still newer than every row")
	}
	if code, out, _ := b.run("--offline", b.cache, "driver", "driver-releases", "torch"); code != exitSame {
		t.Errorf("nothing is new any more, but: exit %d\n%s", code, out)
	}
}

// verdictsChange checks that the pull request's text names the verdicts that change. A machine with driver 640 was
// ahead of the tables before.
func (b *bench) verdictsChange(t *testing.T, before string) {
	t.Helper()
	cases := t.TempDir()
	err := errors.Join(os.CopyFS(filepath.Join(cases, "machines"), os.DirFS("../../matrix/testdata/machines")),
		os.CopyFS(filepath.Join(cases, "matrix-outdated"), os.DirFS("../../matrix/testdata/matrix-outdated")))
	if err != nil {
		t.Fatal(err)
	}
	var out, errs strings.Builder
	code := run(t.Context(), []string{"verdicts", before, "--data", b.data, "--cases", cases}, &out, &errs)
	if code != exitSame || !strings.Contains(out.String(), "matrix-outdated/warns-newer-driver: ") ||
		!strings.Contains(out.String(), "\n  - warning matrix-outdated: matrix\n") ||
		!strings.Contains(out.String(), "cases are judged otherwise\n") || strings.HasPrefix(out.String(), "0 of") {
		t.Errorf("exit %d\n%s%s", code, &out, &errs)
	}
	out.Reset()
	if run(t.Context(), []string{"verdicts", before, "--data", before, "--cases", cases}, &out, &errs); !strings.HasPrefix(out.String(), "0 of ") {
		t.Errorf("the same tables:\n%s%s", &out, &errs)
	}
}

// secure rewrites the addresses of the sources and of the kept files to the form that the tables require.
func secure(t *testing.T, b *bench, server string) {
	t.Helper()
	name := filepath.Join(b.data, "sources.toml")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(strings.ReplaceAll(string(text), server, "https://example.com")), 0o644); err != nil {
		t.Fatal(err)
	}
	for path, page := range b.pages {
		if err := reading.Keep(b.cache, "https://example.com"+path, "", page); err != nil {
			t.Fatal(err)
		}
	}
}

// outdated reports whether the tables in a directory are behind a machine.
func outdated(t *testing.T, dir string, machine facts.Facts) bool {
	t.Helper()
	tables, err := matrix.Load(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	machine.Complete()
	result := matrix.Check(context.Background(), tables, machine, nil, verdict.Policy{})
	return slices.ContainsFunc(result.Findings, func(f verdict.Finding) bool { return f.Rule == "matrix-outdated" })
}

// TestToolkitManifests reads a toolkit newer than the table, and the driver of one that has no driver in the table. It
// asks for no other toolkit. A manifest without a driver removes nothing.
func TestToolkitManifests(t *testing.T) {
	b := nextMonth(t)
	_, out, errs := b.run("cuda-manifests")
	for _, want := range []string{
		"cuda.csv: 13.4.0: differs\n  - driver_linux: \n  + driver_linux: 615.11.22\n",
		"cuda.csv: 13.9.1: new\n13.9.1,,,,,2027-01-20," + b.URL + "/toolkit/redistrib_13.9.1.json\n",
		"  - branch: \n  + branch: 615\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("want %s\n%s%s", want, out, errs)
		}
	}
	if strings.Contains(out, "13.4.2") || b.fetched["/toolkit/redistrib_13.4.2.json"] != 1 || b.fetched["/toolkit/redistrib_13.2.1.json"] != 0 {
		t.Errorf("fetched %v\n%s", b.fetched, out)
	}
	b.pages["/toolkit/"] = "moved"
	if code, out, _ := b.run("cuda-manifests"); code != exitDiffers || !strings.Contains(out, "lists no toolkit") {
		t.Errorf("an empty list: exit %d\n%s", code, out)
	}
}

// TestStops reads a source that lost the wheels on which rows are based, and one that contradicts itself. Nothing is
// written.
func TestStops(t *testing.T) {
	b := nextMonth(t)
	before := b.table(t, "torch.csv")
	var out, errs strings.Builder
	code := run(context.Background(), []string{"sync", "--index", b.URL + "/simple", "--data", b.data, "--cache", b.cache,
		"--pause", "1ms", "-w", "torch"}, &out, &errs)
	if code != exitDiffers || !strings.Contains(out.String(), "stop: torch: wheel torch-2.15.0-") ||
		!strings.Contains(errs.String(), "nothing is written") || b.table(t, "torch.csv") != before {
		t.Errorf("a list that shrinks: exit %d\n%.500s%s", code, &out, &errs)
	}
	b.pages["/driver/redistrib_640.20.02.json"] = b.pages["/driver/redistrib_640.10.01.json"]
	if code, out, _ := b.run("driver"); code != exitDiffers || !strings.Contains(out, `says that it is of "640.10.01"`) {
		t.Errorf("a manifest of another driver: exit %d\n%s", code, out)
	}
	b.pages["/releases.json"] = `{}`
	if code, out, _ := b.run("driver-releases"); code != exitDiffers || !strings.Contains(out, "lists no driver") {
		t.Errorf("an empty list: exit %d\n%s", code, out)
	}
}

func TestGuards(t *testing.T) {
	changed := func(table, column, old, now string) artefact.Change {
		return artefact.Change{Table: table, Columns: []string{"release", column}, Key: []string{"1.0"},
			Old: []string{"1.0", old}, New: []string{"1.0", now}}
	}
	for _, c := range []struct {
		name   string
		change artefact.Change
		want   string
	}{
		{"floor falls", changed("cuda", "driver_linux", "580.65.06", "535.54.03"), "driver_linux falls from 580.65.06"},
		{"floor goes", changed("cuda", "driver_linux", "580.65.06", ""), "driver_linux falls from 580.65.06"},
		{"floor rises", changed("cuda", "driver_linux", "535.54.03", "580.65.06"), ""},
		{"target lost", changed("torch", "sass", "sm_80 sm_90", "sm_90"), "sm_80 is no longer in it"},
		{"target more", changed("torch", "sass", "sm_90", "sm_80 sm_90"), ""},
	} {
		got := strings.Join(guards([]artefact.Change{c.change}), "\n")
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q", c.name, got)
		}
	}
	var many []artefact.Change
	for i := range maxChanged + 1 {
		c := changed("xid", "meaning", "a", "b")
		c.Key = []string{fmt.Sprint(i)}
		many = append(many, c)
	}
	if got := guards(many); len(got) != 1 || !strings.Contains(got[0], "more than 60 rows") {
		t.Error(got)
	}
}

// TestHand checks a line of hand.csv past its review date, and one that contradicts the table.
func TestHand(t *testing.T) {
	b := newBench(t)
	name := filepath.Join(b.data, "hand.csv")
	good := b.table(t, "hand.csv")
	old := strings.Replace(good, ",2027-05-01,", ",2026-01-01,", 1)
	if err := os.WriteFile(name, []byte(old), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, out, _ := b.run("cuda"); code != exitDiffers || !strings.Contains(out, "look again, it was to be done by 2026-01-01") {
		t.Errorf("exit %d\n%s", code, out)
	}
	if err := os.WriteFile(name, []byte(strings.Replace(good, ",2028-06,", ",2031-06,", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := b.run("cuda"); code != exitUsage || !strings.Contains(errs, `hand.csv:4:1: end_of_life of driver_branch 580 is "2028-06", not "2031-06"`) {
		t.Errorf("exit %d\n%s", code, errs)
	}
}
