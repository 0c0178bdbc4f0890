package logs

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/record"
	"cudacompat/internal/tables"
	"cudacompat/internal/version"
)

// Patterns for what a line about PyTorch's build says about the GPU and about the CUDA that the driver offers.
var (
	saidCapability = lazyregexp.New(`\bsm_?(\d{2,3})\b`)
	saidCUDA       = lazyregexp.New(`found version (\d{4,5})\b`)
	saidPython     = lazyregexp.New(`(?:python|Python)(3\.\d+|3\d+)\b`)
)

// chooseWheel names the newest wheel of PyTorch for the GPU and the driver that the deciding line or the rest of the
// log names.
func (j *judging) chooseWheel(d *Diagnosis) ([]string, string) {
	if len(d.Lines) == 0 || !slices.Contains([]string{"gpu-arch-missing", "driver-too-old"}, d.Cause) {
		return nil, ""
	}
	// "found version" is PyTorch's own sentence, whether or not the log names PyTorch.
	if !j.mentions("torch") && !saidCUDA.MatchString(d.Lines[0].Text) {
		return nil, ""
	}
	want := wanted{platform: "linux_x86_64", python: j.python(), gpus: d.Traces.GPUs}
	switch {
	case j.windows:
		want.platform = "win_amd64"
	case j.mentions("aarch64", "arm64"):
		want.platform = "linux_aarch64"
	}
	line := d.Lines[0].Text
	if m := saidCUDA.FindStringSubmatch(line); m != nil && d.Cause == "driver-too-old" {
		n, _ := strconv.Atoi(m[1])
		want.family, want.most = n/1000, version.ParseOrZero(fmt.Sprintf("%d.%d", n/1000, n%1000/10))
		return want.forDriver(d.Do), ""
	}
	if d.Cause != "gpu-arch-missing" {
		return nil, ""
	}
	if m := saidCapability.FindStringSubmatch(line); m != nil && strings.Contains(line, "apability") {
		want.gpus = []GPU{{Capability: version.Capability{Major: toInt(m[1][:len(m[1])-1]), Minor: toInt(m[1][len(m[1])-1:])}}}
		return want.steps("this build has machine code for sm_"+m[1], d.Do), ""
	}
	return want.forGPU(d.Do, d.Traces.Drivers)
}

func toInt(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}

// wanted is what a wheel must fit. A zero field is ignored.
type wanted struct {
	platform, python string
	family           int            // of CUDA
	most             version.Number // of CUDA, where families are not compatible in themselves
	gpus             []GPU
}

// newest returns the best wheel that fits; nil if none does.
func (w wanted) newest() *tables.Torch {
	var best *tables.Torch
	all := tables.Rows[tables.Torch](record.Tables())
	for i := range all {
		t := &all[i]
		if w.fits(t) && (best == nil || better(t, best)) {
			best = t
		}
	}
	return best
}

// installing returns the command for a wheel. It names the CUDA variant: without it, pip keeps an installed build of
// the same release for another CUDA.
func installing(t *tables.Torch) string {
	packages := "torch==" + t.Release + "+" + t.Variant
	if t.Torchvision != "" {
		packages += " torchvision==" + t.Torchvision + "+" + t.Variant
	}
	return fmt.Sprintf("`python -m pip install %s --index-url https://download.pytorch.org/whl/%s`", packages, t.Variant)
}

// steps begin with the command for the newest wheel that fits, and go on with the others. Nil where none fits.
func (w wanted) steps(why string, others []string) []string {
	best := w.newest()
	if best == nil {
		return nil
	}
	return append([]string{"run " + installing(best) + ": " + why}, dropGuesses(others)...)
}

// dropGuesses drops the steps that depend on which GPU it is.
func dropGuesses(steps []string) (kept []string) {
	for _, step := range steps {
		if !strings.HasPrefix(step, "if the GPU is ") {
			kept = append(kept, step)
		}
	}
	return kept
}

// forDriver returns the steps to a build that the driver runs. If the log does not name the GPU, and the wheel has no
// code for a generation that such a driver supports, the steps say so, and name the wheel for that generation.
func (w wanted) forDriver(others []string) []string {
	why := fmt.Sprintf("the driver offers CUDA %s, and a build for CUDA %d runs on it", w.most, w.family)
	if len(w.gpus) > 0 {
		return w.steps(why+"; this one has code for "+nameAll(w.gpus), others)
	}
	best := w.newest()
	if best == nil {
		return nil
	}
	left := w.newestChipWithoutCode(best)
	if left == nil {
		return w.steps(why, others)
	}
	newer := w
	newer.gpus = []GPU{{Capability: left.Capability}}
	do := []string{fmt.Sprintf("unless the GPU is %s, run %s: %s", left.Architecture, installing(best), why)}
	if other := newer.newest(); other != nil {
		do = append(do, fmt.Sprintf("if the GPU is %s, run %s: %s has no code for it", left.Architecture, installing(other), best.Variant))
	}
	return append(do, dropGuesses(others)...)
}

// newestChipWithoutCode returns the newest desktop or data centre GPU that a driver for this CUDA supports, if the
// wheel has no code for it. It returns nil if the wheel has code for this GPU.
func (w wanted) newestChipWithoutCode(t *tables.Torch) *tables.Chip {
	var newest *tables.Chip
	chips := tables.Rows[tables.Chip](record.Tables())
	for i := range chips {
		c := &chips[i]
		if slices.Contains(c.Kind, "tegra") || w.most.LessShort(c.FirstCUDA) {
			continue
		}
		if newest == nil || !newest.Capability.AtLeast(c.Capability) {
			newest = c
		}
	}
	if newest == nil || hasCode(t, newest.Capability) {
		return nil
	}
	return newest
}

// forGPU returns the steps to a build with code for the GPUs that the log describes, on the driver that it describes.
func (w wanted) forGPU(others, drivers []string) (do []string, because string) {
	if len(w.gpus) == 0 {
		return nil, ""
	}
	if len(drivers) == 1 {
		w.family = record.Tables().BranchCUDA(version.ParseOrZero(drivers[0])).Major()
	}
	best := w.newest()
	if best == nil {
		return nil, ""
	}
	do = []string{
		"run `python -c \"import torch; print(torch.__version__, torch.cuda.get_arch_list())\"`: it lists the GPUs that torch was compiled for",
		fmt.Sprintf("if the list has no code for %s, run %s", nameAll(w.gpus), installing(best)),
		fmt.Sprintf("if the list has code for it, the failing kernel belongs to an extension: build that again with TORCH_CUDA_ARCH_LIST=%s", w.targets()),
	}
	return append(do, dropGuesses(others)...), fmt.Sprintf("The build has no machine code for %s, and no PTX that the driver could compile.", nameAll(w.gpus))
}

// targets returns the capabilities of the GPUs, as TORCH_CUDA_ARCH_LIST names them.
func (w wanted) targets() string {
	var all []string
	for _, g := range w.gpus {
		all = addNew(all, g.Capability.String())
	}
	return strings.Join(all, ";")
}

// nameAll names GPUs with their capabilities.
func nameAll(gpus []GPU) string {
	var all []string
	for _, g := range gpus {
		all = append(all, strings.TrimSpace(g.Name+" ("+g.Capability.String()+")"))
	}
	return strings.Join(all, " and ")
}

// better reports whether a wheel is preferable: one for CUDA 12, which most drivers in use run, and then the newer
// release.
func better(t, than *tables.Torch) bool {
	const common = 12
	if a, b := t.CUDA.Major() == common, than.CUDA.Major() == common; a != b {
		return a
	}
	return cmp.Or(version.ParseOrZero(t.Release).Compare(version.ParseOrZero(than.Release)), t.CUDA.Compare(than.CUDA)) > 0
}

// minorCompatible is the first CUDA major version all of whose releases run on every driver of that major version.
const minorCompatible = 11

func (w wanted) fits(t *tables.Torch) bool {
	switch {
	case t.Platform != w.platform, w.family > 0 && t.CUDA.Major() != w.family,
		w.family > 0 && w.family < minorCompatible && w.most.LessShort(t.CUDA),
		w.python != "" && !slices.Contains(t.Python, w.python):
		return false
	}
	return !slices.ContainsFunc(w.gpus, func(g GPU) bool { return !hasCode(t, g.Capability) })
}

// hasCode reports whether a wheel has machine code for a GPU.
func hasCode(t *tables.Torch, gpu version.Capability) bool {
	return slices.ContainsFunc(t.SASS, func(sm string) bool {
		code, ok := version.ParseCode(sm)
		return ok && code.Serves(gpu)
	})
}

// python returns the Python version whose paths the logs show, or "".
func (j *judging) python() string {
	for _, lines := range j.kept {
		for _, l := range lines {
			if m := saidPython.FindStringSubmatch(l.Text); m != nil {
				if !strings.Contains(m[1], ".") {
					return m[1][:1] + "." + m[1][1:]
				}
				return m[1]
			}
		}
	}
	return ""
}
