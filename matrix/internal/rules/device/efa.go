package device

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// isRequired reports whether the caller's Requirements name a thing.
func isRequired(m *model.Machine, want string) bool { return slices.Contains(m.Policy.Require, want) }

// efaWanted reports whether NCCL should use EFA here: an adapter is attached and the job spans nodes, or the caller
// requires EFA. NCCL_NET=Socket chooses TCP on purpose.
func efaWanted(m *model.Machine) bool {
	has, _ := m.HasEFA()
	tcp := strings.EqualFold(m.Facts.Variables["NCCL_NET"], "socket")
	wanted := isRequired(m, "efa") || !m.Elsewhere() && m.Facts.Machine.Nodes > 1 && !tcp
	return has && wanted && m.Looked("efa") && len(m.GPUs) > 0 && !m.Shown.Hidden && m.JudgesCUDA()
}

// pluginNames returns the file names of which NCCL opens one. A job's own environment may change them. libnccl-net.so
// is NCCL's default (src/plugin/net.cc).
func pluginNames(m *model.Machine) []string {
	if m.Elsewhere() {
		return []string{"libnccl-net.so"}
	}
	return m.Facts.Machine.EFA.Names
}

// EFANCCLPlugin reports a missing EFA plugin. NCCL uses EFA only through a plugin and falls back to TCP without it. It
// is a warning: the job runs at a fraction of the speed, and NCCL logs this only at level INFO.
func EFANCCLPlugin(m *model.Machine) []*rule.Result {
	efa, names := m.Facts.Machine.EFA, pluginNames(m)
	switch {
	// NCCL_NET_PLUGIN=none leaves no plugin to look for. That is a choice, unless the caller requires EFA.
	case !efaWanted(m) || len(names) == 0 && !isRequired(m, "efa"):
		return nil
	// efa-library-mismatch checks whether the plugin loads.
	case efa.Plugin != "":
		return rule.Pass("NCCL")
	// The plugin is installed. A job's environment, which is not visible here, may put it on the path.
	case m.Elsewhere() && efa.Elsewhere != "":
		return rule.ReportMissing("NCCL", verdict.Question("whether jobs put "+path.Dir(efa.Elsewhere)+" into LD_LIBRARY_PATH"))
	}
	f := verdict.Finding{Severity: verdict.Warning, Subject: "NCCL",
		Need: cmp.Or(strings.Join(names, " or "), "a plugin") + " on the loader's path",
		Message: fmt.Sprintf("EFA is attached, but NCCL finds no plugin for it (%s) and falls back to TCP between nodes",
			strings.Join(names, ", ")),
		Evidence: []verdict.Evidence{{Fact: "NCCL_NET_PLUGIN", Value: m.Facts.Variables["NCCL_NET_PLUGIN"], From: "environment"},
			evidenceEFA(m)},
		Steps: []pin.Step{pin.Say("install the plugin aws-ofi-nccl (EFA's installer brings it, in /opt/amazon/ofi-nccl), and put its directory into LD_LIBRARY_PATH or /etc/ld.so.conf.d")},
		Source: []string{"https://github.com/NVIDIA/nccl/blob/5067397c2676d5aed50042fc39e5c8ee96eb0027/src/plugin/net.cc",
			"https://github.com/NVIDIA/nccl/issues/959"}}
	switch {
	case len(names) == 0:
		f.Message = "EFA is required, but NCCL_NET_PLUGIN=" + m.Facts.Variables["NCCL_NET_PLUGIN"] +
			" tells NCCL to use no plugin"
		f.Steps = []pin.Step{pin.Run("unset NCCL_NET_PLUGIN"), pin.Run("export NCCL_NET_PLUGIN=ofi").Explained("names the plugin").Instead()}
	case efa.Elsewhere != "":
		f.Evidence = append(f.Evidence, verdict.Evidence{Fact: "plugin", Value: "not on the loader's path", From: efa.Elsewhere})
		f.Steps = []pin.Step{pin.Run(stepToFindPlugin(m, efa.Elsewhere))}
	}
	return rule.ReportFinding(f)
}

// EFALibraryMismatch reports a plugin that NCCL finds but that cannot be loaded, because it or a library below it needs
// another version of the next one. aws-ofi-nccl, libfabric and rdma-core each require symbol versions (FABRIC_1.7,
// EFA_1.3) of the next. NCCL logs this at level INFO and continues with TCP: a warning. With Debian's libraries it
// fires for a plugin for libfabric 2.1 beside 1.17, and for libefa of rdma-core 44 beside libibverbs of 33. It is
// silent if all have one release.
func EFALibraryMismatch(m *model.Machine) []*rule.Result {
	efa := m.Facts.Machine.EFA
	switch {
	case !efaWanted(m) || efa.Plugin == "":
		return nil
	case !efa.Looked:
		return rule.ReportMissing("NCCL", verdict.Question("whether the loader can load "+efa.Plugin+" with the libraries below it"))
	case len(efa.Unresolved) == 0:
		return rule.Pass("NCCL")
	// A job's LD_LIBRARY_PATH may lead to another libfabric, such as that of MPI or of a container.
	case m.Elsewhere():
		return rule.ReportMissing("NCCL", verdict.Question("whether jobs get other libraries than those found here: "+unloadable(efa.Unresolved[0])))
	}
	return rule.ReportFinding(unloadablePlugin(m, efa))
}

// unloadablePlugin returns the finding with everything that keeps the loader from the plugin, and with the step that
// installs libraries of one release.
func unloadablePlugin(m *model.Machine, efa facts.EFA) verdict.Finding {
	u := efa.Unresolved[0]
	f := verdict.Finding{Severity: verdict.Warning, Subject: "NCCL",
		Need:     "the libraries that " + path.Base(efa.Plugin) + " needs",
		Message:  "NCCL cannot load its plugin for EFA, so it falls back to TCP between nodes: " + unloadable(u),
		Evidence: []verdict.Evidence{{Fact: "plugin", Value: path.Base(efa.Plugin), From: efa.Plugin}, evidenceEFA(m)},
		Steps:    []pin.Step{pin.Say("install the plugin, libfabric and rdma-core from one release of EFA's installer (the first two lie in /opt/amazon, rdma-core among the system's libraries)")},
		Source: []string{"https://github.com/awslabs/awsome-distributed-ai/issues/292",
			"https://github.com/aws/aws-ofi-nccl/issues/241"}}
	for _, u := range efa.Unresolved {
		f.Evidence = append(f.Evidence, verdict.Evidence{Fact: "not loadable", Value: unloadable(u), From: u.By})
	}
	// LD_LIBRARY_PATH or LD_PRELOAD selects the library, so removing that entry is enough.
	if strings.HasPrefix(u.Reason, "LD_") && u.Path != "" {
		f.Steps = append(f.Steps, pin.Say(model.Removal(u.Path, u.Reason)+", if another "+pin.Quoted(u.Library)+" is there").Instead())
	}
	return f
}

// unloadable says why a library cannot be loaded.
func unloadable(u facts.Unresolved) string {
	if u.Path == "" {
		return u.Library + ", which " + u.By + " needs, is missing from the loader's path"
	}
	return u.Path + " lacks " + model.MissingSymbolWords(u) + ", which " + u.By + " needs"
}

// evidenceEFA returns the evidence that an EFA adapter is attached.
func evidenceEFA(m *model.Machine) verdict.Evidence {
	if m.Elsewhere() {
		return verdict.Evidence{Fact: "EFA", Value: m.Instance.Instance, From: "the table of EC2 instances"}
	}
	return verdict.Evidence{Fact: "EFA adapters", Value: fmt.Sprint(m.Facts.Machine.EFA.Devices), From: "/sys/bus/pci"}
}

// stepToFindPlugin returns the step that makes NCCL find an installed plugin. The plugin's directory comes first in
// LD_LIBRARY_PATH. A name that NCCL does not try by default must be set.
func stepToFindPlugin(m *model.Machine, plugin string) string {
	export := "export LD_LIBRARY_PATH=" + model.PutFirst(path.Dir(plugin))
	if name := path.Base(plugin); !slices.Contains(pluginNames(m), name) {
		export += " NCCL_NET_PLUGIN=" + pin.Word(name)
	}
	return export
}

// memlockFails is a limit in bytes with which EFA is known to fail (64 MiB: awsome-distributed-ai issue 647). No source
// says how much more is enough, so the answer for a higher limit is unknown.
const memlockFails = 64 << 20

// MemlockTooSmall reports a limit on locked memory that is too small for EFA, which registers the memory that it sends
// from. Only the limit of the running process is known. At rest, a job's own unit or profile sets another.
func MemlockTooSmall(m *model.Machine) []*rule.Result {
	if !efaWanted(m) || !m.Here() {
		return nil
	}
	limit := m.Facts.Devices.Memlock
	switch {
	// The limit is unlimited, or CAP_IPC_LOCK in the first user namespace lifts it.
	case limit < 0:
		return rule.Pass("EFA")
	case limit == 0:
		return rule.ReportMissing("EFA", verdict.Question("how much memory this process may lock"))
	case limit > memlockFails:
		return rule.ReportMissing("EFA", verdict.Question(fmt.Sprintf("whether %d MiB of locked memory are enough for this job", limit>>20)))
	}
	return rule.ReportFinding(verdict.Finding{Severity: verdict.Warning, Subject: "EFA", Need: "unlimited locked memory",
		Message:  fmt.Sprintf("this process may lock only %s of memory, and EFA registers its buffers as locked memory: (-12) Cannot allocate memory", kibibytes(limit)),
		Evidence: []verdict.Evidence{{Fact: "locked memory", Value: kibibytes(limit), From: "/proc/self/limits"}},
		Steps:    memlockSteps(m),
		Source: []string{"https://github.com/awslabs/awsome-distributed-ai/issues/647",
			"https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html"}})
}

// memlockSteps returns the steps that raise the limit where it was set: limits.conf(5) for logins, systemd.exec(5) for
// services.
func memlockSteps(m *model.Machine) []pin.Step {
	service := pin.Say("set LimitMEMLOCK=infinity in the unit of a service; under Slurm, in slurmd's unit").Instead()
	if m.Facts.System.Container != "" {
		return []pin.Step{pin.Say("start the container with `docker run --ulimit memlock=-1`"), service}
	}
	return []pin.Step{pin.Run(pins.HostSystem(m).Write("* - memlock unlimited", "/etc/security/limits.d/memlock.conf")).Explained("then log in again"), service}
}

// kibibytes formats a number of bytes as `ulimit -l` does, in KiB, or in MiB if that is easier to read.
func kibibytes(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}
