package input

import (
	"encoding/binary"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"cudacompat/probe/facts"
	"cudacompat/probe/internal/input/document"
	"cudacompat/probe/internal/input/inputtest"

	"github.com/google/go-cmp/cmp"
)

// samples lists files as the tools write them, with the format that reads each and the facts in it, one per line.
var samples = map[string][]string{
	"compose.yml": {"compose file", "want vllm/vllm-openai==v0.6.3 image", "want nvidia/cuda==12.6.3-base-ubuntu24.04 image",
		"want xformers==0.0.32", "unread service other, image ${IMAGE}"},
	"smi-version.txt": {"nvidia-smi --version", "driver 550.54.15 12.4"},
	"smi-535.txt":     {"nvidia-smi", "driver 535.183.01 12.2", "gpu NVIDIA L4 0000:00:1e.0"},
	"smi-610.txt":     {"nvidia-smi", "driver 610.57.04 13.3", "gpu NVIDIA GeForce GTX 1650 0000:01:00.0"},
	"smi-wsl.txt":     {"nvidia-smi", "WSL", "driver 546.12 12.3", "gpu NVIDIA GeForce RTX 4090 0000:01:00.0"},
	"smi-windows.txt": {"nvidia-smi", "OS Windows", "driver 560.94 12.6", "gpu NVIDIA GeForce RTX 4070 0000:01:00.0"},
	"smi-old.txt": {"nvidia-smi", "driver 418.87.00 10.1", "gpu Tesla V100-SXM2 0000:00:1e.0",
		"gpu Tesla V100-SXM2 0000:00:1f.0"},
	"smi-q.txt":      {"nvidia-smi -q", "driver 535.183.01 12.2", "gpu NVIDIA L4 0000:00:1e.0 10de:27b8"},
	"smi-L.txt":      {"nvidia-smi -L", "driver  ", "gpu NVIDIA A100-SXM4-40GB ", "gpu NVIDIA A100-SXM4-40GB "},
	"smi-failed.txt": {"an error of nvidia-smi", "driver  "},
	"smi.xml":        {"nvidia-smi -x -q", "driver 535.183.01 12.2", "gpu NVIDIA L4 0000:00:1e.0 10de:27b8"},
	"plan-uv.txt": {"uv pip install --dry-run, uv sync --dry-run", "torch|2.7.0|||default|package torch",
		"want nvidia-cufile-cu12==1.11.1.6", "want nvidia-nccl-cu12==2.26.2", "want setuptools==84.2.1",
		"want triton==3.3.0",
		"- nvidia-nccl-cu12 2.21.5", "- torch 2.6.0", "- triton 3.2.0", "+ nvidia-cufile-cu12 1.11.1.6",
		"+ nvidia-nccl-cu12 2.26.2", "+ setuptools 84.2.1", "+ torch 2.7.0", "+ triton 3.3.0", "of uv in /opt/e1"},
	"plan-uv-cold.txt": {"uv pip install --dry-run, uv sync --dry-run", "torch|2.9.0+cu130||||package torch",
		"want numpy==2.4.6", "want vllm(version unknown)", "- numpy 2.4.6", "- torch 2.7.1+cu126", "- triton 3.3.1",
		"+ numpy 2.4.6", "+ torch 2.9.0+cu130", "+ vllm ", "of uv in tv"},
	"plan-uv-sync.txt": {"uv pip install --dry-run, uv sync --dry-run", "want numpy==2.4.6", "- numpy 1.26.4",
		"+ numpy 2.4.6", "of uv in .venv"},
	"plan-uninstall.txt": {"uv pip install --dry-run, uv sync --dry-run", "- nvidia-cudnn-cu12 9.1.0.70",
		"of uv in /opt/e1"},
	"plan-nothing.txt": {"uv pip install --dry-run, uv sync --dry-run", "of uv in /opt/e1"},
	"plan-pip.txt": {"pip install --dry-run", "torch|2.10.0+cu128||||package torch", "want markupsafe==3.0.4",
		"want nvidia-cudnn-cu12==9.10.2.21", "+ markupsafe 3.0.4", "+ nvidia-cudnn-cu12 9.10.2.21",
		"+ torch 2.10.0+cu128", "of pip"},
	"plan-pip.json": {"pip install --report", "torch|2.10.0+cu128||||package torch", "python 3.11.7",
		"want packaging==24.0", "+ torch 2.10.0+cu128", "+ packaging 24.0", "of pip"},
	"plan-conda.json": {"conda install --dry-run --json", "torch|2.5.1|cuda|12.6||package pytorch", "want numpy==2.1.2",
		"- numpy 1.26.4", "+ torch 2.5.1", "+ numpy 2.1.2", "of conda in /opt/conda/envs/train"},
	"plan-pixi.json": {"pixi update --dry-run --json", "torch|2.5.1|cuda|12.6||package pytorch", "want numpy==2.1.2",
		"- numpy 1.26.4", "- vllm 0.11.0", "+ numpy 2.1.2", "+ torch 2.5.1", "of pixi"},
	"plan-poetry.txt": {"poetry install --dry-run", "torch|2.7.0|||default|package torch", "want mdurl==0.1.2",
		"- xformers 0.0.29.post3", "- torch 2.6.0", "+ mdurl 0.1.2", "+ torch 2.7.0", "of poetry"},
	"pip-list.txt": {"pip list", "torch|2.9.0+cu126||||package torch", "want numpy==2.1.2",
		"want train==0.1.0", "want vllm==0.11.0"},
	"pip-list.json": {"pip list --format=json", "torch|2.9.0+cu126||||package torch", "want numpy==2.1.2"},
	"conda-list.txt": {"conda list", "torch|2.5.1|cuda|12.4||package pytorch", "want -libgcc-mutex==0.1",
		"want numpy==2.1.2", "want onnxruntime-gpu==1.20.1"},
	"conda-export.txt": {"conda list", "torch|2.5.1|cuda|12.4||package pytorch"},
	"conda-list.json":  {"conda list --json", "torch|2.5.1|cuda|12.6||package pytorch", "want cupy==13.4.1"},
	"explicit.txt": {"conda list --explicit", "torch|2.5.1|cuda|12.4||package pytorch",
		"want faiss-gpu==1.9.0 cuda 12.1"},
	"environment.yml": {"environment.yml", "torch|2.5.1|cuda|12.4||package pytorch", "python 3.12",
		"want pip (no version given)",
		"want vllm==0.30.0"},
	"poetry.lock":  {"poetry.lock", "torch|2.9.0+cu126|||cu126|package torch", "want numpy==2.1.2"},
	"Pipfile.lock": {"Pipfile.lock", "torch|2.9.0+cu126|||cu126|package torch", "want numpy==2.1.2"},
	"pixi.lock": {"pixi.lock", "torch|2.5.1|cuda|12.6||package pytorch", "torch|2.9.0+cu130|||cu130|package torch",
		"python 3.12.7"},
	"conda-lock.yml": {"conda-lock.yml", "torch|2.5.1|cuda|12.6||package pytorch", "want vllm==0.11.0"},
	"pyproject.toml": {"pyproject.toml", "torch|2.9.0+cu126|||cu126|package torch",
		"jax|0.6.2|cuda|12|default|package jax",
		"want numpy>=2", "want onnxruntime-gpu==1.20.1"},
	"poetry.toml": {"pyproject.toml", "torch|2.9.0+cu126|||cu126|package torch", "want vllm^0.11",
		"want pytest (no version given)"},
	"Dockerfile": {"Dockerfile", "torch|2.9.0+cu126|||cu126|line 11", "want nvidia/cuda==12.6.3-runtime-ubuntu24.04 image",
		"want xformers==0.0.32", "want vllm==0.11.0", "unread line 15: pip install ."},
}

// told returns the facts of a document, one per line.
func told(f facts.Facts) []string {
	var list []string
	if f.System.OS != "" {
		list = append(list, "OS "+f.System.OS)
	}
	if f.System.WSL {
		list = append(list, "WSL")
	}
	if len(f.Probes) > 0 {
		list = append(list, "driver "+f.Driver.Version+" "+f.Driver.CUDA)
	}
	for _, g := range f.GPUs {
		list = append(list, strings.TrimSuffix("gpu "+g.Name+" "+g.Bus+" "+g.PCIID, " "))
	}
	for i := range f.Environments {
		list = append(list, inputtest.Lines(facts.Facts{Environments: f.Environments[i : i+1]})...)
	}
	for _, e := range f.Environments {
		if e.Python != "" {
			list = append(list, "python "+e.Python)
		}
		for _, w := range e.Requested {
			line := "want " + w.Name
			if w.Version != "" {
				line += "==" + w.Version
			}
			if w.Origin == "image" {
				line += " image"
			}
			if w.CUDA != "" {
				line += " cuda " + w.CUDA
			}
			list = append(list, line+strings.Replace(w.Specifier, "(no", " (no", 1))
		}
	}
	for _, u := range f.Unread {
		list = append(list, "unread "+u.Place)
	}
	if f.Plan == nil {
		return list
	}
	for _, gone := range f.Plan.Removes {
		list = append(list, "- "+gone.Name+" "+gone.Version)
	}
	for _, comes := range f.Plan.Installs {
		list = append(list, "+ "+comes.Name+" "+comes.Version)
	}
	of := "of " + f.Plan.By
	if f.Plan.Path != "" {
		of += " in " + f.Plan.Path
	}
	return append(list, of)
}

// TestSamples reads each sample as it is, and as Windows' tools save it.
func TestSamples(t *testing.T) {
	files, err := os.ReadDir("testdata/samples")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < len(samples) {
		t.Errorf("%d files for %d samples", len(files), len(samples))
	}
	for name, want := range samples {
		data, err := os.ReadFile(filepath.Join("testdata/samples", name))
		if err != nil {
			t.Fatal(err)
		}
		dos := strings.ReplaceAll(string(data), "\n", "\r\n")
		for how, data := range map[string][]byte{"": data, " CRLF": []byte(dos), " BOM": []byte("\uFEFF" + dos),
			" UTF-16": utf16LE(dos)} {
			t.Run(name+how, func(t *testing.T) {
				d := Document{Name: name, Data: data, Beside: func(name string) ([]byte, error) {
					return os.ReadFile(path.Join("testdata/samples/beside", name))
				}}
				kind := d.Recognise(formats).Format
				got, err := Read(d)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, append([]string{kind.Name}, told(got)...)); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			})
		}
	}
}

// utf16LE returns a text as PowerShell's > writes it.
func utf16LE(text string) []byte {
	data := []byte{0xFF, 0xFE}
	for _, unit := range utf16.Encode([]rune(text)) {
		data = binary.LittleEndian.AppendUint16(data, unit)
	}
	return data
}

// TestUnknownFormatIsRejected checks that a document of no format is rejected, and that archives are distinguished.
func TestUnknownFormatIsRejected(t *testing.T) {
	tar := make([]byte, 512)
	copy(tar[257:], "ustar")
	for name, tt := range map[string]struct {
		data string
		want error
	}{
		"empty": {"", ErrForeign}, "space": {"\n \n", ErrForeign}, "object": {"{}", ErrForeign}, "array": {"[]", ErrForeign},
		"binary": {"\x7FELF\x02\x01\x01\x00\x00\x00", ErrForeign},
		"passwd": {"root:x:0:0:root:/root:/bin/bash\n", ErrForeign},
		"prose":  {"Shall I compare thee to a summer's day?\n", ErrForeign}, "words": {"hello\n", ErrForeign},
		"npm":  {`{"name": "web", "dependencies": {"react": "19"}}`, ErrForeign},
		"yaml": {"name: x\njobs:\n  a: b\n", ErrForeign},
		"toml": {"[package]\nname = \"x\"\n", ErrForeign}, "xml": {"<?xml version=\"1.0\"?><a/>", ErrForeign},
		"tar": {string(tar), ErrArchive}, "gzip": {"\x1F\x8B\x08", ErrArchive},
		"oci": {`{"imageLayoutVersion": "1.0.0"}`, ErrArchive},
	} {
		if _, err := Read(Document{Data: []byte(tt.data)}); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestIncludes checks that an included file is read once, relative to the including file, and that what is not read is
// named.
func TestIncludes(t *testing.T) {
	files := map[string]string{
		"base.txt":      "-r deep/more.txt\n-c limits.txt\ntorch\n",
		"deep/more.txt": "-r ../base.txt\n-r more.txt\nvllm==0.30.0\n",
		"limits.txt":    "torch==2.9.0\njax==0.6.2\n",
		"not.txt":       "what is this?\n",
	}
	open := func(name string) ([]byte, error) {
		if text, ok := files[name]; ok {
			return []byte(text), nil
		}
		return nil, errors.New("no such file or directory")
	}
	text := "-r base.txt\n-r not.txt\n--requirement=gone.txt\n-r https://example.org/x.txt\n"
	got, err := Read(Document{Data: []byte(text), Beside: open})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"torch|2.9.0|||default|base.txt line 3", "want vllm==0.30.0", "unread not.txt", "unread gone.txt",
		"unread https://example.org/x.txt"}
	if diff := cmp.Diff(want, told(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	got, err = Read(Document{Data: []byte(text)})
	if err != nil || len(got.Unread) != 4 || got.Unread[0].Reason != "standard input has no files beside it" {
		t.Errorf("%+v, %v", got.Unread, err)
	}
}

// FuzzSamples gives every reader any bytes: facts or an error, never a panic.
func FuzzSamples(f *testing.F) {
	for name := range samples {
		data, err := os.ReadFile(filepath.Join("testdata/samples", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		text, err := document.Decode(data)
		if err != nil || document.TooLarge(text) != nil {
			return
		}
		d := Document{Data: text, Beside: func(string) ([]byte, error) { return text, nil }}
		for _, kind := range formats {
			if !kind.Is(d) {
				continue
			}
			got, err := kind.Read(d)
			if err != nil {
				continue
			}
			for _, e := range got.Environments {
				for _, w := range e.Requested {
					if w.Version == "" && w.Specifier == "" && w.Origin != "image" {
						t.Errorf("%s: neither a version nor a specifier: %+v", kind.Name, w)
					}
				}
			}
		}
	})
}
