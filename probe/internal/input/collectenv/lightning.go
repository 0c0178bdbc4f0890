package collectenv

import (
	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/distname"
)

// The report of PyTorch Lightning's collect_env_details.py has sections ("* CUDA:") with one line a fact ("- available:
// True", "- torch:  2.6.0+cu118"); below "- GPU:" each line is one ("- NVIDIA GeForce RTX 4090").
var (
	lightningCUDA    = lazyregexp.New(`^[\s>]*\* CUDA:\s*$`)
	lightningSection = lazyregexp.New(`^[\s>]*\* (CUDA|Lightning|Packages|System):\s*$`)
	lightningField   = lazyregexp.New(`^[\s>]*- ([\w.-]+):\s+(\S.*?)\s*$`)
	lightningGPU     = lazyregexp.New(`^[\s>]*- (\S.*?)\s*$`)
)

// readLightning reads a line of it; the first that is none ends a section.
func (r *reportReader) readLightning(line string) bool {
	if m := lightningSection.FindStringSubmatch(line); m != nil && (r.section != "" || m[1] == "CUDA") {
		r.section = m[1]
		return true
	}
	item := lightningGPU.FindStringSubmatch(line)
	if r.section == "" || item == nil {
		r.section = ""
		return false
	}
	switch m := lightningField.FindStringSubmatch(line); {
	case m == nil:
		if r.section == "CUDA" && nvidiaName.MatchString(item[1]) {
			r.GPUs = append(r.GPUs, facts.GPU{Name: item[1], From: []string{From}})
		}
	case r.section == "CUDA" && m[1] == "available":
		r.available(m[2])
	case r.section == "CUDA" && m[1] == "version":
		r.builtWith(m[2], true)
	case r.section == "CUDA" || r.section == "System":
	case m[1] == "torch" && r.torch.Version == "":
		r.torch.Version, r.Observed.Imported = m[2], true
		fallthrough
	case distname.Companions.Match(distname.Normal(m[1])):
		r.packages = append(r.packages, facts.Package{Name: distname.Normal(m[1]), Version: m[2], Path: From})
	}
	return true
}
