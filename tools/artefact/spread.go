package artefact

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"cudacompat/tools/artefact/reading"
)

// Spread is a release whose wheels for one platform differ: its row is that of one of them.
type Spread struct {
	Release, Platform, Column string
	Values                    map[string][]string // the Pythons of the wheels, by what their cell says
}

// told are the cells by which the wheels of a release are compared. Counts of symbols differ a little by Python; only
// whether there are any matters.
var told = []string{"torch", "cuda", "cxx11_abi", "links", "opens", "symbols"}

// EveryWheel returns how each wheel of a source is read: of one that is only watched, its METADATA.
func (l Listed) EveryWheel() (p Product, ok bool) {
	if p, ok = l.Product(); ok {
		return p, true
	}
	return l.extension(), len(l.Projects) > 0 && slices.Contains(l.Tables, "extension")
}

// Spreads reads every wheel of a product's releases, and returns the releases whose wheels differ, with the number of
// releases that have several wheels for a platform. It calls step for each wheel.
func (s *Source) Spreads(ctx context.Context, p Product, step func(name string)) (list []Spread, several int, err error) {
	groups := map[[2]string][]Candidate{}
	for _, project := range p.Projects {
		files, err := s.ListFiles(ctx, project)
		if err != nil {
			return nil, 0, err
		}
		for _, f := range files {
			tag, ok := f.Tag()
			made := ok && tag.Platform != "" && FinalVersion.MatchString(tag.Version) && !f.Yanked
			if made && reading.CompareVersions(tag.Version, p.since) >= 0 && (p.platform == "" || tag.Platform == p.platform) {
				key := [2]string{tag.Version, tag.Platform}
				groups[key] = append(groups[key], Candidate{File: f, Tag: tag})
			}
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(groups), func(a, b [2]string) int { return reading.CompareVersions(a[0], b[0]) }) {
		if len(groups[key]) < 2 {
			continue
		}
		several++
		found, err := s.spreadOf(ctx, p, groups[key], step)
		if err != nil {
			return list, several, err
		}
		for _, one := range found {
			one.Release, one.Platform = key[0], key[1]
			list = append(list, one)
		}
	}
	return list, several, nil
}

// spreadOf compares the wheels of one release for one platform.
func (s *Source) spreadOf(ctx context.Context, p Product, wheels []Candidate, step func(string)) ([]Spread, error) {
	said := map[string]map[string][]string{}
	for _, c := range wheels {
		step(c.Name)
		rows, err := s.Rows(ctx, p, c)
		var empty *Empty
		if errors.As(err, &empty) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, column := range told {
			value := rows[0].Cells[column]
			if column == "symbols" && strings.Trim(value, "0123456789") == "" && value != "0" {
				value = "some"
			}
			if said[column] == nil {
				said[column] = map[string][]string{}
			}
			said[column][value] = append(said[column][value], c.Python)
		}
	}
	var list []Spread
	for _, column := range told {
		if len(said[column]) > 1 {
			list = append(list, Spread{Column: column, Values: said[column]})
		}
	}
	return list, nil
}
