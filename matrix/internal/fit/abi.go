package fit

import (
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/internal/version"
)

// abiInName matches the C++ ABI in a wheel's local version: "cu12torch2.8cxx11abiTRUE".
var abiInName = lazyregexp.New(`(?i)cxx11abi(true|false)`)

// abi compares the C++ ABI of libstdc++'s strings. Every torch function with a string parameter has it in its symbol
// name.
func (x pair) abi() Answer {
	a := Answer{Source: x.source()}
	torch, how := TorchABI(x.t, x.torch.Release, x.torch.Platform, x.torch.CUDA.Device)
	have, from := x.packageABI()
	a.Have, a.Want = abiWords(have)+from, abiWords(torch)+how
	switch {
	case !strings.HasPrefix(x.torch.Platform, "linux_") && x.torch.Platform != "":
		return exempt("there is one C++ ABI on this platform")
	case x.p.Name == "triton", x.p.Resolved, x.compilesHere(), x.stable(), x.trait("skips-libraries"):
		return exempt("its libraries need no C++ symbol of torch that is not there")
	case x.row() != nil && (x.row().NeedsNoTorch() || x.row().Pure()):
		return exempt("its libraries need none of torch's")
	case x.torch.Vendor || torch == "":
		a.Why = "torch's C++ ABI"
	case have == "":
		a.Why = "its C++ ABI"
	case strings.Contains(have, torch):
		a.State = Compared
	default:
		a.State = Differs
	}
	return a
}

// packageABI returns "true" or "false", or both if a release has wheels of either kind, and the source of that.
func (x pair) packageABI() (abi, how string) {
	if m := abiInName.FindStringSubmatch(x.p.Release.Local); m != nil {
		return strings.ToLower(m[1]), " (its name)"
	}
	if r := x.row(); r != nil && len(r.CXX11) > 0 {
		return strings.Join(r.CXX11, " "), ""
	}
	// A package compiled for one torch has that torch's ABI: the installer's index has one build of a release, and
	// PyTorch's own indexes build the companions with their own.
	asked, _ := x.asked()
	local := x.p.Release.Local
	if r := x.row(); r != nil && local == "" && r.Variant != "pypi" {
		local = r.Variant
	}
	if !strings.HasPrefix(local, "cu") || strings.Contains(local, "torch") {
		local = ""
	}
	for _, text := range asked {
		v := exactly(text)
		if !v.Known() && strings.HasPrefix(text, ">") { // an engine's open range begins with the torch of its day
			v = version.ParseOrZero(strings.TrimLeft(text, ">= "))
		}
		if !v.Known() {
			continue
		}
		if abi, _ := TorchABI(x.t, version.Release{Number: v, Local: local}, x.torch.Platform, "cuda"); abi != "" {
			return abi, " (that of torch " + v.String() + ", for which it was built)"
		}
	}
	if x.torch.Release.Number.AtLeastShort(2, 7) && len(asked) > 0 && x.takes(asked) {
		return "true", " (that of every torch from 2.7 on)"
	}
	return "", ""
}

// TorchABI returns the C++ ABI of one of PyTorch's own builds, "true" for the new one, and its source: the row of a
// wheel that was read, otherwise PyTorch's build scripts. It returns "" if neither says.
func TorchABI(t *tables.Tables, r version.Release, platform, device string) (abi, how string) {
	if !r.Number.Known() || !strings.HasPrefix(platform, "linux_") {
		return "", ""
	}
	for _, row := range t.Torch(r.Number.String(), platform) {
		if row.CXX11 != "" && (row.Variant == r.Local || r.Local == "" && row.Variant == t.DefaultVariant(r.Number, platform)) {
			return row.CXX11, " (libc10.so)"
		}
	}
	if abi = abiOfBuildScripts(r, platform, device); abi == "" {
		return "", ""
	}
	return abi, " (PyTorch's build scripts)"
}

// abiOfBuildScripts returns the ABI in PyTorch's build scripts. On x86-64 the CPU and CUDA builds have the old ABI up to
// 2.6.0, except cu126 of 2.6.0 and the builds named cxx11.abi. On aarch64 the CPU builds have the new one from 2.6.0
// on, and the CUDA builds always had it. ROCm and XPU have it from 2.6.0 on, and every build from 2.7 on. The number of
// a nightly says nothing.
func abiOfBuildScripts(r version.Release, platform, device string) string {
	n := r.Number
	since26 := n.AtLeastShort(2, 6)
	switch {
	case !r.Final():
		return ""
	case n.AtLeastShort(2, 7), strings.HasSuffix(r.Local, "cxx11.abi"):
		return "true"
	case strings.HasPrefix(r.Local, "rocm"), r.Local == "xpu", device == "rocm", device == "xpu":
		return map[bool]string{true: "true", false: "false"}[since26]
	case platform == "linux_aarch64" && (strings.HasPrefix(r.Local, "cu") || since26):
		return "true"
	case platform == "linux_x86_64" && r.Local == "cu126" && n.Short() == "2.6":
		return "true"
	}
	return "false"
}

func abiWords(abi string) string {
	switch abi {
	case "true":
		return "the new C++ ABI"
	case "false":
		return "the old C++ ABI"
	case "":
		return ""
	}
	return "either C++ ABI"
}
