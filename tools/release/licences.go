package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// terms maps phrases that occur in only one licence to its SPDX id (https://spdx.org/licenses/).
var terms = []struct{ words, id string }{
	{"Apache License Version 2.0", "Apache-2.0"},
	{"Permission is hereby granted, free of charge, to any person obtaining a copy", "MIT"},
	{"Neither the name of", "BSD-3-Clause"},
	{"names of its contributors may not be used", "BSD-3-Clause"},
	{"Mozilla Public License Version 2.0", "MPL-2.0"},
}

// twoClauses begin both licences of Berkeley; without the third clause it is the one with two.
const twoClauses = "Redistribution and use in source and binary forms"

// licencesOf returns the SPDX ids of a module's licence files, each once. A module with no recognised licence is an
// error.
func (m module) licencesOf() ([]string, error) {
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, e := range entries {
		if !licence(e.Name()) || e.IsDir() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(m.dir, e.Name()))
		if err != nil {
			return nil, err
		}
		ids = append(ids, idsIn(string(text))...)
	}
	slices.Sort(ids)
	if ids = slices.Compact(ids); len(ids) == 0 {
		return nil, fmt.Errorf("%s: no licence is recognised in %s", m.name, m.dir)
	}
	return ids, nil
}

// idsIn returns the licences that a text holds.
func idsIn(text string) (ids []string) {
	text = strings.Join(strings.Fields(strings.ReplaceAll(text, ",", "")), " ")
	for _, t := range terms {
		if strings.Contains(text, strings.ReplaceAll(t.words, ",", "")) {
			ids = append(ids, t.id)
		}
	}
	if strings.Contains(text, twoClauses) && !slices.Contains(ids, "BSD-3-Clause") {
		ids = append(ids, "BSD-2-Clause")
	}
	return ids
}

// linkedLicences returns the licences of every linked module. The standard library is "std".
func linkedLicences() (map[string][]string, error) {
	modules, err := linkedModules()
	if err != nil {
		return nil, err
	}
	all := map[string][]string{}
	for i, m := range modules {
		ids, err := m.licencesOf()
		if err != nil {
			return nil, err
		}
		if i == 0 {
			m.name = "std"
		}
		all[m.name] = ids
	}
	return all, nil
}
