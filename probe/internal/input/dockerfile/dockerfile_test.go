package dockerfile_test

import (
	"strings"
	"testing"

	"cudacompat/probe/internal/input"
	"cudacompat/probe/internal/input/document"
	"cudacompat/probe/internal/input/requirements"
)

// TestDockerfileInstalls: what is there in the end, and what a condition decides that the file does not answer.
func TestDockerfileInstalls(t *testing.T) {
	const conditional = "torch(under a condition)"
	for _, c := range []struct{ name, run, want string }{
		{"the later release", "RUN pip install torch==2.1.0\nRUN pip install torch==2.9.0", "torch|2.9.0"},
		{"the release that is there will do", "RUN pip install torch==2.1.0\nRUN pip install torch", "torch|2.1.0"},
		{"it will do for a range", "RUN pip install torch==2.1.0 && pip install 'torch>=2,<3'", "torch|2.1.0"},
		{"it will not", "RUN pip install torch==1.13.1 && pip install 'torch>=2'", "torch>=2"},
		{"pip leaves a local version", "RUN pip install torch==2.9.0+cu126\nRUN pip install torch==2.9.0", "torch|2.9.0+cu126"},
		{"unless told", "RUN pip install torch==2.9.0+cu126\nRUN pip install -U torch", "torch(no version given)"},
		{"removed", "RUN pip install torch==2.9.0 numpy==2.0.0 && pip uninstall -y torch", ""},
		{"a fallback", "RUN pip install torch==2.9.0 || pip install torch==2.9.0+cpu", "torch|2.9.0"},
		{"conda's environment", "RUN conda create -n pytorch -c pytorch python=3.12", ""},
		{"another directory", "RUN pip install torch==2.9.0 && pip install -t /x torch==2.1.0", "torch|2.9.0 torch|2.1.0"},
		{"if", `ARG A=1` + "\n" + `RUN if [ "$A" = "1" ]; then pip install torch==2.9.0; else pip install torch==2.1.0; fi`,
			"torch|2.9.0"},
		{"else", "ARG A=2\nRUN if [ $A = 1 ]; then pip install torch==2.9.0; \\\n else pip install torch==2.1.0; fi",
			"torch|2.1.0"},
		{"elif", "ARG A=2\nRUN if test $A = 1; then pip install torch==2.9.0; elif [ $A != 1 ] && [ -n $A ]; " +
			"then pip install torch==2.1.0; else pip install torch==2.2.0; fi", "torch|2.1.0"},
		{"unanswered", "RUN if [ -f /x ]; then pip install torch==2.9.0; fi", conditional},
		{"unanswered else", "RUN if nvidia-smi; then pip install torch==2.9.0; else pip install torch==2.9.0+cpu; fi",
			conditional},
		{"case", "ARG A=1\nRUN case $A in 1) pip install torch==2.9.0 ;; *) pip install torch==2.1.0 ;; esac", "torch|2.9.0"},
		{"another case", "ARG A=2\nRUN case $A in 1) pip install torch==2.9.0 ;; *) pip install torch==2.1.0 ;; esac",
			"torch|2.1.0"},
		{"an unanswered case", "RUN case $A in 1) pip install torch==2.9.0 ;; *) true ;; esac", conditional},
		{"after a case", "RUN case $A in 1) B=2 ;; esac; pip install torch==2.9.0", "torch|2.9.0"},
		{"and", "ARG F=false\nRUN [ \"$F\" != \"false\" ] && pip install torch==2.9.0 || echo none", ""},
		{"or", "ARG F=false\nRUN [ $F = true ] || pip install torch==2.9.0", "torch|2.9.0"},
		{"not", "ARG F=false\nRUN if ! [ $F = true ]; then pip install torch==2.9.0; fi", "torch|2.9.0"},
		{"pattern", "ARG C=12.6.3\nRUN [[ $C == 12.* ]] && pip install torch==2.9.0", "torch|2.9.0"},
		{"a shell's variable", "RUN V=2.9.0 && pip install torch==$V", "torch|2.9.0"},
		{"one that is computed", "ARG V=2.1.0\nRUN V=$(cat v) && pip install torch==$V", ""},
		{"it ends with its RUN", "ARG V=2.1.0\nRUN V=2.9.0\nRUN pip install torch==$V", "torch|2.1.0"},
		{"substitution", "ARG C=12.6\nRUN pip install torch==2.9.0+cu${C/./}", "torch|2.9.0+cu126"},
		{"cut", "ARG C=12.6.3\nRUN [ ${C%%.*} = 12 ] && pip install torch==2.9.0+cu${C%.*}", "torch|2.9.0+cu12.6"},
		{"cut and told", "ARG C=x12\nRUN pip install torch==2.9.0+cu${C#x}6", "torch|2.9.0+cu126"},
		{"list form", `RUN ["pip", "install", "torch==2.9.0"]`, "torch|2.9.0"},
		{"mount", "RUN --mount=type=cache,target=/c if [ a = a ]; then pip install torch==2.9.0; fi", "torch|2.9.0"},
		{"said, not done", "RUN echo run pip install torch==2.9.0", ""},
		{"redirected", "RUN pip install torch==2.9.0 2>&1 | tee log && pip install numpy", "torch|2.9.0"},
		{"uv's variant", "RUN uv pip install torch==2.9.0 --torch-backend=cu126", "torch|2.9.0+cu126"},
		{"in two words", "RUN uv pip install --torch-backend cu126 torch==2.9.0", "torch|2.9.0+cu126"},
		{"in a variable", "ENV UV_TORCH_BACKEND=cpu\nRUN uv pip install torch==2.9.0", "torch|2.9.0+cpu"},
		{"the builder's own", "RUN uv pip install torch==2.9.0 --torch-backend=auto", "torch|2.9.0"},
		{"synced", "COPY a/requirements.txt /tmp/\nRUN uv pip sync --python 3.12 /tmp/requirements.txt --extra-index-url https://download.pytorch.org/whl/cu126",
			"torch|2.9.0+cu126"},
		{"for another platform", "RUN pip install torch==2.9.0 'torch==2.8.0 ; sys_platform == \"darwin\"'", "torch|2.9.0"},
		{"quoted", "ENV P=/opt/x\nRUN \"${P}/bin/pip\" install torch==2.9.0", "torch|2.9.0"},
		{"a variable for pip", "RUN $PIP install torch==2.9.0", "torch|2.9.0"},
		{"a variable for Python", "RUN \"${PYTHON}\" -m pip --no-cache-dir install torch==2.9.0", "torch|2.9.0"},
		{"without a space", "RUN python3 -mpip install torch==2.9.0", "torch|2.9.0"},
		{"a shell", `RUN bash -lc "source /x/activate && pip install torch==2.9.0"`, "torch|2.9.0"},
		{"its list form", `RUN ["/bin/bash", "-c", "pip install torch==2.9.0"]`, "torch|2.9.0"},
		{"another user", `RUN su me -c "bash -c 'pip install torch==2.9.0'"`, "torch|2.9.0"},
		{"a shell under a condition", `RUN if [ -f /x ]; then bash -c "pip install torch==2.9.0"; fi`, conditional},
		{"too many shells", `RUN sh -c "sh -c 'sh -c \"sh -c pip\" '"`, ""},
		{"what a file holds", "RUN pip install $(cat requirements.txt)", "torch|2.9.0"},
		{"pipx", "RUN pipx install torch==2.9.0", "torch|2.9.0"},
		{"uv's tools", "RUN uv tool install torch==2.9.0\nRUN uvx --from torch==2.8.0 x\nRUN uv run --with torch==2.7.0 x.py",
			"torch|2.9.0 torch|2.8.0 torch|2.7.0"},
		{"conda by a variable", "RUN \"${MAMBA_BIN}\" create -y -p /x pip", ""},
		{"a word of another command", "RUN apt-get install -y python3-pip pip", ""},
		{"loop", "RUN for i in 1 2; do pip install torch==2.9.0; done", "torch|2.9.0"},
	} {
		f, err := input.Read(document.Document{Data: []byte("FROM python:3.12\n" + c.run + "\n"),
			Beside: func(name string) ([]byte, error) { return []byte("torch==2.9.0 # " + name), nil }})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var got []string
		for _, env := range f.Environments {
			for _, b := range env.Builds {
				got = append(got, b.Name+strings.TrimSuffix("|"+b.Version, "|")+b.Specifier)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", c.name, strings.Join(got, " "), c.want)
		}
	}
}

// TestDockerfileNotRead: what a command installs that the file does not name is named itself.
func TestDockerfileNotRead(t *testing.T) {
	for run, want := range map[string]string{
		"RUN cat r.txt | xargs -n 1 pip install":                                "xargs -n 1 pip install",
		"RUN pip install /wheels/*.whl":                                         "pip install /wheels/*.whl",
		"RUN pip install $(if true; then echo torch; fi)":                       "pip install $(if true; then echo torch; fi)",
		"RUN python setup.py install":                                           "python setup.py install",
		"RUN sudo pdm install":                                                  "pdm install",
		"RUN conda env update -f x.yml":                                         "conda's x.yml",
		"RUN bash -x ./install.sh --cuda":                                       "./install.sh",
		"RUN python3 install.py":                                                "install.py",
		"RUN curl -fsSL https://ollama.com/install.sh | sh":                     "https://ollama.com/install.sh",
		"RUN apt-get install -y python3-torch":                                  "apt-get install -y python3-torch",
		"RUN make LLAMA_CUDA=1":                                                 "make LLAMA_CUDA=1",
		"RUN apt-get install -y cuda-toolkit-12-4 && make":                      "make",
		"FROM nvidia/cuda:12.4.1-devel AS base\nFROM base\nRUN cmake --build b": "cmake --build b",
		"RUN make": "make",
		"RUN curl -LsSf https://x/uv/install.sh | sh":         "https://x/uv/install.sh | sh",
		"RUN curl -LsSf https://astral.sh/uv/install.sh | sh": "",
		"RUN ./configure": "",
		"RUN cmake -B b":  "",
		"RUN wget https://x/llama-b4600-bin-ubuntu-cuda-x64.zip && unzip llama*.zip": "wget https://x/llama-b4600-bin-ubuntu-cuda-x64.zip",
		"RUN curl -L https://x/ollama-linux-amd64.tgz | tar -xz":                     "curl -L https://x/ollama-linux-amd64.tgz",
		"RUN curl -LO https://github.com/x/y-gpu/archive/v1.tar.gz":                  "",
		"RUN wget https://developer.download.nvidia.com/cudnn-linux-x86_64.tar.xz":   "",
		"RUN wget https://x/micromamba-linux-64.tar.bz2":                             "",
		"RUN pip install torch==2.9.0 && make LLAMA_CUDA=1":                          "",
	} {
		f, err := input.Read(document.Document{Data: []byte("FROM python:3.12\n" + run + "\n")})
		if err != nil {
			t.Errorf("%s: %v", run, err)
			continue
		}
		var got []string
		for _, u := range f.Unread {
			_, place, _ := strings.Cut(u.Place, ": ")
			got = append(got, place)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q is named, want %q", run, got, want)
		}
	}
}

// TestJAXlib: which CUDA and cuDNN a file's JAX has, by jaxlib's local version, and where it cannot be told.
func TestJAXlib(t *testing.T) {
	for text, want := range map[string]string{
		"jax==0.4.13\njaxlib==0.4.13+cuda12.cudnn89\n":              "cuda 12 8.9",
		"jax==0.2.14\njaxlib==0.1.69+cuda111\n":                     "cuda 11.1 ",
		"jax==0.4.13\njaxlib==0.4.13+cuda11.cudnn86\n":              "cuda 11 8.6",
		"jaxlib==0.3.0+cuda11.cudnn805\n":                           "cuda 11 8.0.5",
		"-f https://example.org/jax_cuda_releases.html\njax==0.4.7": "  ",
		"jax==0.4.13\njaxlib==0.4.13\n":                             "cpu  ",
		"jax==0.4.13\njaxlib==${JAXLIB}\n":                          "  ",
		"jax[cuda12]==0.4.30\n-f https://example.org/x.html\n":      "cuda 12 ",
	} {
		f, err := input.Read(document.Document{Data: []byte(text)})
		if err != nil || len(f.Environments) != 1 || len(f.Environments[0].Builds) != 1 {
			t.Errorf("%q: %+v, %v", text, f.Environments, err)
			continue
		}
		if b := f.Environments[0].Builds[0]; b.Accelerator+" "+b.CUDA+" "+b.CuDNN != want {
			t.Errorf("%q: %q, want %q", text, b.Accelerator+" "+b.CUDA+" "+b.CuDNN, want)
		}
	}
}

// TestIndexes: which index a file's torch is from.
func TestIndexes(t *testing.T) {
	for text, want := range map[string]string{
		"torch==2.13.0\n--extra-index-url https://flashinfer.ai/whl/\n":                                       "default",
		"torch==2.13.0\n-i https://download.pytorch.org/whl/cu130\n--extra-index-url=https://pypi.nvidia.com": "cu130",
		"torch==1.10\n-f https://download.pytorch.org/whl/cu111/torch_stable.html\n":                          "cu111",
		"torch==1.10\n-f https://download.pytorch.org/whl/torch_stable.html\n":                                "",
		"torch==2.13.0\n--extra-index-url https://example.org/private\n":                                      "",
		"torch==2.13.0\n--index-url https://flashinfer.ai/whl/\n":                                             "",
		"torch==2.9.0\n--extra-index-url https://download.pytorch.org/whl/cu126\ntorch==2.9.0\n":              "cu126",
	} {
		f, err := input.Read(document.Document{Data: []byte(text)})
		if err != nil || len(f.Environments) != 1 || len(f.Environments[0].Builds) != 1 {
			t.Errorf("%q: %+v, %v", text, f.Environments, err)
		} else if got := f.Environments[0].Builds[0].Index; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestImageNames: the image of a FROM, as the tables call it.
func TestImageNames(t *testing.T) {
	for text, want := range map[string]string{
		"FROM nvcr.io/nvidia/cuda:11.8.0-devel-ubuntu22.04":                                  "nvidia/cuda 11.8.0-devel-ubuntu22.04",
		"FROM registry.example:5000/mirror/nvidia/cuda:12.6.3-base-ubuntu24.04":              "nvidia/cuda 12.6.3-base-ubuntu24.04",
		"FROM nvcr.io/nvidia/pytorch:25.06-py3":                                              "nvcr.io/nvidia/pytorch 25.06-py3",
		"FROM docker.m.daocloud.io/vllm/vllm-openai:v0.21.0":                                 "vllm/vllm-openai v0.21.0",
		"ARG N=\"\"\nARG C=12.6.3\nFROM nvidia/cuda:$C-cudnn$N-devel-ubuntu22.04 AS builder": "nvidia/cuda 12.6.3-cudnn-devel-ubuntu22.04",
		"ARG B=\nFROM $B": "unread",
	} {
		f, err := input.Read(document.Document{Data: []byte(text + "\n")})
		got := "unread"
		if len(f.Environments) > 0 {
			got = f.Environments[0].Requested[0].Name + " " + f.Environments[0].Requested[0].Version
		}
		if err != nil || got != want || got == "unread" && len(f.Unread) != 1 {
			t.Errorf("%q: %q, %+v, %v, want %q", text, got, f.Unread, err, want)
		}
	}
}

// TestCondaFile: what an environment is made of from a file is named, not left out.
func TestCondaFile(t *testing.T) {
	f, err := input.Read(document.Document{Data: []byte("FROM nvidia/cuda:12.6.3-base-ubuntu24.04\nRUN micromamba create -y -n yi -f conda-lock.yml\n")})
	if err != nil || len(f.Unread) != 1 || f.Unread[0].Place != "line 2: conda's conda-lock.yml" ||
		len(f.Environments[0].Requested) != 1 {
		t.Errorf("%+v, %+v, %v", f.Unread, f.Environments, err)
	}
}

// TestDockerfileScripts: where a file installs nothing itself, the script that it starts is named as not looked at.
func TestDockerfileScripts(t *testing.T) {
	for commands, want := range map[string]string{
		"./install.sh":                             "line 2: ./install.sh",
		"bash -e scripts/setup.sh --cuda":          "line 2: scripts/setup.sh",
		"cd /app && sudo ./start":                  "line 2: ./start",
		"./configure && make":                      "",
		"chmod +x install.sh":                      "",
		"sh -c 'echo done'":                        "",
		"pip install torch==2.9.0 && ./install.sh": "line 2: ./install.sh",
	} {
		f, err := input.Read(document.Document{Data: []byte("FROM ubuntu:22.04\nRUN " + commands + "\n")})
		got := ""
		for _, u := range f.Unread {
			got += u.Place
		}
		if err != nil || got != want {
			t.Errorf("%s: %q is not read, want %q (%v)", commands, got, want, err)
		}
	}
}

// TestDockerfileContext reads what a Dockerfile installs by files of its build context.
func TestDockerfileContext(t *testing.T) {
	const lock = "version = 1\nconflicts = [[{ package = \"app\", extra = \"cpu\" }, { package = \"app\", extra = \"gpu\" }]]\n" +
		"[[package]]\nname = \"app\"\nversion = \"1\"\nsource = { virtual = \".\" }\n" +
		"[package.optional-dependencies]\ncpu = [{ name = \"torch\", version = \"2.8.0+cpu\" }]\n" +
		"gpu = [{ name = \"torch\", version = \"2.8.0+cu126\" }]\n" +
		"[[package]]\nname = \"torch\"\nversion = \"2.8.0+cpu\"\nsource = { registry = \"https://download.pytorch.org/whl/cpu\" }\n" +
		"[[package]]\nname = \"torch\"\nversion = \"2.8.0+cu126\"\nsource = { registry = \"https://download.pytorch.org/whl/cu126\" }\n"
	files := map[string]string{
		"uv.lock":          lock,
		"pyproject.toml":   "[project]\nname = \"app\"\nversion = \"1\"\ndependencies = [\"torch==2.7.0\"]\n[project.optional-dependencies]\ngpu = [\"vllm==0.9.0\"]\n",
		"docker/base.txt":  "torch==2.6.0\n",
		"requirements.txt": "torch==2.5.0\n",
		"env/gpu.yml":      "dependencies:\n  - pytorch=2.4.0=py3.10_cuda12.4_cudnn9.1.0_0\n",
		"sub/poetry.lock": "[[package]]\nname = \"torch\"\nversion = \"2.3.0\"\noptional = true\ngroups = [\"main\"]\n" +
			"[extras]\ngpu = [\"torch\"]\n[metadata]\ncontent-hash = \"x\"\n",
		"new/pyproject.toml": "[project]\nname = \"n\"\n[tool.uv]\ndev-dependencies = [\"torch==2.9.0\"]\n" +
			"[[tool.uv.index]]\nurl = \"https://download.pytorch.org/whl/cu130\"\n",
		"new/uv.toml":        "index-url = \"https://packages.example/pypi\"\n",
		"sub/pyproject.toml": "[tool.poetry]\nname = \"sub\"\n",
	}
	for _, c := range []struct{ name, text, want string }{
		{"an extra of a lock", "COPY . /app\nWORKDIR /app\nRUN uv sync --frozen --extra gpu", "torch|2.8.0+cu126"},
		{"the other one", "WORKDIR /app\nCOPY pyproject.toml uv.lock ./\nRUN uv sync --extra=cpu", "torch|2.8.0+cpu"},
		{"by an ARG", "ARG X=gpu\nRUN --mount=type=bind,source=uv.lock,target=uv.lock uv sync --extra ${X}", "torch|2.8.0+cu126"},
		{"no lock", "COPY . .\nRUN uv sync --project new", "torch|2.9.0+cu130 unread uv.toml"},
		{"before a program", "COPY . .\nRUN uv run --extra gpu python -c 'import torch'", "torch|2.8.0+cu126"},
		{"none of them", "COPY . .\nRUN uv sync", ""},
		{"the project itself", "COPY . /src\nWORKDIR /src\nRUN pip install .", "torch|2.7.0"},
		{"its extra", "COPY . /src\nRUN cd /src && pip install -e '.[gpu]'", "torch|2.7.0 vllm|0.9.0"},
		{"without what it needs", "COPY . /src\nWORKDIR /src\nRUN pip install --no-deps -e .", ""},
		{"a file under another name", "COPY docker/base.txt /tmp/r.txt\nRUN pip install -r /tmp/r.txt", "torch|2.6.0"},
		{"a directory's file", "COPY docker /d/\nRUN pip install -r /d/base.txt", "torch|2.6.0"},
		{"a clone's file", "COPY . /app\nRUN git clone https://x.example/y /y && cd /y && pip install -r requirements.txt", ""},
		{"conda's file", "COPY env/gpu.yml /tmp/e.yaml\nRUN micromamba install -y -n base -f /tmp/e.yaml", "torch|2.4.0"},
		{"conda's environment", "COPY env /env\nRUN conda env create --file /env/gpu.yml", "torch|2.4.0"},
		{"Poetry's extra", "WORKDIR /s\nCOPY sub/ .\nRUN poetry install --extras gpu", "torch|2.3.0"},
		{"Poetry without it", "WORKDIR /s\nCOPY sub/ .\nRUN poetry install", ""},
		{"uv moved", "RUN curl https://x.example/uv.sh | sh && mv /root/uv /usr/local/bin/", ""},
	} {
		f, err := input.Read(document.Document{Data: []byte("FROM python:3.12\n" + c.text + "\n"), Beside: func(name string) ([]byte, error) {
			if text, ok := files[name]; ok {
				return []byte(text), nil
			}
			return nil, requirements.ErrNothingBeside
		}})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var got []string
		for _, env := range f.Environments {
			for _, b := range env.Builds {
				got = append(got, b.Name+"|"+b.Version)
			}
			for _, w := range env.Requested {
				if w.Origin != "image" {
					got = append(got, w.Name+"|"+w.Version)
				}
			}
		}
		for _, u := range f.Unread {
			if u.Place == "uv.toml" {
				got = append(got, "unread "+u.Place)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", c.name, strings.Join(got, " "), c.want)
		}
	}
}
