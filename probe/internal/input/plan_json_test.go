package input

import (
	"testing"
)

// TestPipReportVersions checks the report version: 0 in pip 22.2 and 22.3, 1 from 23.0 on. Nobody has seen 2.
func TestPipReportVersions(t *testing.T) {
	for version, want := range map[string]bool{"0": true, "1": true, "2": false} {
		report := `{
  "version": "` + version + `",
  "pip_version": "22.2",
  "install": [{"download_info": {"url": "https://example.org/torch-2.9.0-cp312-cp312-manylinux_2_28_x86_64.whl"},
    "is_direct": false, "metadata": {"name": "torch", "version": "2.9.0"}}],
  "environment": {"python_full_version": "3.12.3"}
}`
		f, err := Read(Document{Data: []byte(report)})
		if got := err == nil && f.Plan != nil && len(f.Plan.Installs) == 1; got != want {
			t.Errorf("version %s: read %v, want %v (%v)", version, got, want, err)
		}
	}
}

// TestPipReportWithTwins refuses a report that other readers understand differently.
func TestPipReportWithTwins(t *testing.T) {
	for _, more := range []string{`"install": []`, `"Install": []`} {
		report := `{"version": "1", "pip_version": "24.0", "install": [{"metadata": {"name": "torch", "version": "2.9.0"}}], ` + more + `}`
		if f, err := Read(Document{Data: []byte(report)}); err == nil {
			t.Errorf("%s: read %+v", more, f.Plan)
		}
	}
}
