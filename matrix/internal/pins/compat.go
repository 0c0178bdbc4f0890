package pins

import (
	"fmt"
	"path"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
)

// Compat returns the lowest cuda-compat package that provides a CUDA on this driver. Every GPU must be a data-centre
// one, and NVIDIA must list the driver's branch. If it is installed, the steps say how to make the loader take it.
func Compat(m *model.Machine, cuda version.Number) (pins []verdict.Pin, steps []pin.Step) {
	if m.Policy.NoPins {
		return nil, nil
	}
	row := m.CompatPackage(cuda)
	if row == nil {
		return nil, nil
	}
	for _, c := range m.Facts.Driver.Compat {
		if version.ParseOrZero(c.Version).Major() == version.Int(row.Branch) && !c.Taken {
			return nil, []pin.Step{pin.Run("export LD_LIBRARY_PATH=" + model.PutFirst(path.Dir(c.Path))).Explained(fmt.Sprintf(
				"uses %s, which is installed; keeps the driver (forward compatibility, which data-centre GPUs support)", row.Package)).Instead()}
		}
	}
	why, commands := "keeps the driver", compatCommands(m, row)
	if m.Dockerfile() {
		why = "in the image; keeps the driver of the host"
	}
	p := verdict.Pin{Package: row.Package, Version: row.CUDA.String(),
		Why: why + "; forward compatibility, which data-centre GPUs support", Commands: commands}
	if m.Dockerfile() {
		p.Steps = []pin.Step{pin.Say("put `ENV " + compatFirst(row) + "` below it")}
	}
	return []verdict.Pin{p}, nil
}

// compatCommands returns the commands that install a cuda-compat package and make the loader take it, on this machine
// or in the image of a Dockerfile. It returns none for a system without NVIDIA packages.
func compatCommands(m *model.Machine, row *tables.Forward) map[string]string {
	if m.Dockerfile() {
		return imageCommands(m, row.Package)
	}
	library := compatFirst(row)
	s := System(m)
	command := func(family string) string {
		on := pin.System{Family: family, Root: s.Root}
		return pin.Sequence(on.Install(row.Package), "export "+library) + from
	}
	switch {
	case s.APT():
		return map[string]string{"apt": command("ubuntu")}
	case s.DNF():
		return map[string]string{"dnf": command("rhel")}
	case s.Family != "":
		return map[string]string{}
	}
	return map[string]string{"apt": command("ubuntu") + " (Debian, Ubuntu)", "dnf": command("rhel") + " (RHEL, Fedora, Amazon Linux 2023)"}
}

// compatFirst returns the variable that makes the loader take a cuda-compat package.
func compatFirst(row *tables.Forward) string {
	return "LD_LIBRARY_PATH=" + model.PutFirst("/usr/local/cuda-"+row.CUDA.Short()+"/compat")
}

const from = "  # needs NVIDIA's repository"

// imageCommands returns the instruction that installs a package, for a Dockerfile. Images based on NVIDIA's already
// have its repository.
func imageCommands(m *model.Machine, name string) map[string]string {
	base := m.Facts.Environments[0].Requested[0]
	where := from + " in the image"
	if strings.Contains(base.Name, "nvidia/") {
		where = ""
	}
	if redHatImage.MatchString(base.Name + ":" + base.Version) {
		return map[string]string{"dnf": "RUN dnf install -y " + name + where}
	}
	return map[string]string{"apt": "RUN apt-get update && apt-get install -y " + name + where}
}

// redHatImage matches images that install packages with dnf. The tags of nvidia/cuda name their system.
var redHatImage = lazyregexp.New(`(?i)\bubi\d|rocky|alma|centos|rhel|fedora|amazonlinux|oraclelinux`)
