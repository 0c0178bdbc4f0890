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

	"cudacompat/probe/host/hosttest"
	"cudacompat/probe/host/imagetest"
	"cudacompat/report"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// TestImagesOfLayers makes images of the trees of TestImages, of layers that hide, replace and delete what was below, each
// in two of the forms: what is said of the image is what is said of the tree.
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

// layered are three layers that leave these files: of each the last may bring it, may bring it anew, or may have it
// from below; what else lower layers have is taken away again.
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
				lower = append(lower, imagetest.Text(f.Name+"/in", "a directory"))
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
	// what a middle layer's whiteouts of directories took away
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

// said is what the program decides, in words and codes, of what it was given.
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
