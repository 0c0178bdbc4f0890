//go:build linux

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"cudacompat/internal/report/formats"
	"cudacompat/internal/report/needs"
)

// written returns much to say, in every format of a report, with time and with so little that it ends while all of that
// is written; and a comparison that is out of time, in every format of one.
func written() (list []bomb) {
	facts := documents["facts or a report from cudacompat"]
	environments := document{head: factsHead + `"environments":[{}`, tail: "]}",
		part: `,{"path":"/e%d","active":true,"builds":[{"name":"torch","version":"2.9.0+cu130","cuda":"13.0"}]}`}
	for _, format := range formats.All {
		for _, of := range []struct {
			name  string
			text  []byte
			limit time.Duration
		}{
			{"1,900 builds", facts.text(facts.most), 5 * time.Second},
			{"1,900 environments", environments.text(1900), 300 * time.Millisecond},
			{"1,900 environments", environments.text(1900), 500 * time.Millisecond},
		} {
			list = append(list, bomb{name: fmt.Sprintf("check: %s as %s in %s", of.name, format.Name, of.limit), limit: of.limit,
				plant: file("input", func() []byte { return of.text }),
				args:  []string{"check", "{}/input", "-o", format.Name}, plain: format.Name != "json" && format.Name != "sarif"})
		}
	}
	for _, format := range needs.DiffFormats {
		list = append(list, bomb{name: "requires: a comparison in 1 ms as " + format.Name, limit: time.Millisecond,
			plant: file("requirements.txt", repeated("torch==2.9.0\n", 1)), plain: true,
			args: []string{"requires", "{}/requirements.txt", "--diff", "{}/requirements.txt", "-o", format.Name}})
	}
	return list
}

// images returns layouts and archives of one layer.
func images() []bomb {
	on := []string{"check", "{}/image", "--gpu", "L4", "--driver", "535.183.01", "-o", "json"}
	image := func(name string, plant func(dir string) error) bomb {
		return bomb{name: "check: an image with " + name, limit: 20 * time.Second, plant: plant, args: on}
	}
	return []bomb{
		image("300,000 files in /opt", layout(func(t *tar.Writer) error { return entriesOf(t, "opt/f%d", 300_000) })),
		image("200,000 whiteouts", layout(func(t *tar.Writer) error { return entriesOf(t, "opt/.wh.f%d", 200_000) })),
		image("100 names of 200 KB", layout(func(t *tar.Writer) error {
			return entriesOf(t, "opt/"+string(bytes.Repeat([]byte("a"), 200_000))+"%d", 100)
		})),
		image("a library of 400 MB", layout(func(t *tar.Writer) error {
			return entry(t, packages+"torch/lib/libtorch_cuda.so", 400<<20)
		})),
		image("300,000 parts of its archive", func(dir string) error {
			var b bytes.Buffer
			t := tar.NewWriter(&b)
			if err := entriesOf(t, "z%d", 300_000); err != nil {
				return err
			}
			if err := t.Close(); err != nil {
				return err
			}
			return write(filepath.Join(dir, "image"), b.Bytes())
		}),
	}
}

func entriesOf(t *tar.Writer, name string, n int) error {
	for i := range n {
		if err := entry(t, fmt.Sprintf(name, i), 0); err != nil {
			return err
		}
	}
	return nil
}

// entry returns a file of so many zeros.
func entry(t *tar.Writer, name string, size int64) error {
	if err := t.WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o644}); err != nil {
		return err
	}
	zeros(t, int(size))
	return nil
}

// layout plants the directory of an OCI image (image-layout.md, version 1.0.0) with torch and what fill adds.
func layout(fill func(*tar.Writer) error) func(dir string) error {
	return func(dir string) error {
		var b bytes.Buffer
		packed := gzip.NewWriter(&b)
		unpacked := sha256.New()
		t := tar.NewWriter(io.MultiWriter(packed, unpacked))
		if err := entry(t, packages+"torch-2.9.0+cu130.dist-info/METADATA", 0); err != nil {
			return err
		}
		for _, end := range []func() error{func() error { return fill(t) }, t.Close, packed.Close} {
			if err := end(); err != nil {
				return err
			}
		}
		blob := func(kind string, data []byte) (string, error) {
			sum := fmt.Sprintf("%x", sha256.Sum256(data))
			return fmt.Sprintf(`{"mediaType":"application/vnd.oci.image.%s","digest":"sha256:%s","size":%d}`, kind, sum, len(data)),
				write(filepath.Join(dir, "image/blobs/sha256", sum), data)
		}
		layer, err := blob("layer.v1.tar+gzip", b.Bytes())
		if err != nil {
			return err
		}
		config, err := blob("config.v1+json", fmt.Appendf(nil,
			`{"architecture":"amd64","os":"linux","rootfs":{"type":"layers","diff_ids":["sha256:%x"]}}`, unpacked.Sum(nil)))
		if err != nil {
			return err
		}
		manifest, err := blob("manifest.v1+json", fmt.Appendf(nil, `{"schemaVersion":2,"config":%s,"layers":[%s]}`, config, layer))
		if err != nil {
			return err
		}
		if err := write(filepath.Join(dir, "image/oci-layout"), []byte(`{"imageLayoutVersion":"1.0.0"}`)); err != nil {
			return err
		}
		return write(filepath.Join(dir, "image/index.json"), fmt.Appendf(nil, `{"schemaVersion":2,"manifests":[%s]}`, manifest))
	}
}
