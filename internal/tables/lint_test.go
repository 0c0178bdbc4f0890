package tables

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"cudacompat/data"
	"cudacompat/internal/tables/sheet"

	"github.com/google/go-cmp/cmp"
)

// copyOf returns the embedded tables with one of them changed.
func copyOf(t *testing.T, file string, change func(lines []string) []string) fs.FS {
	t.Helper()
	copied := fstest.MapFS{}
	err := fs.WalkDir(data.FS, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := fs.ReadFile(data.FS, name)
		if name == file {
			text = []byte(strings.Join(change(strings.SplitAfter(string(text), "\n")), ""))
		}
		copied[name] = &fstest.MapFile{Data: text}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return copied
}

// edit replaces text in one line, counted from 1.
func edit(line int, old, replacement string) func([]string) []string {
	return func(lines []string) []string {
		lines[line-1] = strings.Replace(lines[line-1], old, replacement, 1)
		return lines
	}
}

func swap(lines []string) []string {
	lines[2], lines[3] = lines[3], lines[2]
	return lines
}

func repeat(lines []string) []string {
	return append(lines[:3:3], append([]string{lines[2]}, lines[3:]...)...)
}

var (
	sourceCell = regexp.MustCompile(`,https?[^,]*\n`)
	readCell   = regexp.MustCompile(`,METADATA [^,]* \d{4}-\d\d-\d\d,`)
)

func replaceIn(line int, pattern *regexp.Regexp, text string) func([]string) []string {
	return func(lines []string) []string {
		lines[line-1] = pattern.ReplaceAllString(lines[line-1], text)
		return lines
	}
}

// TestLinterFindsTheCell breaks a copy of the tables in each way that the linter detects, and checks file, line and
// column.
func TestLinterFindsTheCell(t *testing.T) {
	for _, c := range []struct {
		name, file string
		change     func([]string) []string
		want       string // a pattern
	}{
		{"unsorted", "cuda.csv", swap, `^cuda\.csv:4:1: .* the table is sorted$`},
		{"duplicate", "cuda.csv", repeat, `^cuda\.csv:4:1: the key 9\.2\.148 stands twice$`},
		{"unsourced", "cuda.csv", replaceIn(5, sourceCell, ",\n"), `^cuda\.csv:5:\d\d: source: "" is neither`},
		{"source-not-https", "cuda.csv", edit(5, "https://", "http://"), `^cuda\.csv:5:\d\d: source: "http://.*" is neither`},
		{"dangling-cuda", "torch.csv", edit(3, ",10.1", ",10.7"), `^torch\.csv:3:23: cuda: 10\.7 is not in cuda\.csv$`},
		{"dangling-branch", "cuda.csv", edit(5, ",418,", ",419,"),
			`^cuda\.csv:5:\d+: branch: 419 is not in driver_branch\.csv$`},
		{"dangling-gpu", "ec2.csv", edit(2, "Tesla M60", "Tesla M61"), `^ec2\.csv:2:12: gpu: Tesla M61 is not in gpu\.csv$`},
		{"dangling-capability", "ec2.csv", edit(2, ",5.2,", ",5.4,"),
			`^ec2\.csv:2:\d+: capability: 5\.4 is not in gpu\.csv$`},
		{"dangling-variant", "pypi_default.csv", edit(3, "cu102", "cu199"),
			`^pypi_default\.csv:3:18: variant: cu199 is not in torch\.csv$`},
		{"dangling-in-list", "nccl.csv", edit(2, ",10.1 10.2,", ",10.1 10.9,"),
			`^nccl\.csv:2:10: built: 10\.9 is not in cuda\.csv$`},
		{"unproven", "jax.csv", edit(2, ",single-source,", ",,"),
			`^jax\.csv:2:\d+: verified: the row has one source and does not say so`},
		{"proof-undated", "tensorflow.csv", replaceIn(2, readCell, ",METADATA,"),
			`^tensorflow\.csv:2:\d+: verified: ".*" is neither`},
		{"proof-without-wheel", "jax.csv", edit(2, ",single-source,", ",METADATA 2026-11-21,"),
			`^jax\.csv:2:\d+: verified: it says what was read, but no source`},
		{"no-version", "cuda.csv", edit(5, "418.39", "soon"), `^cuda\.csv:5:10: driver_linux: "soon" is not a version$`},
		{"no-capability", "gpu.csv", edit(2, ",8.9,", ",89,"),
			`^gpu\.csv:2:7: capability: "89" is not a compute capability$`},
		{"no-number", "ec2.csv", edit(2, ",5.2,1,", ",5.2,one,"), `^ec2\.csv:2:\d+: count: "one" is not a number$`},
		{"no-machine-code", "torch.csv", edit(2, "sm_37", "sm37"), `^torch\.csv:2:\d+: sass: "sm37" is not of the form `},
		{"no-yes", "ec2.csv", edit(2, ",no,", ",nein,"), `^ec2\.csv:2:\d+: nvswitch: "nein" is not of the form `},
		{"no-day", "driver_branch.csv", edit(20, "2022-", "22-"),
			`^driver_branch\.csv:20:\d+: [a-z_]+: "22-.*" is not of the form `},
		{"spaces", "gpu.csv", edit(2, ",8.9,", ",8.9 ,"), `^gpu\.csv:2:7: `},
		{"header", "gpu.csv", edit(1, "capability", "capabilities"),
			`^gpu\.csv:1:6: column 2 of the header must be "capability"$`},
		{"header-short", "minor_compat.csv", edit(1, ",source", ""),
			`^minor_compat\.csv:1:\d+: column 4 of the header must be "source"$`},
		{"header-long", "minor_compat.csv", edit(1, ",source", ",source,more"),
			`^minor_compat\.csv:1:\d+: column 5 of the header is "more"`},
		{"cell-missing", "minor_compat.csv", edit(2, ",452.39", ""), `^minor_compat\.csv:2:1: wrong number of fields$`},
		{"bare-quote", "minor_compat.csv", edit(2, "452.39", `452"39`), `^minor_compat\.csv:2:\d+: `},
		{"stanza-field", "signature/log.txt", edit(3, "cause: ", "reason: "),
			`^signature/log\.txt:3:1: ".*" is none of the fields`},
		{"stanza-undated", "signature/log.txt", edit(6, "line: ", "checked: soon\nline: "),
			`^signature/log\.txt:\d+:1: checked`},
		{"empty", "minor_compat.csv", func([]string) []string { return nil }, `^minor_compat\.csv:1:1: there is no header$`},
	} {
		t.Run(c.name, func(t *testing.T) {
			tables, err := Load(copyOf(t, c.file, c.change))
			if err == nil || tables != nil {
				t.Fatal("the broken copy was loaded")
			}
			if !regexp.MustCompile(c.want).MatchString(err.Error()) {
				t.Errorf("the error is %q, want %s", err, c.want)
			}
		})
	}
}

// TestLoadOver puts a site's own rows over the embedded ones: one replaces the row with its key, one is inserted in
// order, and everything else stays. A file that is no table is rejected, and so is a directory without any.
func TestLoadOver(t *testing.T) {
	minor := "family,driver_linux,driver_windows,source\n" +
		"10,440.33,441.22,https://example.com/policy\n12,530.30.02,528.33,https://example.com/policy\n"
	tables, err := LoadOver(fstest.MapFS{"minor_compat.csv": {Data: []byte(minor)}, "README": {}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range Rows[Minor](tables) {
		got = append(got, row.Family.String()+" "+row.DriverLinux.String())
	}
	if diff := cmp.Diff([]string{"10 440.33", "11 450.80.02", "12 530.30.02", "13 580"}, got); diff != "" {
		t.Errorf("minor_compat (-want +got):\n%s", diff)
	}
	if len(Rows[Torch](tables)) == 0 {
		t.Error("the embedded torch table is gone")
	}
	for name, c := range map[string]struct {
		over fstest.MapFS
		want string
	}{
		"misspelt":  {fstest.MapFS{"minor_compta.csv": {}}, "there is no such table"},
		"directory": {fstest.MapFS{"torch.csv/x": {}}, "torch.csv"},
		"nothing":   {fstest.MapFS{"README": {}}, "there is no table"},
		"own-cell": {fstest.MapFS{"minor_compat.csv": {Data: []byte(strings.Replace(minor, "440.33", "soon", 1))}},
			`minor_compat.csv:2:4: driver_linux: "soon" is not a version`},
		"own-reference": {fstest.MapFS{"pypi_default.csv": {Data: []byte("release,platform,variant,source\n" +
			"2.0.0,linux_x86_64,cu999,https://example.com\n")}},
			`pypi_default.csv:2:20: variant: cu999 is not in torch.csv`},
	} {
		if _, err := LoadOver(c.over); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestOwnSignatures lays a line of a log over the embedded ones: known by its id, it takes their place; else it comes
// after them.
func TestOwnSignatures(t *testing.T) {
	embedded := Rows[Signature](Embedded())
	own := "cause: cluster-quota\nblame: environment\nbecause: The quota is used up.\ndo: ask for more\n\n" +
		"line: " + embedded[3].ID + "\nweight: cause\npattern: QUOTA EXCEEDED\nseen: QUOTA EXCEEDED\n" +
		"source: https://example.com\nchecked: 2026-11-21\n\n" +
		"line: own-quota\nweight: cause\npattern: QUOTA NEARLY USED\nseen: QUOTA NEARLY USED\n" +
		"source: https://example.com\nchecked: 2026-11-21\n"
	tables, err := LoadOver(fstest.MapFS{"signature/own.txt": {Data: []byte(own)}})
	if err != nil {
		t.Fatal(err)
	}
	rows := Rows[Signature](tables)
	last := rows[len(rows)-1].ID
	if len(rows) != len(embedded)+1 || rows[3].Cause != "cluster-quota" || rows[4].ID != embedded[4].ID ||
		last != "own-quota" {
		t.Errorf("%d rows of %d; the fourth is of %s, the last is %s", len(rows), len(embedded), rows[3].Cause, last)
	}
}

// FuzzLoadOver gives a site's table any bytes: an error or a table, and never a panic.
func FuzzLoadOver(f *testing.F) {
	text, err := fs.ReadFile(data.FS, "minor_compat.csv")
	if err != nil {
		f.Fatal(err)
	}
	minor, _ := sheetNamed("minor_compat")
	f.Add(text)
	f.Add([]byte("family\n\"\n"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, table []byte) {
		one := sheet.Layers{Under: fstest.MapFS{"minor_compat.csv": {Data: table}}}
		if _, err := minor.Read(minor, one, sheet.CheckCell); err != nil &&
			!strings.HasPrefix(err.Error(), "minor_compat.csv") {
			t.Errorf("the error %q does not name the file", err)
		}
	})
}
