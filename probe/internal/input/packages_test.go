package input

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/internal/input/inputtest"
	"cudacompat/probe/internal/input/requirements"

	"github.com/google/go-cmp/cmp"
)

const (
	cu130 = "https://download.pytorch.org/whl/cu130"
	cu126 = "https://download.pytorch.org/whl/cu126"
)

func TestRequirements(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"plain", "torch==2.9.0\n", []string{"torch|2.9.0|||default|line 1"}},
		{"index", "--index-url " + cu130 + "\ntorch==2.9.0\n", []string{"torch|2.9.0+cu130|||cu130|line 2"}},
		{"index-last", "torch==2.9.0\n-i " + cu130 + "/\n", []string{"torch|2.9.0+cu130|||cu130|line 1"}},
		{"index-equals", "--index-url=" + cu130 + "\ntorch==2.9.0", []string{"torch|2.9.0+cu130|||cu130|line 2"}},
		{"extra-index-wins", "--extra-index-url " + cu126 + "\ntorch==2.9.0\n",
			[]string{"torch|2.9.0+cu126|||cu126|line 2"}},
		{"two-variants-leave-it-open", "--index-url " + cu130 + "\n--extra-index-url " + cu126 + "\ntorch==2.9.0\n",
			[]string{"torch|2.9.0||||line 3"}},
		{"mirror", "-i https://user:secret@mirror.example/simple/\ntorch==2.9.0\n",
			[]string{"torch|2.9.0|||default|line 2"}},
		{"some-other-index", "-i https://example.com/wheels\ntorch==2.9.0\n", []string{"torch|2.9.0||||line 2"}},
		{"find-links-leave-it-open", "-f https://download.pytorch.org/whl/torch_stable.html\ntorch==1.13.1+cu117\n",
			[]string{"torch|1.13.1+cu117||||line 2"}},
		{"range", "torch>=2.5\n", []string{"torch|>=2.5|||default|line 1"}},
		{"range-from-a-variant", "-i " + cu130 + "\ntorch >= 2.5, < 3\n",
			[]string{"torch|>=2.5,<3|cuda|13.0|cu130|line 2"}},
		{"wildcard-is-no-pin", "torch==2.9.*\n", []string{"torch|==2.9.*|||default|line 1"}},
		{"fenced", "``````\nimageio @ file:///tmp/build/imageio_1594/work\ntorch==2.9.0\n``````\n",
			[]string{"torch|2.9.0|||default|line 3"}},
		{"bare-name", "torch\nnumpy\n", []string{"torch|(no version given)|||default|line 1"}},
		{"hashes", "torch==2.9.0 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\njax==0.6.2\n",
			[]string{"torch|2.9.0|||default|line 1", "jax|0.6.2|cpu||default|line 4"}},
		{"markers", "torch==2.9.0 ; sys_platform == 'linux'\ntorch==2.8.0 ; sys_platform == 'darwin'\n",
			[]string{"torch|2.9.0|||default|line 1"}},
		{"comments", "# the stack\ntorch==2.9.0  # pinned\n", []string{"torch|2.9.0|||default|line 2"}},
		{"address", "torch @ " + cu126 + "/torch-2.9.0%2Bcu126-cp312-cp312-manylinux_2_28_x86_64.whl\n",
			[]string{"torch|2.9.0+cu126||||line 1"}},
		{"address-without-variant", "torch @ " +
			"https://example.com/torch-2.9.0-cp312-cp312-manylinux_2_28_x86_64.whl#sha256=aa\n",
			[]string{"torch|2.9.0|||default|line 1"}},
		{"source", "torch @ git+https://github.com/pytorch/pytorch@v2.9.0\n",
			[]string{"torch|(from an address)||||line 1"}},
		{"bare-wheel", "numpy==2.1\n./wheels/torch-2.9.0+cu126-cp312-cp312-linux_x86_64.whl\n",
			[]string{"torch|2.9.0+cu126||||line 2"}},
		{"bare-address", "https://example.com/torch-2.9.0%2Bcu126-cp312-cp312-linux_x86_64.whl ; python_version > '3'\n",
			[]string{"torch|2.9.0+cu126||||line 1"}},
		{"bare-source", "git+https://github.com/pytorch/pytorch@v2.9.0#egg=torch\n",
			[]string{"torch|(from an address)||||line 1"}},
		{"editable", "-e git+ssh://git@example.com/me/torch.git@main#subdirectory=x&egg=Torch\n",
			[]string{"torch|(from an address)||||line 1"}},
		{"cpu", "-i https://download.pytorch.org/whl/cpu\ntorch==2.9.0\n", []string{"torch|2.9.0+cpu|||cpu|line 2"}},
		{"jax-extra", "jax[cuda12]==0.6.2\n", []string{"jax|0.6.2|cuda|12|default|line 1"}},
		{"jax-plugin", "jax==0.6.2\njaxlib==0.6.2\njax-cuda12-plugin[with_cuda]==0.6.2\n",
			[]string{"jax|0.6.2|cuda|12|default|line 1"}},
		{"jax-newer-plugin-first", "jax==0.7.2\njaxlib==0.7.2\njax-cuda13-plugin==0.7.2\njax-cuda12-plugin==0.7.2\n",
			[]string{"jax|0.7.2|cuda|13|default|line 1"}},
		{"jax-newer-plugin-last", "jax==0.7.2\njaxlib==0.7.2\njax-cuda12-plugin==0.7.2\njax-cuda13-plugin==0.7.2\n",
			[]string{"jax|0.7.2|cuda|13|default|line 1"}},
		{"jax-extra-beside-a-plugin", "jax-cuda12-plugin==0.7.2\njax[cuda13]==0.7.2\n",
			[]string{"jax|0.7.2|cuda|13|default|line 1"}},
		{"tensorflow", "tensorflow[and-cuda]==2.18.0\r\ntensorflow_cpu==2.18.0\r\n",
			[]string{"tensorflow|2.18.0|||default|line 1", "tensorflow|2.18.0|cpu||default|line 2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := Read(Document{Data: []byte(c.text)})
			if err != nil {
				t.Fatal(err)
			}
			if f.Environments == nil {
				t.Fatal("nothing was found")
			}
			if diff := cmp.Diff(c.want, inputtest.Lines(f)); diff != "" {
				t.Errorf("builds (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRequirementsLeaveOut(t *testing.T) {
	f, err := Read(Document{Data: []byte("-r base.txt\ntorchvision==0.24.0\n-i " + cu126 + "\n")})
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Unread) != 1 || f.Unread[0].Place != "base.txt" || f.Unread[0].Kind != facts.UnreadNeeded {
		t.Errorf("a file that is referred to is not named: %+v", f.Unread)
	}
	if p := f.Environments[0].Package("torchvision"); p == nil || p.Version != "0.24.0+cu126" {
		t.Errorf("torchvision is %+v", p)
	}
}

// TestRequirementsOfLocalProjects reads the requirements of a project beside the file, with the requested extras.
func TestRequirementsOfLocalProjects(t *testing.T) {
	projects := map[string]string{
		"pyproject.toml":     "[project]\nname = \"a\"\ndependencies = [\"numpy\"]\noptional-dependencies = {gpu = [\"torch==2.9.0+cu126\"]}\n",
		"pkg/pyproject.toml": "[project]\nname = \"b\"\ndependencies = [\"torch==2.8.0+cu128; python_version > '3'\"]\n",
		"dyn/pyproject.toml": "[project]\nname = \"c\"\ndynamic = [\"dependencies\"]\n",
		"old/pyproject.toml": "[tool.poetry.dependencies]\ntorch = \"2.9.0\"\n",
	}
	for text, want := range map[string]string{
		"numpy\n-e .[gpu]\n":       "2.9.0+cu126",
		"numpy\n-e ./pkg\n":        "2.8.0+cu128",
		"numpy\n./pkg/\n":          "2.8.0+cu128",
		"numpy\n-e pkg\n":          "2.8.0+cu128",
		"b @ file:./pkg\n":         "2.8.0+cu128",
		"numpy\n-e .\n":            "",
		"numpy\n-e ./dyn\n":        "unread",
		"numpy\n-e ./old\n":        "unread",
		"numpy\n-e ./none\n":       "unread",
		"numpy\n-e ../../secret\n": "unread",
	} {
		f, err := Read(Document{Name: "requirements.txt", Data: []byte(text), Beside: func(name string) ([]byte, error) {
			if data, ok := projects[name]; ok {
				return []byte(data), nil
			}
			return nil, fs.ErrNotExist
		}})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, e := range f.Environments {
			if p := e.Package("torch"); p != nil {
				got = p.Version
			}
		}
		if len(f.Unread) > 0 {
			got = "unread"
		}
		if got != want {
			t.Errorf("%q: torch %q, want %q (%+v)", text, got, want, f.Unread)
		}
	}
}

// TestRequirementsNotRead checks that what a line leaves open is named.
func TestRequirementsNotRead(t *testing.T) {
	for text, want := range map[string]string{
		"numpy==2.1\ntorch==${TORCH}+cu126\n":                      "line 2",
		"numpy==2.1\n-e .[dev]\n":                                  "line 2: .[dev]",
		"-e src/mine\n":                                            "line 1: src/mine",
		"-e git+https://example.org/x.git\n":                       "line 1: git+https://example.org/x.git",
		"-e /home/me/mine\n":                                       "line 1: /home/me/mine",
		"numpy==2.1\n-e .\n":                                       "line 2: .",
		"FROM debian:12\nRUN pip install numpy && pip install .\n": "line 2: pip install .",
	} {
		f, err := Read(Document{Data: []byte(text)})
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if len(f.Unread) != 1 || f.Unread[0].Place != want || f.Unread[0].Kind != facts.UnreadNeeded {
			t.Errorf("%q: not read is %+v, want %s", text, f.Unread, want)
		}
	}
}

// TestNoRequirements checks that other texts are not taken for a requirements file.
func TestNoRequirements(t *testing.T) {
	for _, text := range []string{"", "hello", "PyTorch version: 2.9.0+cu130\nIs debug build: False\n",
		"Traceback (most recent call last):\n", "-x\n", "torch==\n",
		"https://example.com/a\nhttps://example.com/b\n", "/etc/passwd\n", "echo ${HOME}\n", "torch = 2.9\n"} {
		if requirements.Is(Document{Data: []byte(text)}) {
			t.Errorf("%q was taken for a requirements file", text)
		}
	}
}

// uvLockText is a lock as uv 0.9 writes it, cut to what matters.
const uvLockText = `version = 1
revision = 3
requires-python = ">=3.12"

[[package]]
name = "numpy"
version = "2.3.4"
source = { registry = "https://mirror.example/simple" }

[[package]]
name = "torch"
version = "2.9.0"
source = { registry = "%[1]s" }
resolution-markers = ["sys_platform == 'darwin'"]
wheels = [
    { url = "https://example.com/torch-2.9.0-cp312-none-macosx_11_0_arm64.whl", hash = "sha256:aa", size = 1 },
]

[[package]]
name = "torch"
version = "2.9.0+cu130"
source = { registry = "%[1]s" }
dependencies = [{ name = "nvidia-nccl-cu13" }]
wheels = [
    { url = "https://example.com/torch-2.9.0%%2Bcu130-cp312-cp312-manylinux_2_28_x86_64.whl", hash = "sha256:bb" },
    { url = "https://example.com/torch-2.9.0%%2Bcu130-cp312-cp312-win_amd64.whl", hash = "sha256:cc" },
]

[[package]]
name = "nvidia-nccl-cu13"
version = "2.27.7"
source = { registry = "%[1]s" }
wheels = [{ url = "https://example.com/nvidia_nccl_cu13-2.27.7-py3-none-manylinux2014_x86_64.whl" }]
`

func TestUVLock(t *testing.T) {
	f, err := Read(Document{Data: fmt.Appendf(nil, uvLockText, cu130)})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"torch|2.9.0+cu130|||cu130|package torch"}, inputtest.Lines(f)); diff != "" {
		t.Errorf("builds (-want +got):\n%s", diff)
	}
	if p := f.Environments[0].Package("nvidia-nccl-cu13"); p == nil || p.Version != "2.27.7" {
		t.Errorf("NCCL is %+v", p)
	}
}

func TestUVLockOfTheInstallersIndex(t *testing.T) {
	text := "version = 1\n[[package]]\nname = \"torch\"\nversion = \"2.9.0\"\n" +
		"source = { registry = \"https://mirror.example/simple\" }\n"
	f, err := Read(Document{Data: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"torch|2.9.0|||default|package torch"}, inputtest.Lines(f)); diff != "" {
		t.Errorf("builds (-want +got):\n%s", diff)
	}
}

func TestPylock(t *testing.T) {
	text := "lock-version = \"1.0\"\ncreated-by = \"uv\"\n\n[[packages]]\nname = \"torch\"\n" +
		"version = \"2.9.0+cu126\"\nindex = \"" + cu126 + "\"\n" +
		"wheels = [{ url = \"https://example.com/torch-2.9.0%2Bcu126-cp312-cp312-manylinux_2_28_x86_64.whl\", hashes " +
		"= {} }]\n\n" +
		"[[packages]]\nname = \"torch\"\nversion = \"2.9.0\"\nmarker = \"sys_platform == 'darwin'\"\n"
	f, err := Read(Document{Data: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"torch|2.9.0+cu126|||cu126|package torch"}, inputtest.Lines(f)); diff != "" {
		t.Errorf("builds (-want +got):\n%s", diff)
	}
}

func TestBrokenLockNamesThePlace(t *testing.T) {
	_, err := Read(Document{Data: []byte("lock-version = \"1.0\"\n[[packages]\nname = 3\n")})
	if err == nil || !strings.HasPrefix(err.Error(), "not valid TOML: line 2, column ") {
		t.Errorf("the error is %v", err)
	}
	if _, err = Read(Document{Data: []byte("lock-version = \"1.0\"\n[[packages]]\nname = 3\n")}); err == nil {
		t.Error("a name that is a number was read")
	}
}

// FuzzLocked gives the readers any bytes: facts or an error, never a panic, and no credentials (from an address) in them.
func FuzzLocked(f *testing.F) {
	f.Add(fmt.Appendf(nil, uvLockText, cu130))
	f.Add([]byte("lock-version = \"1.0\"\n[[packages]]\nname = \"torch\"\n"))
	f.Add([]byte("--extra-index-url https://a:b@c/whl/cu126\n" +
		"torch[x]==2.9.0 ; python_version > '3' --hash=sha256:aa\n"))
	f.Add([]byte("torch @ https://x/%zz.whl"))
	f.Fuzz(func(t *testing.T, data []byte) {
		read, err := Read(Document{Data: data, Beside: func(string) ([]byte, error) { return data, nil }})
		if err != nil {
			return
		}
		for _, e := range read.Environments {
			for _, b := range e.Builds {
				if b.Version == "" && b.Specifier == "" {
					t.Errorf("a build of neither a version nor a specifier: %+v", b)
				}
			}
		}
	})
}

// TestLinesThatPipRefuses checks that an unreadable line is named and the lines after it are read.
func TestLinesThatPipRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		name, text string
		builds     int
		left       []string
	}{
		"requirements":      {"requirements.txt", "numpy\ntqdm=4.65.0\ntorch==2.9.0\n", 1, []string{"line 2"}},
		"more than half":    {"requirements.txt", "- some\n- prose\nnumpy\n", -1, nil},
		"of no such name":   {"x.txt", "torch==2.9.0\ntqdm=4.65.0\n", -1, nil},
		"conda's":           {"environment.yml", "name : x\ndependencies :\n  - '!!pytorch'\n", 0, []string{"package !!pytorch"}},
		"pip's in conda's":  {"e.yml", "dependencies:\n  - pip:\n    - tqdm=4\n    - torch==2.9.0\n", 1, []string{"pip's line 1"}},
		"a tool's settings": {"pyproject.toml", "[tool.black]\nline-length = 80\n", 0, nil},
	} {
		f, err := Read(Document{Name: c.name, Data: []byte(c.text)})
		if c.builds < 0 {
			if err != ErrForeign {
				t.Errorf("%s: %v, want that its kind is not known", name, err)
			}
			continue
		}
		var builds int
		for _, e := range f.Environments {
			builds += len(e.Builds)
		}
		var left []string
		for _, u := range f.Unread {
			left = append(left, u.Place)
		}
		if err != nil || builds != c.builds || !slices.Equal(left, c.left) {
			t.Errorf("%s: %d builds, %q not read, %v", name, builds, left, err)
		}
	}
}
