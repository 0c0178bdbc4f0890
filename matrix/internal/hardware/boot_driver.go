package hardware

import (
	"path"
	"slices"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/probe/facts"
)

// Archived is a release of the driver that the boot of a tree at rest may install.
type Archived struct {
	Number  version.Number
	Path    string
	Flavour string // of its kernel modules: "open", "proprietary", "grid"; "" if the boot may take either
	brings  []string
}

// Brings reports whether the boot installs a file with the modules, by the beginning of its base name.
func (a Archived) Brings(name string) bool {
	return slices.ContainsFunc(a.brings, func(file string) bool { return strings.HasPrefix(path.Base(file), name) })
}

// ArchivedDrivers returns the drivers among which the boot of a tree at rest chooses, each release once. EKS AMIs hold
// several and choose by the GPU and the instance type; it returns the one that they choose where their files tell.
// (https://github.com/awslabs/amazon-eks-ami/pull/2792, and nvidia-kmod-load.sh before v20260917.)
func (m *Machine) ArchivedDrivers() []Archived {
	var list []Archived
	if !m.Facts.System.Rest {
		return nil
	}
	takes := m.takenAtBoot()
	for _, one := range m.Facts.Machine.Installers {
		if !takes(one) {
			continue
		}
		for _, release := range one.Versions {
			v, flavour := version.ParseOrZero(release), archivedFlavour(one)
			switch i := slices.IndexFunc(list, func(a Archived) bool { return a.Number.Compare(v) == 0 }); {
			case i < 0:
				list = append(list, Archived{Number: v, Path: one.Path, Flavour: flavour, brings: one.Brings})
			case list[i].Flavour != flavour: // which of the two is not known
				list[i].Flavour = ""
			}
		}
	}
	return list
}

// BootDriver returns the driver that the boot of a tree at rest installs, or nil if there is none or several may be it:
// so may one in a place that could not be read.
func (m *Machine) BootDriver() *Archived {
	list := m.ArchivedDrivers()
	if len(list) != 1 || m.UnseenInstaller() != "" {
		return nil
	}
	return &list[0]
}

// archivedFlavour returns the flavour of the modules in an archive or a driver tree, "" for another installer.
func archivedFlavour(one facts.Installer) string {
	switch one.Kind + " " + path.Base(one.Path) {
	case "dkms-archive nvidia", "driver-tree proprietary":
		return "proprietary"
	case "dkms-archive nvidia-open", "driver-tree open":
		return "open"
	case "dkms-archive nvidia-open-grid", "driver-tree grid":
		return "grid"
	}
	return ""
}

// archivedTree returns the tree of a driver: "lts", "pb", or "current" once a boot has chosen. Archives of modules have
// one tree, which is as lts.
func archivedTree(one facts.Installer) string {
	if one.Kind == "driver-tree" {
		return path.Base(path.Dir(path.Dir(one.Path)))
	}
	return "lts"
}

// withoutGSP are the families for which EKS's boot takes the proprietary modules, to turn the GPU's system processor off.
var withoutGSP = []string{"g4dn", "g5", "g5g"}

// takenAtBoot returns whether the boot takes an installer's driver, for the machine's instance type, by the rules of
// EKS's scripts. Without an instance type, or if the list of GPUs is not there, several may be taken.
func (m *Machine) takenAtBoot() func(facts.Installer) bool {
	part := m.PartOfGPU()
	tree, flavour := m.chosenTree()
	if part {
		flavour = "grid"
	}
	return func(one facts.Installer) bool {
		its := archivedFlavour(one)
		return its != "" && (its == "grid") == part && (flavour == "" || its == flavour) && (tree == "" || archivedTree(one) == tree)
	}
}

// chosenTree returns the tree and the flavour that EKS's boot chooses for the instance type; empty if unknown. It takes
// the open modules of the first tree whose list has the GPU, otherwise the first tree's proprietary ones.
func (m *Machine) chosenTree() (tree, flavour string) {
	installers := m.Facts.Machine.Installers
	if slices.ContainsFunc(installers, func(one facts.Installer) bool { return archivedTree(one) == "current" }) {
		return "current", ""
	}
	if m.Instance == nil {
		return "", ""
	}
	if family, _, _ := strings.Cut(m.Instance.Instance, "."); slices.Contains(withoutGSP, family) {
		return "lts", "proprietary"
	}
	for _, tree := range []string{"lts", "pb"} {
		for _, one := range installers {
			if archivedTree(one) != tree || archivedFlavour(one) != "open" {
				continue
			}
			if len(one.Supports) == 0 {
				return "", ""
			}
			if slices.ContainsFunc(one.Supports, func(name string) bool {
				return tables.NormalGPU(name) == tables.NormalGPU(m.Instance.GPU)
			}) {
				return tree, "open"
			}
		}
	}
	return "lts", "proprietary"
}
