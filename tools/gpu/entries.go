package main

import (
	"regexp"
	"slices"
	"strings"
)

// entry is one device of NVIDIA's: "20b0", "GA100 [A100 SXM4 40GB]".
type entry struct{ id, name string }

const nvidia = "10de"

// entries reads the devices of NVIDIA from pci.ids: "\t20b0  GA100 [A100 SXM4 40GB]" below "10de  NVIDIA Corporation".
// Lines with two tabs are boards.
func entries(text []byte) []entry {
	var list []entry
	vendor := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		id, name, _ := strings.Cut(strings.TrimPrefix(line, "\t"), "  ")
		switch {
		case line == "", line[0] == '#', strings.HasPrefix(line, "\t\t"):
		case line[0] != '\t':
			vendor = id
		case vendor == nvidia:
			list = append(list, entry{id, name})
		}
	}
	return list
}

// beside are the devices that pci.ids names after a chip and that are no GPUs: sound, USB, switches, ports.
var beside = regexp.MustCompile(`Audio|Controller|NVSwitch|bridge|PCIe host|\[Tegra RP`)

// idsOf sorts the devices by the chips of the table. A row that is no chip's but a product's, GH200, gets what is named
// so: "GH100 [GH200 120GB / 480GB]".
func idsOf(list []entry, chips []string) map[string][]string {
	products := slices.DeleteFunc(slices.Clone(chips), func(chip string) bool {
		return slices.ContainsFunc(list, func(e entry) bool { return strings.HasPrefix(e.name, chip) })
	})
	ids := map[string][]string{}
	for _, e := range list {
		chip := chipOf(e.name, chips)
		if i := slices.IndexFunc(products, func(p string) bool { return strings.Contains(e.name, "["+p+" ") }); i >= 0 {
			chip = products[i]
		}
		ids[chip] = append(ids[chip], e.id)
	}
	delete(ids, "")
	return ids
}

// chipOf is the chip whose name an entry's begins with; letters after it are a variant's, GK110BGL is a GK110.
func chipOf(name string, chips []string) string {
	word, _, _ := strings.Cut(name, " ")
	found := ""
	for _, chip := range chips {
		variant, ok := strings.CutPrefix(word, chip)
		if ok && len(chip) > len(found) && strings.Trim(variant, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" &&
			!beside.MatchString(name) {
			found = chip
		}
	}
	return found
}
