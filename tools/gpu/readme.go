package main

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// release is one release of the open kernel modules: its tag and the products that its README lists, by PCI id.
type release struct {
	version  string // "525.105.17"
	date     string // of the commit
	products map[string]string
}

// listed is a line of a README's table of products: "| NVIDIA L4 | 27B8 10DE 16CA |". The second and third number are a
// board's.
var listed = regexp.MustCompile(`(?m)^\| (.+?) +\| ([0-9A-F]{4})(?: [0-9A-F]{4}){0,2} *\|`)

// productsOf are the products of a README, without "NVIDIA ". Where boards of one id have names of their own, the id's
// name is the first.
func productsOf(readme string) map[string]string {
	products := map[string]string{}
	for _, m := range listed.FindAllStringSubmatch(readme, -1) {
		id := strings.ToLower(m[2])
		if products[id] == "" {
			products[id] = strings.TrimPrefix(m[1], "NVIDIA ")
		}
	}
	return products
}

// releasesOf reads every tagged release in a clone, oldest number first. Those without a table (515.43.04) are left
// out.
func releasesOf(clone string) ([]release, error) {
	out, err := git(clone, "for-each-ref", "--format=%(refname:short) %(creatordate:short)", "refs/tags")
	if err != nil {
		return nil, err
	}
	var list []release
	for line := range strings.Lines(out) {
		version, date, _ := strings.Cut(strings.TrimSpace(line), " ")
		readme, err := git(clone, "show", version+":README.md")
		if err != nil {
			return nil, err
		}
		if products := productsOf(readme); len(products) > 0 {
			list = append(list, release{version, date, products})
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s has no tagged release with a table of products: is it a clone with its tags?", clone)
	}
	slices.SortFunc(list, func(a, b release) int { return compare(a.version, b.version) })
	return list, nil
}

func git(clone string, args ...string) (string, error) {
	out, err := exec.Command("git", append([]string{"-C", clone}, args...)...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s in %s: %w", strings.Join(args, " "), clone, err)
	}
	return string(out), nil
}

// compare compares driver versions part by part.
func compare(a, b string) int { return slices.Compare(numbers(a), numbers(b)) }

func numbers(version string) []int {
	var list []int
	for part := range strings.SplitSeq(version, ".") {
		n, _ := strconv.Atoi(part)
		list = append(list, n)
	}
	return list
}

func branchOf(version string) string {
	branch, _, _ := strings.Cut(version, ".")
	return branch
}

// seriesOf is "550.40" of 550.40.65.
func seriesOf(version string) string {
	if strings.Count(version, ".") < 2 {
		return version
	}
	return version[:strings.LastIndex(version, ".")]
}

// withoutBetas leaves out the developer betas. Such a series goes on for months below the numbers of its branch's
// releases and knows what they do not, so that the next higher number says nothing of what it lists.
func withoutBetas(list []release, betas []string) ([]release, error) {
	counted := slices.DeleteFunc(slices.Clone(list),
		func(r release) bool { return slices.Contains(betas, seriesOf(r.version)) })
	late := map[string]int{}
	for i, r := range counted {
		after := func(later release) bool {
			return branchOf(later.version) == branchOf(r.version) && later.date < r.date
		}
		if slices.ContainsFunc(counted[i+1:], after) {
			late[seriesOf(r.version)]++
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
