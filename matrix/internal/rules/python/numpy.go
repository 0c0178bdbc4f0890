package python

import (
	"fmt"

	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
)

// NumPyABI reports code that was compiled before NumPy 2 and does not load with it. Conda's builds and those from
// source are compiled for their own NumPy, so only the wheels in the tables are judged.
func NumPyABI(m *model.Machine, b *model.Build) []*rule.Result {
	p := b.Env.Package("numpy")
	if p == nil || b.Name != "tensorflow" && b.Name != "torch" || !b.Release.Number.Known() || !b.Official() {
		return nil
	}
	// Code compiled for NumPy 2 also loads with NumPy 1 (NumPy's migration guide).
	if p.Number.Major() < 2 || !m.Tables.Trait("before-numpy-2", b.Name, b.Release.Number) {
		return rule.Pass(b.Subject)
	}
	f := verdict.Finding{Severity: verdict.Warning, Subject: b.Subject, Need: "numpy < 2",
		Source:   []string{"https://numpy.org/devdocs/numpy_2_0_migration_guide.html"},
		Message:  fmt.Sprintf("%s %s was compiled before NumPy 2; numpy %s is installed", b.Name, b.Version, p.Version),
		Evidence: append(b.Evidence(), verdict.Evidence{Fact: "numpy", Value: p.Version, From: p.Path}),
		Pins: []verdict.Pin{{Package: "numpy", Version: "<2", Why: "keeps " + b.Name + " and the driver",
			Commands: pins.Install(b.Place(), pin.Install{Packages: []string{"numpy<2"}})}}}
	// TensorFlow fails to import, up to 2.17. torch imports but cannot convert between tensors and arrays (pytorch
	// issue 107302), up to 2.2 (trait.csv).
	if b.Name == "tensorflow" {
		f.Severity = verdict.Error
	}
	return rule.ReportFinding(f)
}
