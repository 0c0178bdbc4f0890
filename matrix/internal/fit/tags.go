package fit

import (
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/version"
)

// Tags are the three tags in a wheel's name (PEP 425), as written: "cp312-cp312-manylinux_2_28_x86_64".
type Tags struct{ Python, ABI, Platform string }

// TagsOf returns the tags in a wheel's file name, or nil if it is not a wheel's.
func TagsOf(wheel string) *Tags {
	parts := strings.Split(strings.TrimSuffix(wheel, ".whl"), "-")
	if len(parts) < 5 {
		return nil
	}
	parts = parts[len(parts)-3:]
	return &Tags{parts[0], parts[1], parts[2]}
}

// python compares the Python of a wheel that a file names. For any other package the installer chooses the wheel, and
// for an installed one the interpreter decides at import.
func (x pair) python() Answer {
	a := Answer{Want: "Python " + x.target.Python}
	switch {
	case x.p.Tags == nil:
		return exempt("the installer chooses the wheel by Python")
	case x.target.Python == "":
		return exempt("no Python is named")
	case x.p.Tags.takesPython(x.target.Python):
		a.State, a.Have = Compared, x.p.Tags.Python
	default:
		a.State, a.Have = Differs, x.p.Tags.Python
	}
	return a
}

// pythonTag matches "cp312", "py3", "py39".
var pythonTag = lazyregexp.New(`^(cp|py)(\d)(\d*)$`)

// takesPython reports whether pip accepts a wheel for a Python, "3.12" or "3.13t". A tag without an ABI is a minimum,
// and so is one with the stable ABI.
func (g Tags) takesPython(python string) bool {
	threads := strings.HasSuffix(python, "t")
	want := version.ParseOrZero(strings.TrimSuffix(python, "t"))
	for tag := range strings.SplitSeq(g.Python, ".") {
		m := pythonTag.FindStringSubmatch(tag)
		if m == nil {
			continue
		}
		have := version.ParseOrZero(strings.TrimSuffix(m[2]+"."+m[3], "."))
		floor := slices.Contains(strings.Split(g.ABI, "."), "none") || slices.Contains(strings.Split(g.ABI, "."), "abi3")
		switch {
		case have.Major() != want.Major():
		case m[1] == "py" && m[3] == "":
			return true
		case threads && !slices.Contains(strings.Split(g.ABI, "."), "none") && !strings.HasSuffix(g.ABI, "t"):
		case !threads && strings.HasSuffix(g.ABI, "t"):
		case floor && !want.Less(have), have.Short() == want.Short():
			return true
		}
	}
	return false
}

// platform compares the platform of a wheel that a file names.
func (x pair) platform() Answer {
	a := Answer{Want: x.torch.Platform}
	switch {
	case x.p.Tags == nil:
		return exempt("the installer chooses the wheel by platform")
	case x.torch.Platform == "":
		return exempt("no platform is named")
	case x.p.Tags.takesPlatform(x.torch.Platform):
		a.State, a.Have = Compared, x.p.Tags.Platform
	default:
		a.State, a.Have = Differs, x.p.Tags.Platform
	}
	return a
}

// takesPlatform reports whether a wheel is for a platform as the tables write it, "linux_x86_64".
func (g Tags) takesPlatform(platform string) bool {
	system, machine, _ := strings.Cut(platform, "_")
	for tag := range strings.SplitSeq(g.Platform, ".") {
		switch {
		case tag == "any", tag == platform:
			return true
		case system == "linux" && strings.Contains(tag, "linux") && strings.HasSuffix(tag, "_"+machine):
			return true
		}
	}
	return false
}

// code compares the machine code of a package with the GPUs, as gpu-arch-missing does.
func (x pair) code() Answer {
	a := Answer{Source: x.source()}
	r := x.row()
	switch {
	case len(x.target.GPUs) == 0:
		return exempt("no GPU is named")
	case x.compilesHere(), x.p.Name == "triton", x.needsNone(), x.pure(), x.p.CUDA.Device != "cuda":
		return exempt("it has no machine code of its own")
	case r == nil || len(r.SASS) == 0:
		if x.trait("companion") {
			return exempt("PyTorch builds it for the GPUs of its torch")
		}
		a.Why = "which machine code it contains"
		return a
	}
	a.Have = strings.Join(r.SASS, " ")
	for _, gpu := range x.target.GPUs {
		switch version.Cover(r.SASS, r.PTX, gpu) {
		case version.Uncovered:
			return Answer{State: Differs, Have: a.Have, Want: fmt.Sprint(gpu), Source: a.Source}
		case version.Unsure:
			a.Why = "whether its machine code runs on " + fmt.Sprint(gpu)
			return a
		}
	}
	a.State = Compared
	return a
}
