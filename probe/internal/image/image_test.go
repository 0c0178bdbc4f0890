package image

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cudacompat/probe/host"
	"cudacompat/probe/host/imagetest"
)

// read returns an image of layers, from a stream.
func read(t *testing.T, layers ...[]imagetest.File) (*Image, error) {
	t.Helper()
	i := imagetest.Image{Packed: "gzip"}
	for _, l := range layers {
		i.Layers = append(i.Layers, imagetest.Tar(t, l))
	}
	image, err := Open(t.Context(), bytes.NewReader(imagetest.Tar(t, i.OCI(t))), Options{})
	if err == nil {
		t.Cleanup(image.Close)
	}
	return image, err
}

// shown returns what stands at every place of an image, in order.
func shown(t *testing.T, i *Image, dir string) []string {
	t.Helper()
	entries, err := i.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		switch {
		case e.IsDir():
			list = append(append(list, name+"/"), shown(t, i, name)...)
		case e.Type() == fs.ModeSymlink:
			to, _ := i.Readlink(name)
			list = append(list, name+" -> "+to)
		case e.Type() == 0:
			f, err := i.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(f)
			list = append(list, fmt.Sprintf("%s = %s%s", name, data, errText(err)))
		default:
			list = append(list, name+" "+e.Type().String())
		}
	}
	return list
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return " (" + err.Error() + ")"
}

// TestLayers lays layers over one another as runtimes do (image-spec, layer.md).
func TestLayers(t *testing.T) {
	file, dir, link := imagetest.Text, imagetest.Dir, imagetest.Link
	type layer = []imagetest.File
	for name, c := range map[string]struct {
		layers []layer
		want   string
	}{
		"replaced":             {[]layer{{file("a", "1")}, {file("a", "2")}}, "/a = 2"},
		"deleted":              {[]layer{{file("a", "1"), file("b", "1")}, {imagetest.Gone("", "a")}}, "/b = 1"},
		"a directory deleted":  {[]layer{{file("d/a", "1"), file("b", "1")}, {imagetest.Gone("", "d")}}, "/b = 1"},
		"deleted and new":      {[]layer{{file("d/a", "1")}, {file("d/b", "2"), imagetest.Gone("", "d")}}, "/d/; /d/b = 2"},
		"opaque":               {[]layer{{file("d/a", "1"), file("d/e/a", "1")}, {file("d/b", "2"), imagetest.Opaque("d")}}, "/d/; /d/b = 2"},
		"opaque stays inside":  {[]layer{{file("d/e/a", "1"), file("d/a", "1")}, {imagetest.Opaque("d/e")}}, "/d/; /d/a = 1; /d/e/"},
		"a directory stays":    {[]layer{{file("d/a", "1")}, {dir("d"), file("d/b", "2")}}, "/d/; /d/a = 1; /d/b = 2"},
		"file over directory":  {[]layer{{file("d/a", "1")}, {file("d", "2")}}, "/d = 2"},
		"directory over file":  {[]layer{{file("d", "1")}, {dir("d"), file("d/a", "2")}}, "/d/; /d/a = 2"},
		"through a link":       {[]layer{{dir("usr/lib"), link("lib", "usr/lib")}, {file("lib/a", "2")}}, "/lib -> usr/lib; /usr/; /usr/lib/; /usr/lib/a = 2"},
		"whiteout over a link": {[]layer{{file("usr/lib/a", "1"), link("lib", "usr/lib")}, {imagetest.Gone("lib", "a")}}, "/lib -> usr/lib; /usr/; /usr/lib/"},
		"directory for a link": {[]layer{{file("usr/lib/a", "1"), link("lib", "usr/lib")}, {dir("lib"), file("lib/b", "2")}}, "/lib/; /lib/b = 2; /usr/; /usr/lib/; /usr/lib/a = 1"},
		"hard link":            {[]layer{{file("a", "1"), imagetest.Hard("b", "a")}}, "/a = 1; /b = 1"},
		"to a lower layer":     {[]layer{{file("a", "1")}, {imagetest.Hard("b", "a"), imagetest.Gone("", "c")}}, "/a = 1; /b = 1"},
		"which is deleted":     {[]layer{{file("a", "1"), imagetest.Hard("b", "a")}, {imagetest.Gone("", "a")}}, "/b = 1"},
		"storage driver's":     {[]layer{{file("a", "1"), file(".wh..wh.plnk/1", "1")}, {file(".wh..wh.aufs", "1")}}, "/.wh..wh.plnk/; /.wh..wh.plnk/1 = 1; /a = 1"},
		"devices":              {[]layer{{{Name: "null", Header: tar.Header{Typeflag: tar.TypeChar}}, {Name: "p", Header: tar.Header{Typeflag: tar.TypeFifo}}}}, "/null Dc---------; /p p---------"},
		"contiguous":           {[]layer{{{Name: "a", Data: []byte("1"), Header: tar.Header{Typeflag: tar.TypeCont}}}}, "/a = 1"},
		"above the root":       {[]layer{{file("../../a", "1"), link("l", "../../../a")}}, "/a = 1; /l -> ../../../a"},
		"no layer":             {nil, ""},
	} {
		i, err := read(t, c.layers...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := strings.Join(shown(t, i, "/"), "; "); got != c.want {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
	}
}

// TestUnknownEntry refuses a layer with an entry of a type that nobody defines, as runtimes do: it may be a file.
func TestUnknownEntry(t *testing.T) {
	_, err := read(t, []imagetest.File{{Name: "a", Data: []byte("1"), Header: tar.Header{Typeflag: 'Q'}}})
	if err == nil || !strings.Contains(err.Error(), `a: it is an entry of type "Q", which is not known`) {
		t.Errorf("%v", err)
	}
}

// TestNotKept checks that what was not kept cannot be read as if it were.
func TestNotKept(t *testing.T) {
	i, err := read(t, []imagetest.File{imagetest.Text("big.bin", strings.Repeat("x", 200<<10)), imagetest.Text("a.py", "x"),
		imagetest.Text("small", "text")})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{"/big.bin": errNotKept, "/a.py": errNotKept, "/small": nil} {
		f, err := i.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(f); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	if missed := i.Missed(); !slices.Equal(slices.Sorted(slices.Values(missed)), []string{"/a.py", "/big.bin"}) {
		t.Errorf("missed %q", missed)
	}
}

// TestScripts checks that the first line of a script that the kernel can start is always kept.
func TestScripts(t *testing.T) {
	long := "#!/opt/venv/bin/python\n" + strings.Repeat("x = 1\n", 20_000)
	plain := imagetest.Text("plain.py", "#!/usr/bin/python\n")
	plain.Header.Mode = 0o644
	i, err := read(t, []imagetest.File{imagetest.Text("serve.py", long), imagetest.Text("serve", long),
		imagetest.Text("short.py", "#!/bin/py\n"), plain})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"/serve.py": long[:256], "/serve": long[:256], "/short.py": "#!/bin/py\n", "/plain.py": ""} {
		f, err := i.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		head := make([]byte, 256)
		n, _ := host.ToSearch(f).ReadAt(head, 0)
		if got := strings.TrimRight(string(head[:n]), "\x00"); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	f, err := i.Open("/serve.py")
	if err != nil {
		t.Fatal(err)
	}
	if sum := f.(*open).Summary(); sum == nil {
		t.Error("serve.py has no summary")
	}
	if missed := i.Missed(); len(missed) > 0 {
		t.Errorf("missed %q", missed)
	}
}

// TestStart checks which program is started, and with which variables, by the configuration alone.
func TestStart(t *testing.T) {
	for text, want := range map[string]string{
		`{}`: " map[PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin PWD:/]",
		`{"config": {"Env": ["PATH=/opt/venv/bin:/usr/bin", "A=b=c", "odd"], "WorkingDir": "/app", "Cmd": ["python", "-m", "x"]}}`:     "python map[A:b=c PATH:/opt/venv/bin:/usr/bin PWD:/app]",
		`{"config": {"Env": ["A="], "Entrypoint": ["/usr/bin/tini", "-g", "--"], "Cmd": ["/usr/bin/env", "X=1", "/opt/python", "x"]}}`: "/opt/python map[A: PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin PWD:/]",
		`{"config": {"Env": ["PATH="], "Cmd": ["/bin/sh", "-c", "exec /opt/python x"]}}`:                                               "/opt/python map[PATH: PWD:/]",
		`{"config": {"Env": ["PATH="], "Cmd": ["/bin/sh", "-c", "$PYTHON x"]}}`:                                                        "/bin/sh map[PATH: PWD:/]",
		`{"config": {"Env": ["PATH="], "Entrypoint": ["tini", "--"]}}`:                                                                 "tini map[PATH: PWD:/]",
		`{"config": {"Env": ["PATH="], "WorkingDir": "app", "Entrypoint": ["/e"], "Cmd": ["c"]}}`:                                      "/e map[PATH: PWD:/]",
	} {
		var c Config
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(c.Start(), " ", c.Env()); got != want {
			t.Errorf("%s:\n%s\nwant %s", text, got, want)
		}
	}
}

// TestHostile gives archives that lie: each is refused in one clause, at once, and leaves no file behind.
func TestHostile(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	good := imagetest.Image{Packed: "gzip", Layers: [][]byte{imagetest.Tar(t, []imagetest.File{imagetest.Text("etc/a", "1")})}}
	oci, docker := good.OCI(t), good.Docker(t)
	with := func(files []imagetest.File, change func(f *imagetest.File)) []imagetest.File {
		files = slices.Clone(files)
		for n := range files {
			change(&files[n])
		}
		return files
	}
	in := func(files []imagetest.File, old, new string) []imagetest.File {
		return with(files, func(f *imagetest.File) { f.Data = bytes.ReplaceAll(f.Data, []byte(old), []byte(new)) })
	}
	layer := oci[0] // the layer's blob
	bomb := imagetest.Image{Packed: "gzip", Layers: [][]byte{imagetest.Tar(t, []imagetest.File{imagetest.Text("zeros", strings.Repeat("\x00", 64<<20))})}}
	deep := imagetest.Text(strings.Repeat("d/", 3000)+"f", "1")
	one := func(files ...imagetest.File) []imagetest.File {
		return imagetest.Image{Packed: "gzip", Layers: [][]byte{imagetest.Tar(t, files)}}.OCI(t)
	}
	claims := tar.Header{Typeflag: tar.TypeReg, Name: "huge", Size: 1 << 40, Mode: 0o644}
	var huge bytes.Buffer
	if err := tar.NewWriter(&huge).WriteHeader(&claims); err != nil {
		t.Fatal(err)
	}
	raw := func(layer []byte) []imagetest.File { return imagetest.Image{Layers: [][]byte{layer}}.OCI(t) }
	archive := imagetest.Tar(t, oci)
	long := func(n int) (files []imagetest.File) {
		for i := range n {
			files = append(files, imagetest.Text(fmt.Sprintf("p%d", i), ""))
		}
		return files
	}
	says := func(c map[string]any) []byte {
		return imagetest.Tar(t, imagetest.Image{Config: map[string]any{"config": c}}.OCI(t))
	}
	many := func(n int) []byte { // each for a platform of its own, and none of them there
		var index bytes.Buffer
		for i := range n {
			fmt.Fprintf(&index, `,{"digest":"sha256:%064d","platform":{"os":"linux","architecture":"a%d"}}`, i, i)
		}
		return imagetest.Tar(t, []imagetest.File{imagetest.Text("index.json", `{"manifests":[`+index.String()[1:]+`]}`)})
	}
	skipped := append([]byte("\x50\x2a\x4d\x18\x00\x00\x00\x01"), make([]byte, 1<<24)...) // a zstd frame that is passed over
	twice := imagetest.Image{Packed: "gzip", Layers: [][]byte{good.OCI(t)[0].Data}}.OCI(t)
	for name, c := range map[string]struct {
		archive []byte
		want    string // the error's beginning; empty where it is read
	}{
		"an index of 30,000":          {many(30_000), "its index names more than 1000 images"},
		"an index of 1,000":           {many(1000), "it is for several platforms: linux/a0, "},
		"a PATH of 2 MiB":             {says(map[string]any{"Env": []string{"PATH=" + strings.Repeat("/a:", 700_000)}}), "its configuration has a variable or an argument of more than 128 KiB"},
		"20,000 arguments":            {says(map[string]any{"Cmd": make([]string, 20_000)}), "its configuration has more than 10000 variables and arguments"},
		"a program that is no text":   {says(map[string]any{"Entrypoint": []int{1}}), "its configuration is not valid JSON"},
		"nothing but skipped frames":  {imagetest.Tar(t, raw(skipped)), "layer 1 of 1, unpacked, is not what the image says"},
		"packed twice":                {imagetest.Tar(t, twice), "layer 1 of 1: it ends in the middle"},
		"whiteouts of nothing":        {imagetest.Tar(t, one(imagetest.Text(".wh.", ""), imagetest.Text(".wh..", ""), imagetest.Text("a/.wh...", ""), imagetest.Gone("b", "c"))), ""},
		"a hard link to itself":       {imagetest.Tar(t, one(imagetest.Hard("a", "a"))), "layer 1 of 1: /a: it is a hard link to what is not there"},
		"a window of a gigabyte":      {imagetest.Tar(t, raw([]byte("\x28\xb5\x2f\xfd\x00\xa0\x01\x00\x00"))), "layer 1 of 1: "},
		"a name of half a mebibyte":   {imagetest.Tar(t, one(imagetest.Hard(strings.Repeat("n", 1<<19), "b"))), "layer 1 of 1: /nnn"},
		"sound":                       {archive, ""},
		"sound, of docker":            {imagetest.Tar(t, docker), ""},
		"nothing in it":               {imagetest.Tar(t, nil), "it holds no image"},
		"files of a root":             {imagetest.Tar(t, []imagetest.File{imagetest.Text("etc/os-release", "ID=debian")}), "it holds no image"},
		"cut in the index":            {archive[:len(archive)-1600], "it ends in the middle"},
		"cut in the layer":            {archive[:600], "it ends in the middle"},
		"text":                        {[]byte("hello"), "it ends in the middle"},
		"a layer cut":                 {imagetest.Tar(t, with(oci, func(f *imagetest.File) { f.Data = f.Data[:min(len(f.Data), 60)] })), "its index is not valid JSON"},
		"a layer's bytes changed":     {imagetest.Tar(t, with(oci, func(f *imagetest.File) { f.Data = flipped(f.Data, f.Name == layer.Name) })), "layer 1 of 1: "},
		"another layer in its place":  {imagetest.Tar(t, with(oci, func(f *imagetest.File) { f.Data = swapped(f, layer.Name, bomb.OCI(t)[0].Data) })), "layer 1 of 1 is not what the image says"},
		"a layer is missing":          {imagetest.Tar(t, oci[1:]), "layer 1 of 1: it lacks blobs/sha256/"},
		"the configuration changed":   {imagetest.Tar(t, in(oci, `"linux"`, `"Linux"`)), "the configuration is not what the image says"},
		"docker's changed":            {imagetest.Tar(t, in(docker, `"linux"`, `"Linux"`)), "the configuration is not what the image says"},
		"the manifest changed":        {imagetest.Tar(t, in(oci, `"schemaVersion":2}`, `"schemaVersion":2 }`)), "the manifest is not what the image says"},
		"a digest that is a path":     {imagetest.Tar(t, in(oci, imagetest.Digest(oci[2].Data), "sha256:../../../../etc/passwd")), `"sha256:../../../../etc/passwd" is not a SHA-256 digest`},
		"a digest of another kind":    {imagetest.Tar(t, in(oci, imagetest.Digest(oci[2].Data), "md5:00")), `"md5:00" is not a SHA-256 digest`},
		"an index that leads on":      {imagetest.Tar(t, []imagetest.File{imagetest.Text("index.json", `{"manifests":[]}`)}), "its index names no image"},
		"for Windows":                 {imagetest.Tar(t, imagetest.Image{Config: map[string]any{"os": "windows"}}.OCI(t)), "it is an image for windows"},
		"fewer layers than it says":   {imagetest.Tar(t, imagetest.Image{Config: map[string]any{"rootfs": map[string]any{"diff_ids": []string{"a"}}}}.OCI(t)), "it has 0 layers, and its configuration names 1"},
		"two images":                  {imagetest.Tar(t, in(docker, `[{`, `[{"RepoTags":["b:1"]},{`)), "it holds several images: b:1, image:latest"},
		"JSON without end":            {imagetest.Tar(t, []imagetest.File{imagetest.Text("manifest.json", strings.Repeat("[", 1<<20))}), "its manifest.json is not valid JSON"},
		"a document of 5 MiB":         {imagetest.Tar(t, []imagetest.File{imagetest.Text("index.json", "{"+strings.Repeat(" ", 5<<20)+"}")}), "it holds no image"},
		"40,000 parts":                {imagetest.Tar(t, long(40_000)), "it has more than 512 layers"},
		"links in a circle":           {imagetest.Tar(t, append(in(docker, "0/layer.tar", "1/layer.tar"), imagetest.Link("1/layer.tar", "layer.tar"))), "layer 1 of 1: it lacks 1/layer.tar"},
		"64 MiB of zeros":             {imagetest.Tar(t, bomb.OCI(t)), ""},
		"directories 3,000 deep":      {imagetest.Tar(t, one(deep)), "layer 1 of 1: /d/d/d"},
		"a file of a terabyte":        {imagetest.Tar(t, raw(huge.Bytes())), "layer 1 of 1: huge: it claims 1099511627776 bytes"},
		"a hard link to nothing":      {imagetest.Tar(t, one(imagetest.Hard("a", "b"))), "layer 1 of 1: /a: it is a hard link to what is not there"},
		"a hard link above the root":  {imagetest.Tar(t, one(imagetest.Hard("a", "../../../../etc/passwd"))), "layer 1 of 1: /a: it is a hard link to what is not there"},
		"a file below a file":         {imagetest.Tar(t, one(imagetest.Text("a", "1"), imagetest.Text("a/b", "1"))), "layer 1 of 1: /a/b: what stands above it is not a directory"},
		"written through a circle":    {imagetest.Tar(t, one(imagetest.Link("a", "b"), imagetest.Link("b", "a"), imagetest.Text("a/b", "1"))), "layer 1 of 1: /a/b: what stands above it is not a directory"},
		"no archive for a layer":      {imagetest.Tar(t, raw([]byte(strings.Repeat("not a layer ", 100)))), "layer 1 of 1: it is not a tar archive"},
		"a library that lies":         {imagetest.Tar(t, one(imagetest.Text("lib/liar.so", "\x7fELF\x02\x01\x01"+strings.Repeat("\xff", 100<<10)))), ""},
		"fat binaries without number": {imagetest.Tar(t, one(imagetest.Text("lib/many.so", "\x7fELF\x02\x01\x01"+strings.Repeat(string(begin)+"\x00\x01\x00\x00\x00\x00\x00\x00", 200<<10)))), ""},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "image.tar")
			if err := os.WriteFile(file, c.archive, 0o644); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			for _, pipe := range []bool{true, false} {
				err := readBoth(t, file, pipe)
				switch {
				case c.want == "" && err != nil, c.want != "" && err == nil:
					t.Errorf("pipe %v: %v, want %q", pipe, err, c.want)
				case err != nil && (strings.Contains(err.Error(), "\n") || len(err.Error()) > 500):
					t.Errorf("pipe %v: it is no sentence: %q", pipe, err)
				case err != nil && pipe && !strings.HasPrefix(err.Error(), c.want):
					t.Errorf("%v, want %q", err, c.want)
				}
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func readBoth(t *testing.T, name string, pipe bool) error {
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r io.Reader = f
	if pipe {
		r = struct{ io.Reader }{f}
	}
	i, err := Open(t.Context(), r, Options{})
	if err == nil {
		i.Close()
	}
	return err
}

func flipped(data []byte, really bool) []byte {
	if !really {
		return data
	}
	data = bytes.Clone(data)
	data[len(data)/2] ^= 0x40
	return data
}

func swapped(f *imagetest.File, name string, data []byte) []byte {
	if f.Name == name {
		return data
	}
	return f.Data
}

// TestSparse checks that a file whose holes take no room in its layer also ends at the deadline.
func TestSparse(t *testing.T) {
	header := make([]byte, 512) // GNU's old form of tar(5): eight gigabytes, of which 512 bytes are there
	for at, text := range map[int]string{0: "lib/hole.so", 100: "0000755\x00", 108: "0000000\x00", 116: "0000000\x00", 124: "00000001000\x00",
		136: "00000000000\x00", 156: "S", 257: "ustar  \x00", 386: "00000000000\x0000000001000\x00", 483: "77777777777\x00", 148: "        "} {
		copy(header[at:], text)
	}
	sum := 0
	for _, b := range header {
		sum += int(b)
	}
	copy(header[148:], fmt.Sprintf("%06o\x00 ", sum))
	layer := append(append(header, append([]byte("\x7fELF\x02\x01\x01"), make([]byte, 505)...)...), make([]byte, 1024)...)
	archive := imagetest.Tar(t, imagetest.Image{Layers: [][]byte{layer}}.OCI(t))
	ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, errors.New("the time was up"))
	defer cancel()
	began := time.Now()
	_, err := Open(ctx, bytes.NewReader(archive), Options{})
	if took := time.Since(began); err == nil || err.Error() != "the time was up" || took > 10*time.Second {
		t.Errorf("after %v: %v", took, err)
	}
}

// TestTimeIsUp ends in the middle of a layer when the time is up, and says so.
func TestTimeIsUp(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	i := imagetest.Image{Layers: [][]byte{imagetest.Tar(t, []imagetest.File{imagetest.Text("zeros", strings.Repeat("\x00", 4<<20))})}}
	archive := imagetest.Tar(t, i.OCI(t))
	_, err := Open(ctx, bytes.NewReader(archive), Options{Tell: func(n int64) {
		if n > 1<<20 {
			cancel(errors.New("the time was up"))
		}
	}})
	if err == nil || err.Error() != "the time was up" {
		t.Errorf("%v", err)
	}
}
