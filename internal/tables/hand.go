package tables

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// checkHand checks that every line of hand.csv is true: the cell that it speaks of is there and says so. With
// lacking, a row may be missing.
func (t *Tables) checkHand(lacking bool) error {
	s, _ := sheetNamed("hand")
	hand, err := s.ReadGrid(t.from)
	if err != nil {
		return err
	}
	for i, row := range hand.Rows {
		if err := t.handLine(row[0], row[1], row[2], row[3]); err != nil {
			if err = hand.Places[i](0).WrapError(err); !lacking || !errors.As(err, new(absentRow)) {
				return err
			}
		}
	}
	return nil
}

// absentRow is the error of a line that speaks of a row which its table lacks.
type absentRow struct{ table, key string }

func (e absentRow) Error() string { return fmt.Sprintf("%s has no row %q", e.table, e.key) }

func (t *Tables) handLine(table, key, column, value string) error {
	s, ok := sheetNamed(table)
	if !ok {
		return fmt.Errorf("there is no table %q", table)
	}
	g, err := s.ReadGrid(t.from)
	if err != nil {
		return err
	}
	if g.Column(column) < 0 {
		return fmt.Errorf("%s has no column %q", table, column)
	}
	i := slices.IndexFunc(g.Rows, func(row []string) bool { return strings.Join(row[:g.Keys], " ") == key })
	switch {
	case i < 0:
		return absentRow{table, key}
	case g.Cell(i, column) != value:
		return fmt.Errorf("%s of %s %s is %q, not %q: what a source says needs no line", column, table, key,
			g.Cell(i, column), value)
	}
	return nil
}
