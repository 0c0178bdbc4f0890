package matrix

import (
	"fmt"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/version"
)

// normalGPU is a GPU's name as the tables' index has it: without the vendor, in lower case, single spaces.
func normalGPU(name string) string {
	name = strings.ToLower(strings.Join(strings.Fields(name), " "))
	return strings.TrimPrefix(name, "nvidia ")
}

// ambiguous stands in the index for a name that GPUs of several capabilities share.
var ambiguous = &Chip{}

func (t *Tables) indexNames() map[string]*Chip {
	index := map[string]*Chip{}
	chips := must(t.gpus())
	for i := range chips {
		for _, name := range chips[i].Names {
			key := normalGPU(name)
			if other := index[key]; other != nil && other.Capability != chips[i].Capability {
				index[key] = ambiguous
			} else if other == nil {
				index[key] = &chips[i]
			}
		}
	}
	return index
}

func (t *Tables) indexIDs() map[string]*Chip {
	index := map[string]*Chip{}
	chips := must(t.gpus())
	for i := range chips {
		for _, id := range chips[i].PCIIDs {
			index["10de:"+id] = &chips[i]
		}
	}
	return index
}

// decoration is what vendors, NVML and people put after a model's name without changing its chip's capability; the
// last two are MIG and vGPU profiles, "MIG 3g.20gb" and "-24Q".
var decoration = lazyregexp.New(`( (\(.*\)|with .*|\d+ ?gb|hbm\de?|laptop gpu|laptop|gpu|mobile|max-q|pcie|sxm\d?|nvl|mig .*)|d?-\d+[abcq])$`)

// brands are the words that people leave out before a model's name, or NVML puts there.
var brands = []string{"", "tesla ", "geforce ", "geforce gtx ", "geforce rtx ", "quadro ", "rtx "}

// gluedSuffix is "2080ti", as people write it.
var gluedSuffix = lazyregexp.New(`(\d)(ti|super)\b`)

// chipNamed finds the chip of a GPU's name, nil when the table does not know it or when chips of several
// capabilities share it.
func (t *Tables) chipNamed(name string) *Chip {
	key := gluedSuffix.ReplaceAllString(strings.TrimPrefix(normalGPU(name), "grid "), "$1 $2")
	for {
		if chip := t.chipBranded(key); chip != nil {
			return known(chip)
		}
		short := decoration.ReplaceAllString(key, "")
		if short == key {
			return known(t.chipLonger(key))
		}
		key = short
	}
}

// chipBranded looks a name up with and without its brand.
func (t *Tables) chipBranded(key string) *Chip {
	index := t.chipsByName()
	for _, brand := range brands {
		if chip := index[brand+key]; chip != nil {
			return chip
		}
		if bare, ok := strings.CutPrefix(key, brand); ok && brand != "" && index[bare] != nil {
			return index[bare]
		}
	}
	return nil
}

// chipLonger is for names that were cut, "RTX PRO 6000" of "RTX PRO 6000 Blackwell Server Edition": every name that
// goes on from three words or more must be of one capability.
func (t *Tables) chipLonger(key string) *Chip {
	if len(strings.Fields(key)) < 3 {
		return nil
	}
	var found *Chip
	for name, chip := range t.chipsByName() {
		if !strings.HasPrefix(name, key+" ") {
			continue
		}
		if found != nil && found.Capability != chip.Capability {
			return nil
		}
		found = chip
	}
	return found
}

// known leaves out what several chips share.
func known(chip *Chip) *Chip {
	if chip == ambiguous {
		return nil
	}
	return chip
}

// chipOf finds a chip of that capability, for what all of them share: toolkits and driver branches.
func (t *Tables) chipOf(c version.Capability) *Chip {
	chips := must(t.gpus())
	var found *Chip
	for i := range chips {
		if chips[i].Capability == c && (found == nil || chips[i].FirstBranch.Less(found.FirstBranch)) {
			found = &chips[i]
		}
	}
	return found
}

// branchCUDA is the CUDA that a driver's user space reports: its branch's row, else, between two branches, the
// nearest lower one's. A driver older or newer than the table's gives the zero Version.
func (t *Tables) branchCUDA(driver version.Number) version.Number {
	branches := must(t.branches())
	if !driver.Known() || len(branches) == 0 || driver.Major() > version.Int(branches[len(branches)-1].Branch) {
		return version.Number{}
	}
	var cuda version.Number
	for _, b := range branches {
		if version.Int(b.Branch) <= driver.Major() && b.CUDA.Known() {
			cuda = b.CUDA
		}
	}
	return cuda
}

// family is the driver floor of a CUDA family with minor-version compatibility, nil for older and unknown ones.
func (t *Tables) family(cuda version.Number) *Minor {
	rows := must(t.minor())
	for i := range rows {
		if rows[i].Family.Major() == cuda.Major() {
			return &rows[i]
		}
	}
	return nil
}

// toolkit is the first release of CUDA's minor version, nil when the table does not have it.
func (t *Tables) toolkit(cuda version.Number) *CUDA {
	rows := must(t.cuda())
	for i := range rows {
		if rows[i].Release.Short() == cuda.Short() {
			return &rows[i]
		}
	}
	return nil
}

// instance is the row of an EC2 instance type, nil when the table does not have it.
func (t *Tables) instance(name string) *Instance {
	rows := must(t.instances())
	for i := range rows {
		if rows[i].Instance == name {
			return &rows[i]
		}
	}
	return nil
}

// wheels are the rows of one PyTorch release on a platform, in any variant.
func (t *Tables) wheels(release, platform string) []Wheel {
	var found []Wheel
	for _, w := range must(t.torch()) {
		if w.Release == release && w.Platform == platform {
			found = append(found, w)
		}
	}
	return found
}

// defaultVariant is the variant of a PyTorch release that the installer's own index has; empty when that is not known.
func (m *machine) defaultVariant(name string, release version.Release) string {
	if name != "torch" || !release.Number.Known() {
		return ""
	}
	for _, d := range must(m.t.defaults()) {
		if d.Release == release.Number.Short() && d.Platform == m.platform {
			return d.Variant
		}
	}
	return ""
}

// tensorflowRow is the row of a TensorFlow release: its own, else that of its minor version.
func (t *Tables) tensorflowRow(release version.Number) *TensorFlow {
	rows := must(t.tensorflow())
	var found *TensorFlow
	for i := range rows {
		r := version.Of(rows[i].Release)
		if r.Short() == release.Short() && (r.Compare(release) == 0 || found == nil) {
			found = &rows[i]
		}
	}
	return found
}

// jaxRow is the row of a JAX release for one CUDA family.
func (t *Tables) jaxRow(release version.Number, cuda version.Number, platform string) *JAX {
	rows := must(t.jax())
	for i := range rows {
		r := &rows[i]
		if version.Of(r.Release).Compare(release) == 0 && r.Variant == fmt.Sprintf("cuda%d", cuda.Major()) && r.Platform == platform {
			return r
		}
	}
	return nil
}

// InstanceNames are the EC2 instance types of the table.
func (t *Tables) InstanceNames() []string {
	var list []string
	for _, i := range must(t.instances()) {
		list = append(list, i.Instance)
	}
	return list
}

// CheckTarget says what is wrong with a target's words: a driver that is no version, a GPU that nobody knows.
func (t *Tables) CheckTarget(target Target) error {
	if target.Driver != "" && !driverText.MatchString(target.Driver) {
		return fmt.Errorf("--driver %s is not a driver version such as 550.90.07", target.Driver)
	}
	if target.Python != "" && !pythonText.MatchString(target.Python) {
		return fmt.Errorf("--python %s is not a Python version such as 3.12", target.Python)
	}
	for _, name := range target.GPUs {
		if _, err := version.ParseCapability(name); err != nil && t.chipNamed(name) == nil {
			return fmt.Errorf("--gpu %s is neither a GPU of the tables nor a compute capability such as 8.9", name)
		}
	}
	return nil
}

var (
	driverText = lazyregexp.New(`^\d{3,4}(\.\d+){0,2}$`)
	pythonText = lazyregexp.New(`^3\.\d+(\.\d+)?t?$`)
)
