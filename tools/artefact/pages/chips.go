package pages

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cudacompat/tools/artefact"
)

// pciVersion matches the version in the head of a pci.ids: "#	Version: 2026.10.24".
var pciVersion = regexp.MustCompile(`(?m)^#\s*Version:\s*(\d{4}\.\d\d\.\d\d)\s*$`)

// chipRows returns the PCI ids of the table's chips, from the pci.ids that Debian packages: a chip gets its row by
// hand, and its ids here.
func chipRows(ctx context.Context, s *artefact.Source, l artefact.Listed) ([]artefact.Row, error) {
	text, err := readCopy(s, l, pciDay)
	if err != nil {
		return nil, err
	}
	version := pciVersion.FindSubmatch(text)
	g := s.Data.Grids["gpu"]
	var chips []string
	for _, row := range g.Rows {
		chips = append(chips, row[0])
	}
	ids := idsOf(entries(text), chips)
	var rows []artefact.Row
	for i, chip := range chips {
		had := strings.Fields(g.Cell(i, "pci_ids"))
		slices.Sort(ids[chip])
		switch gone := slices.DeleteFunc(slices.Clone(had), func(id string) bool { return slices.Contains(ids[chip], id) }); {
		case len(gone) > 0:
			return nil, fmt.Errorf("%s has no %s any more: is the copy older than the table?", chip, strings.Join(gone, " "))
		case slices.Equal(had, ids[chip]): // where it stands, the address is that of the version that brought the last one
		default:
			rows = append(rows, artefact.Row{Table: "gpu", Sources: map[string]string{l.Address: l.Address + "0.0~" + string(version[1]) + "-1/"},
				Cells: map[string]string{"chip": chip, "pci_ids": strings.Join(ids[chip], " ")}})
		}
	}
	return rows, nil
}

// pciDay returns the day of a pci.ids: its version is one.
func pciDay(text []byte) (string, error) {
	version := pciVersion.FindSubmatch(text)
	if version == nil {
		return "", errors.New("its head names no version")
	}
	return strings.ReplaceAll(string(version[1]), ".", "-"), nil
}

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

// idsOf sorts the devices by the chips in the table. A row for a product and not a chip, GH200, gets the devices with
// that name: "GH100 [GH200 120GB / 480GB]".
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

// chipOf returns the chip whose name an entry's begins with; letters after it are a variant's, GK110BGL is a GK110.
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
