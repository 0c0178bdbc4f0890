package tables

import (
	"strings"
	"testing"

	"cudacompat/internal/tables/sheet"

	"github.com/google/go-cmp/cmp"
)

func TestFilters(t *testing.T) {
	tables := Embedded()
	for _, c := range []struct {
		name, table string
		filters     []string
		want        []string // the keys that are left
	}{
		{"version-and-list", "torch", []string{"cuda=12.6", "python=3.12", "platform=linux_x86_64", "release<2.8"},
			[]string{"2.6.0 cu126 linux_x86_64", "2.7.0 cu126 linux_x86_64", "2.7.1 cu126 linux_x86_64"}},
		{"range", "minor_compat", []string{"driver_linux>=525,<580"}, []string{"12"}},
		{"leading-zero", "cuda", []string{"driver_linux>=525.60.02,<525.85"}, []string{"12.0.0"}},
		{"build", "torch", []string{"2.6.0+cu124", "linux_x86_64"}, []string{"2.6.0 cu124 linux_x86_64"}},
		{"name", "gpu", []string{"l40s"}, []string{"AD102"}},
		{"date", "driver_branch", []string{"end_of_life<2022-02"}, []string{"440", "455", "460", "465", "495"}},
		{"unequal", "minor_compat", []string{"family!=12"}, []string{"11", "13"}},
		{"not-12.60", "cuda", []string{"release=12.6.3"}, []string{"12.6.3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, err := tables.Grid(c.table)
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range c.filters {
				if g, err = g.Where(sheet.ParseFilter(text)); err != nil {
					t.Fatal(err)
				}
			}
			var keys []string
			for _, row := range g.Rows {
				keys = append(keys, strings.Join(row[:g.Keys], " "))
			}
			if diff := cmp.Diff(c.want, keys); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFiltersThatCannotBeAsked(t *testing.T) {
	g, err := Embedded().Grid("torch")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"driver=5", "python>=3.10", "cuda>=new", "cuda>=12.x.y"} {
		if _, err := g.Where(sheet.ParseFilter(text)); err == nil {
			t.Errorf("%s was answered", text)
		}
	}
}
