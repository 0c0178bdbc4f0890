package tables

import (
	"fmt"
	"slices"
	"strings"
)

// byHand checks that every line of hand.csv is true: the cell that it speaks of is there and says so.
func (t *Tables) byHand() error {
	s, _ := sheetNamed("hand")
	hand, err := s.grid(t.from)
	if err != nil {
		return err
	}
	for i, row := range hand.Rows {
		if err := t.handLine(row[0], row[1], row[2], row[3]); err != nil {
			return hand.places[i](0).error(err)
		}
	}
	return nil
}

func (t *Tables) handLine(table, key, column, value string) error {
	s, ok := sheetNamed(table)
	if !ok {
		return fmt.Errorf("there is no table %q", table)
	}
	g, err := s.grid(t.from)
	if err != nil {
		return err
	}
	if g.Column(column) < 0 {
		return fmt.Errorf("%s has no column %q", table, column)
	}
	i := slices.IndexFunc(g.Rows, func(row []string) bool { return strings.Join(row[:g.Keys], " ") == key })
	switch {
	case i < 0:
		return fmt.Errorf("%s has no row %q", table, key)
	case g.Cell(i, column) != value:
		return fmt.Errorf("%s of %s %s is %q, not %q: what a source says needs no line", column, table, key,
			g.Cell(i, column), value)
	}
	return nil
}
