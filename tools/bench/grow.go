package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// smallRoot returns a small Ubuntu with a torch environment that carries no big library.
func smallRoot(root string) error {
	files := map[string]string{
		"etc/os-release": "PRETTY_NAME=\"Ubuntu 22.04.5 LTS\"\nID=ubuntu\n",
		"usr/lib/x86_64-linux-gnu/libcuda.so.550.90.07":      "",
		"usr/lib/x86_64-linux-gnu/libnvidia-ml.so.550.90.07": "",
		"usr/local/cuda-12.4/version.json":                   `{"cuda":{"version":"12.4.1"}}`,
	}
	if err := write(root, files); err != nil {
		return err
	}
	for _, lib := range []string{"libcuda", "libnvidia-ml"} {
		link := filepath.Join(root, "usr/lib/x86_64-linux-gnu", lib+".so.1")
		if err := os.Symlink(lib+".so.550.90.07", link); err != nil {
			return err
		}
	}
	return environment(root, "opt/venv", 0)
}

// environment returns a virtual environment with a small torch and more distributions that have nothing to do with
// CUDA.
func environment(root, prefix string, more int) error {
	site := prefix + "/lib/python3.12/site-packages/"
	files := map[string]string{
		prefix + "/pyvenv.cfg":     "home = /usr/bin\nversion = 3.12.3\n",
		site + "torch/version.py":  "__version__ = '2.8.0+cu128'\ncuda: Optional[str] = '12.8'\n",
		site + "torch/__init__.py": "",
		site + "torch-2.8.0+cu128.dist-info/METADATA": "Name: torch\nVersion: 2.8.0+cu128\n" +
			"Requires-Dist: nvidia-nccl-cu12==2.27.3\n",
		site + "nvidia_nccl_cu12-2.27.3.dist-info/METADATA": "Name: nvidia-nccl-cu12\nVersion: 2.27.3\n",
	}
	for i := range more {
		name := fmt.Sprintf("%spackage_%d-1.0.dist-info/METADATA", site, i)
		files[name] = fmt.Sprintf("Name: package-%d\nVersion: 1.0\n", i)
	}
	return write(root, files)
}

func write(root string, files map[string]string) error {
	for name, text := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// grow shows how the cost grows with environments, packages and GPUs; it should be by their number.
func (b *bench) grow(ctx context.Context) error {
	few := *b
	few.runs = 3
	for _, c := range []struct{ environments, packages int }{
		{1, 0}, {10, 0}, {100, 0}, {1, 100}, {1, 10_000}, {1, 100_000}} {
		root := filepath.Join(b.dir, fmt.Sprintf("root-%d-%d", c.environments, c.packages))
		for i := range c.environments {
			if err := environment(root, fmt.Sprintf("opt/venv%d", i), c.packages); err != nil {
				return err
			}
		}
		got, err := few.run(ctx, nil, b.tool, "doctor", "--root", root, "--instance", "g5.xlarge")
		if err != nil {
			return err
		}
		got.what = fmt.Sprintf("environments: %d, other packages in each: %d", c.environments, c.packages)
		b.growth = append(b.growth, got)
		if err := os.RemoveAll(root); err != nil {
			return err
		}
	}
	for _, gpus := range []string{"g5.xlarge", "g5.48xlarge", "p2.16xlarge"} {
		root := filepath.Join(b.dir, "root")
		got, err := few.run(ctx, nil, b.tool, "doctor", "--root", root, "--instance", gpus)
		if err != nil {
			return err
		}
		got.what = map[string]string{"g5.xlarge": "1 GPU", "g5.48xlarge": "8 GPUs", "p2.16xlarge": "16 GPUs"}[gpus]
		b.growth = append(b.growth, got)
	}
	return nil
}
