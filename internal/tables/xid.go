package tables

import (
	"slices"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/version"
)

// Xid is one of the driver's numbered errors.
type Xid struct {
	Xid     int    `csv:"xid"`
	Name    string `csv:"name"`
	Meaning string `csv:"meaning"`
	Blame   string `csv:"blame"`
	Action  string `csv:"action"`
	Alone   string `csv:"alone"` // whether it proves a fault by itself
	Origin
}

// xidNumber is the number in "NVRM: Xid (PCI:0000:31:00): 79, pid=…".
var xidNumber = lazyregexp.New(`NVRM: Xid \(.*?\): (\d+)`)

// Xid returns the row of a kernel message, nil when the table does not have its number.
func (t *Tables) Xid(line string) *Xid {
	m := xidNumber.FindStringSubmatch(line)
	if m == nil {
		return nil
	}
	return t.XidNumber(version.Int(m[1]))
}

// XidNumber returns the row of a number, nil when there is none.
func (t *Tables) XidNumber(number int) *Xid {
	rows := Rows[Xid](t)
	i := slices.IndexFunc(rows, func(x Xid) bool { return x.Xid == number })
	if i < 0 {
		return nil
	}
	return &rows[i]
}
