package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"slices"
	"strings"
)

func chipsByID(table string) (map[string]chip, error) {
	rows, err := readTable(table)
	if err != nil {
		return nil, err
	}
	chips := map[string]chip{}
	for _, row := range rows {
		for _, id := range strings.Fields(row["pci_ids"]) {
			chips[id] = chip{row["chip"], row["architecture"], row["first_branch"]}
		}
	}
	return chips, nil
}

func column(table, name string) ([]string, error) {
	rows, err := readTable(table)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, row := range rows {
		list = append(list, strings.Fields(row[name])...)
	}
	return list, nil
}

func readTable(table string) ([]map[string]string, error) {
	text, err := os.ReadFile(table)
	if err != nil {
		return nil, err
	}
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", table, err)
	}
	var rows []map[string]string
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, cell := range line {
			row[lines[0][i]] = cell
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// rowsByID reads the table as it is; empty, it is new.
func rowsByID(old []byte) (map[string][]string, error) {
	rows, err := csv.NewReader(bytes.NewReader(old)).ReadAll()
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	if !slices.Equal(rows[0], header) {
		return nil, fmt.Errorf("its columns are %v, not %v", rows[0], header)
	}
	byID := map[string][]string{}
	for _, row := range rows[1:] {
		byID[row[0]] = row
	}
	return byID, nil
}
