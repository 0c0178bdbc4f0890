package pin

import (
	"slices"

	"cudacompat/internal/version"
)

// SpaceSchema names the form of Space in JSON.
const SpaceSchema = "cudacompat/space/v1"

// Placeholders in a Space's answers for the values of the reader's host.
const (
	DriverWord = "{driver}" // the driver's version, as it was typed
	GPUWord    = "{gpu}"    // the GPU's label, "L4 (8.9)"
)

// Space contains what to install on every host in the tables. Hosts that get the same answers form a group. Each group
// has answers that hold from a driver version on.
type Space struct {
	Schema  string      `json:"schema"`
	Want    string      `json:"want"`   // "torch", "vllm==0.30.0"
	Python  string      `json:"python"` // "3.12"
	Date    string      `json:"date"`   // of the tables
	Breaks  []string    `json:"breaks"` // the drivers at which the answer of some group changes
	Answers []Answer    `json:"answers"`
	Groups  []HostGroup `json:"groups"`
}

// Answer is what pins prints for some hosts, with DriverWord and GPUWord in place of their driver and GPU.
type Answer struct {
	Sets    []Set  `json:"sets"`
	Missing []None `json:"missing"`
}

// HostGroup is a set of hosts that get the same answers.
type HostGroup struct {
	Capability   string   `json:"compute_capability"`
	Architecture string   `json:"architecture"`
	Platform     string   `json:"platform"`
	GPUs         []string `json:"gpus"`      // names of products; empty beside Instances: any GPU of the capability
	Instances    []string `json:"instances"` // instance types
	Bands        []Band   `json:"bands"`     // the oldest driver first; a driver belongs to the last band that begins at or before it
	// Branches lists the branches whose bare number, such as "525", has another answer than its band: some facts about
	// a product are known only for the newest release of a branch.
	Branches []Band `json:"branches"`
	Without  int    `json:"without"` // the answer where no driver is named
	Ends     []End  `json:"ends"`    // whatever the driver
}

// Band is one answer, valid from a driver on.
type Band struct {
	From   string `json:"from"` // "525.60.13"; empty: from the oldest on
	Answer int    `json:"answer"`
}

// Group returns the group of a product, a capability or an instance type, or nil.
func (s Space) Group(name string) *HostGroup {
	for i := range s.Groups {
		g := &s.Groups[i]
		if slices.Contains(g.GPUs, name) || slices.Contains(g.Instances, name) || len(g.GPUs)+len(g.Instances) == 0 && g.Capability == name {
			return g
		}
	}
	return nil
}

// On returns the index of the answer for a driver as it is typed, "550.90.07" or "550", or the index for none.
func (g *HostGroup) On(driver string) int {
	if driver == "" {
		return g.Without
	}
	if i := slices.IndexFunc(g.Branches, func(b Band) bool { return b.From == driver }); i >= 0 {
		return g.Branches[i].Answer
	}
	n := g.Bands[0].Answer
	for _, b := range g.Bands {
		if b.From != "" && version.ParseOrZero(driver).Less(version.ParseOrZero(b.From)) {
			break
		}
		n = b.Answer
	}
	return n
}
