package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cudacompat/internal/report"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/host/hosttest"
	"cudacompat/probe/host/imagetest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// TestImagesOfLayers makes images from the trees of TestImages, with layers that hide, replace and delete files below,
// each in two of the forms. The verdict on the image must equal that on the tree.
func TestImagesOfLayers(t *testing.T) {
	files, err := filepath.Glob("testdata/images/*.txtar")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d images, %v", len(files), err)
	}
	for seed, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			tree := archive.Files
			if base := entry(archive.Files, "@image"); base != "" {
				tree = withFault(t, strings.TrimSpace(base), archive.Files)
			}
			root := t.TempDir()
			for _, f := range tree {
				if !strings.HasPrefix(f.Name, "@") {
					plantFile(t, root, f)
				}
			}
			instances := strings.Join(strings.Fields(entry(tree, "@instances")), ",")
			want := said(t, nil, "doctor", "--root", root, "--instance", instances)
			draw := rand.New(rand.NewPCG(uint64(seed), 41))
			layers := layered(t, draw, imagetest.Tree(t, root))
			says := map[string]any{"architecture": ""} // which a tree without a libc does not tell
			forms := imageForms(t, layers, says)
			for range 2 {
				name := forms[draw.IntN(len(forms))]
				form := filepath.Base(name)
				got := said(t, nil, "check", name, "--instance", instances)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-tree +image):\n%s", form, diff)
				}
				if !strings.HasSuffix(name, ".tar") {
					continue
				}
				data, err := os.ReadFile(name)
				hosttest.Must(t, err)
				if diff := cmp.Diff(want, said(t, data, "check", "-", "--instance", instances)); diff != "" {
					t.Errorf("%s on standard input (-tree +image):\n%s", form, diff)
				}
			}
		})
	}
}

// imageForms writes an image in every form: three layouts, three archives of these, and Docker's.
func imageForms(t *testing.T, layers [][]byte, says map[string]any) (forms []string) {
	dir := t.TempDir()
	for _, packed := range []string{"", "gzip", "zstd"} {
		image := imagetest.Image{Layers: layers, Packed: packed, Config: says}
		name := filepath.Join(dir, "oci"+packed)
		imagetest.Write(t, name, image.OCI(t))
		hosttest.Must(t, os.WriteFile(name+".tar", imagetest.Tar(t, image.OCI(t)), 0o644))
		forms = append(forms, name, name+".tar")
	}
	name := filepath.Join(dir, "docker.tar")
	hosttest.Must(t, os.WriteFile(name, imagetest.Tar(t, imagetest.Image{Layers: layers, Config: says}.Docker(t)), 0o644))
	return append(forms, name)
}

// layered splits files into three layers. The last layer brings a file, brings it again, or leaves it from below.
// Additional files of lower layers are removed again.
func layered(t *testing.T, draw *rand.Rand, files []imagetest.File) [][]byte {
	var lower, middle, upper []imagetest.File
	for n, f := range files {
		dir := f.Header.Typeflag == '5'
		lower = append(lower, imagetest.Dir(path.Dir(f.Name)))
		decoy := fmt.Sprintf("%s/decoy-%d.so.1", path.Dir(f.Name), n)
		switch draw.IntN(6) {
		case 0: // of the last layer alone
			upper = append(upper, f)
		case 1: // replaced, by a file or by a directory
			if dir {
				lower = append(lower, imagetest.Text(f.Name, "a file"))
			} else {
				lower = append(lower, imagetest.Dir(f.Name), imagetest.Text(f.Name+"/in", "a directory"))
			}
			upper = append(upper, f)
		case 2: // deleted, and there again
			middle = append(middle, imagetest.Gone(path.Dir(f.Name), path.Base(f.Name)))
			if !dir {
				lower = append(lower, imagetest.Text(f.Name, "another text"))
			}
			upper = append(upper, f)
		case 3: // beside what is deleted
			lower = append(lower, imagetest.Text(decoy, "decoy"), f)
			upper = append(upper, imagetest.Gone(path.Dir(decoy), path.Base(decoy)))
		case 4: // in a directory whose lower files are gone
			if dir {
				lower = append(lower, imagetest.Dir(f.Name), imagetest.Text(f.Name+"/libcuda.so.535.1", "decoy"),
					imagetest.Text(f.Name+"/venv/lib/python3.12/site-packages/torch/version.py", "__version__ = '0.0.1'"))
				middle = append(middle, imagetest.Opaque(f.Name))
				for _, in := range files { // what a lower layer may have had is gone with the rest
					if strings.HasPrefix(in.Name, f.Name+"/") {
						upper = append(upper, in)
					}
				}
			}
			upper = append(upper, f)
		default:
			middle = append(middle, f)
		}
	}
	// Files that the middle layer removes together with their directory.
	for _, f := range files {
		gone := slices.ContainsFunc(middle, func(w imagetest.File) bool {
			base, ok := strings.CutPrefix(path.Base(w.Name), ".wh.")
			return ok && base != ".wh..opq" && strings.HasPrefix(f.Name, path.Join(path.Dir(w.Name), base)+"/")
		})
		if gone {
			upper = append(upper, f)
		}
	}
	return [][]byte{imagetest.Tar(t, lower), imagetest.Tar(t, middle), imagetest.Tar(t, upper)}
}

// said returns the decisions of the program, in words and codes.
func said(t *testing.T, in []byte, args ...string) []string {
	t.Helper()
	var out, errs strings.Builder
	code := run(append(args, "-o", "json"), streams{bytes.NewReader(in), &out, &errs})
	var r report.Report
	if err := json.Unmarshal([]byte(out.String()), &r); err != nil {
		t.Fatalf("%v; it wrote %s", err, errs.String())
	}
	list := []string{fmt.Sprintf("exit %d", code), fmt.Sprint(r.Outcome)}
	for _, part := range []any{r.Answers, r.Findings, r.Unknown, r.Passed} {
		data, err := json.MarshalIndent(part, "", " ")
		hosttest.Must(t, err)
		list = append(list, strings.Split(string(data), "\n")...)
	}
	return list
}

// TestSourcesOfAnImage checks that an import is judged alike in an image, where only summaries of the sources are kept,
// and in the tree.
func TestSourcesOfAnImage(t *testing.T) {
	const site = "opt/venv/lib/python3.12/site-packages/"
	for _, c := range []struct{ name, core, version, rule string }{
		{"sound", "import os\n", "__version__ = '2.8.0+cu128'\ncuda = '12.8'\n", ""},
		{"a requirement is missing", "import typing_extensions\n", "__version__ = '2.8.0+cu128'\ncuda = '12.8'\n", "not-importable"},
		{"a source is cut", "from .more import x\ndef f(", "__version__ = '2.8.0+cu128'\ncuda = '12.8'\n", "not-importable"},
		{"a name is gone", "from .parts import name\n", "__version__ = '2.8.0+cu128'\ncuda = '12.8'\n", "not-importable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			record := ""
			for name, text := range map[string]string{"torch/__init__.py": "from ._core import *\n", "torch/_core.py": c.core,
				"torch/parts.py": "other = 1\n", "torch/more.py": "x = 1\n", "torch/version.py": c.version} {
				hosttest.Write(t, filepath.Join(root, site+name), text)
				size := len(text)
				if name == "torch/parts.py" || name == "torch/_core.py" {
					size += 5 // as it was installed: a patch changed it
				}
				record += fmt.Sprintf("%s,sha256=x,%d\n", name, size)
			}
			hosttest.Write(t, filepath.Join(root, site+"torch-2.8.0.dist-info/RECORD"), record)
			hosttest.Write(t, filepath.Join(root, site+"torch-2.8.0.dist-info/METADATA"),
				"Metadata-Version: 2.1\nName: torch\nVersion: 2.8.0\nRequires-Dist: typing-extensions\n")
			hosttest.Write(t, filepath.Join(root, "opt/venv/pyvenv.cfg"), "home = /usr/bin\nversion = 3.12.3\n")
			hosttest.Write(t, filepath.Join(root, "opt/venv/bin/python3"), "")
			want := said(t, nil, "doctor", "--root", root, "--gpu", "L4", "--driver", "580.95.05")
			if has := strings.Contains(strings.Join(want, ""), `"rule": "not-importable"`); has != (c.rule != "") {
				t.Fatalf("the tree: %q", want)
			}
			forms := imageForms(t, [][]byte{imagetest.Tar(t, imagetest.Tree(t, root))}, map[string]any{"architecture": ""})
			got := said(t, nil, "check", forms[0], "--gpu", "L4", "--driver", "580.95.05")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-tree +image):\n%s", diff)
			}
		})
	}
}

// venv returns an image with a torch in /opt/venv that has metadata but no libraries.
func venv(t *testing.T, version, cuda string, env ...string) string {
	site := "opt/venv/lib/python3.12/site-packages/"
	files := []imagetest.File{
		imagetest.Text("opt/venv/pyvenv.cfg", "home = /usr/bin\nversion = 3.12.3\n"),
		imagetest.Link("opt/venv/bin/python3", "/usr/bin/python3"), imagetest.Text("usr/bin/python3.12", ""),
		imagetest.Link("usr/bin/python3", "python3.12"),
		imagetest.Text(site+"torch/version.py", fmt.Sprintf("__version__ = '%s'\ncuda: str = '%s'\n", version, cuda)),
		imagetest.Text(site+"torch-"+version+".dist-info/METADATA", "Metadata-Version: 2.1\nName: torch\nVersion: "+version+"\n"),
	}
	image := imagetest.Image{Packed: "gzip", Layers: [][]byte{imagetest.Tar(t, files)},
		Config: map[string]any{"config": map[string]any{"Env": env, "Entrypoint": []string{"/opt/venv/bin/python3"}, "User": "1000"}}}
	name := filepath.Join(t.TempDir(), "torch-"+cuda+".tar")
	hosttest.Must(t, os.WriteFile(name, imagetest.Tar(t, image.OCI(t)), 0o644))
	return name
}

// TestImageDriverRequirements checks that the driver requirements in an image's configuration are compared with the named
// machine.
func TestImageDriverRequirements(t *testing.T) {
	for env, want := range map[string]bool{"NVIDIA_REQUIRE_CUDA=cuda>=12.8": true, "NVIDIA_REQUIRE_CUDA=cuda>=12.0": false,
		"LANG=C": false} {
		name := venv(t, "2.8.0+cu128", "12.8", env)
		var out, errs strings.Builder
		run([]string{"check", name, "--gpu", "L4", "--driver", "535.183.01", "-o", "json"}, streams{strings.NewReader(""), &out, &errs})
		var r report.Report
		if err := json.Unmarshal([]byte(out.String()), &r); err != nil {
			t.Fatalf("%v: %s", err, errs.String())
		}
		got := slices.ContainsFunc(r.Findings, func(f verdict.Finding) bool {
			return f.Rule == "container-requirements" && f.Severity == verdict.Warning && f.Subject == "NVIDIA_REQUIRE_CUDA"
		})
		if got != want {
			t.Errorf("%s: a warning: %v, want %v", env, got, want)
		}
		if i := r.Facts.Image; i == nil || i.Platform != "linux/amd64" || i.Layers != 1 || i.User != "1000" || i.Starts != "python3" {
			t.Errorf("%s: the image is %+v", env, i)
		}
	}
}

// TestActiveInImage checks that the environment which an image starts decides, as in a container, and that others are
// noted. If it starts none with CUDA, all count.
func TestActiveInImage(t *testing.T) {
	files := []imagetest.File{imagetest.Text("usr/bin/python3.12", ""), imagetest.Link("usr/bin/python3", "python3.12"),
		imagetest.Text("usr/lib/python3.12/os.py", "")}
	for path, torch := range map[string]string{"opt/sound": "2.8.0+cu128 12.8", "opt/newer": "2.9.0+cu130 13.0"} {
		version, cuda, _ := strings.Cut(torch, " ")
		site := path + "/lib/python3.12/site-packages/"
		files = append(files, imagetest.Text(path+"/pyvenv.cfg", "home = /usr/bin\nversion = 3.12.3\n"),
			imagetest.Link(path+"/bin/python3", "/usr/bin/python3"), imagetest.Text(path+"/bin/serve", "#!/"+path+"/bin/python3\n"),
			imagetest.Text(site+"torch/version.py", fmt.Sprintf("__version__ = '%s'\ncuda: str = '%s'\n", version, cuda)),
			imagetest.Text(site+"torch-"+version+".dist-info/METADATA", "Metadata-Version: 2.1\nName: torch\nVersion: "+version+"\n"))
	}
	type config = map[string]any
	for _, c := range []struct {
		says config
		want string
	}{
		{config{}, "exit 1: incompatible: torch 2.9.0+cu130 cannot run on driver 535.183.01"},
		{config{"Env": []string{"PATH=/opt/sound/bin:/usr/bin"}}, "exit 0: compatible: torch 2.8.0+cu128 works"},
		{config{"Env": []string{"PATH=/opt/newer/bin:/usr/bin"}}, "exit 1: incompatible: torch 2.9.0+cu130 cannot run on driver 535.183.01"},
		{config{"Env": []string{"VIRTUAL_ENV=/opt/sound"}}, "exit 0: compatible: torch 2.8.0+cu128 works"},
		{config{"Entrypoint": []string{"/opt/sound/bin/serve"}}, "exit 0: compatible: torch 2.8.0+cu128 works"},
		{config{"Entrypoint": []string{"/bin/sh", "-c"}, "Cmd": []string{"serve"}}, "exit 1: incompatible: torch 2.9.0+cu130 cannot run on driver 535.183.01"},
	} {
		image := imagetest.Image{Packed: "gzip", Layers: [][]byte{imagetest.Tar(t, files)}, Config: config{"config": c.says}}
		var out, errs strings.Builder
		code := run([]string{"check", "-", "--gpu", "L4", "--driver", "535.183.01"},
			streams{bytes.NewReader(imagetest.Tar(t, image.OCI(t))), &out, &errs})
		first, _, _ := strings.Cut(out.String(), "\n")
		if got := fmt.Sprintf("exit %d: %s", code, first); !strings.HasPrefix(got, c.want) {
			t.Errorf("%v:\n%s%s\nwant %s", c.says, got, errs.String(), c.want)
		}
	}
}

// TestRequiresOfImage checks that the variables of an image are part of its needs.
func TestRequiresOfImage(t *testing.T) {
	for env, want := range map[string]string{"LANG=C": "exit 0", "CUDA_VISIBLE_DEVICES=-1": "exit 3", "CUDA_VISIBLE_DEVICES=0": "exit 0"} {
		var out, errs strings.Builder
		code := run([]string{"requires", venv(t, "2.8.0+cu128", "12.8", env)}, streams{strings.NewReader(""), &out, &errs})
		if got := fmt.Sprintf("exit %d", code); got != want {
			t.Errorf("%s: %s, want %s\n%s%s", env, got, want, out.String(), errs.String())
		}
		if says := strings.Contains(out.String(), `CUDA_VISIBLE_DEVICES="-1" in the image's configuration hides every GPU`); says != (want == "exit 3") {
			t.Errorf("%s: %s", env, out.String())
		}
	}
}

// TestSeveralImages checks that each image is judged for each machine, worst first, and that common findings are
// printed once.
func TestSeveralImages(t *testing.T) {
	newer, older := venv(t, "2.9.0+cu130", "13.0"), venv(t, "2.8.0+cu128", "12.8")
	cut := filepath.Join(t.TempDir(), "cut.tar")
	whole, err := os.ReadFile(older)
	hosttest.Must(t, err)
	hosttest.Must(t, os.WriteFile(cut, whole[:len(whole)/2], 0o644))
	var out, errs strings.Builder
	code := run([]string{"check", older, cut, newer, "--instance", "g6.xlarge,g5.xlarge", "--driver", "535.183.01"},
		streams{strings.NewReader(""), &out, &errs})
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	column := max(len(older), len(newer), len(cut)) + 2
	if code != 1 || len(lines) != 5 || lines[0] != "1 of 3 images work on all 2 machines with driver 535.183.01" ||
		lines[2] != fmt.Sprintf("%-*s%s", column, newer, "incompatible: torch 2.9.0+cu130 cannot run on driver 535.183.01") ||
		lines[3] != fmt.Sprintf("%-*s%s", column, cut, "inconclusive: not read: it holds no image: no index.json and no manifest.json are in it") ||
		!strings.HasPrefix(lines[4], fmt.Sprintf("%-*s%s", column, older, "compatible: torch 2.8.0+cu128 works")) {
		t.Errorf("exit %d: %s%s", code, out.String(), errs.String())
	}
	out.Reset()
	run([]string{"check", older, newer}, streams{strings.NewReader(""), &out, &errs})
	if said := out.String(); !strings.HasPrefix(said, "0 of 2 images work\n") || strings.Count(said, "add  --instance and --driver") != 1 {
		t.Errorf("without a machine: %s", said)
	}
	errs.Reset()
	if code := run([]string{"check", older, newer, "-o", "json"}, streams{strings.NewReader(""), &out, &errs}); code != 64 {
		t.Errorf("-o json: exit %d: %s", code, errs.String())
	}
}

// TestNamesOfImages checks the names that skopeo and umoci use.
func TestNamesOfImages(t *testing.T) {
	image := imagetest.Image{Packed: "gzip", Layers: [][]byte{imagetest.Tar(t, []imagetest.File{imagetest.Text("etc/os-release", "ID=debian\n")})}}
	dir := t.TempDir()
	t.Chdir(dir)
	files := image.OCI(t)
	imagetest.Write(t, "layout", files)
	flat := []imagetest.File{imagetest.Text("version", "Directory Transport Version: 1.1\n")}
	var index struct {
		Manifests []map[string]any
	}
	for _, f := range files {
		if f.Name == "index.json" {
			hosttest.Must(t, json.Unmarshal(f.Data, &index))
		}
	}
	for _, f := range files {
		name := path.Base(f.Name)
		if "sha256:"+name == index.Manifests[0]["digest"] {
			name = "manifest.json"
		}
		flat = append(flat, imagetest.File{Name: name, Data: f.Data})
	}
	imagetest.Write(t, "flat", slices.DeleteFunc(flat, func(f imagetest.File) bool { return f.Name == "index.json" || f.Name == "oci-layout" }))
	index.Manifests[0]["annotations"] = map[string]string{"org.opencontainers.image.ref.name": "v1"}
	named, err := json.Marshal(map[string]any{"manifests": index.Manifests})
	hosttest.Must(t, err)
	files[len(files)-1].Data = named
	imagetest.Write(t, "named", files)
	hosttest.Must(t, os.WriteFile("named.tar", imagetest.Tar(t, files), 0o644))
	const fine, refused = "compatible: the driver supports the GPU", "cudacompat: "
	for name, want := range map[string]string{"layout": fine, "oci:layout": fine, "flat": fine, "dir:flat": fine, "named:v1": fine,
		"oci:named:v1": fine, "oci-archive:named.tar": fine, "oci-archive:named.tar:v1": fine, "oci:" + dir + "/named:v1": fine,
		"named:v2":                   refused + `"named:v2": no image in it is called "v2", but v1`,
		"layout:v1":                  refused + `"layout:v1": no image in it is called "v1": its images have no names`,
		"docker://ubuntu:22.04":      refused + `"docker://ubuntu:22.04" is not a file, and no image is fetched`,
		"ghcr.io/a/b:v1":             refused + `"ghcr.io/a/b:v1" is not a file, and no image is fetched`,
		"oci:nothing":                refused + `"oci:nothing" is not a file`,
		"elsewhere/requirements.txt": refused + `cannot read "elsewhere/requirements.txt": no such file`,
	} {
		var out, errs strings.Builder
		run([]string{"check", name, "--gpu", "L4", "--driver", "580.95.05"}, streams{strings.NewReader(""), &out, &errs})
		if got := out.String() + errs.String(); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s\nwant %s", name, got, want)
		}
	}
}

// TestImageInAPipe checks that a shell's <(…) is read once, for an image as for a file.
func TestImageInAPipe(t *testing.T) {
	archive, err := os.ReadFile(venv(t, "2.8.0+cu128", "12.8"))
	hosttest.Must(t, err)
	for what, c := range map[string]struct {
		data []byte
		want string
	}{"image": {archive, "compatible: torch 2.8.0+cu128 works"}, "file": {[]byte("torch==2.9.0\n"), "compatible: torch 2.9.0 works"}} {
		read, write, err := os.Pipe()
		hosttest.Must(t, err)
		go func() {
			defer write.Close()
			_, _ = write.Write(c.data)
		}()
		var out, errs strings.Builder
		run([]string{"check", fmt.Sprintf("/dev/fd/%d", read.Fd()), "--gpu", "L4", "--driver", "580.95.05"}, streams{strings.NewReader(""), &out, &errs})
		if !strings.HasPrefix(out.String(), c.want) {
			t.Errorf("%s: %s%s", what, out.String(), errs.String())
		}
		read.Close()
	}
}

// TestStandardInputAmongImages checks that standard input can be one of several images, once, and that files cannot be
// mixed with images.
func TestStandardInputAmongImages(t *testing.T) {
	name := venv(t, "2.8.0+cu128", "12.8")
	archive, err := os.ReadFile(venv(t, "2.9.0+cu130", "13.0"))
	hosttest.Must(t, err)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{name, "-"}, "1 of 2 images work on L4 with driver 535.183.01 standard input incompatible: "},
		{[]string{"-", name, "-"}, "cudacompat: standard input is given twice"},
		{[]string{name, "torch==2.9.0"}, fmt.Sprintf("cudacompat: %q is an image, and %q is none", name, "torch==2.9.0")},
	} {
		var out, errs strings.Builder
		run(append([]string{"check", "--gpu", "L4", "--driver", "535.183.01"}, c.args...), streams{bytes.NewReader(archive), &out, &errs})
		if got := strings.Join(strings.Fields(out.String()+errs.String()), " "); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s", c.args, got)
		}
	}
}
