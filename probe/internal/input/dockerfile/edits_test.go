package dockerfile

import (
	"io/fs"
	"strings"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/internal/input/document"
)

// edited are the files of a build context in which only bad.in asks for a build of CUDA 13.
var edited = map[string]string{
	"requirements.txt": "torch==2.7.1+cu126\n", "r.txt": "torch==2.7.1+cu126\n", "bad.in": "torch==2.9.0+cu130\n",
	"t.in": "torch==${V}\n", "pip.conf": "[global]\nindex-url=https://download.pytorch.org/whl/cu130\n",
	"uv.toml": "index-url = 'https://download.pytorch.org/whl/cu130'\n", "i.sh": "pip install torch==2.9.0+cu130\n",
	"loop.sh": "sh loop.sh\n", "hello.sh": "echo hello\n", "1.sh": "sh 2.sh", "2.sh": "./3.sh", "3.sh": ". ./4.sh", "4.sh": "sh 5.sh",
	"5.sh": "sh 6.sh", "6.sh": "pip install torch==2.9.0+cu130",
	"docs/requirements.txt": "sphinx\n", "gpu/requirements.txt": "torch==2.9.0+cu130\n",
	"conf/pip.conf": "[install]\nextra_index_url =\n  https://download.pytorch.org/whl/cu130\n",
}

func readBeside(t *testing.T, text string) facts.Facts {
	t.Helper()
	f, err := Read(document.Document{Data: []byte(text), Beside: func(name string) ([]byte, error) {
		if text, ok := edited[name]; ok {
			return []byte(text), nil
		}
		return nil, fs.ErrNotExist
	}})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// buildsOf returns the releases of PyTorch that a file leads to, "?" where something was not read.
func buildsOf(f facts.Facts) string {
	var list []string
	for _, e := range f.Environments {
		for _, b := range e.Builds {
			list = append(list, b.Version)
		}
		for _, r := range e.Requested {
			if r.Origin == "image" && r.Name != "python" {
				list = append(list, r.Version)
			}
		}
	}
	if len(f.Unread) > 0 {
		list = append(list, "?")
	}
	return strings.Join(list, " ")
}

// TestEditedFiles follows what the commands of a Dockerfile do to a requirements file, or names the file.
func TestEditedFiles(t *testing.T) {
	const good, bad, changed = "2.7.1+cu126", "2.9.0+cu130", "?"
	for run, want := range map[string]string{
		"cp bad.in requirements.txt":                                                 bad,
		"mv bad.in ./requirements.txt":                                               bad,
		"ln -sf bad.in requirements.txt":                                             bad,
		"install -m 644 bad.in requirements.txt":                                     bad,
		"cat bad.in > requirements.txt":                                              bad,
		"sed -i s/2.7.1+cu126/2.9.0+cu130/ requirements.txt":                         bad,
		`sed -Ei.bak -e 's|(torch==).*|\12.9.0+cu130|' requirements.txt`:             bad,
		`sed -i 's/\(torch==\).*/\12.9.0+cu130/g; s/\r$//' requirements.txt`:         bad,
		"sed 's/7.1+cu126/9.0+cu130/' requirements.txt >| requirements.txt":          bad,
		"sed -i /torch/d requirements.txt && cat bad.in >> requirements.txt":         bad,
		"{ echo torch==2.9.0+cu130; } > requirements.txt":                            changed,
		"f() { echo torch==2.9.0+cu130; }; f > requirements.txt":                     changed,
		"for p in a; do echo $p; done > requirements.txt":                            changed,
		"sed -i '$a torch==2.9.0+cu130' requirements.txt":                            changed,
		"V=2.9.0+cu130 envsubst < t.in > requirements.txt":                           changed,
		"python fix.py requirements.txt":                                             changed,
		"python -c \"open('requirements.txt', 'w').write('torch==2.9.0+cu130')\"":    changed,
		"perl -pi -e s/a/b/ requirements.txt":                                        changed,
		"curl -fsSLo requirements.txt https://x.example/r":                           changed,
		"wget -q https://x.example/requirements.txt":                                 changed,
		"git apply fix.patch":                                                        changed,
		"patch -p1 < fix.patch":                                                      changed,
		"pip-compile requirements.in":                                                changed,
		"uv export -o requirements.txt":                                              changed,
		"poetry export --output=requirements.txt":                                    changed,
		"pip freeze > requirements.txt":                                              changed,
		"cat bad.in &> requirements.txt":                                             changed,
		"dd if=bad.in of=requirements.txt":                                           changed,
		"true":                                                                       good,
		"chmod 644 requirements.txt && dos2unix requirements.txt && ls > /dev/null":  good,
		"echo torch==2.9.0+cu130 > other.txt":                                        good,
		"grep -v numpy requirements.txt > r2.txt":                                    good,
		`sed -i 's/\r$//' requirements.txt && sed -i 's/a/b/' /etc/apt/sources.list`: good,
		"git apply fix.patch\nCOPY requirements.txt .":                               good,
	} {
		f := readBeside(t, "FROM python:3.12\nWORKDIR /w\nCOPY . .\nRUN "+run+"\nRUN pip install -r requirements.txt\n")
		if got := buildsOf(f); got != want {
			t.Errorf("%s: %q, want %q: %+v", run, got, want, f.Unread)
		}
	}
}

// TestSettingsFiles applies the index of a pip.conf that comes into the image in any way, or names the file.
func TestSettingsFiles(t *testing.T) {
	const address = "https://download.pytorch.org/whl/cu130"
	const install = "RUN pip install torch==2.9.0"
	const uv = "RUN uv pip install --system torch==2.9.0"
	for text, want := range map[string]string{
		"COPY pip.conf /etc/pip.conf\n" + install:                                                        "2.9.0+cu130",
		"COPY conf/pip.conf /etc/\n" + install:                                                           "2.9.0+cu130",
		"RUN mv pip.conf /etc/\n" + install:                                                              "2.9.0+cu130",
		"RUN printf '[global]\\nindex-url=%s\\n' " + address + " > /etc/pip.conf\n" + install:            "2.9.0+cu130",
		"COPY <<EOF /etc/pip.conf\n[global]\nindex-url=" + address + "\nEOF\n" + install:                 "2.9.0+cu130",
		"RUN pip config set global.index_url " + address + "\n" + install:                                "2.9.0+cu130",
		"RUN curl -o /etc/pip.conf https://x.example/pip.conf\n" + install:                               "2.9.0 ?",
		"COPY --from=x /etc/pip.conf /etc/pip.conf\n" + install:                                          "2.9.0 ?",
		"RUN --mount=type=secret,id=p,target=/etc/pip.conf pip install torch==2.9.0":                     "2.9.0 ?",
		"RUN --mount=type=secret,id=p,env=PIP_INDEX_URL pip install torch==2.9.0":                        "2.9.0 ?",
		"RUN --mount=type=secret,id=p,target=/root/.netrc pip install torch==2.9.0":                      "2.9.0",
		"COPY uv.toml /etc/uv/uv.toml\n" + uv:                                                            "2.9.0 ?",
		"RUN printf '[global]\\nindex-url=https://mirror.example/simple\\n' > /etc/pip.conf\n" + install: "2.9.0",
		"RUN printf '[global]\\ntimeout=60\\n[list]\\nformat=json\\n' > /etc/pip.conf\n" + install:       "2.9.0",
		"FROM python:3.12 AS other\nCOPY pip.conf /etc/pip.conf\nFROM python:3.12\n" + install:           "2.9.0",
		"COPY pip.conf /etc/pip.conf\nRUN pip install numpy":                                             "",
	} {
		f := readBeside(t, "FROM python:3.12 AS base\n"+text+"\n")
		if got := buildsOf(f); got != want {
			t.Errorf("%s: %q, want %q: %+v", text, got, want, f.Unread)
		}
	}
}

// TestEditsByOtherInstructions checks which packages SHELL, ONBUILD, CMD, brace expansion and other images install.
func TestEditsByOtherInstructions(t *testing.T) {
	const image = "pytorch/pytorch:2.9.0-cuda13.0-cudnn9-runtime"
	for text, want := range map[string]string{
		"SHELL [\"pip\", \"install\"]\nRUN torch==2.9.0+cu130":                                       "2.9.0+cu130",
		"SHELL [\"python3\", \"-c\"]\nRUN import pip; pip.main([\"install\", \"torch\"])":            "?",
		"SHELL [\"/bin/bash\", \"-c\"]\nRUN pip install torch=={2.9.0+cu130,}":                       "2.9.0+cu130",
		"RUN pip install {numpy,torch==2.{9..9}.0+cu130}":                                            "2.9.0+cu130",
		"RUN pip install $'\\x74orch==2.9.0\\053cu130'":                                              "2.9.0+cu130",
		"RUN pip install torch==2.9.0+cu126 " + strings.Repeat("{1..9}", 9):                          "2.9.0+cu126 ?",
		"CMD pip install torch==2.9.0+cu130 && python a.py":                                          "2.9.0+cu130",
		"ENTRYPOINT [\"sh\", \"-c\", \"pip install torch==2.9.0+cu130\"]":                            "2.9.0+cu130",
		"HEALTHCHECK --interval=5m CMD pip install torch==2.9.0+cu130":                               "2.9.0+cu130",
		"CMD pip install torch==2.9.0+cu130\nCMD [\"python\", \"a.py\"]":                             "",
		"CMD pip install torch==2.9.0+cu130\nFROM python:3.12":                                       "",
		"ONBUILD RUN pip install torch==2.9.0+cu130":                                                 "?",
		"ONBUILD RUN pip install torch==2.9.0+cu130\nFROM base":                                      "2.9.0+cu130",
		"ONBUILD RUN pip install torch==2.9.0+cu130\nFROM base AS b\nFROM b":                         "2.9.0+cu130",
		"ONBUILD COPY requirements.txt .":                                                            "",
		"COPY --from=" + image + " /opt/conda /opt/conda":                                            "2.9.0-cuda13.0-cudnn9-runtime",
		"COPY --from=" + image + " /usr/bin/file /usr/bin/":                                          "",
		"COPY --from=ghcr.io/astral-sh/uv:0.8 /uv /bin/":                                             "",
		"COPY --from=nvidia/cuda:13.0.1-devel-ubuntu24.04 /usr/local /usr/local":                     "",
		"RUN --mount=from=" + image + ",target=/m cp -a /m/opt/conda /opt/":                          "2.9.0-cuda13.0-cudnn9-runtime",
		"FROM " + image + " AS pt\nFROM python:3.12\nCOPY --from=pt /opt/conda /opt/conda":           "2.9.0-cuda13.0-cudnn9-runtime",
		"RUN pip install torch==2.9.0+cu130\nFROM python:3.12\nRUN --mount=from=base,target=/m true": "2.9.0+cu130",
		"COPY i.sh .\nRUN sh i.sh":                                                                   "2.9.0+cu130",
		"COPY i.sh .\nRUN chmod +x i.sh && ./i.sh":                                                   "2.9.0+cu130",
		"RUN echo 'export V=2.9.0+cu130' > /e && . /e && pip install torch==$V":                      "2.9.0+cu130",
		"COPY . .\nRUN sh loop.sh; pip install torch==2.7.1+cu126":                                   "2.7.1+cu126 ?",
		"COPY . .\nRUN sh 1.sh; pip install torch==2.7.1+cu126":                                      "2.7.1+cu126 ?",
		"RUN ltt install torch==2.9.0":                                                               "?",
		"RUN pipx install app --pip-args='torch==2.9.0+cu130'":                                       "?",
		"RUN just install && nvm use 20":                                                             "?",
		"RUN nvm use 20 && f() { pip install torch==2.9.0+cu130; }; echo":                            "",
	} {
		f := readBeside(t, "FROM python:3.12 AS base\n"+text+"\n")
		if got := buildsOf(f); got != want {
			t.Errorf("%s: %q, want %q: %+v", text, got, want, f.Unread)
		}
	}
}

// TestReplacedFiles names a requirements file that an archive, a repository or another tree may have replaced.
func TestReplacedFiles(t *testing.T) {
	const good, bad, unknown = "2.7.1+cu126", "2.9.0+cu130", "?"
	for text, want := range map[string]string{
		"COPY . .\nADD x.tar.gz .":                                                          unknown,
		"COPY . .\nADD x.tar.gz /":                                                          unknown,
		"COPY . .\nADD https://x.example/requirements.txt .":                                unknown,
		"COPY . .\nADD https://github.com/x/y.git /w":                                       unknown,
		"COPY . .\nADD x.tar.gz .\nCOPY docs/requirements.txt /docs/":                       unknown,
		"COPY . .\nCOPY --from=vendor/x:1 /files/ .":                                        unknown,
		"COPY . .\nRUN tar xzf x.tar.gz":                                                    unknown,
		"COPY . .\nRUN cd / && tar -zxvC /w -f x.tar.gz":                                    unknown,
		"COPY . .\nRUN tar --extract --file x.tar --directory $X":                           unknown,
		"COPY . .\nRUN curl -L https://x.example/x.tgz | tar xz":                            unknown,
		"COPY . .\nRUN unzip -oq /x.zip -d /w":                                              unknown,
		"COPY . .\nRUN 7z x x.7z -o/w":                                                      unknown,
		"COPY . .\nRUN cpio -idm < x.cpio":                                                  unknown,
		"COPY . .\nRUN gunzip -f requirements.txt.gz":                                       unknown,
		"COPY . .\nRUN python -m zipfile -e x.zip .":                                        unknown,
		`COPY . .` + "\n" + `RUN python -c "import shutil; shutil.unpack_archive('x.zip')"`: unknown,
		"COPY . .\nRUN tar xf x.tar -C /t && cp -r /t/. /w/":                                unknown,
		"COPY . .\nRUN tar xf x.tar -C /t && mv /t/* .":                                     unknown,
		"COPY . .\nRUN tar xf x.tar -C /t && cp /t/requirements.txt .":                      unknown,
		"COPY . .\nRUN git clone https://x.example/y /t && cp -r /t/* .":                    unknown,
		"COPY . .\nRUN git fetch && git checkout -f FETCH_HEAD":                             unknown,
		"COPY . .\nRUN aws s3 sync s3://x/ .":                                               unknown,
		"COPY . .\nRUN perl fix.pl requirements.txt\nCOPY docs/requirements.txt /docs/":     unknown,
		"COPY . .\nRUN busybox tar xf x.tar":                                                unknown,
		"COPY . .\nRUN ls *.tar | xargs -n1 tar xf":                                         unknown,
		"COPY . .\nRUN find . -name '*.tar' -exec tar xf {} +":                              unknown,
		"COPY . .\nCOPY --from=filled /o /w":                                                unknown,
		"COPY . .\nCOPY --from=plain /o ./static":                                           good,
		"COPY . .\nRUN cp gpu/requirements.txt .":                                           bad,
		"COPY . .\nRUN mv gpu/* .":                                                          bad,
		"COPY . .\nRUN cp -t /w gpu/requirements.txt":                                       bad,
		"RUN tar xzf x.tar.gz -C /\nCOPY . .":                                               good,
		"RUN git clone https://x.example/y .\nCOPY requirements.txt .":                      good,
		"COPY . .\nRUN tar xzf node.tar.gz -C /usr/local && tar tf /x.tar && unzip -l y":    good,
		"COPY . .\nCOPY --from=ghcr.io/astral-sh/uv:0.8 /uv /uvx /bin/":                     good,
		"COPY . .\nRUN cp requirements.txt /tmp/ && mv /root/uv /usr/local/bin/":            good,
	} {
		f := readBeside(t, "FROM alpine AS filled\nWORKDIR /o\nADD x.tar.gz .\nFROM alpine AS plain\nWORKDIR /o\nCOPY . .\nFROM python:3.12\nWORKDIR /w\n"+text+"\nRUN pip install -r requirements.txt\n")
		if got := buildsOf(f); got != want {
			t.Errorf("%s: %q, want %q: %+v", text, got, want, f.Unread)
		}
	}
}

// TestStartedScripts names a script that is no file of the build context, whatever else the Dockerfile installs.
func TestStartedScripts(t *testing.T) {
	const good, bad, unknown = "2.7.1+cu126", "2.9.0+cu130", "2.7.1+cu126 ?"
	for run, want := range map[string]string{
		"sh /opt/x/go.sh": unknown, "bash /opt/x/go": unknown, "/opt/x/setup-gpu": unknown, ". /opt/x/deps.sh": unknown,
		"curl -o /x.sh https://x.example/x.sh && sh /x.sh": unknown, "bash < /opt/x.sh": unknown, "cat /opt/x.sh | sh": unknown,
		"echo cGlw | base64 -d | bash": unknown, "timeout 600 bash /opt/x.sh": unknown, "run-parts /opt/x.d": unknown,
		"find /opt/x -name '*.sh' -exec bash {} +": unknown, "find /opt/x -name '*.sh' | xargs -n1 bash": unknown,
		"for f in /opt/x/*.sh; do bash $f; done": unknown, "python3 /opt/x/install_deps.py": unknown,
		`bash -c "$(curl -fsSL https://x.example/i.sh)"`: unknown, `eval "$(wget -qO- https://x.example/i.sh)"`: unknown,
		"source <(curl -s https://x.example/i.sh)": unknown, "x=$(bash /opt/x.sh)": unknown, "python /opt/setup_env.py": unknown,
		`sh -c "$(curl -fsSL https://raw.githubusercontent.com/ohmyzsh/ohmyzsh/master/tools/install.sh)"`: good,
		`eval "$(micromamba shell hook)" && x=$(sh hello.sh) && python setup.py build_ext --inplace`:      good,
		"cp i.sh /x.sh && sh i.sh": bad, "sh < i.sh": bad, "cat i.sh | bash": bad,
		"wget -O /m.sh https://x.example/Miniconda3-latest-Linux-x86_64.sh && bash Miniconda3-latest-Linux-x86_64.sh -b": good,
		". /opt/conda/etc/profile.d/conda.sh && . /venv/bin/activate && . /opt/ros/humble/setup.sh":                      good,
		"sh cuda_12.4_linux.run --silent && sh cmake-3.29-linux.sh --skip-license && ./configure && make":                good,
		"curl -fsSL https://deb.nodesource.com/setup_20.x | bash - && chmod +x i.sh":                                     good,
		"find . -name '*.pyc' -exec rm {} + && find . -exec sh -c 'echo {}' \\;":                                         good,
		"python -c 'print(1)' | tee log && yes | sh -c 'cat > /dev/null'":                                                good,
	} {
		f := readBeside(t, "FROM python:3.12\nCOPY . .\nRUN pip install torch==2.7.1+cu126\nRUN "+run+"\n")
		if got := buildsOf(f); got != want {
			t.Errorf("%s: %q, want %q: %+v", run, got, want, f.Unread)
		}
	}
}
