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

// pluginPlaces are where EFA's installer, AWS's images and the plugin's own instructions put it.
var pluginPlaces = []string{"/opt/amazon/ofi-nccl/lib", "/opt/amazon/ofi-nccl/lib64",
	"/opt/amazon/ofi-nccl/lib/*-linux-gnu",
	"/opt/amazon/aws-ofi-nccl/lib", "/opt/aws-ofi-nccl/lib", "/opt/aws-ofi-nccl/install/lib"}

// Read looks for adapters, and for the plugin; on a machine that runs without an adapter nothing asks for one.
func Read(h *host.Host) (source.Update, error) {
	efa := facts.EFA{Devices: adapters(h)}
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
		efa.Elsewhere = pluginElsewhere(h)
	}
	if efa.Devices == 0 && efa.Plugin+efa.Elsewhere == "" {
		return nil, host.ErrAbsent
	}
	return func(f *facts.Facts) { f.Machine.EFA = efa }, nil
}

// adapters counts Amazon's PCI devices 0xefa0 and on.
func adapters(h *host.Host) int {
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

// pluginNames are the files that NCCL tries for a value of NCCL_NET_PLUGIN: names, paths, or the ends of names, by
// commas; "none" and "" are no plugin.
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

// findPlugin notes the plugin that NCCL would open, and what that lacks. A library that cannot be read leaves open
// whether the plugin can be loaded.
func findPlugin(h *host.Host, efa *facts.EFA) error {
	process, err := ncclProcess(h)
	if err != nil {
		return err
	}
	if efa.Plugin = plugin(h, process, efa.Names); efa.Plugin != "" {
		efa.Unresolved, err = pluginLacks(process, efa.Plugin)
		efa.Looked = err == nil
	}
	return nil
}

// plugin is the file that NCCL would get for one of the names. Conda's NCCL looks beside itself, too.
func plugin(h *host.Host, process *ldso.Process, names []string) string {
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

func pluginElsewhere(h *host.Host) string {
	for _, dir := range pluginPlaces {
		for _, pattern := range []string{"/libnccl-net.so", "/libnccl-net-*.so"} {
			if names := h.Glob(dir + pattern); len(names) > 0 {
				return names[0]
			}
		}
	}
	return ""
}
