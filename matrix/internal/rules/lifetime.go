package rules

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
)

// driverEOL: the driver's branch gets no more updates. A note, because an old driver keeps working. On a tree at rest,
// from which machines will be started, it is worth a warning, but not where the distribution keeps the branch alive, or
// for vGPU's own drivers. Dates are in driver_branch.csv.
func driverEOL(m *model.Machine) []*Result {
	// The table has Linux branches; Windows drivers have other numbers, and Jetson's belongs to L4T.
	if !m.Driver().Version.Known() || m.WindowsNumbers() || m.Jetson() {
		return nil
	}
	branch := branchRow(m, m.Driver().Version)
	switch {
	case branch == nil && isWindowsBranch(m, m.Driver().Version.Major()):
		return unknown("driver", verdict.Statement(fmt.Sprintf("driver %s is one for Windows, since branch %d has none for Linux; if this machine runs Linux, name its own driver (--driver)", m.Driver().Version, m.Driver().Version.Major())))
	// A new branch has no end yet, and the table may be older than the driver.
	case branch == nil || branch.EndOfLife == "":
		return unknown("driver", verdict.Question(fmt.Sprintf("when driver branch %d reaches end of life", m.Driver().Version.Major())))
	// NVIDIA gives some dates as a month only: such a branch lives until the month's end.
	case m.Today()[:min(len(branch.EndOfLife), len(m.Today()))] <= branch.EndOfLife:
		return holds("driver")
	}
	f := verdict.Finding{Severity: verdict.Note, Subject: "driver", Need: "a maintained driver branch", Source: branch.Source,
		Message: fmt.Sprintf("driver branch %s reached end of life %s and gets no more security fixes", branch.Branch,
			verdict.When(branch.EndOfLife)),
		Evidence: []verdict.Evidence{m.EvidenceDriver(), {Fact: "end of life", Value: branch.EndOfLife, From: "driver_branch.csv"}}}
	switch s := m.Facts.System; {
	case m.PartOfGPU():
		f.Message += "; vGPU drivers have their own dates"
	// Ubuntu and Debian may maintain a branch themselves; a report does not always name its system.
	case s.ID == "" && !s.Rest, s.ID == "ubuntu" || s.ID == "debian" || strings.Contains(s.IDLike, "debian"):
		f.Message += ", unless the distribution still maintains its package"
	case s.Rest:
		f.Severity = verdict.Warning
	}
	if f.Pins = laterBranch(m, branch); len(f.Pins) > 0 {
		f.Message += fmt.Sprintf("; branch %d is maintained", version.Of(f.Pins[0].Version).Major())
	}
	return oneFinding(f)
}

// isWindowsBranch reports whether a branch that is not in the table lies between branches that are: NVIDIA made it for
// Windows alone.
func isWindowsBranch(m *model.Machine, number int) bool {
	rows := tables.Rows[tables.Branch](m.Tables)
	return slices.ContainsFunc(rows, func(b tables.Branch) bool { return b.Number() < number && b.Number() >= 500 }) &&
		slices.ContainsFunc(rows, func(b tables.Branch) bool { return b.Number() > number })
}

// laterBranch returns the next branch that is maintained and drives every GPU here; none where the tables have none.
func laterBranch(m *model.Machine, old *tables.Branch) []verdict.Pin {
	for _, b := range tables.Rows[tables.Branch](m.Tables) {
		// Never a branch that this rule would flag at once.
		if b.Number() > old.Number() && b.EndOfLife > m.Today() && b.Newest.Known() &&
			pins.BranchFits(m, &b) {
			return []verdict.Pin{pins.DriverPin(m, b, "maintained until "+verdict.DateInWords(b.EndOfLife)+"; needs a reboot")}
		}
	}
	return nil
}

// branchRow returns the row of a driver's branch, the first part of its version; nil where the table lacks it.
func branchRow(m *model.Machine, driver version.Number) *tables.Branch {
	branches := tables.Rows[tables.Branch](m.Tables)
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
func matrixOutdated(m *model.Machine) []*Result {
	checked, err := time.Parse(time.DateOnly, m.Tables.Date())
	now, err2 := time.Parse(time.DateOnly, m.Today())
	if err != nil || err2 != nil {
		return nil
	}
	old := now.After(checked.AddDate(0, 0, staleAfter))
	newer := newerThanTables(m)
	switch {
	case len(newer) == 0 && !old:
		return nil
	case len(newer) == 0: // old tables that know all that is here answer as well as new ones
		return holds("matrix")
	}
	severity := verdict.Note
	if old {
		severity = verdict.Warning
	}
	return oneFinding(verdict.Finding{Severity: severity, Subject: "matrix", Need: "tables that know " + verdict.JoinAnd(newer),
		Source: []string{},
		Message: fmt.Sprintf("the tables date from %s and do not know %s: the answer may be incomplete", m.Tables.Date(),
			verdict.JoinAnd(newer)),
		Evidence: []verdict.Evidence{{Fact: "tables", Value: m.Tables.Date(), From: "driver_branch.csv"},
			{Fact: "today", Value: m.Today(), From: "clock"}},
		Steps: []pin.Step{pin.Say("update cudacompat"), pin.Say("give newer tables with --matrix").Instead()}})
}

// newerThanTables returns the releases on this machine that come after the newest of their table. Nightlies and builds
// from source never are: no table has them.
func newerThanTables(m *model.Machine) []string {
	var list []string
	branches := tables.Rows[tables.Branch](m.Tables)
	// The table has Linux branches, as driverEOL says.
	if last := branches[len(branches)-1]; m.Driver().Version.Major() > last.Number() && !m.WindowsNumbers() && !m.Jetson() {
		list = append(list, m.DriverWords())
	}
	for _, b := range m.Builds {
		if len(b.Rows) > 0 || !b.Official() || !b.Release.Final() { // the tables have it, or have none of its kind
			continue
		}
		releases := pins.Releases(m, b.Name)
		if len(releases) > 0 && releases[len(releases)-1].Less(b.Release.Number) {
			list = append(list, b.Name+" "+b.Version)
		}
	}
	return list
}
