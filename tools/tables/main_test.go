package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"cudacompat/tools/artefact"

	"github.com/google/go-cmp/cmp"
)

// bench is a copy of the tables and a cache, with an index.
type bench struct {
	*server
	data, cache string
}

func newBench(t *testing.T) *bench {
	b := &bench{server: newServer(t), data: t.TempDir(), cache: t.TempDir()}
	err := errors.Join(os.CopyFS(b.data, os.DirFS("../../data")), b.thin(), b.seal())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// seal makes the tables as they are those that were read.
func (b *bench) seal() error {
	data, err := artefact.OpenData(b.data)
	if err != nil {
		return err
	}
	list, err := artefact.ReadSources(b.data)
	if err != nil {
		return err
	}
	lock, err := artefact.ReadLock(b.data)
	if err != nil {
		return err
	}
	lock.Match(list)
	data.Seal(lock, nil, data.Pages(lock))
	return lock.Write(b.data)
}

// thin empties large tables whose rows no test asks for: every call of the program reads and lints them all.
func (b *bench) thin() error {
	families, err := filepath.Glob(filepath.Join(b.data, "signature", "*.txt"))
	for _, file := range families {
		if filepath.Base(file) != "log.txt" {
			err = errors.Join(err, os.Remove(file))
		}
	}
	for _, name := range []string{"cause.csv", "extension.csv", "status.csv", "xid.csv"} {
		file := filepath.Join(b.data, name)
		text, failed := os.ReadFile(file)
		header, _, _ := bytes.Cut(text, []byte("\n"))
		err = errors.Join(err, failed, os.WriteFile(file, append(header, '\n'), 0o644))
	}
	file := filepath.Join(b.data, "hand.csv")
	text, failed := os.ReadFile(file)
	kept := regexp.MustCompile(`(?m)^extension,.*\n`).ReplaceAll(text, nil)
	return errors.Join(err, failed, os.WriteFile(file, kept, 0o644))
}

// run calls the program; the day and the hashes in what it prints are taken out.
func (b *bench) run(args ...string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	// The index here lacks most of the wheels on which rows are based. Another test covers the guards' message about
	// that.
	args = append([]string{"sync", "--index", b.URL + "/simple", "--data", b.data, "--cache", b.cache, "--pause", "1ms",
		"--accept"}, args...)
	code = run(context.Background(), args, &stdout, &stderr)
	for line := range strings.Lines(stdout.String()) {
		if !strings.HasPrefix(line, "stop: ") && !strings.HasSuffix(line, ": never read\n") {
			out += line
		}
	}
	out = strings.ReplaceAll(out, time.Now().Format(time.DateOnly), "TODAY")
	for name := range b.wheels {
		out = hashAfter(out, name)
	}
	return code, out, stderr.String()
}

func hashAfter(text, name string) string {
	before, after, found := strings.Cut(text, name+" sha256:")
	if !found {
		return text
	}
	return before + name + " SHA" + hashAfter(after[64:], name)
}

func (b *bench) table(t *testing.T, name string) string {
	text, err := os.ReadFile(filepath.Join(b.data, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const torchRow = `2.90.0,cu130,linux_x86_64,13.0.2,9.20.0.48,2.29.7,sm_80 sm_90 sm_120,none,3.12 3.13t,2.28,,0.90.0,,3.90.0,` +
	`METADATA version.py libtorch_cuda.so TODAY,` +
	`wheel torch-2.90.0-cp312-cp312-manylinux_2_28_x86_64.whl SHA wheel torchvision-0.90.0-cp312-cp312-manylinux_2_28_x86_64.whl SHA`

const torchNew = `pypi_default.csv: 2.90 linux_aarch64: new
2.90,linux_aarch64,cpu,wheel torch-2.90.0-cp312-cp312-manylinux_2_28_aarch64.whl SHA
torch.csv: 2.90.0 cu130 linux_x86_64: new
` + torchRow + `
pypi_default.csv: 2.90 linux_x86_64: new
2.90,linux_x86_64,cu130,wheel torch-2.90.0-cp312-cp312-manylinux_2_28_x86_64.whl SHA
`

// TestRows reads every kind of wheel, from every kind of server: the rows are the same.
func TestRows(t *testing.T) {
	for name, prepare := range map[string]func(*server){
		"ranges":       func(*server) {},
		"whole":        func(s *server) { s.whole = true },
		"html":         func(s *server) { s.html = true },
		"busy":         func(s *server) { s.serve = busy() },
		"broken":       func(s *server) { s.serve = broken },
		"broken-whole": func(s *server) { s.serve = brokenWhole() },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			prepare(b.server)
			code, out, errs := b.run("torch")
			if diff := cmp.Diff(torchNew+"1 sources, 2 wheels: 0 make no row, 0 could not be read; 3 rows differ, 0 written\n", out); diff != "" || code != exitDiffers {
				t.Errorf("exit %d\n%s\n%s", code, diff, errs)
			}
		})
	}
}

// busy answers every other request with 503.
func busy() func(http.ResponseWriter, *http.Request, []byte) bool {
	n := 0
	return func(w http.ResponseWriter, _ *http.Request, _ []byte) bool {
		if n++; n%2 == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}
		return false
	}
}

// broken sends 1000 bytes of what was asked for and breaks off.
func broken(w http.ResponseWriter, r *http.Request, wheel []byte) bool {
	var from int
	if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); err != nil || from+1000 >= len(wheel) {
		return false
	}
	w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(wheel)-1, len(wheel)))
	w.Header().Set("Content-Length", fmt.Sprint(len(wheel)-from))
	w.WriteHeader(http.StatusPartialContent)
	w.Write(wheel[from : from+1000])
	return true
}

// brokenWhole sends no parts, and of every other answer the first half alone.
func brokenWhole() func(http.ResponseWriter, *http.Request, []byte) bool {
	n := 0
	return func(w http.ResponseWriter, _ *http.Request, wheel []byte) bool {
		w.Header().Set("Content-Length", fmt.Sprint(len(wheel)))
		if n++; n%2 == 0 { // Open's own question is the first
			wheel = wheel[:len(wheel)/2]
		}
		w.Write(wheel)
		return true
	}
}

func TestOtherTables(t *testing.T) {
	b := newBench(t)
	for product, want := range map[string]string{
		"tensorflow": `tensorflow 2.90.0 linux_aarch64: no row: it holds no TensorFlow, only requirements
tensorflow.csv: 2.90.0 gpu linux_x86_64: new
2.90.0,gpu,linux_x86_64,13.0,9,2.29.7,sm_80 sm_90,compute_90,3.12,2.17,,"nvidia-cudnn-cu13<10.0,>=9.3.0.75 nvidia-nccl-cu13==2.29.7","<3.0,>=2.0",METADATA build_info.py libtensorflow_cc.so.2 TODAY,wheel tensorflow-2.90.0-cp312-cp312-manylinux_2_17_x86_64.whl SHA
1 sources, 2 wheels: 1 make no row, 0 could not be read; 1 rows differ, 0 written
`,
		"jax": `jax.csv: 0.90.0 cuda13 linux_x86_64: new
0.90.0,cuda13,linux_x86_64,13.0,9.12.0,,sm_80 sm_90,compute_90,3.12,2.27,"<=0.90.0,>=0.89.0",nvidia-cublas>=13.0.0.19,METADATA _versions.so _linalg.so TODAY,wheel jax-0.90.0-py3-none-any.whl SHA wheel jax_cuda13_plugin-0.90.0-cp312-cp312-manylinux_2_27_x86_64.whl SHA
1 sources, 1 wheels: 0 make no row, 0 could not be read; 1 rows differ, 0 written
`,
	} {
		if _, out, errs := b.run(product); out != want {
			t.Errorf("%s: %s\n%s", product, cmp.Diff(want, out), errs)
		}
	}
}

// TestJaxlibs reads the cuDNN of a jaxlib that is on no index from the extras of its jax. A plugin's own files say it for
// its CUDA, and another jax of the same index, which has plugins only, makes no row.
func TestJaxlibs(t *testing.T) {
	b := newBench(t)
	_, out, errs := b.run("--release", "0.4.20", "jax")
	for line, there := range map[string]bool{
		"jax.csv: 0.4.20 cuda11 linux_x86_64: differs\n  - cudnn: 8.6\n  + cudnn: 8.7\n": true,
		"jax.csv: 0.4.20 cuda12": true, // its wheel here is another than the row names
		"cudnn: 8.9":             false,
	} {
		if strings.Contains(out, line) != there {
			t.Errorf("%q stands there: %t\n%s%s", line, !there, out, errs)
		}
	}
	if _, out, errs := b.run("--release", "0.4.23", "jax"); strings.Contains(out, "cudnn: ") || !strings.Contains(out, "0.4.23 cuda11") ||
		strings.Contains(out, "0.4.23 cuda12") {
		t.Errorf("%s%s", out, errs)
	}
}

// TestExtensions reads packages that are built against a framework or a CUDA. The CUDA version comes from a library
// opened by name, a version file, a requirement, or the index variant of the pinned torch; or the package has no CUDA.
func TestExtensions(t *testing.T) {
	b := newBench(t)
	for product, rows := range map[string][]string{
		"sglang": {"sglang,9.0.0,pypi,,2.9.1,12,,,,>=3.11,,,,,METADATA TODAY,",
			"sglang,9.1.0,pypi,,\"<2.13,>=2.11\",13,,,,,,,,,METADATA TODAY,"},
		"xgboost": {"xgboost,9.0.0,pypi,linux_x86_64,,12,,sm_80 sm_90,compute_90,,,none,none,none,METADATA libxgboost.so TODAY," +
			"wheel xgboost-9.0.0-py3-none-manylinux_2_28_x86_64.whl SHA\n"},
		"lightgbm":         {"lightgbm,9.0.0,pypi,linux_x86_64,,none,,,,,,none,none,none,METADATA lib_lightgbm.so TODAY,"},
		"ctranslate2":      {"ctranslate2,9.0.0,pypi,linux_x86_64,,12,,sm_80,compute_80,3.12,,none,none,libcublas.so.12,METADATA libctranslate2-1.so.9 TODAY,"},
		"paddlepaddle-gpu": {"paddlepaddle-gpu,9.0.0,pypi,linux_x86_64,,11.8,,,,3.12,,,,,METADATA version/__init__.py TODAY,"},
	} {
		code, out, errs := b.run("-w", product)
		if code != exitSame {
			t.Errorf("%s: exit %d\n%s%s", product, code, out, errs)
		}
		for _, row := range rows {
			if !strings.Contains(out, row) {
				t.Errorf("%s: want %s\n%s%s", product, row, out, errs)
			}
		}
		if _, out, _ := b.run(product); !strings.HasPrefix(out, "1 sources, 0 wheels") {
			t.Errorf("%s is written, and still new:\n%s", product, out)
		}
	}
}

// TestSpread names a release whose wheels for two Pythons ask for different torches, and no other.
func TestSpread(t *testing.T) {
	b := newBench(t)
	for python, torch := range map[string]string{"cp311": "2.1.2", "cp312": "2.2.0"} {
		for release, asks := range map[string]string{"9.0.0": torch, "9.1.0": "2.3.0"} {
			b.wheels["torchtext-"+release+"-"+python+"-"+python+"-manylinux1_x86_64.whl"] = wheelOf(t, map[string][]byte{
				"torchtext-" + release + ".dist-info/METADATA": []byte("Name: torchtext\nVersion: " + release + "\nRequires-Dist: torch==" + asks + "\n\n")})
		}
	}
	var out, errs bytes.Buffer
	code := run(context.Background(), []string{"spread", "--index", b.URL + "/simple", "--data", b.data, "--cache", b.cache, "torchtext"}, &out, &errs)
	want := "torchtext 9.0.0 linux_x86_64: torch differs\n  \"2.1.2\": 3.11\n  \"2.2.0\": 3.12\n" +
		"torchtext: 2 releases with several wheels for a platform, 1 cells differ\n"
	if code != exitDiffers || out.String() != want {
		t.Errorf("exit %d\n%s%s\nwant\n%s", code, &out, &errs, want)
	}
}

// TestLibraries reads names from wheels' directories. A name for several CUDAs gives one row, a name without a version
// counts only if there is no other, and stubs never count.
func TestLibraries(t *testing.T) {
	b := newBench(t)
	_, out, errs := b.run("-w", "cufile")
	for _, row := range []string{
		"libcufile_next.so.2,cuFile,12 13,nvidia-cufile nvidia-cufile-cu12,wheel nvidia_cufile-1.0.0-py3-none-manylinux_2_27_x86_64.whl SHA wheel nvidia_cufile_cu12-1.0.0-py3-none-manylinux_2_27_x86_64.whl SHA\n",
		"cufile64_0.dll,cuFile,12,nvidia-cufile-cu12,wheel nvidia_cufile_cu12-1.0.0-py3-none-win_amd64.whl SHA\n",
	} {
		if !strings.Contains(out, row) {
			t.Errorf("want %s\n%s%s", row, out, errs)
		}
	}
	if strings.Contains(out, "stub") || strings.Contains(out, "libcufile_next.so:") {
		t.Error(out)
	}
}

// TestHostCompilers reads nvcc's header in every minor release. Clang on another system does not count, a row that
// already agrees keeps its source, and if the table lists patch releases, the last one is meant.
func TestHostCompilers(t *testing.T) {
	b := newBench(t)
	_, out, errs := b.run("--release", "all", "host-compilers")
	for _, line := range []string{
		"host_compiler.csv: 11.8: as in the source\n",
		"host_compiler.csv: 12.2.2: as in the source\n",
		"host_compiler.csv: 12.9: differs\n  - gcc_max: 14\n  + gcc_max: 15\n",
		"host_compiler.csv: 13.9: new\n13.9,,17,3.3,23,wheel nvidia_cuda_crt-13.9.37-",
	} {
		if !strings.Contains(out, line) {
			t.Errorf("want %s\n%s%s", line, out, errs)
		}
	}
}

// TestPTX reads which PTX ISA each toolkit has: of those that are newer than the header it says nothing, although its first
// line is for them.
func TestPTX(t *testing.T) {
	b := newBench(t)
	_, out, errs := b.run("--release", "all", "ptx-isa")
	for line, there := range map[string]bool{
		"cuda.csv: 12.4.1:":                             false,
		"cuda.csv: 12.6.3: as in the source\n":          true,
		"cuda.csv: 12.8.1: differs\n  - ptx_isa: 8.7\n": true,
		"\n  + ptx_isa: 8.6\n":                          true,
		"cuda.csv: 12.9.0:":                             false,
		"cuda.csv: 13.0.0:":                             false,
	} {
		if strings.Contains(out, line) != there {
			t.Errorf("%q stands there: %t\n%s%s", line, !there, out, errs)
		}
	}
}

// TestInstances names the instance types with NVIDIA's GPUs that have no row, and no others.
func TestInstances(t *testing.T) {
	b := newBench(t)
	code, out, _ := b.run("ec2")
	if want := "ec2: ec2.csv has no row of p9.48xlarge\n"; code != exitDiffers || !strings.HasPrefix(out, want) {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// TestLibrariesInside reads a wheel that bundles cuDNN, whose machine code is no evidence of PyTorch's own. Those cells
// stay empty, and without them and a second source the row is not written.
func TestLibrariesInside(t *testing.T) {
	b := newBench(t)
	before := b.table(t, "torch.csv")
	_, out, _ := b.run("-w", "--release", "1.7.9", "torch")
	row := "1.7.9,cu102,linux_x86_64,10.2,,,,,3.8,2.5,,,,,,wheel torch-1.7.9-cp38-cp38-manylinux1_x86_64.whl SHA\n"
	if !strings.Contains(out, row) || !strings.Contains(out, "verified: the row has one source") ||
		b.table(t, "torch.csv") != before {
		t.Error(out)
	}
}

// TestWrite puts new rows in their place; asked again, the program finds them there and fetches nothing.
func TestWrite(t *testing.T) {
	b := newBench(t)
	before := b.table(t, "torch.csv")
	if code, out, errs := b.run("-w", "--release", "2.90.0", "torch"); code != exitSame {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	after := b.table(t, "torch.csv")
	if line := strings.TrimPrefix(after, before); strings.Count(line, "\n") != 1 ||
		!strings.HasPrefix(line, "2.90.0,cu130,") {
		t.Errorf("beside the new row at the end, this changed:\n%s", cmp.Diff(before, after))
	}
	clear(b.fetched)
	code, out, _ := b.run("--release", "all", "torch")
	if code != exitSame || !strings.Contains(out, "torch.csv: 2.90.0 cu130 linux_x86_64: as in the source\n") ||
		len(b.fetched) > 0 {
		t.Errorf("exit %d, fetched %v\n%s", code, b.fetched, out)
	}
	if code, out, _ := b.run("torch"); code != exitSame || !strings.HasPrefix(out, "1 sources, 0 wheels") {
		t.Errorf("nothing is new any more, but: exit %d\n%s", code, out)
	}
}

// TestDiffers changes one cell of a written row and expects that cell to be named and corrected.
func TestDiffers(t *testing.T) {
	b := newBench(t)
	b.run("-w", "--release", "2.90.0", "torch")
	good := b.table(t, "torch.csv")
	bad := strings.Replace(good, "sm_80 sm_90 sm_120,none,3.12 3.13t", "sm_80 sm_90,none,3.12 3.13t", 1)
	if err := os.WriteFile(filepath.Join(b.data, "torch.csv"), []byte(bad), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, _ := b.run("--release", "2.90.0", "torch")
	if want := "linux_x86_64: differs\n  - sass: sm_80 sm_90\n  + sass: sm_80 sm_90 sm_120\n"; code != exitDiffers ||
		!strings.Contains(out, want) {
		t.Errorf("exit %d\n%s", code, out)
	}
	b.run("-w", "--release", "2.90.0", "torch")
	if diff := cmp.Diff(good, b.table(t, "torch.csv")); diff != "" {
		t.Error(diff)
	}
}

// TestRefused reads a wheel whose row the linter rejects, because the tables do not know its CUDA, and a damaged wheel.
// Neither changes the tables.
func TestRefused(t *testing.T) {
	b := newBench(t)
	before := b.table(t, "nccl.csv")
	code, out, _ := b.run("-w", "--release", "2.90.2", "nccl")
	if want := "nothing is written, the linter refuses the row: nccl.csv:"; code != exitDiffers ||
		!strings.Contains(out, want) {
		t.Errorf("exit %d\n%s", code, out)
	}
	name := "nvidia_nccl_cu13-2.90.1-py3-none-manylinux_2_18_x86_64.whl"
	wheel := b.wheels[name]
	wheel[len(wheel)/3] ^= 0xff
	code, out, _ = b.run("-w", "--release", "2.90.1", "nccl")
	if code != exitDiffers || !strings.Contains(out, "2.90.1 linux_x86_64: not read: ") {
		t.Errorf("exit %d\n%s", code, out)
	}
	if after := b.table(t, "nccl.csv"); after != before {
		t.Error(cmp.Diff(before, after))
	}
	if entries, _ := os.ReadDir(b.data); len(entries) != len(strings.Fields(b.tables(t))) {
		t.Errorf("something was left beside the tables: %v", entries)
	}
}

func (b *bench) tables(t *testing.T) string {
	names, err := filepath.Glob("../../data/*")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, " ")
}

// TestStopped interrupts a run and continues it. Wheels that were read before are not fetched again.
func TestStopped(t *testing.T) {
	b := newBench(t)
	ctx, stop := context.WithCancel(context.Background())
	b.serve = func(_ http.ResponseWriter, r *http.Request, _ []byte) bool {
		if strings.Contains(r.URL.Path, "2.90.0-cp312-cp312-manylinux_2_28_x86_64") {
			stop()
		}
		return false
	}
	var out, errs bytes.Buffer
	code := run(ctx, []string{"sync", "--index", b.URL + "/simple", "--data", b.data, "--cache", b.cache, "torch"}, &out, &errs)
	if code != exitDiffers || !strings.Contains(errs.String(), "the same command goes on from here") {
		t.Errorf("exit %d\n%s%s", code, &out, &errs)
	}
	b.serve = nil
	clear(b.fetched)
	if _, out, _ := b.run("torch"); !strings.HasPrefix(out, torchNew) ||
		b.fetched["torch-2.90.0-cp312-cp312-manylinux_2_28_aarch64.whl"] > 0 {
		t.Errorf("fetched %v\n%s", b.fetched, out)
	}
}

func TestUsage(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"numpy"}, `there is no source "numpy"`},
		{[]string{"--release", "7.7.7", "torch"}, "no source has a wheel of 7.7.7"},
		{[]string{"--data", "nowhere", "torch"}, "nowhere"},
		{[]string{"--colour", "torch"}, "unknown flag"},
	} {
		if code, _, errs := b.run(c.args...); code != exitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("%q: exit %d, %s", c.args, code, errs)
		}
	}
}

// TestRowsComeBack removes rows from the tables and changes one. A sync without a cache reads the wheels of these
// releases and no others. A line of hand.csv for a missing row is reported until the row is back with the same value.
func TestRowsComeBack(t *testing.T) {
	b := newBench(t)
	if code, out, errs := b.run("-w", "sglang", "xgboost"); code != exitSame {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	sound, hand := b.table(t, "extension.csv"), b.table(t, "hand.csv")
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(b.data, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	rowOf := func(key string) string {
		row := sound[strings.Index(sound, key):]
		return row[:strings.Index(row, "\n")+1]
	}
	sglang, xgboost := rowOf("sglang,9.0.0,"), rowOf("xgboost,9.0.0,")
	for _, c := range []struct{ name, source, row, now, hand, want string }{
		{"taken out", "sglang", sglang, "", "", "extension.csv: sglang 9.0.0 pypi : new\n"},
		{"changed", "sglang", sglang, strings.Replace(sglang, "2.9.1,12", "2.9.9,12", 1), "",
			"extension.csv: sglang 9.0.0 pypi : differs\n  - torch: 2.9.9\n  + torch: 2.9.1\n"},
		{"with a line of hand.csv", "xgboost", xgboost, "",
			"extension,xgboost 9.0.0 pypi linux_x86_64,sass,sm_70,a test,2099-01-01,https://example.com/\n",
			"\nxgboost,9.0.0,pypi,linux_x86_64,,12,,sm_70,"},
	} {
		t.Run(c.name, func(t *testing.T) {
			write("extension.csv", strings.Replace(sound, c.row, c.now, 1))
			if c.hand != "" {
				lines := strings.SplitAfter(hand, "\n")
				after := slices.IndexFunc(lines[1:], func(line string) bool { return line == "" || line > c.hand }) + 1
				write("hand.csv", strings.Join(slices.Insert(lines, after, c.hand), ""))
				complaints, err := artefact.Lint(b.data, "2026-11-29")
				want := "hand.csv: extension.csv has no row xgboost 9.0.0 pypi linux_x86_64, of which a line sets sass"
				if !slices.Contains(complaints, want) || err != nil {
					t.Errorf("lint says %q, %v", complaints, err)
				}
			}
			b.cache = t.TempDir()
			_, out, errs := b.run("-w", c.source)
			const tally = "1 sources, 1 wheels: 0 make no row, 0 could not be read; 1 rows differ, 1 written"
			if !strings.Contains(out, c.want) || !strings.Contains(out, tally) {
				t.Errorf("%s%s", out, errs)
			}
			if got := b.table(t, "extension.csv"); c.hand == "" && got != sound {
				t.Error(cmp.Diff(sound, got))
			}
		})
	}
}
