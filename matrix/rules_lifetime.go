package matrix

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/pin"
)

// driverEOL: the driver's branch gets no more updates. A note, because an old driver keeps working. On a tree at rest,
// from which machines will be started, it is worth a warning, but not where the distribution keeps the branch alive, or
// for vGPU's own drivers. Dates are in driver_branch.csv.
func driverEOL(m *machine) []*result {
	// The table has Linux branches; Windows drivers have other numbers, and Jetson's belongs to L4T.
	if !m.driver().version.Known() || m.windowsNumbers() || m.jetson() {
		return nil
	}
	branch := m.branchRow(m.driver().version)
	switch {
	// A new branch has no end yet, and the table may be older than the driver.
	case branch == nil || branch.EndOfLife == "":
		return unknown("driver", fmt.Sprintf("when driver branch %d reaches end of life", m.driver().version.Major()))
	// NVIDIA gives some dates as a month only: such a branch lives until the month's end.
	case m.today()[:min(len(branch.EndOfLife), len(m.today()))] <= branch.EndOfLife:
		return holds("driver")
	}
	f := Finding{Severity: Note, Subject: "driver", Need: "a maintained driver branch", Source: branch.Source,
		Message: fmt.Sprintf("driver branch %s reached end of life %s and gets no more security fixes", branch.Branch,
			when(branch.EndOfLife)),
		Evidence: []Evidence{m.evidenceDriver(), {Fact: "end of life", Value: branch.EndOfLife, From: "driver_branch.csv"}}}
	switch s := m.f.System; {
	case m.partOfGPU():
		f.Message += "; vGPU drivers have their own dates"
	// Ubuntu and Debian may maintain a branch themselves; a report does not always name its system.
	case s.ID == "" && !s.Rest, s.ID == "ubuntu" || s.ID == "debian" || strings.Contains(s.IDLike, "debian"):
		f.Message += ", unless the distribution still maintains its package"
	case s.Rest:
		f.Severity = Warning
	}
	if f.Pins = m.laterBranch(branch); len(f.Pins) > 0 {
		f.Message += fmt.Sprintf("; branch %d is maintained", version.Of(f.Pins[0].Version).Major())
	}
	return found(f)
}

// laterBranch is the next branch that is maintained and drives every GPU here; none where the tables have none.
func (m *machine) laterBranch(old *tables.Branch) []Pin {
	for _, b := range tables.Rows[tables.Branch](m.t) {
		// Never a branch that this rule would flag at once.
		if b.Number() > old.Number() && b.EndOfLife > m.today() && b.Newest.Known() &&
			m.branchFits(&b) {
			return []Pin{m.driverPin(b, "maintained until "+dated(b.EndOfLife)+"; needs a reboot")}
		}
	}
	return nil
}

// branchRow is the row of a driver's branch, the first part of its version; nil where the table lacks it.
func (m *machine) branchRow(driver version.Number) *tables.Branch {
	branches := tables.Rows[tables.Branch](m.t)
	i := slices.IndexFunc(branches, func(b tables.Branch) bool { return b.Number() == driver.Major() })
	if i < 0 {
		return nil
	}
	return &branches[i]
}

// staleAfter is how old the tables may be, in days, before it is time to look for newer ones: five driver branches and
// five releases of PyTorch came out in the eleven months to November 2026 (driver_branch.csv, torch.csv).
const staleAfter = 6 * 7

// matrixOutdated: the machine shows releases that are newer than every row of the tables. A note at once, because rules
// that know nothing of a release stay silent about it; a warning where newer tables are probably out.
func matrixOutdated(m *machine) []*result {
	checked, err := time.Parse(time.DateOnly, m.t.Date())
	now, err2 := time.Parse(time.DateOnly, m.today())
	if err != nil || err2 != nil {
		return nil
	}
	old := now.After(checked.AddDate(0, 0, staleAfter))
	newer := m.newerThanTables()
	switch {
	case len(newer) == 0 && !old:
		return nil
	case len(newer) == 0: // old tables that know all that is here answer as well as new ones
		return holds("matrix")
	}
	severity := Note
	if old {
		severity = Warning
	}
	return found(Finding{Severity: severity, Subject: "matrix", Need: "tables that know " + joinAnd(newer),
		Source: []string{},
		Message: fmt.Sprintf("the tables date from %s and do not know %s: the answer may be incomplete", m.t.Date(),
			joinAnd(newer)),
		Evidence: []Evidence{{Fact: "tables", Value: m.t.Date(), From: "driver_branch.csv"},
			{Fact: "today", Value: m.today(), From: "clock"}},
		Steps: []pin.Step{pin.Say("update cudacompat"), pin.Say("give newer tables with --matrix").Instead()}})
}

// newerThanTables are the releases on this machine that come after the newest of their table. Nightlies and builds from
// source never are: no table has them.
func (m *machine) newerThanTables() []string {
	var list []string
	branches := tables.Rows[tables.Branch](m.t)
	// The table has Linux branches, as driverEOL says.
	if last := branches[len(branches)-1]; m.driver().version.Major() > last.Number() && !m.windowsNumbers() && !m.jetson() {
		list = append(list, m.driverWords())
	}
	for _, b := range m.builds {
		if len(b.rows) > 0 || !b.official() || !b.release.Final() { // the tables have it, or have none of its kind
			continue
		}
		releases := m.releases(b.Name)
		if len(releases) > 0 && releases[len(releases)-1].Less(b.release.Number) {
			list = append(list, b.Name+" "+b.Version)
		}
	}
	return list
}
