package fit

import (
	"fmt"
	"slices"

	"cudacompat/internal/version"
	"cudacompat/matrix/internal/cudaof"
)

// cuda compares the CUDA of a package with torch's. The major version decides, because the runtime's soname is the same
// within one (libcudart.so.12). The minor version decides for packages that compare it at import.
func (x pair) cuda() Answer {
	have, torch := x.p.CUDA, x.torch.CUDA
	a := Answer{Have: describeCUDA(have), Want: describeCUDA(torch), Source: x.source()}
	switch {
	case x.p.Name == "triton":
		return exempt("Triton needs no CUDA library")
	case x.compilesHere():
		return exempt("it is compiled for the CUDA that is there")
	case x.bringsAll():
		return exempt("it brings every CUDA library that it links or opens")
	case x.trait("skips-libraries"):
		return exempt("it is imported without the libraries that do not load")
	case x.needsNone(), x.pure():
		return exempt("its libraries need no CUDA")
	case !torch.Known():
		a.Why = "which CUDA torch was built for"
	case !have.Known():
		a.Why = "which CUDA it was built for"
	case torch.Device != "cuda" && have.Device == torch.Device:
		a.State = Compared
	case torch.Device != "cuda" && have.Device == "cpu": // torchvision for CPUs beside a torch for ROCm
		a.State = Lesser
	case torch.Device != "cuda":
		a.State = Differs
	case have.Device != "cuda":
		a.State = Lesser
	case x.trait("same-cuda-minor"):
		a.State = x.sameMinor()
	case !slices.ContainsFunc(have.CUDAs, func(v version.Number) bool { return v.Major() == torch.CUDANumber.Major() }):
		a.State = Differs
	default:
		a.State = Compared
	}
	return a
}

// sameMinor returns the state for a package that compares minor versions at import. bitsandbytes has a library for
// each, and uses the CPU if it has none for torch's.
func (x pair) sameMinor() State {
	torch := x.torch.CUDA.CUDANumber
	parts := func(v version.Number) int { return min(v.Parts(), torch.Parts(), 2) }
	same := func(v version.Number) bool {
		return v.Major() == torch.Major() && (parts(v) < 2 || v.Minor() == torch.Minor())
	}
	switch {
	case slices.ContainsFunc(x.p.CUDA.CUDAs, same):
		return Compared
	case x.p.Name == "bitsandbytes":
		return Lesser
	}
	return Differs
}

// bringsAll reports whether a package links and opens only CUDA libraries in its own wheel, and does not compare CUDA
// versions at import, as PyTorch's companions do.
func (x pair) bringsAll() bool {
	r := x.row()
	return r != nil && r.Brings() && !x.checksCUDA()
}

// needsNone reports whether no library of a package needs CUDA. Such a companion of PyTorch is a CPU build without the
// GPU operators. torchcodec's CPU build still decodes.
func (x pair) needsNone() bool {
	r := x.row()
	return r != nil && slices.Contains(r.CUDA, "none") && len(r.CUDA) == 1 && !x.checksCUDA()
}

// checksCUDA reports whether a package compares its CUDA with torch's at import. Its CPU build lacks the GPU operators.
func (x pair) checksCUDA() bool { return x.p.Name == "torchvision" || x.p.Name == "torchaudio" }

// describeCUDA returns the CUDA or the other device of a package, as part of a sentence.
func describeCUDA(a cudaof.Answer) string {
	switch a.Device {
	case "":
		return ""
	case "cpu":
		return "CPUs"
	case "rocm":
		return "ROCm"
	case "xpu":
		return "XPUs"
	}
	var list []string
	for _, v := range a.CUDAs {
		text := v.String()
		if v.Parts() > 1 {
			text = v.Short()
		}
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return "CUDA " + join(list)
}

// join formats a list for a sentence: "12.6 or 12.8", "11.7 to 12.8".
func join(list []string) string {
	slices.SortFunc(list, func(a, b string) int { return version.ParseOrZero(a).Compare(version.ParseOrZero(b)) })
	switch len(list) {
	case 0:
		return ""
	case 1:
		return list[0]
	case 2:
		return list[0] + " or " + list[1]
	}
	return fmt.Sprintf("%s to %s", list[0], list[len(list)-1])
}
