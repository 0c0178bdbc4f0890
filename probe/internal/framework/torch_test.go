package framework

import (
	"bytes"
	"slices"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/internal/distname"

	"github.com/google/go-cmp/cmp"
)

func TestParseTorchVersion(t *testing.T) {
	for _, tt := range []struct{ name, data, version, cuda, accelerator string }{
		{"2.8", "from typing import Optional\n\n" +
			"__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'xpu']\n__version__ = '2.8.0+cu128'\n" +
			"debug = False\n" +
			"cuda: Optional[str] = '12.8'\ngit_version = 'a1cb3cc05d46d198467bebbb6e8fba50a325d4e7'\n" +
			"hip: Optional[str] = None\nxpu: Optional[str] = None\n", "2.8.0+cu128", "12.8", "cuda"},
		{"1.13", "__version__ = '1.13.1+cu117'\ndebug = False\ncuda = '11.7'\n" +
			"git_version = '49444c3e546bf240bed24a101e747422d1f8a0ee'\nhip = None\n", "1.13.1+cu117", "11.7", "cuda"},
		{"new-annotation", "__version__ = \"2.12.0+cu132\"\ncuda: str | None = \"13.2\"\nhip: str | None = None\n",
			"2.12.0+cu132", "13.2", "cuda"},
		{"cpu", "__version__ = '2.8.0+cpu'\ncuda: Optional[str] = None\nhip: Optional[str] = None\n" +
			"xpu: Optional[str] = None\n", "2.8.0+cpu", "", "cpu"},
		{"rocm", "__version__ = '2.8.0+rocm6.4'\ncuda: Optional[str] = None\n" +
			"hip: Optional[str] = '6.4.43482-0f2d60242'\n", "2.8.0+rocm6.4", "", "rocm"},
		{"xpu", "__version__ = '2.8.0+xpu'\ncuda: Optional[str] = None\nhip: Optional[str] = None\n" +
			"xpu: Optional[str] = '20250101'\n", "2.8.0+xpu", "", "xpu"},
		{"ngc", "__version__ = '2.6.0a0+ecf3bae40a.nv25.1'\ncuda: Optional[str] = '12.8'\n",
			"2.6.0a0+ecf3bae40a.nv25.1", "12.8", "cuda"},
		{"carriage-returns", "__version__ = '2.8.0+cu128'\r\ncuda: Optional[str] = '12.8'\r\n", "2.8.0+cu128", "12.8",
			"cuda"},
		{"cut-in-the-version", "__version__ = '2.8", "", "", ""},
		{"cut-before-cuda", "__version__ = '2.8.0+cu128'\ncuda: Opt", "2.8.0+cu128", "", ""},
		{"someone-elses-lines", "# __version__ = '1.0'\nmy__version__ = '3.0'\nprint(cuda)\n", "", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := &facts.Build{Name: "torch", Version: tt.version, CUDA: tt.cuda, Accelerator: tt.accelerator}
			if diff := cmp.Diff(want, parseTorchVersion([]byte(tt.data))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func FuzzParseTorchVersion(f *testing.F) {
	f.Add([]byte("__version__ = '2.8.0+cu128'\ncuda: Optional[str] = '12.8'\nhip: Optional[str] = None\n" +
		"xpu: Optional[str] = None\n"))
	f.Add([]byte("__version__ = \"1.13.1\"\ncuda = None\nhip = None\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := parseTorchVersion(data)
		if (b.CUDA != "") != (b.Accelerator == "cuda") ||
			!slices.Contains([]string{"", "cuda", "cpu", "rocm", "xpu"}, b.Accelerator) {
			t.Errorf("%+v", b)
		}
		if !bytes.Contains(data, []byte(b.Version)) || !bytes.Contains(data, []byte(b.CUDA)) {
			t.Errorf("%+v is not in the data", b)
		}
		distname.LocalOrigin(b.Version)
		distname.PlainOrigin(b.Version)
	})
}
