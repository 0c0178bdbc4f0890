package pins

import (
	"fmt"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/pin"
)

// driverCommands returns the installation of a branch by the package manager of the system that was read. Where no
// system is known, or a container's is, which is not its host's, they are for the two that most have. The module's
// flavour follows the GPUs: Blackwell needs the open one, what is older than Turing cannot use it.
func driverCommands(m *model.Machine, b tables.Branch) map[string]string {
	commands := map[string]string{}
	if m.PartOfGPU() { // no package manager has that driver
		return commands
	}
	driver := pin.Driver{Branch: b.Branch, Open: openModule(m, b)}
	s := HostSystem(m)
	switch {
	case s.Family == "":
		return pin.AnyDriver(driver)
	case s.APT():
		commands["apt"] = s.Driver(driver)
	case s.DNF():
		commands["dnf"] = s.Driver(driver)
	}
	return commands
}

// driverSteps returns the ways to a branch that no package manager has.
func driverSteps(m *model.Machine, b tables.Branch) []pin.Step {
	if m.PartOfGPU() {
		return []pin.Step{pin.Say(fmt.Sprintf("install the GRID driver of branch %s from AWS's bucket ec2-linux-nvidia-drivers: a fraction of a GPU works with no other driver", b.Branch)), pin.Say("launch from an AMI that has it").Instead()}
	}
	if !toEC2(m) {
		return nil
	}
	return []pin.Step{pin.Say(fmt.Sprintf("launch from an AMI with driver %s or a newer one of branch %s (the AWS Deep Learning AMI release notes name each AMI's driver)", b.Newest, b.Branch)).Instead()}
}

// ec2Type tells EC2's instance types, "g5.xlarge", from those of other clouds.
var ec2Type = lazyregexp.New(`^[a-z][a-z0-9-]*\.[a-z0-9-]+$`)

// toEC2 reports whether the machine that is meant is an instance of EC2.
func toEC2(m *model.Machine) bool { return m.OnEC2() || ec2Type.MatchString(m.Target.Instance) }

// releaseNumber is the first number of PRETTY_NAME: "24.04" of "Ubuntu 24.04.3 LTS".
var releaseNumber = lazyregexp.New(`\b\d+(\.\d+)?`)

// System returns the operating system that was read, as commands are written for it.
func System(m *model.Machine) pin.System {
	s := m.Facts.System
	kernel, _ := m.BootKernel()
	d := pin.System{Release: releaseNumber.FindString(s.OS), Arch: "x86_64", Kernel: kernel, Root: s.Container != ""}
	if m.Platform == "linux_aarch64" {
		d.Arch = "sbsa"
	}
	likes := func(name string) bool { return strings.Contains(" "+s.ID+" "+s.IDLike+" ", " "+name+" ") }
	switch {
	case s.ID == "":
	case s.ID == "amzn":
		d.Family = "amzn"
	case likes("ubuntu"):
		d.Family = "ubuntu"
	case likes("debian"):
		d.Family = "debian"
	case likes("rhel"):
		d.Family = "rhel"
	case s.ID == "fedora":
		d.Family = "fedora"
	default:
		d.Family = "other"
	}
	return d
}

// HostSystem returns the system whose kernel loads the driver: none is known in a container.
func HostSystem(m *model.Machine) pin.System {
	if m.Facts.System.Container != "" {
		return pin.System{Arch: System(m).Arch}
	}
	return System(m)
}

// OnHost returns a command for the machine's own system; from a container it cannot be given, and is words.
func OnHost(m *model.Machine, command string) pin.Step {
	if m.Facts.System.Container != "" {
		return pin.Say("on the host: `" + command + "`")
	}
	return pin.Run(command)
}
