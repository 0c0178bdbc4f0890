package rule

import (
	"testing"

	"cudacompat/internal/tables"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// TestManagedPython checks that a finding says so if the distribution keeps pip out of its Python.
func TestManagedPython(t *testing.T) {
	e := facts.Environment{Path: "/usr", Kind: "system", Managed: "/usr/lib/python3.12/EXTERNALLY-MANAGED"}
	r := ReportFinding(verdict.Finding{Pins: []verdict.Pin{{Commands: map[string]string{"pip": "pip install b"}}}})
	if AddVenvStep(model.NewEnvironment(tables.Embedded(), &e), r); len(r[0].Finding.Steps) != 1 {
		t.Errorf("nothing is said of PEP 668: %q", r[0].Finding.Steps)
	}
}
