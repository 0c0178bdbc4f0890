package pins

import (
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/pin"
)

// driverCommands returns the commands that install a branch with the package manager of the system that was read. If
// the system is unknown, or is a container's and so not the host's, it returns those of the two most common ones. The
// flavour of the module follows the GPUs: Blackwell needs the open one, and a GPU older than Turing cannot use it.
func driverCommands(m *model.Machine, b tables.Branch) map[string]string {
	commands := map[string]string{}
	if m.PartOfGPU() { // no package manager has that driver
		return commands
	}
	driver := pin.Driver{Branch: b.Branch, Open: openModule(m, b), Desktop: areForDesktops(m)}
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

// areForDesktops reports whether all GPUs here are GeForce or are a laptop's.
func areForDesktops(m *model.Machine) bool {
	return len(m.GPUs) > 0 && !slices.ContainsFunc(m.GPUs, func(g hardware.GPU) bool {
		return g.DataCentre() != hardware.No && !strings.Contains(tables.NormalGPU(g.Name), "laptop")
	})
}

// driverSteps returns the ways to install a branch that no package manager has.
func driverSteps(m *model.Machine, b tables.Branch) []pin.Step {
	if m.PartOfGPU() {
		return []pin.Step{pin.Say(fmt.Sprintf("install the GRID driver of branch %s from AWS's bucket ec2-linux-nvidia-drivers: a fraction of a GPU works with no other driver", b.Branch)), pin.Say("launch from an AMI that has it: EKS's from v20260917 on have two drivers and choose one by the instance type (https://github.com/awslabs/amazon-eks-ami/issues/2768)").Instead()}
	}
	if !toEC2(m) {
		return nil
	}
	return []pin.Step{pin.Say(fmt.Sprintf("launch from an AMI with driver %s or a newer one of branch %s (the AWS Deep Learning AMI release notes name each AMI's driver)", b.Newest, b.Branch)).Instead()}
}

// ec2Type matches EC2 instance types such as "g5.xlarge", unlike those of other clouds.
var ec2Type = lazyregexp.New(`^[a-z][a-z0-9-]*\.[a-z0-9-]+$`)

// toEC2 reports whether the target is an EC2 instance.
func toEC2(m *model.Machine) bool { return m.OnEC2() || ec2Type.MatchString(m.Target.Instance) }

// releaseNumber matches the first number of PRETTY_NAME: "24.04" in "Ubuntu 24.04.3 LTS".
var releaseNumber = lazyregexp.New(`\b\d+(\.\d+)?`)

// System returns the operating system that was read, in the form that commands need.
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

// HostSystem returns the system whose kernel loads the driver. In a container it is unknown.
func HostSystem(m *model.Machine) pin.System {
	if m.Facts.System.Container != "" {
		return pin.System{Arch: System(m).Arch}
	}
	return System(m)
}

// OnHost returns a command for the machine's own system. In a container it cannot run there, so OnHost returns words.
func OnHost(m *model.Machine, command string) pin.Step {
	if m.Facts.System.Container != "" {
		return pin.Say("run `" + command + "` on the host")
	}
	return pin.Run(command)
}
