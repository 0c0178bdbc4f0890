package model

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
)

// What is judged, and what of it could be looked at: the questions that many rules ask first.

// Here reports whether this very machine is judged, while it runs: a target's nodes and limits cannot be seen.
func (m *Machine) Here() bool {
	return !m.Facts.System.Rest && m.Target.Driver == "" && m.Target.Instance == "" && len(m.Target.GPUs) == 0
}

// Starts reports whether the variables are those of the programs that are judged: what is started here, or from an
// image.
func (m *Machine) Starts() bool { return m.Here() || m.Facts.Image != nil }

// OnPCI reports whether a GPU was seen on this machine's bus; a container sees those of its host there.
func (m *Machine) OnPCI() bool {
	return slices.ContainsFunc(m.Facts.GPUs, func(g facts.GPU) bool { return slices.Contains(g.From, "/sys/bus/pci") })
}

// WantsGPU reports whether something here is for CUDA: an EC2 GPU instance, CUDA software, or the caller.
func (m *Machine) WantsGPU() bool {
	return m.Instance != nil || len(m.Facts.Toolkits)+len(m.Facts.Driver.Libraries)+len(m.Facts.Driver.Modules) > 0 ||
		len(m.Policy.Require) > 0 || m.AnyWants(func(*Build) bool { return true })
}

// Looked reports whether a source was read, whether or not it found anything: facts of an older form do not have it.
func (m *Machine) Looked(name string) bool {
	return slices.ContainsFunc(m.Facts.Probes, func(p facts.Status) bool {
		return p.Name == name &&
			(p.Status == "ok" || p.Status == "absent")
	})
}

// ProbeFailure returns why a probe could not look, empty when it could.
func (m *Machine) ProbeFailure(name string) string {
	for _, p := range m.Facts.Probes {
		if p.Name == name && p.Status == "failed" {
			return p.Error
		}
	}
	return ""
}

// Unseen returns a place that a probe could not see, with the reason, "" if it saw all that it looked for. What is
// closed to this user in other people's environments is none: this user cannot import it.
func (m *Machine) Unseen(probe string) string {
	for _, u := range m.Facts.Unread {
		if u.Probe == probe && (probe != "python" || u.Kind != facts.UnreadClosed) {
			return u.Place + " could not be looked at: " + u.Reason
		}
	}
	return ""
}

// UnseenIn returns a place in an environment that could not be seen, with the reason, "" if there is none. What is
// closed to this user counts, too: a library may be in it.
func (m *Machine) UnseenIn(env string) string {
	for _, u := range m.Facts.Unread {
		if u.Probe == "python" && strings.HasPrefix(u.Place, env+"/") {
			return u.Place + " could not be looked at: " + u.Reason
		}
	}
	return ""
}

// GivenGPUs reports whether somebody asked for a GPU for this container, and how many are named one by one; 0 when that is
// not said. NVIDIA_VISIBLE_DEVICES asks by an index, a UUID, a MIG or CDI name: "all" is written by every CUDA image, and
// "void", "none" or nothing only keep NVIDIA's hook out, as every CDI container does. Nodes in a /dev of its own and
// libraries of the driver that are mounted show what was given. One that hides every GPU from its programs was to have
// none.
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

// JudgesCUDA reports whether a build for CUDA counts here, or the caller requires what CUDA needs.
func (m *Machine) JudgesCUDA() bool {
	return len(m.Policy.Require) > 0 || m.AnyWants(func(b *Build) bool { return b.Counts })
}

// Today returns the day for which the machine is judged: the caller's, else that of the tables.
func (m *Machine) Today() string { return cmp.Or(m.Policy.Today, m.Tables.Date()) }

// NodesJudged reports whether the nodes under /dev are those of NVIDIA's Linux driver, and that they were looked at.
func (m *Machine) NodesJudged() bool {
	return m.Here() && m.Looked("devices") && !m.Facts.System.WSL && !m.Jetson() && m.Facts.Devices.Node("/dev/dxg") == nil
}

// GPUNodes returns the nodes of GPUs, /dev/nvidia0 and on.
func (m *Machine) GPUNodes() []facts.Node {
	return slices.DeleteFunc(slices.Clone(m.Facts.Devices.Nodes), func(n facts.Node) bool {
		number := strings.TrimPrefix(n.Path, "/dev/nvidia")
		return number == "" || strings.Trim(number, "0123456789") != ""
	})
}

// HasEFA reports whether an EFA adapter is attached, or why that could not be found out. A container sees those of its
// host on PCI and has them where their nodes were given to it.
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

// Library returns the driver's own library of that name, or nil.
func (m *Machine) Library(name string) *DriverLibrary {
	i := slices.IndexFunc(m.Found.Libraries, func(l DriverLibrary) bool { return l.Name == name })
	if i < 0 {
		return nil
	}
	return &m.Found.Libraries[i]
}

// Building reports whether extensions are to be built here.
func (m *Machine) Building() bool { return slices.Contains(m.Policy.Require, "build") }

// Toolkit returns the one that torch's extension builder would pick: CUDA_HOME's, CUDA_PATH's, that of the nvcc on
// PATH, else /usr/local/cuda. asked says that a variable names it. Nil when none would be found. A report names what
// nvcc answered, one toolkit without a place.
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

// PackageRelease is the driver's release in a package's version, "580.95.05" of "580.95.05-0ubuntu0.22.04.1" and of
// "1:580.95.05-1".
var PackageRelease = lazyregexp.New(`^(?:\d+:)?(\d{3,4}\.\d+(?:\.\d+)?)`)

// driverInjected reports whether a runtime brought the driver's libraries in: they are mounts, or of the very driver that
// runs.
func (m *Machine) driverInjected() bool {
	cuda := m.Library("libcuda")
	return m.Facts.Container.Injected || cuda != nil && cuda.Version != "" && cuda.Version == m.Facts.Driver.Version
}

// Elsewhere reports whether what is judged for is not the machine that was looked at while it runs.
func (m *Machine) Elsewhere() bool { return m.Facts.System.Rest || m.Target.Instance != "" }

// toolkitAt returns the toolkit of a directory, by its name where the probe has it under another one.
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

// toolkitName is the release in the name of a toolkit's directory, /usr/local/cuda-12.4.
var toolkitName = lazyregexp.New(`^cuda-(\d+\.\d+)$`)

// RegisterSeconds is how long after boot, in seconds, a fabric may be in the making: five minutes.
const RegisterSeconds = 300

// OnEC2 reports whether this is an instance of EC2, which can be moved to other hardware.
func (m *Machine) OnEC2() bool { return m.Facts.System.Instance != "" }
