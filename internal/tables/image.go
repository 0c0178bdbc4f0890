package tables

import (
	"strconv"
	"strings"

	"cudacompat/internal/version"
)

// ImageRequirement is the NVIDIA_REQUIRE_CUDA of an image.
type ImageRequirement struct {
	Text       string // "cuda>=12.6 brand=tesla,driver>=535,driver<536 …"
	Expression version.Requirement
	Err        error // why Text is not an expression
}

// RequirementOf returns the NVIDIA_REQUIRE_CUDA of an image. It parses each image's once: the text has up to 70 kB, and
// every driver is compared with it.
func (t *Tables) RequirementOf(c *Container) *ImageRequirement {
	if known, ok := t.requirements.Load(c); ok {
		return known.(*ImageRequirement)
	}
	r := &ImageRequirement{Text: c.requireCUDA()}
	r.Expression, r.Err = version.ParseRequirement(r.Text)
	t.requirements.Store(c, r)
	return r
}

// requireCUDA returns the variable as the image sets it.
func (c *Container) requireCUDA() string {
	var text strings.Builder
	text.WriteString(c.Require)
	for _, branch := range c.RequiredBranches() {
		for _, brand := range c.Brands {
			text.WriteString(" brand=" + brand + ",driver>=" + strconv.Itoa(branch) + ",driver<" + strconv.Itoa(branch+1))
		}
	}
	return text.String()
}

// RequiredBranches returns the driver branches that NVIDIA_REQUIRE_CUDA names beside its first clause.
func (c *Container) RequiredBranches() []int {
	var list []int
	for _, branch := range c.Branches {
		if branch != "none" && len(c.Brands) > 0 {
			list = append(list, version.Int(branch))
		}
	}
	return list
}
