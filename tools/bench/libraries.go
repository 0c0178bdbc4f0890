package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// libraries measures the cost of examining every distribution: 300 with five libraries each, of which a tenth need
// CUDA's runtime.
func (b *bench) libraries(ctx context.Context) error {
	const distributions, each = 300, 5
	root := filepath.Join(b.dir, "root-libraries")
	if err := environment(root, "opt/venv", 0); err != nil {
		return err
	}
	if err := b.plant(ctx, filepath.Join(root, "opt/venv/lib/python3.12/site-packages"), distributions, each); err != nil {
		return err
	}
	few := *b
	few.runs = 3
	got, err := few.run(ctx, nil, b.tool, "doctor", "--root", root, "--instance", "g5.xlarge")
	if err != nil {
		return err
	}
	got.what = fmt.Sprintf("%d distributions with %d libraries", distributions, distributions*each)
	b.growth = append(b.growth, got)
	return os.RemoveAll(root)
}

// plant writes distributions whose libraries are links to two, which are large enough to be read.
func (b *bench) plant(ctx context.Context, site string, distributions, each int) error {
	plain, cuda, err := b.compiled(ctx)
	if err != nil {
		return err
	}
	for i := range distributions {
		name, record := fmt.Sprintf("ours%d", i), ""
		if err := os.MkdirAll(filepath.Join(site, name), 0o755); err != nil {
			return err
		}
		for j := range each {
			file, library := fmt.Sprintf("%s/lib%d.so", name, j), plain
			if i%10 == 0 && j == 0 {
				library = cuda
			}
			if err := os.Link(library, filepath.Join(site, file)); err != nil {
				return err
			}
			record += file + ",sha256=x,1210000\n"
		}
		info := name + "-1.0.dist-info/"
		files := map[string]string{info + "RECORD": record, info + "METADATA": "Name: " + name + "\nVersion: 1.0\n"}
		if err := write(site, files); err != nil {
			return err
		}
	}
	return nil
}

// compiled returns a library of more than a megabyte, and one that needs CUDA's runtime besides.
func (b *bench) compiled(ctx context.Context) (plain, cuda string, err error) {
	const large = "char large[1200000] = {1};\n"
	runtime := filepath.Join(b.dir, "libcudart.so.12")
	plain, cuda = filepath.Join(b.dir, "plain.so"), filepath.Join(b.dir, "cuda.so")
	for _, c := range []struct {
		file, source string
		args         []string
	}{
		{runtime, "int cudaMalloc(void) { return 0; }\n", []string{"-Wl,-soname,libcudart.so.12"}},
		{plain, large, nil},
		{cuda, large + "int cudaMalloc(void); int ours(void) { return cudaMalloc(); }\n", []string{runtime}},
	} {
		source := c.file + ".c"
		if err := os.WriteFile(source, []byte(c.source), 0o644); err != nil {
			return "", "", err
		}
		args := append([]string{"-shared", "-fPIC", "-o", c.file, source}, c.args...)
		if out, err := exec.CommandContext(ctx, "cc", args...).CombinedOutput(); err != nil {
			return "", "", fmt.Errorf("cc: %w: %s", err, out)
		}
	}
	return plain, cuda, nil
}
