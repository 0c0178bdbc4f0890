package hardware

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
)

// This file answers the questions that many rules ask first: what is judged, and what of it could be examined.

// Here reports whether this machine itself is judged while it runs. The nodes and limits of a target cannot be seen.
func (m *Machine) Here() bool {
	return !m.Facts.System.Rest && m.Target.Driver == "" && m.Target.Instance == "" && len(m.Target.GPUs) == 0
}

// Starts reports whether the variables belong to the programs that are judged: programs started here, or from an image.
func (m *Machine) Starts() bool { return m.Here() || m.Facts.Image != nil }

// OnPCI reports whether this machine's bus shows a GPU. A container sees the GPUs of its host there.
func (m *Machine) OnPCI() bool {
	return slices.ContainsFunc(m.Facts.GPUs, func(g facts.GPU) bool { return slices.Contains(g.From, "/sys/bus/pci") })
}

// Looked reports whether a source was read, whether or not it found anything. Facts of an older schema lack some
// sources.
func (m *Machine) Looked(name string) bool {
	return slices.ContainsFunc(m.Facts.Probes, func(p facts.Status) bool {
		return p.Name == name &&
			(p.Status == "ok" || p.Status == "absent")
	})
}

// ProbeFailure returns why a probe failed, or "" if it did not.
func (m *Machine) ProbeFailure(name string) string {
	for _, p := range m.Facts.Probes {
		if p.Name == name && p.Status == "failed" {
			return p.Error
		}
	}
	return ""
}

// Unseen returns a place that a probe could not read, with the reason, or "" if it read everything. Places in other
// people's environments that are closed to this user do not count, because this user cannot import from them.
func (m *Machine) Unseen(probe string) string {
	for _, u := range m.Facts.Unread {
		if u.Probe == probe && (probe != "python" || u.Kind != facts.UnreadClosed) {
			return u.Place + " could not be looked at: " + u.Reason
		}
	}
	return ""
}

// UnseenInstaller returns a place of a tree at rest that may have what installs the driver at boot and could not be
// read, with the reason, or "". On a running machine, the boot is over.
func (m *Machine) UnseenInstaller() string {
	if !m.Facts.System.Rest {
		return ""
	}
	return m.Unseen("installers")
}

// UnseenIn returns a place in an environment that could not be read, with the reason, or "". A place that is closed to
// this user counts here, because it may contain a library.
func (m *Machine) UnseenIn(env string) string {
	for _, u := range m.Facts.Unread {
		if u.Probe == "python" && strings.HasPrefix(u.Place, env+"/") {
			return u.Place + " could not be looked at: " + u.Reason
		}
	}
	return ""
}

// GivenGPUs reports whether somebody requested a GPU for this container, and how many are named one by one, or 0 if
// that is unknown. NVIDIA_VISIBLE_DEVICES requests a GPU by an index, a UUID, a MIG name or a CDI name. "all" is in
// every CUDA image, and "void", "none" or an empty value only disable NVIDIA's hook, as in every CDI container. Device
// nodes in the container's own /dev and mounted driver libraries show what it was given. A container that hides every
// GPU from its programs should have none.
func (m *Machine) GivenGPUs() (count int, asked bool) {
	list := m.Facts.Variables["NVIDIA_VISIBLE_DEVICES"]
	hidden, hides := m.Facts.Variables["CUDA_VISIBLE_DEVICES"]
	switch {
	case hides && slices.Contains(hiding, strings.TrimSpace(hidden)):
		return 0, slices.Contains(m.Policy.Require, "gpu")
	case slices.Contains([]string{"", "all", "void", "none"}, list):
		own := len(m.GPUNodes()) > 0 && m.Facts.Container.OwnDevices != "no"
		libraries := m.driverInjected() && list != "none" // which gives libraries and no GPU
		return 0, libraries || own || slices.Contains(m.Policy.Require, "gpu")
	case strings.ContainsAny(list, "/:") || strings.Contains(list, "MIG"):
		return 0, true
	}
	names := strings.Split(list, ",")
	slices.Sort(names)
	return len(slices.Compact(names)), true
}

// Today returns the date for which the machine is judged: the caller's, otherwise that of the tables.
func (m *Machine) Today() string { return cmp.Or(m.Policy.Today, m.Tables.Date()) }

// NodesJudged reports whether /dev was examined and has the nodes of NVIDIA's Linux driver.
func (m *Machine) NodesJudged() bool {
	return m.Here() && m.Looked("devices") && !m.Facts.System.WSL && !m.Jetson() && m.Facts.Devices.Node("/dev/dxg") == nil
}

// GPUNodes returns the nodes of the GPUs: /dev/nvidia0, /dev/nvidia1 and so on.
func (m *Machine) GPUNodes() []facts.Node {
	return slices.DeleteFunc(slices.Clone(m.Facts.Devices.Nodes), func(n facts.Node) bool {
		number := strings.TrimPrefix(n.Path, "/dev/nvidia")
		return number == "" || strings.Trim(number, "0123456789") != ""
	})
}

// HasEFA reports whether an EFA adapter is attached, or why that is unknown. A container sees its host's adapters on
// PCI, but has only those whose nodes it was given.
func (m *Machine) HasEFA() (has bool, couldNot string) {
	efa := m.Facts.Machine.EFA
	switch {
	case m.Elsewhere() && m.Instance != nil:
		return m.Instance.EFA == "yes", ""
	case m.Elsewhere():
		return false, "files show no EFA adapter: name the machine with --instance"
	}
	return efa.Devices > 0 && (m.Facts.System.Container == "" || efa.Nodes > 0), m.ProbeFailure("efa")
}

// Library returns the driver's own library with a name, or nil.
func (m *Machine) Library(name string) *DriverLibrary {
	i := slices.IndexFunc(m.Found.Libraries, func(l DriverLibrary) bool { return l.Name == name })
	if i < 0 {
		return nil
	}
	return &m.Found.Libraries[i]
}

// Building reports whether the caller requires that extensions can be built here.
func (m *Machine) Building() bool { return slices.Contains(m.Policy.Require, "build") }

// Toolkit returns the toolkit that torch's extension builder would use: that of CUDA_HOME, of CUDA_PATH, of the nvcc on
// PATH, otherwise /usr/local/cuda. asked reports whether a variable names it. It returns nil if there is none. A report
// has one toolkit without a path: the one whose nvcc answered.
func (m *Machine) Toolkit() (picked *Toolkit, asked bool) {
	for _, name := range []string{"CUDA_HOME", "CUDA_PATH"} {
		if dir := strings.TrimRight(m.Facts.Variables[name], "/"); dir != "" {
			return m.toolkitAt(dir, name), true
		}
	}
	for i, t := range m.Toolkits {
		if t.OnPath || t.Path == "" && len(m.Toolkits) == 1 {
			return &m.Toolkits[i], false
		}
	}
	return m.toolkitAt("/usr/local/cuda", ""), false
}

// PackageRelease matches the driver release in a package's version: "580.95.05" in "580.95.05-0ubuntu0.22.04.1" and in
// "1:580.95.05-1".
var PackageRelease = lazyregexp.New(`^(?:\d+:)?(\d{3,4}\.\d+(?:\.\d+)?)`)

// driverInjected reports whether a container runtime mounted the driver's libraries: they are mounts, or have exactly
// the running driver's release.
func (m *Machine) driverInjected() bool {
	cuda := m.Library("libcuda")
	return m.Facts.Container.Injected || cuda != nil && cuda.Version != "" && cuda.Version == m.Facts.Driver.Version
}

// Elsewhere reports whether the machine that is judged differs from the one that was examined while running.
func (m *Machine) Elsewhere() bool { return m.Facts.System.Rest || m.Target.Instance != "" }

// toolkitAt returns the toolkit in a directory, also if the probe found it under another name.
func (m *Machine) toolkitAt(dir, from string) *Toolkit {
	for i := range m.Toolkits {
		if m.Toolkits[i].Path == dir {
			return &m.Toolkits[i]
		}
	}
	if v := toolkitName.FindStringSubmatch(path.Base(dir)); v != nil && from != "" {
		named := newToolkit(&facts.Toolkit{Version: v[1], Path: dir, From: from})
		return &named
	}
	return nil
}

// toolkitName matches the release in a toolkit directory's name, such as /usr/local/cuda-12.4.
var toolkitName = lazyregexp.New(`^cuda-(\d+\.\d+)$`)

// RegisterSeconds is how many seconds after boot a fabric may still be registering.
const RegisterSeconds = 300

// OnEC2 reports whether this is an EC2 instance, which can be moved to other hardware.
func (m *Machine) OnEC2() bool { return m.Facts.System.Instance != "" }
