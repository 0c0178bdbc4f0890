package driver

import (
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

// LoadsLibcuda reports whether the loader finds a libcuda.so.1 that it can map. Facts of an older program lack this
// search; for them the driver's own library counts.
func LoadsLibcuda(m *model.Machine) bool {
	if m.Facts.Driver.Libcuda == nil {
		return m.Library("libcuda") != nil || m.CompatTaken()
	}
	l, taken := m.Facts.Driver.Libcuda, m.Facts.Driver.Taken.Path
	return l.State == "whole" || taken != "" && taken != l.Path // it goes on after a file that is no library for it
}

// LibcudaFault returns what is wrong with the file that the loader takes for libcuda.so.1, in the probe's terms. It
// returns "" if the file is whole or there is none.
func LibcudaFault(m *model.Machine) string {
	if m.Facts.Driver.Libcuda == nil || LoadsLibcuda(m) {
		return ""
	}
	return m.Facts.Driver.Libcuda.State
}

// libcudaFaultWords explains each state of the file in words.
var libcudaFaultWords = map[string]string{
	"empty":              "is empty",
	"cut short":          "is cut short",
	"other architecture": "is of 32 bits, or for another kind of processor",
	"unreadable":         "cannot be read",
}

// ReportSpoiledLibcuda reports a libcuda file that the loader finds but cannot map, so that no program gets a driver.
func ReportSpoiledLibcuda(m *model.Machine) verdict.Finding {
	met := m.Facts.Driver.Libcuda.Path
	f := verdict.Finding{Severity: verdict.Error, Subject: "driver", Need: "the driver's own libcuda.so.1", Source: []string{model.LoaderSource},
		Message:  asLibcuda(met) + " " + libcudaFaultWords[LibcudaFault(m)],
		Evidence: []verdict.Evidence{{Fact: "libcuda", Value: LibcudaFault(m), From: met}}}
	if m.Facts.System.Container != "" {
		f.Steps = []pin.Step{pin.Say("remove it from the image, so that the container engine mounts the host's driver in its place")}
		return f
	}
	f.Steps = []pin.Step{pin.Say("reinstall the driver's packages, so that its libraries are whole")}
	if s, name := pins.HostSystem(m), libcudaPackage(m); name != "" {
		if m.Driver().Version.Known() && s.APT() { // the newest of the branch would be another release than the module's
			f.Steps = []pin.Step{pin.Run(s.Reinstall(s.Pattern(name, m.Driver().Version.String()))), otherRelease(s, name)}
		} else {
			f.Steps = []pin.Step{pin.Run(s.Reinstall(name))}
		}
	}
	return f
}

// asLibcuda names the file that programs load as libcuda.so.1, as part of a sentence.
func asLibcuda(file string) string {
	if path.Base(file) == "libcuda.so.1" {
		return file
	}
	return file + ", which programs load as libcuda.so.1,"
}

// judgeUserHalf checks for the driver libraries on a host, or in a host's image, that has the kernel module. nvidia-smi
// can work without libcuda (NVIDIA's libnvidia-container issue 8).
func judgeUserHalf(m *model.Machine) []*rule.Result {
	if m.Facts.Driver.Libcuda == nil || IsWindowsDriver(m) || m.Jetson() {
		return nil
	}
	if LoadsLibcuda(m) {
		return rule.Pass("driver")
	}
	f := reportMissingLibcuda(m)
	if LibcudaFault(m) != "" {
		f = ReportSpoiledLibcuda(m)
	}
	if !m.JudgesCUDA() {
		f.Severity = verdict.Note
	}
	return []*rule.Result{{Subject: f.Subject, Finding: &f, Link: verdict.LinkLibcuda}}
}

// reportMissingLibcuda reports a driver without libcuda.so.1. Distributions split the driver into packages, and the one
// with libcuda is not installed, or is installed where the loader does not look.
func reportMissingLibcuda(m *model.Machine) verdict.Finding {
	f := verdict.Finding{Severity: verdict.Error, Subject: "driver", Need: "the driver's libcuda.so.1 on the loader's path",
		Message:  "libcuda.so.1 is missing from the loader's path, so no CUDA program reaches the driver",
		Evidence: []verdict.Evidence{m.EvidenceDriver(), {Fact: "libcuda", Value: "not found", From: "the loader's search"}},
		Source: []string{"https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/",
			"https://github.com/NVIDIA/libnvidia-container/issues/8"}}
	if where := m.Facts.Driver.Libcuda.Elsewhere; where != "" {
		f.Message = where + " is the driver's, but the loader of CUDA programs does not look there"
		s := pins.System(m)
		f.Steps = []pin.Step{pin.Run(pin.Sequence(s.Write(path.Dir(where), "/etc/ld.so.conf.d/nvidia.conf"), s.AsRoot("ldconfig")))}
		return f
	}
	f.Steps = []pin.Step{pin.Say("install the part of the driver's packages that has libcuda.so.1, of the release " +
		m.Driver().Version.String())}
	// The newest release of the branch would differ from the module's.
	if s, name := pins.HostSystem(m), libcudaPackage(m); name != "" && m.Driver().Version.Known() {
		put := s.Install
		if s.APT() { // where the package is there and its file is not, apt-get install would do nothing
			put = s.Reinstall
		}
		f.Steps = []pin.Step{pin.Run(put(s.Pattern(name, m.Driver().Version.String()))).Explained("the release must be the driver's own"),
			otherRelease(s, name)}
	} else if name != "" {
		f.Steps = []pin.Step{pin.Run(s.Install(name))}
	}
	return f
}

// otherRelease returns the steps for a driver release whose package the archive no longer has. Archives drop a release
// when a newer one arrives.
func otherRelease(s pin.System, name string) pin.Step {
	return pin.Say("where the archive has dropped that release (`" + s.Releases(name) + "` lists those that it has), upgrade the whole driver to one of these, and reboot").Instead()
}

// libcudaPackage returns the package with libcuda.so.1 for this system: Ubuntu's, Debian's, or that of NVIDIA's
// repository (its driver installation guide, "compute-only"). It returns "" if none is known or NVIDIA's .run installer
// installed the driver.
func libcudaPackage(m *model.Machine) string {
	if m.Facts.Machine.Runfile != "" {
		return ""
	}
	switch pins.HostSystem(m).Family {
	case "ubuntu":
		if !m.Driver().Version.Known() {
			return ""
		}
		server := slices.ContainsFunc(m.Facts.Machine.Packages, func(p facts.DriverPackage) bool { return strings.Contains(p.Name, "-server") })
		return fmt.Sprintf("libnvidia-compute-%d", m.Driver().Version.Major()) + map[bool]string{true: "-server"}[server]
	case "debian":
		return "libcuda1"
	case "rhel", "amzn", "fedora":
		return "nvidia-driver-cuda"
	}
	return ""
}

// IsWindowsDriver reports whether the driver belongs to Windows, whose loader finds its compiler by itself.
func IsWindowsDriver(m *model.Machine) bool {
	return m.Facts.System.WSL || m.Facts.Container.Path == "wsl"
}
