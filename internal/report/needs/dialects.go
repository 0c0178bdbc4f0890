package needs

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/report/layout"
	"cudacompat/internal/version"
	"cudacompat/matrix/requires"
)

// spelling is a requirement in another program's language, and what that language cannot express.
type spelling struct {
	comment string // what begins a comment there: "#"
	text    string
	left    []string
}

// dialect writes a spelling after comments about what it does not express. It writes nothing if a fact is missing.
func dialect(spell func(Requires) (spelling, error)) func(io.Writer, Requires, layout.Style) error {
	return func(w io.Writer, r Requires, _ layout.Style) error {
		if len(r.Unknown) > 0 {
			u := r.Unknown[0]
			return Silence(fmt.Sprintf("nothing can be said in this format while %s is not known: %s", u.Subject, u.Missing))
		}
		s, err := spell(r)
		if err != nil {
			return err
		}
		var b strings.Builder
		for _, left := range s.left {
			fmt.Fprintf(&b, "%s %s\n", s.comment, layout.Clean(left))
		}
		b.WriteString(s.text)
		_, err = io.WriteString(w, b.String())
		return err
	}
}

// Silence says why a dialect is empty. A scheduler would read an empty file as "any host".
type Silence string

// Error returns the reason.
func (s Silence) Error() string { return string(s) }

// noHost returns why a dialect cannot name a host.
func noHost(r Requires) error {
	switch {
	case r.Undecided():
		return Silence("no host can be named, because facts are missing: -o text says which")
	case slices.ContainsFunc(r.GPUs, func(g requires.GPU) bool { return len(g.Drivers) > 0 }):
		return Silence("this format cannot name the hosts that can run this: -o json does")
	}
	return Silence("no host of the tables can run this, so there is nothing to ask of a scheduler: -o text says why")
}

// arch returns the architecture of the hosts: the artefact's, otherwise x86_64.
func (r Requires) arch() string {
	for _, b := range r.Builds {
		if b.Arch != "" {
			return b.Arch
		}
	}
	return "x86_64"
}

// capabilities returns those of hosts with one architecture.
func (r Requires) capabilities(arch string) []requires.Capability {
	return slices.DeleteFunc(r.GroupByCapability(), func(c requires.Capability) bool { return c.Arch != arch })
}

// semanticVersion formats a version for semantic versioning: three parts, no leading zeros.
func semanticVersion(text string) string {
	v := version.ParseOrZero(text)
	parts := strings.Split(text, ".")
	for len(parts) < 3 {
		parts = append(parts, "0")
	}
	for i, p := range parts {
		n, _ := strconv.Atoi(p) // 0 of what is no number
		parts[i] = strconv.Itoa(n)
	}
	if !v.Known() {
		return "0.0.0"
	}
	return strings.Join(parts[:3], ".")
}

// nvidiaRequire returns the NVIDIA_REQUIRE_CUDA of a container image: alternatives separated by spaces, each a list of
// conditions separated by commas (https://github.com/NVIDIA/libnvidia-container, src/cli/dsl.c). The runtime checks it
// for each GPU that the host's driver shows. A driver that does not know a product does not show it, so limits of
// single products are left out: the language cannot name a product, and would exclude all others with its capability.
func nvidiaRequire(r Requires) (spelling, error) {
	var terms, left []string
	for _, c := range r.capabilities(r.arch()) {
		for _, d := range c.Some {
			term := "arch=" + c.Capability
			if d.From != "" {
				term += ",driver>=" + semanticVersion(d.From)
			}
			if d.Before != "" {
				term += ",driver<" + semanticVersion(d.Before)
			}
			terms = append(terms, term)
		}
		left = append(left, productsLeft(c)...)
	}
	if len(terms) == 0 {
		return spelling{}, noHost(r)
	}
	return spelling{"#", "NVIDIA_REQUIRE_CUDA=" + strings.Join(terms, " ") + "\n", left}, nil
}

// productsLeft names the products that accept only some of the drivers admitted for their capability.
func productsLeft(c requires.Capability) []string {
	var left []string
	for _, g := range c.GPUs {
		if len(g.Names) > 0 && len(c.Some) > 0 && !slices.Equal(g.Drivers, c.Some) {
			left = append(left, fmt.Sprintf("%s (%s) needs driver %s, which is left to the driver", layout.ListFirst(g.Names, 2),
				c.Capability, g.Drivers))
		}
	}
	return left
}

// cel returns a ResourceClaim selector for NVIDIA's DRA driver. It uses the device attributes that the driver
// publishes, with semantic versions without leading zeros (https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu).
func cel(r Requires) (spelling, error) {
	var terms []string
	for _, group := range celGroups(r) {
		terms = append(terms, "("+strings.Join(group, " && ")+")")
	}
	if len(terms) == 0 {
		return spelling{}, noHost(r)
	}
	return spelling{"//", celHead + strings.Join(terms, " ||\n  ") + "\n)\n", nil}, nil
}

// celHead binds the attributes to short names. The API limits an expression to 10 KiB, and full names would exceed that
// for an old TensorFlow, which runs on most GPUs. cel.bind exists since Kubernetes 1.31, as do such claims.
const celHead = `device.driver == "gpu.nvidia.com" && cel.bind(gpu, device.attributes["gpu.nvidia.com"],
  `

// celGroups returns the alternatives: for each capability first the GPUs without exceptions, then those that differ, by
// name.
func celGroups(r Requires) [][]string {
	var groups [][]string
	for _, g := range r.GPUs {
		if len(g.Names) > 0 {
			continue
		}
		capability := "gpu.cudaComputeCapability.compareTo(semver(\"" + semanticVersion(g.Capability) + "\")) == 0"
		var different []string
		for _, other := range r.GPUs {
			if other.Capability != g.Capability || len(other.Names) == 0 || slices.Equal(other.Drivers, g.Drivers) {
				continue
			}
			different = append(different, other.Names...)
			for _, d := range celDrivers(other.Drivers) {
				groups = append(groups, append([]string{capability, celNames(other.Names)}, d...))
			}
		}
		for _, d := range celDrivers(g.Drivers) {
			group := append([]string{capability}, d...)
			if len(different) > 0 {
				group = append(group, "!("+celNames(different)+")")
			}
			groups = append(groups, group)
		}
	}
	return groups
}

// celNames matches one of several names, which NVML prints with or without the vendor.
func celNames(names []string) string {
	var quoted []string
	for _, n := range names {
		quoted = append(quoted, strconv.Quote(n), strconv.Quote("NVIDIA "+n))
	}
	return "gpu.productName in [" + strings.Join(quoted, ", ") + "]"
}

// celDrivers returns the comparisons of each range.
func celDrivers(list requires.Drivers) [][]string {
	var all [][]string
	for _, d := range list {
		var one []string
		if d.From != "" {
			one = append(one, "gpu.driverVersion.compareTo(semver(\""+semanticVersion(d.From)+"\")) >= 0")
		}
		if d.Before != "" {
			one = append(one, "gpu.driverVersion.compareTo(semver(\""+semanticVersion(d.Before)+"\")) < 0")
		}
		all = append(all, one)
	}
	return all
}
