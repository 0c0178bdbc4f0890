// Package efa reads Elastic Fabric Adapters and the NCCL plugin that uses them.
package efa

import (
	"path"
	"strings"

	"cudacompat/internal/ldso"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/source"
)

// pluginDirs lists where EFA's installer, AWS's images and the plugin's own instructions install it.
var pluginDirs = []string{"/opt/amazon/ofi-nccl/lib", "/opt/amazon/ofi-nccl/lib64",
	"/opt/amazon/ofi-nccl/lib/*-linux-gnu",
	"/opt/amazon/aws-ofi-nccl/lib", "/opt/aws-ofi-nccl/lib", "/opt/aws-ofi-nccl/install/lib"}

// Read reads the EFA adapters and the NCCL plugin. On a running machine without an adapter it does not look for the
// plugin.
func Read(h *host.Host) (source.Update, error) {
	efa := facts.EFA{Devices: countAdapters(h)}
	if !h.Rest {
		efa.Nodes = len(h.Glob("/dev/infiniband/uverbs[0-9]*"))
	}
	value, set := h.Env["NCCL_NET_PLUGIN"]
	efa.Names = pluginNames(value, set)
	if efa.Devices > 0 || h.Rest {
		if err := findPlugin(h, &efa); err != nil {
			return nil, err
		}
	}
	if efa.Plugin == "" && (efa.Devices > 0 || h.Rest) {
		efa.Elsewhere = installedPlugin(h)
	}
	if efa.Devices == 0 && efa.Plugin+efa.Elsewhere == "" {
		return nil, host.ErrAbsent
	}
	return func(f *facts.Facts) { f.Machine.EFA = efa }, nil
}

// countAdapters counts Amazon's PCI devices from 0xefa0 on.
func countAdapters(h *host.Host) int {
	devices, _ := h.PCI()
	n := 0
	for _, d := range devices {
		if d.Vendor != "0x1d0f" {
			continue
		}
		if device, _ := h.ReadLine(d.Dir + "/device"); strings.HasPrefix(device, "0xefa") {
			n++
		}
	}
	return n
}

// pluginNames lists the files that NCCL tries for a value of NCCL_NET_PLUGIN: comma-separated names, paths, or suffixes
// of names. "none" and "" mean no plugin.
func pluginNames(value string, set bool) []string {
	if !set {
		return []string{"libnccl-net.so"}
	}
	if strings.EqualFold(value, "none") {
		return nil
	}
	var names []string
	for name := range strings.SplitSeq(value, ",") {
		if name == "" {
			continue
		}
		names = append(names, name)
		if !strings.Contains(name, "/") && !(strings.HasPrefix(name, "lib") && strings.HasSuffix(name, ".so")) {
			names = append(names, "libnccl-net-"+name+".so")
		}
	}
	return names
}

// findPlugin records the plugin that NCCL would open, and what it lacks. If a library cannot be read, it is unknown
// whether the plugin loads.
func findPlugin(h *host.Host, efa *facts.EFA) error {
	process, err := ncclProcess(h)
	if err != nil {
		return err
	}
	if efa.Plugin = pluginFile(h, process, efa.Names); efa.Plugin != "" {
		efa.Unresolved, err = pluginLacks(process, efa.Plugin)
		efa.Looked = err == nil
	}
	return nil
}

// pluginFile returns the file that NCCL would load for one of the names. Conda's NCCL also looks next to itself.
func pluginFile(h *host.Host, process *ldso.Process, names []string) string {
	for _, name := range names {
		if f, err := process.Find(name, nil); err == nil {
			return f.Path
		}
		if beside := h.Var("CONDA_PREFIX") + "/lib/" + name; path.IsAbs(beside) && h.Var("CONDA_PREFIX") != "" &&
			h.Exists(beside) {
			return beside
		}
	}
	return ""
}

// installedPlugin returns a plugin in one of the usual directories, where NCCL does not look by itself.
func installedPlugin(h *host.Host) string {
	for _, dir := range pluginDirs {
		for _, pattern := range []string{"/libnccl-net.so", "/libnccl-net-*.so"} {
			if names := h.Glob(dir + pattern); len(names) > 0 {
				return names[0]
			}
		}
	}
	return ""
}
