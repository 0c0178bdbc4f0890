package logs

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/internal/version"
)

// Patterns for what a line about PyTorch's build says about the GPU and about the CUDA that the driver offers.
var (
	saidCapability = lazyregexp.New(`\bsm_?(\d{2,3})\b`)
	saidCUDA       = lazyregexp.New(`found version (\d{4,5})\b`)
	saidPython     = lazyregexp.New(`(?:python|Python)(3\.\d+|3\d+)\b`)
)

// wheelFor names the newest PyTorch wheel for the GPU or driver that the deciding line names.
func (j *judging) wheelFor(d *Diagnosis) ([]string, string) {
	if len(d.Lines) == 0 || !slices.Contains([]string{"gpu-arch-missing", "driver-too-old"}, d.Cause) {
		return nil, ""
	}
	// "found version" is PyTorch's own sentence, whether or not the log names PyTorch.
	if !j.mentions("torch") && !saidCUDA.MatchString(d.Lines[0].Text) {
		return nil, ""
	}
	want := wanted{platform: "linux_x86_64", python: j.python()}
	switch {
	case j.windows:
		want.platform = "win_amd64"
	case j.mentions("aarch64", "arm64"):
		want.platform = "linux_aarch64"
	}
	line := d.Lines[0].Text
	if m := saidCUDA.FindStringSubmatch(line); m != nil && d.Cause == "driver-too-old" {
		n, _ := strconv.Atoi(m[1])
		want.family, want.most = n/1000, version.Of(fmt.Sprintf("%d.%d", n/1000, n%1000/10))
		return want.steps(fmt.Sprintf("the driver offers CUDA %d.%d, and a build for CUDA %d runs on it", n/1000, n%1000/10, n/1000),
			d.Do), ""
	}
	if m := saidCapability.FindStringSubmatch(line); m != nil && d.Cause == "gpu-arch-missing" && strings.Contains(line, "apability") {
		major, _ := strconv.Atoi(m[1][:len(m[1])-1])
		minor, _ := strconv.Atoi(m[1][len(m[1])-1:])
		want.gpu = version.Capability{Major: major, Minor: minor}
		return want.steps("this build has machine code for sm_"+m[1], d.Do), ""
	}
	return nil, ""
}

// wanted is what a wheel must fit. A zero field is ignored.
type wanted struct {
	platform, python string
	family           int            // of CUDA
	most             version.Number // of CUDA, where families are not compatible in themselves
	gpu              version.Capability
}

// steps begins with the command for the newest wheel that fits and continues with the others. It returns nil if none
// fits.
func (w wanted) steps(why string, others []string) []string {
	var best *tables.Torch
	all := tables.Rows[tables.Torch](nameTables())
	for i := range all {
		t := &all[i]
		if w.fits(t) && (best == nil || better(t, best)) {
			best = t
		}
	}
	if best == nil {
		return nil
	}
	packages := "torch==" + best.Release
	if best.Torchvision != "" {
		packages += " torchvision==" + best.Torchvision
	}
	do := []string{fmt.Sprintf("run `python -m pip install %s --index-url https://download.pytorch.org/whl/%s`: %s", packages, best.Variant, why)}
	for _, step := range others {
		if !strings.HasPrefix(step, "if the GPU is ") { // which it is, the line has said
			do = append(do, step)
		}
	}
	return do
}

// better reports whether a wheel is preferable: one for CUDA 12, which most drivers in use run, and then the newer
// release.
func better(t, than *tables.Torch) bool {
	const common = 12
	if a, b := t.CUDA.Major() == common, than.CUDA.Major() == common; a != b {
		return a
	}
	return cmp.Or(version.Of(t.Release).Compare(version.Of(than.Release)), t.CUDA.Compare(than.CUDA)) > 0
}

// minorCompatible is the first CUDA major version all of whose releases run on every driver of that major version.
const minorCompatible = 11

func (w wanted) fits(t *tables.Torch) bool {
	switch {
	case t.Platform != w.platform, w.family > 0 && t.CUDA.Major() != w.family,
		w.family > 0 && w.family < minorCompatible && w.most.LessShort(t.CUDA),
		w.python != "" && !slices.Contains(t.Python, w.python):
		return false
	case w.gpu.Known():
		return slices.ContainsFunc(t.SASS, func(sm string) bool {
			code, ok := version.ParseCode(sm)
			return ok && code.Serves(w.gpu)
		})
	}
	return true
}

// python returns the Python version whose paths the logs show, or "".
func (j *judging) python() string {
	for _, lines := range j.kept {
		for _, l := range lines {
			if m := saidPython.FindStringSubmatch(l.text); m != nil {
				if !strings.Contains(m[1], ".") {
					return m[1][:1] + "." + m[1][1:]
				}
				return m[1]
			}
		}
	}
	return ""
}
