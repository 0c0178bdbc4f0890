package container

import (
	"path"
	"slices"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/source"
)

var engines = []struct {
	name     string
	programs []string
	configs  []string
}{
	{"docker", []string{"/usr/bin/dockerd", "/usr/local/bin/dockerd", "/usr/sbin/dockerd"},
		[]string{"/etc/docker/daemon.json"}},
	{"containerd", []string{"/usr/bin/containerd", "/usr/local/bin/containerd"},
		[]string{"/etc/containerd/config.toml", "/etc/containerd/conf.d/*.toml", "/etc/containerd/config.d/*.toml"}},
}

// hooks lists the programs that inject GPUs if no runtime is configured.
var hooks = []string{"nvidia-container-runtime-hook", "nvidia-container-runtime"}

// ReadRuntimes reads the configuration of Docker, containerd and CDI.
func ReadRuntimes(h *host.Host) (source.Update, error) {
	var r facts.Runtimes
	var failed host.Errors
	for _, engine := range engines {
		program := firstExisting(h, engine.programs)
		if program == "" {
			continue
		}
		found := facts.Runtime{Name: engine.name, Path: program}
		for _, pattern := range engine.configs {
			for _, name := range h.Glob(pattern) {
				failed.Add(checkConfigured(&found, h, name))
			}
		}
		r.Found = append(r.Found, found)
	}
	for _, dir := range []string{"/usr/bin", "/usr/local/bin", "/usr/local/nvidia/toolkit"} {
		for _, hook := range hooks {
			if name := path.Join(dir, hook); r.Hook == "" && h.Exists(name) {
				r.Hook = name
			}
		}
	}
	r.CDI = cdiSpecs(h, &failed)
	if r.Hook == "" && len(r.Found)+len(r.CDI)+len(failed) == 0 {
		return nil, host.ErrAbsent
	}
	return func(f *facts.Facts) { f.Runtimes = r }, failed.Err()
}

// firstExisting returns the first of names that exists, or "".
func firstExisting(h *host.Host, names []string) string {
	i := slices.IndexFunc(names, h.Exists)
	if i < 0 {
		return ""
	}
	return names[i]
}

// runtimeProgram matches the program of a configured runtime, in daemon.json and in config.toml:
//
//	"path": "/usr/bin/nvidia-container-runtime"
//	BinaryName = "/usr/local/nvidia/toolkit/nvidia-container-runtime"
var runtimeProgram = lazyregexp.New(`(?m)^[^#\n]*?(?:path|BinaryName)"?\s*[:=]\s*"([^"\n]*nvidia-container-runtime[^"\n]*)"`)

// checkConfigured records a configuration file that names NVIDIA's runtime, and the runtime's program if it does not
// exist.
func checkConfigured(r *facts.Runtime, h *host.Host, name string) error {
	data, err := h.ReadFile(name)
	if err != nil {
		return err
	}
	for _, m := range runtimeProgram.FindAllStringSubmatch(string(data), -1) {
		program := m[1]
		if r.Config == "" {
			r.Config = name
		}
		if path.IsAbs(program) && !h.Exists(program) && !slices.Contains(r.Missing, program) {
			r.Missing = append(r.Missing, program)
		}
	}
	return nil
}
