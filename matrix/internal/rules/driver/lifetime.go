package driver

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
)

// l4tBranch begins the driver numbers of JetPack 6, such as 540.4.0. Windows has 540 with two numbers, 540.65.
const l4tBranch = 540

// EOL notes a driver branch that gets no more updates. It is a note, because an old driver keeps working. For an
// image, from which machines will start, it is a warning. It stays silent for vGPU drivers and if the distribution
// itself maintains the branch. Dates are in driver_branch.csv.
func EOL(m *model.Machine) []*rule.Result {
	// The table lists Linux branches. Windows drivers have other numbers, and a Jetson driver belongs to L4T.
	if !m.Driver().Version.Known() || m.WindowsNumbers() || m.Jetson() {
		return nil
	}
	branch := branchRow(m, m.Driver().Version)
	switch {
	case branch == nil && m.Driver().Version.Major() == l4tBranch && m.Driver().Version.Parts() > 2:
		return rule.ReportMissing("driver", verdict.Statement(fmt.Sprintf("driver %s belongs to a Jetson (JetPack 6); name its GPU (--gpu Orin)", m.Driver().Version)))
	case branch == nil && m.Tables.OnlyWindows(m.Driver().Version):
		return rule.ReportMissing("driver", verdict.Statement(fmt.Sprintf("driver %s is one for Windows, since branch %d has none for Linux; if this machine runs Linux, name its own driver (--driver)", m.Driver().Version, m.Driver().Version.Major())))
	// A new branch has no end date yet, and the table may be older than the driver.
	case branch == nil || branch.EndOfLife == "":
		return rule.ReportMissing("driver", verdict.Question(fmt.Sprintf("when driver branch %d reaches end of life", m.Driver().Version.Major())))
	// NVIDIA gives some dates as a month. Such a branch lasts until the end of the month.
	case m.Today()[:min(len(branch.EndOfLife), len(m.Today()))] <= branch.EndOfLife:
		return rule.Pass("driver")
	}
	f := verdict.Finding{Severity: verdict.Note, Subject: "driver", Need: "a maintained driver branch", Source: branch.Source,
		Message: fmt.Sprintf("driver branch %s reached end of life %s and gets no more security fixes", branch.Branch,
			verdict.When(branch.EndOfLife)),
		Evidence: []verdict.Evidence{m.EvidenceDriver(), {Fact: "end of life", Value: branch.EndOfLife, From: "driver_branch.csv"}}}
	switch s := m.Facts.System; {
	case m.PartOfGPU():
		f.Message += "; vGPU drivers have their own dates"
	// Ubuntu and Debian may maintain a branch themselves, and a report does not always name its system.
	case s.ID == "" && !s.Rest, s.ID == "ubuntu" || s.ID == "debian" || strings.Contains(s.IDLike, "debian"):
		f.Message += ", unless the distribution still maintains its package"
	case s.Rest:
		f.Severity = verdict.Warning
	}
	if f.Pins = laterBranch(m, branch); len(f.Pins) > 0 {
		f.Message += fmt.Sprintf("; branch %d is maintained", version.ParseOrZero(f.Pins[0].Version).Major())
	}
	return rule.ReportFinding(f)
}

// laterBranch returns the next maintained branch that supports every GPU here, or nil.
func laterBranch(m *model.Machine, old *tables.Branch) []verdict.Pin {
	for _, b := range tables.Rows[tables.Branch](m.Tables) {
		// Skip a branch that this rule would report, too.
		if b.Number() > old.Number() && b.EndOfLife > m.Today() && b.Newest.Known() &&
			pins.BranchFits(m, &b) {
			return []verdict.Pin{pins.DriverPin(m, b, "maintained until "+verdict.DateInWords(b.EndOfLife)+"; needs a reboot")}
		}
	}
	return nil
}

// branchRow returns the row of a driver's branch, the first part of its version, or nil if the table lacks it.
func branchRow(m *model.Machine, driver version.Number) *tables.Branch {
	branches := tables.Rows[tables.Branch](m.Tables)
	i := slices.IndexFunc(branches, func(b tables.Branch) bool { return b.Number() == driver.Major() })
	if i < 0 {
		return nil
	}
	return &branches[i]
}

// staleAfter is the age of the tables, in days, from which newer ones are probably out. Five driver branches and five
// releases of PyTorch appeared in the eleven months to November 2026 (driver_branch.csv, torch.csv).
const staleAfter = 6 * 7

// MatrixOutdated reports releases on the machine that are newer than every row of the tables. Rules stay silent about a
// release that they do not know, so this is always at least a note. If newer tables are probably out, it is a warning.
func MatrixOutdated(m *model.Machine) []*rule.Result {
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
		return rule.Pass("matrix")
	}
	severity := verdict.Note
	if old {
		severity = verdict.Warning
	}
	return rule.ReportFinding(verdict.Finding{Severity: severity, Subject: "matrix", Need: "tables that know " + verdict.JoinAnd(newer),
		Source: []string{},
		Message: fmt.Sprintf("the tables date from %s and do not know %s: the answer may be incomplete", m.Tables.Date(),
			verdict.JoinAnd(newer)),
		Evidence: []verdict.Evidence{{Fact: "tables", Value: m.Tables.Date(), From: "driver_branch.csv"},
			{Fact: "today", Value: m.Today(), From: "clock"}},
		Steps: []pin.Step{pin.Say("update cudacompat"), pin.Say("give newer tables with --matrix").Instead()}})
}

// newerThanTables returns the releases on this machine that are newer than the newest row of their table. It skips
// nightlies and builds from source, which no table lists.
func newerThanTables(m *model.Machine) []string {
	var list []string
	branches := tables.Rows[tables.Branch](m.Tables)
	// The table lists Linux branches; see EOL.
	if last := branches[len(branches)-1]; m.Driver().Version.Major() > last.Number() && !m.WindowsNumbers() && !m.Jetson() {
		list = append(list, m.DriverWords())
	}
	newerRelease := func(b tables.Branch) bool {
		return b.Number() == m.Driver().Version.Major() && b.Newest.Known() && b.Newest.Less(m.Driver().Version)
	}
	if slices.ContainsFunc(branches, newerRelease) && !m.WindowsNumbers() && !m.Jetson() {
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
