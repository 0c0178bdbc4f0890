// Package imagetest makes container images for tests, in the forms in which tools write them.
package imagetest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// File is a file of a layer: a regular one with Data, else what Header says.
type File struct {
	Name   string
	Data   []byte
	Header tar.Header // its type, its link, its mode
}

// Dir returns a directory. Link, Hard, Gone and Opaque return the other kinds of layer entries.
func Dir(name string) File        { return File{Name: name, Header: tar.Header{Typeflag: tar.TypeDir}} }
func Link(name, to string) File   { return entry(name, to, tar.TypeSymlink) }
func Hard(name, to string) File   { return entry(name, to, tar.TypeLink) }
func Gone(dir, base string) File  { return File{Name: filepath.Join(dir, ".wh."+base)} }
func Opaque(dir string) File      { return File{Name: filepath.Join(dir, ".wh..wh..opq")} }
func Text(name, text string) File { return File{Name: name, Data: []byte(text)} }

func entry(name, to string, kind byte) File {
	return File{Name: name, Header: tar.Header{Typeflag: kind, Linkname: to}}
}

// Image is what an image is made of.
type Image struct {
	Layers [][]byte // tar archives, from the lowest
	Packed string   // "gzip", "zstd" or "" for plain
	Config map[string]any
}

// Tar writes a layer.
func Tar(t testing.TB, files []File) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		h := f.Header
		h.Name, h.Size = f.Name, int64(len(f.Data))
		if h.Mode == 0 {
			h.Mode = 0o755
		}
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		must(t, w.WriteHeader(&h))
		_, err := w.Write(f.Data)
		must(t, err)
	}
	must(t, w.Close())
	return b.Bytes()
}

// Tree returns the files of a directory.
func Tree(t testing.TB, root string) []File {
	t.Helper()
	var files []File
	must(t, filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == root {
			return err
		}
		relative, err := filepath.Rel(root, name)
		must(t, err)
		switch {
		case d.IsDir():
			files = append(files, Dir(relative))
		case d.Type() == fs.ModeSymlink:
			to, err := os.Readlink(name)
			must(t, err)
			files = append(files, Link(relative, to))
		default:
			info, err := d.Info()
			must(t, err)
			data, err := os.ReadFile(name)
			must(t, err)
			files = append(files, File{relative, data, tar.Header{Mode: int64(info.Mode().Perm())}})
		}
		return nil
	}))
	return files
}

// Digest returns how images name their parts.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// pack packs a layer.
func (i Image) pack(t testing.TB, layer []byte) []byte {
	var b bytes.Buffer
	switch i.Packed {
	case "gzip":
		w := gzip.NewWriter(&b)
		_, err := w.Write(layer)
		must(t, err)
		must(t, w.Close())
	case "zstd":
		w, err := zstd.NewWriter(&b)
		must(t, err)
		_, err = w.Write(layer)
		must(t, err)
		must(t, w.Close())
	default:
		return layer
	}
	return b.Bytes()
}

// config returns the image's configuration.
func (i Image) config(t testing.TB) []byte {
	ids := []string{}
	for _, l := range i.Layers {
		ids = append(ids, Digest(l))
	}
	c := map[string]any{"architecture": "amd64", "os": "linux", "rootfs": map[string]any{"type": "layers", "diff_ids": ids}}
	for k, v := range i.Config {
		c[k] = v
	}
	return marshal(t, c)
}

// OCI returns the files of an OCI layout, its documents last.
func (i Image) OCI(t testing.TB) []File {
	t.Helper()
	kind := map[string]string{"gzip": "+gzip", "zstd": "+zstd"}[i.Packed]
	var files []File
	descriptor := func(kind string, data []byte) map[string]any {
		files = append(files, File{Name: "blobs/sha256/" + Digest(data)[7:], Data: data})
		return map[string]any{"mediaType": "application/vnd.oci.image." + kind, "digest": Digest(data), "size": len(data)}
	}
	layers := []map[string]any{}
	for _, l := range i.Layers {
		layers = append(layers, descriptor("layer.v1.tar"+kind, i.pack(t, l)))
	}
	manifest := descriptor("manifest.v1+json", marshal(t, map[string]any{"schemaVersion": 2,
		"config": descriptor("config.v1+json", i.config(t)), "layers": layers}))
	return append(files, File{Name: "oci-layout", Data: []byte(`{"imageLayoutVersion": "1.0.0"}`)},
		File{Name: "index.json", Data: marshal(t, map[string]any{"schemaVersion": 2, "manifests": []any{manifest}})})
}

// Docker returns the files of a docker save archive as skopeo writes them: plain layers, and old names that link to
// them.
func (i Image) Docker(t testing.TB) []File {
	t.Helper()
	var files []File
	var names []string
	for n, l := range i.Layers {
		name := Digest(l)[7:] + ".tar"
		files = append(files, File{Name: name, Data: l}, Link(fmt.Sprintf("%d/layer.tar", n), "../"+name))
		names = append(names, fmt.Sprintf("%d/layer.tar", n))
	}
	config := i.config(t)
	name := Digest(config)[7:] + ".json"
	return append(files, File{Name: name, Data: config}, File{Name: "manifest.json", Data: marshal(t,
		[]any{map[string]any{"Config": name, "RepoTags": []string{"image:latest"}, "Layers": names}})})
}

// Write writes files into a directory.
func Write(t testing.TB, dir string, files []File) {
	t.Helper()
	for _, f := range files {
		name := filepath.Join(dir, f.Name)
		must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must(t, os.WriteFile(name, f.Data, 0o644))
	}
}

func marshal(t testing.TB, v any) []byte {
	data, err := json.Marshal(v)
	must(t, err)
	return data
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
