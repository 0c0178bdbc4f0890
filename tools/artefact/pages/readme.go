package pages

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cudacompat/tools/artefact/reading"
)

// readme is the README of one release of the open kernel modules: its tag and the products that it lists, by PCI id.
type readme struct {
	Version  string // "525.105.17"
	Date     string // of the commit
	Products map[string]string
}

// listedProduct is a line of a README's table of products: "| NVIDIA L4 | 27B8 10DE 16CA |". The second and third
// number are a board's.
var listedProduct = regexp.MustCompile(`(?m)^\| (.+?) +\| ([0-9A-F]{4})(?: [0-9A-F]{4}){0,2} *\|`)

// productsOf returns the products of a README, without "NVIDIA ". Where boards of one id have names of their own, the
// id's name is the first.
func productsOf(text string) map[string]string {
	products := map[string]string{}
	for _, m := range listedProduct.FindAllStringSubmatch(text, -1) {
		id := strings.ToLower(m[2])
		if products[id] == "" {
			products[id] = strings.TrimPrefix(m[1], "NVIDIA ")
		}
	}
	return products
}

// readmesIn reads that of every tagged release in a clone, oldest number first. Those without a table (515.43.04) are
// left out.
func readmesIn(clone string) ([]readme, error) {
	out, err := git(clone, "for-each-ref", "--format=%(refname:short) %(creatordate:short)", "refs/tags")
	if err != nil {
		return nil, err
	}
	var list []readme
	for line := range strings.Lines(out) {
		version, date, _ := strings.Cut(strings.TrimSpace(line), " ")
		text, err := git(clone, "show", version+":README.md")
		if err != nil {
			return nil, err
		}
		if products := productsOf(text); len(products) > 0 {
			list = append(list, readme{version, date, products})
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s has no tagged release with a table of products: is it a clone with its tags?", clone)
	}
	slices.SortFunc(list, func(a, b readme) int { return reading.CompareVersions(a.Version, b.Version) })
	return list, nil
}

func branchOf(version string) string {
	branch, _, _ := strings.Cut(version, ".")
	return branch
}

// seriesOf returns "550.40" of 550.40.65.
func seriesOf(version string) string {
	if strings.Count(version, ".") < 2 {
		return version
	}
	return version[:strings.LastIndex(version, ".")]
}

// dropBetas removes the developer betas. A beta series continues for months below the numbers of its branch's releases
// and supports GPUs that they do not, so the next higher number says nothing about what it lists.
func dropBetas(list []readme, betas []string) ([]readme, error) {
	counted := slices.DeleteFunc(slices.Clone(list),
		func(r readme) bool { return slices.Contains(betas, seriesOf(r.Version)) })
	late := map[string]int{}
	for i, r := range counted {
		after := func(later readme) bool {
			return branchOf(later.Version) == branchOf(r.Version) && later.Date < r.Date
		}
		if slices.ContainsFunc(counted[i+1:], after) {
			late[seriesOf(r.Version)]++
		}
	}
	for series, n := range late {
		if n > 1 {
			return nil, fmt.Errorf("%d releases of %s were tagged after higher numbers of their branch: "+
				"is it a series of developer betas? name it in driver_branch.csv, developer_beta", n, series)
		}
	}
	return counted, nil
}
