package matrix

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
)

// What is judged, and what of it could be looked at: the questions that many rules ask first.

// here reports whether this very machine is judged, while it runs: a target's nodes and limits cannot be seen.
func (m *machine) here() bool {
	return !m.f.System.Rest && m.target.Driver == "" && m.target.Instance == "" && len(m.target.GPUs) == 0
}

// onPCI reports whether a GPU was seen on this machine's bus; a container sees those of its host there.
func (m *machine) onPCI() bool {
	return slices.ContainsFunc(m.f.GPUs, func(g facts.GPU) bool { return slices.Contains(g.From, "/sys/bus/pci") })
}

// wantsGPU reports whether something here is for CUDA: an EC2 GPU instance, CUDA software, or the caller.
func (m *machine) wantsGPU() bool {
	return m.instance != nil || len(m.f.Toolkits)+len(m.f.Driver.Libraries)+len(m.f.Driver.Modules) > 0 ||
		len(m.policy.Require) > 0 || m.anyWants(func(*build) bool { return true })
}

// looked reports whether a source was read, whether or not it found anything: facts of an older form do not have it.
func (m *machine) looked(name string) bool {
	return slices.ContainsFunc(m.f.Probes, func(p facts.Status) bool {
		return p.Name == name &&
			(p.Status == "ok" || p.Status == "absent")
	})
}

// probeFailure is why a probe could not look, empty when it could.
func (m *machine) probeFailure(name string) string {
	for _, p := range m.f.Probes {
		if p.Name == name && p.Status == "failed" {
			return p.Error
		}
	}
	return ""
}

// given reports whether somebody asked for a GPU for this container, and how many are named one by one; 0 when that is
// not said. NVIDIA_VISIBLE_DEVICES asks by an index, a UUID, a MIG or CDI name: "all" is written by every CUDA image, and
// "void", "none" or nothing only keep NVIDIA's hook out, as every CDI container does. Nodes in a /dev of its own and
// libraries of the driver that are mounted show what was given. One that hides every GPU from its programs was to have
// none.
func (m *machine) given() (count int, asked bool) {
	list := m.f.Variables["NVIDIA_VISIBLE_DEVICES"]
	hidden, hides := m.f.Variables["CUDA_VISIBLE_DEVICES"]
	switch {
	case hides && slices.Contains(hiding, strings.TrimSpace(hidden)):
		return 0, slices.Contains(m.policy.Require, "gpu")
	case slices.Contains([]string{"", "all", "void", "none"}, list):
		own := len(m.gpuNodes()) > 0 && m.f.Container.OwnDevices != "no"
		libraries := m.injected() && list != "none" // which gives libraries and no GPU
		return 0, libraries || own || slices.Contains(m.policy.Require, "gpu")
	case strings.ContainsAny(list, "/:") || strings.Contains(list, "MIG"):
		return 0, true
	}
	names := strings.Split(list, ",")
	slices.Sort(names)
	return len(slices.Compact(names)), true
}

// unread is why the builds that count may not all be known; empty when they are.
func (m *machine) unread() string {
	for _, u := range m.f.Unread {
		if u.Kind != facts.UnreadClosed {
			return u.Place + ": " + u.Reason
		}
	}
	return ""
}

// judgesCUDA reports whether a build for CUDA counts here, or the caller requires what CUDA needs.
func (m *machine) judgesCUDA() bool {
	return len(m.policy.Require) > 0 || m.anyWants(func(b *build) bool { return b.counts })
}

// today is the day for which the machine is judged: the caller's, else that of the tables.
func (m *machine) today() string { return cmp.Or(m.policy.Today, m.t.Date()) }

// nodesJudged reports whether the nodes under /dev are those of NVIDIA's Linux driver, and that they were looked at.
func (m *machine) nodesJudged() bool {
	return m.here() && m.looked("devices") && !m.f.System.WSL && !m.jetson() && m.f.Devices.Node("/dev/dxg") == nil
}

// gpuNodes are the nodes of GPUs, /dev/nvidia0 and on.
func (m *machine) gpuNodes() []facts.Node {
	return slices.DeleteFunc(slices.Clone(m.f.Devices.Nodes), func(n facts.Node) bool {
		number := strings.TrimPrefix(n.Path, "/dev/nvidia")
		return number == "" || strings.Trim(number, "0123456789") != ""
	})
}

// hasEFA reports whether an EFA adapter is attached, or why that could not be found out. A container sees those of its
// host on PCI and has them where their nodes were given to it.
func (m *machine) hasEFA() (has bool, couldNot string) {
	efa := m.f.Machine.EFA
	switch {
	case m.elsewhere() && m.instance != nil:
		return m.instance.EFA == "yes", ""
	case m.elsewhere():
		return false, "files show no EFA adapter: name the machine with --instance"
	}
	return efa.Devices > 0 && (m.f.System.Container == "" || efa.Nodes > 0), m.probeFailure("efa")
}

// debian reports whether packages are Debian's; maybe, where the system is not known.
func (m *machine) debian() trilean {
	switch s := m.f.System; {
	case s.ID == "":
		return maybe
	case s.ID == "ubuntu" || s.ID == "debian" || strings.Contains(s.IDLike, "debian"):
		return yes
	}
	return no
}

// library is the driver's own library of that name, or nil.
func (m *machine) library(name string) *driverLibrary {
	i := slices.IndexFunc(m.found.libraries, func(l driverLibrary) bool { return l.Name == name })
	if i < 0 {
		return nil
	}
	return &m.found.libraries[i]
}

// building reports whether extensions are to be built here.
func (m *machine) building() bool { return slices.Contains(m.policy.Require, "build") }

// toolkit is the one that torch's extension builder would pick: CUDA_HOME's, CUDA_PATH's, that of the nvcc on PATH,
// else /usr/local/cuda. asked says that a variable names it. Nil when none would be found. A report names what nvcc
// answered, one toolkit without a place.
func (m *machine) toolkit() (picked *toolkit, asked bool) {
	for _, name := range []string{"CUDA_HOME", "CUDA_PATH"} {
		if dir := strings.TrimRight(m.f.Variables[name], "/"); dir != "" {
			return m.toolkitAt(dir, name), true
		}
	}
	for i, t := range m.toolkits {
		if t.OnPath || t.Path == "" && len(m.toolkits) == 1 {
			return &m.toolkits[i], false
		}
	}
	return m.toolkitAt("/usr/local/cuda", ""), false
}

// lacksCapability reports whether NVIDIA_DRIVER_CAPABILITIES leaves one out; unset it is utility,compute.
func (m *machine) lacksCapability(want string) (list string, lacks bool) {
	list, set := m.f.Variables["NVIDIA_DRIVER_CAPABILITIES"]
	names := strings.Split(list, ",")
	return list, set && list != "" && !slices.Contains(names, "all") && !slices.Contains(names, want)
}

// packageRelease is the driver's release in a package's version, "580.95.05" of "580.95.05-0ubuntu0.22.04.1" and of
// "1:580.95.05-1".
var packageRelease = lazyregexp.New(`^(?:\d+:)?(\d{3,4}\.\d+(?:\.\d+)?)`)

// injected reports whether a runtime brought the driver's libraries in: they are mounts, or of the very driver that
// runs.
func (m *machine) injected() bool {
	cuda := m.library("libcuda")
	return m.f.Container.Injected || cuda != nil && cuda.Version != "" && cuda.Version == m.f.Driver.Version
}

// elsewhere reports whether what is judged for is not the machine that was looked at while it runs.
func (m *machine) elsewhere() bool { return m.f.System.Rest || m.target.Instance != "" }

// toolkitAt is the toolkit of a directory, by its name where the probe has it under another one.
func (m *machine) toolkitAt(dir, from string) *toolkit {
	for i := range m.toolkits {
		if m.toolkits[i].Path == dir {
			return &m.toolkits[i]
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
