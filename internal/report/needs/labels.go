package needs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/version"
	"cudacompat/matrix/requires"
)

// expression is one match expression of a node selector term: a label, an operator and values.
type expression struct {
	label, operator string
	values          []string
}

func (e expression) String() string {
	if len(e.values) == 0 {
		return fmt.Sprintf("{key: %s, operator: %s}", e.label, e.operator)
	}
	return fmt.Sprintf("{key: %s, operator: %s, values: [%s]}", e.label, e.operator, strings.Join(e.values, ", "))
}

const (
	labelDriver     = "nvidia.com/cuda.driver-version."
	labelCapability = "nvidia.com/gpu.compute."
	labelProduct    = "nvidia.com/gpu.product"
	labelSlices     = "nvidia.com/gpu.slices.gi" // only where all GPUs are cut into MIG devices
)

// nodeAffinity returns a pod's node affinity, written with the labels of GPU feature discovery. A node must match all
// expressions of one term. For each compute capability, the terms admit the drivers that every GPU of this capability
// accepts. Further terms admit drivers that only some products accept.
func nodeAffinity(r Requires) (spelling, error) {
	var terms [][]expression
	for _, arch := range []struct{ host, label string }{{"x86_64", "amd64"}, {"aarch64", "arm64"}} {
		host := expression{"kubernetes.io/arch", "In", []string{arch.label}}
		list := r.capabilities(arch.host)
		for _, group := range sameDrivers(list) {
			for _, capability := range capabilityTerms(group) {
				terms = append(terms, nodeSelectorTerms(host, capability, driverTerms(group[0].Drivers))...)
			}
		}
		for _, c := range list {
			for _, g := range c.Exceptions() {
				if len(g.Drivers) > 0 {
					required := slices.Concat(capabilityTerms([]requires.Capability{c})[0], productTerm(c, g))
					terms = append(terms, nodeSelectorTerms(host, required, driverTerms(g.Drivers))...)
				}
			}
		}
	}
	if len(terms) == 0 {
		return spelling{}, noHost(r)
	}
	var b strings.Builder
	b.WriteString("nodeAffinity:\n  requiredDuringSchedulingIgnoredDuringExecution:\n    nodeSelectorTerms:\n")
	for _, term := range terms {
		b.WriteString("    - matchExpressions:\n")
		for _, e := range term {
			fmt.Fprintf(&b, "      - %s\n", e)
		}
	}
	return spelling{"#", b.String(), nil}, nil
}

// nodeSelectorTerms returns one term for each alternative. A term requires the host's architecture, the required
// expressions and that alternative.
func nodeSelectorTerms(host expression, required []expression, alternatives [][]expression) [][]expression {
	var terms [][]expression
	for _, one := range alternatives {
		terms = append(terms, slices.Concat([]expression{host}, required, one))
	}
	return terms
}

// productTerm selects GPUs by name. If the tables have no names for them, it excludes the GPUs that accept other
// drivers. The product label of a MIG device also contains its profile, so a list of names cannot exclude it.
func productTerm(c requires.Capability, g requires.GPU) []expression {
	if len(g.Names) > 0 {
		return []expression{{labelProduct, "In", productLabels(g.Names)}}
	}
	return []expression{{labelProduct, "NotIn", productLabels(c.Different(g))}, {labelSlices, "DoesNotExist", nil}}
}

// notOfLabels matches the characters that GPU feature discovery removes from a name.
var notOfLabels = lazyregexp.New(`[^A-Za-z0-9-_. ]`)

// productLabels returns the labels that GPU feature discovery may give to some names. NVML prints them with or without
// the vendor, and a shared GPU has a suffix.
func productLabels(names []string) []string {
	var list []string
	for _, name := range names {
		label := strings.Join(strings.Fields(notOfLabels.ReplaceAllString(name, "")), "-")
		for _, value := range []string{label, label + "-SHARED", "NVIDIA-" + label, "NVIDIA-" + label + "-SHARED"} {
			if len(value) <= 63 { // no label is longer
				list = append(list, quote(value))
			}
		}
	}
	return list
}

// sameDrivers groups capabilities whose GPUs all accept the same drivers.
func sameDrivers(list []requires.Capability) [][]requires.Capability {
	var groups [][]requires.Capability
	for _, c := range list {
		if len(c.Drivers) == 0 {
			continue
		}
		i := slices.IndexFunc(groups, func(g []requires.Capability) bool { return slices.Equal(g[0].Drivers, c.Drivers) })
		if i < 0 {
			i, groups = len(groups), append(groups, nil)
		}
		groups[i] = append(groups[i], c)
	}
	return groups
}

// capabilityTerms groups minor versions under their major version.
func capabilityTerms(list []requires.Capability) [][]expression {
	var terms [][]expression
	for _, c := range list {
		major, minor, _ := strings.Cut(c.Capability, ".")
		last := len(terms) - 1
		if last >= 0 && terms[last][0].values[0] == quote(major) {
			terms[last][1].values = append(terms[last][1].values, quote(minor))
			continue
		}
		terms = append(terms, []expression{{labelCapability + "major", "In", []string{quote(major)}},
			{labelCapability + "minor", "In", []string{quote(minor)}}})
	}
	return terms
}

func quote(text string) string { return strconv.Quote(text) }

// driverTerms returns the alternatives for ranges of drivers: later branches, later releases of the first branch, later
// revisions of the first release, and the same for the end of the range.
func driverTerms(ranges requires.Drivers) [][]expression {
	var all [][]expression
	for _, r := range ranges {
		for _, from := range fromTerms(version.ParseOrZero(r.From)) {
			for _, before := range beforeTerms(version.ParseOrZero(r.Before)) {
				all = append(all, append(slices.Clone(from), before...))
			}
		}
	}
	return all
}

// labelParts are the labels for the three numbers of a driver.
var labelParts = []string{"major", "minor", "revision"}

// fromTerms returns the alternatives for "at least this driver".
func fromTerms(v version.Number) [][]expression { return sideTerms(v, "Gt", v.Known()) }

// beforeTerms returns the alternatives for "before this driver".
func beforeTerms(v version.Number) [][]expression { return sideTerms(v, "Lt", false) }

// sideTerms compares number by number; the first that differs decides. If orEqual is set, equal versions match, too.
func sideTerms(v version.Number, operator string, itself bool) [][]expression {
	if !v.Known() {
		return [][]expression{nil}
	}
	numbers := []int{v.Major(), v.Minor(), v.Patch()}
	last := 0
	for i, n := range numbers {
		if n > 0 {
			last = i
		}
	}
	var terms [][]expression
	var equal []expression
	for i, n := range numbers[:last+1] {
		label := labelDriver + labelParts[i]
		bound := n
		if itself && i == last {
			bound--
		}
		terms = append(terms, append(slices.Clone(equal), expression{label, operator, []string{quote(strconv.Itoa(bound))}}))
		values := []string{quote(strconv.Itoa(n))}
		if n < 10 && i > 0 {
			values = append(values, quote(fmt.Sprintf("%02d", n)))
		}
		equal = append(equal, expression{label, "In", values})
	}
	return terms
}

// installerVariables returns variables that make installers on a machine without a GPU choose as on the artefact's
// host.
func installerVariables(r Requires) (spelling, error) {
	var cuda version.Number
	for _, b := range r.Builds {
		if v := version.ParseOrZero(b.CUDA); b.Counts && cuda.Less(v) {
			cuda = v
		}
	}
	if !cuda.Known() {
		return spelling{}, fmt.Errorf("no build of a known CUDA is here, so there is nothing to tell an installer")
	}
	text := fmt.Sprintf("CONDA_OVERRIDE_CUDA=%s\n", cuda.Short())
	for _, b := range r.Builds {
		if variant := torchVariant(b); variant != "" {
			text += "UV_TORCH_BACKEND=" + variant + "\n"
			break
		}
	}
	text += fmt.Sprintf("NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION=%s\n", cuda.Short())
	list := r.capabilities(r.arch())
	if i := slices.IndexFunc(list, func(c requires.Capability) bool { return len(c.Drivers) > 0 }); i >= 0 {
		text += "NV_VARIANT_PROVIDER_FORCE_SM_ARCH=" + list[i].Capability + "\n"
	}
	left := []string{"left out: drivers and GPUs: these variables choose packages, they keep no host off"}
	return spelling{"#", text, left}, nil
}

// torchVariant returns the local version of a torch, "cu130".
func torchVariant(b requires.Build) string {
	_, local, _ := strings.Cut(b.Version, "+")
	if b.Name != "torch" || !variantName.MatchString(local) {
		return ""
	}
	return local
}

// variantName matches the variants that an installer knows. A shell reads the file of variables, so nothing else may
// get into it.
var variantName = lazyregexp.New(`^cu\d+$`)
