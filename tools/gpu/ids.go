package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// address is an address of some pci.ids among a row's sources.
var address = regexp.MustCompile(`https://\S*pci\.?ids\S* ?`)

// rewrite puts the ids of every chip into its row, with the address that they come from and the day.
func rewrite(old []byte, list []entry, source, day string) ([]byte, error) {
	rows, err := csv.NewReader(bytes.NewReader(old)).ReadAll()
	if err != nil {
		return nil, err
	}
	column := func(name string) int { return slices.Index(rows[0], name) }
	var chips []string
	for _, row := range rows[1:] {
		chips = append(chips, row[column("chip")])
	}
	ids := idsOf(list, chips)
	for _, row := range rows[1:] {
		chip, had := row[column("chip")], strings.Fields(row[column("pci_ids")])
		if gone := slices.DeleteFunc(had, func(id string) bool { return slices.Contains(ids[chip], id) }); len(gone) > 0 {
			return nil, fmt.Errorf("%s has no %s any more: is it older than the table?", chip, strings.Join(gone, " "))
		}
		if len(ids[chip]) > 0 {
			slices.Sort(ids[chip])
			row[column("pci_ids")] = strings.Join(ids[chip], " ")
			row[column("source")] = source + " " + address.ReplaceAllString(row[column("source")], "")
			row[column("checked")] = day
		}
	}
	var b bytes.Buffer
	err = csv.NewWriter(&b).WriteAll(rows)
	return b.Bytes(), err
}
