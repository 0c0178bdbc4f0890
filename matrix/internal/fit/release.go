package fit

import (
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
)

// release compares the torch release that a package is for. A package with undefined C++ symbols of torch is for
// exactly one minor release. A package without them is stable, and only its range counts.
func (x pair) release() Answer {
	asked, source := x.asked()
	a := Answer{Have: strings.Join(asked, " or "), Want: x.torch.Release.Number.String(), Source: source}
	switch {
	case x.p.Resolved:
		return exempt("its libraries find every symbol that they need")
	case x.compilesHere():
		return exempt("it is compiled for the torch that is there")
	case x.trait("skips-libraries"):
		return exempt("it is imported without the libraries that do not load")
	case !x.torch.Release.Number.Known():
		a.Why = "which torch it is"
	case len(asked) == 0 && (x.pure() || x.row() != nil && x.row().NeedsNoTorch()):
		return exempt("its libraries need none of torch's")
	case len(asked) == 0:
		a.Why = "which torch it was built for"
	case x.torch.Vendor && !x.takes(asked):
		a.Why = "whether it loads beside a torch that is not PyTorch's own release"
	case !x.takes(asked):
		a.State = x.unless(false)
	case !x.stable() && !exact(asked):
		a.State, a.Why = x.insideRange(asked)
	default:
		a.State = Compared
	}
	return a
}

// asked returns the torch releases or range that a package is for, and the source.
func (x pair) asked() (list, source []string) {
	if _, torch := x.p.Release.Compiled(); torch.Known() {
		return []string{torch.String()}, nil
	}
	if r := x.row(); r != nil && len(r.Torch) > 0 {
		return r.Torch, r.Source
	}
	var least version.Number
	for _, r := range tables.Rows[tables.Torch](x.t) {
		paired, torch := companionOf(&r, x.p.Name), version.ParseOrZero(r.Release)
		if paired == "" || version.ParseOrZero(paired).Compare(x.p.Release.Number) != 0 || slices.Contains(list, r.Release) {
			continue
		}
		list, source = append(list, r.Release), r.Source
		if !least.Known() || torch.Less(least) {
			least = torch
		}
	}
	// A stable companion without a range loads with the torch it was released with, and with later ones.
	if x.stable() && least.Known() {
		list = []string{">=" + least.Short()}
	}
	return list, source
}

// companionOf returns a companion's release in a torch's row.
func companionOf(r *tables.Torch, name string) string {
	switch name {
	case "torchvision":
		return r.Torchvision
	case "torchaudio":
		return r.Torchaudio
	case "triton":
		return r.Triton
	}
	return ""
}

// releases returns the list of asked.
func (x pair) releases() []string {
	list, _ := x.asked()
	return list
}

// takes reports whether torch's minor version is among the releases, or torch is in the range.
func (x pair) takes(asked []string) bool {
	n := x.torch.Release.Number
	return slices.ContainsFunc(asked, func(text string) bool {
		if v := exactly(text); v.Known() {
			return v.Short() == n.Short()
		}
		taken, err := version.ParseSpecifiers(text)
		// A patch does not matter: the interface belongs to the minor release.
		return err != nil || slices.ContainsFunc([]string{n.String(), n.Short() + ".0", n.Short() + ".99"}, taken.Has)
	})
}

// exact reports whether every entry names one release.
func exact(asked []string) bool {
	return !slices.ContainsFunc(asked, func(text string) bool { return !exactly(text).Known() })
}

// exactly returns the release that a row's text names: 2.9.0 for "2.9.0" and for "==2.9.0". It is unknown for a range.
func exactly(text string) version.Number { return version.ParseOrZero(strings.TrimPrefix(text, "==")) }

// unless returns the state for a torch that is, or is not, the release that the package asks for.
func (x pair) unless(taken bool) State {
	switch {
	// Later releases of torch provide what a stable package needs of an earlier one, whatever its metadata pins.
	case taken, x.stable() && !x.olderThanAsked() && exact(x.releases()):
		return Compared
	// The C functions that a stable package needs were added in a torch release, and older ones lack them.
	case x.stable() && x.olderThanAsked():
		return Differs
	// Some releases load beside the next torch: torchcodec 0.7.0, for torch 2.8, misses no symbol of torch 2.9.0, and
	// 0.1.0 misses nine. Triton fails only when torch compiles.
	case x.p.Name == "triton", x.p.Name == "torchaudio", x.p.Name == "torchcodec":
		return Doubtful
	}
	return Differs
}

// olderThanAsked reports whether torch is older than every release that the package is for.
func (x pair) olderThanAsked() bool {
	return !slices.ContainsFunc(x.releases(), func(text string) bool {
		return !x.torch.Release.Number.LessShort(version.ParseOrZero(strings.TrimLeft(text, "=>~ ")))
	})
}

// insideRange returns the state of a package that was compiled for one torch and whose metadata allows a range. If all
// releases of the range have one minor version, that is the one. For an open range it is the oldest, which was current
// at the time.
func (x pair) insideRange(asked []string) (State, string) {
	n := x.torch.Release.Number
	only := func(text string) bool {
		taken, err := version.ParseSpecifiers(text)
		next, before := fmt.Sprintf("%d.%d", n.Major(), n.Minor()+1), fmt.Sprintf("%d.%d", n.Major(), n.Minor()-1)
		return err == nil && !slices.ContainsFunc([]string{next + ".0", before + ".0", before + ".99"}, taken.Has)
	}
	least := func(text string) bool {
		return strings.HasPrefix(text, ">") && version.ParseOrZero(strings.TrimLeft(text, ">= ")).Short() == n.Short()
	}
	if slices.ContainsFunc(asked, only) || slices.ContainsFunc(asked, least) || x.trait("stable-abi") {
		return Compared, ""
	}
	if r := x.row(); r != nil && r.Symbols == "" && !x.trait("compiled") {
		return Compared, "" // nothing says that it is compiled against torch at all
	}
	return Unknown, "for which torch its libraries were compiled: it asks for torch " + strings.Join(asked, " or ") + " and no more"
}

// stable reports whether the compiled parts of a package need no C++ symbol of torch.
func (x pair) stable() bool {
	if r := x.row(); r != nil && r.Symbols != "" {
		return r.Symbols == "0" || r.Symbols == "none"
	}
	return x.trait("stable-abi")
}

// compilesHere reports whether a package has no wheel and is compiled during installation or at first use.
func (x pair) compilesHere() bool {
	if x.trait("compiled-when-used") {
		return true
	}
	r := x.row()
	return r != nil && r.Variant == "sdist" && len(r.Torch) == 0
}
