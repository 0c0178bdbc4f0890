package collectenv

import (
	"bufio"
	"os"
	"strings"
	"testing"
)

// TestReportFields holds that each field that a report prints is read for a rule, or known to need no reading.
// testdata/fields.txt has the fields, taken from the programs that print them.
func TestReportFields(t *testing.T) {
	file, err := os.Open("testdata/fields.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	printed := map[string]bool{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		report, field, ok := strings.Cut(lines.Text(), "\t")
		if !ok || strings.HasPrefix(report, "#") {
			continue
		}
		m := reportField.FindStringSubmatch(field + ": x")
		if m == nil || !isKnownField(m[1]) {
			t.Errorf("%s: %q is neither read nor ignored", report, field)
			continue
		}
		name := strings.ToLower(m[1])
		first, _, _ := strings.Cut(name, ".")
		printed[name], printed[first] = true, true
	}
	for field, rule := range fieldRules {
		if !printed[field] {
			t.Errorf("no report prints %q", field)
		}
		if _, err := os.Stat("../../../../docs/rules/" + rule + ".md"); err != nil && rule != "identity" {
			t.Errorf("%q is read for %s, which is no rule", field, rule)
		}
		if ignoredFields[field] != "" {
			t.Errorf("%q is both read and ignored", field)
		}
	}
	for field, reason := range ignoredFields {
		if reason == "" || !printed[field] {
			t.Errorf("no report prints %q, or it has no reason to be ignored: %q", field, reason)
		}
	}
}

// TestFieldNotRead names a field that nothing understood, and nothing that people write around a report.
func TestFieldNotRead(t *testing.T) {
	report := "PyTorch version: 2.9.0+cu128\nIs debug build: False\nSun spots: 7\n\nNote: it worked before\n\nOS: Ubuntu 22.04.5 LTS (x86_64)\n" +
		"Nvidia driver version: 580.95.05\nCPU:\nVendor ID: GenuineIntel\nHypervisor vendor: KVM\nVirtualization type: full\n\nVersions of relevant libraries:\n[pip3] torch==2.9.0+cu128\n"
	if got := Parse(report).Probes; len(got) != 1 || got[0].Status != "ok" || got[0].Error != "not read: Sun spots" {
		t.Errorf("%+v", got)
	}
}

// TestJAXReport reads what jax.print_environment_info prints. Without a GPU, nothing shows for what JAX was installed.
func TestJAXReport(t *testing.T) {
	head := "jax:    0.6.2\njaxlib: 0.6.2\nnumpy:  2.3.1\npython: 3.12.3 (main, Jun 18 2025, 17:59:45) [GCC 13.3.0]\n"
	for _, test := range []struct{ text, gpu, accelerator, seen string }{
		{head + "device info: NVIDIA H100 80GB HBM3-8, 8 local devices\nprocess_count: 1\n", "NVIDIA H100 80GB HBM3", "cuda", "true"},
		{head + "jax.devices (2 total, 2 local): [CudaDevice(id=0) CudaDevice(id=1)]\nprocess_count: 1\n", "", "cuda", "true"},
		{head + "jax.devices (1 total, 1 local): [CpuDevice(id=0)]\nprocess_count: 1\n", "", "", "false"},
		{head + "device info: cpu-1, 1 local devices\nprocess_count: 1\n", "", "", "false"},
		{head, "", "", ""},
	} {
		f := Parse(test.text)
		if len(f.Environments) != 1 || len(f.Environments[0].Builds) != 1 {
			t.Errorf("%q: %+v", test.text, f.Environments)
			continue
		}
		gpu, seen := "", ""
		if len(f.GPUs) > 0 {
			gpu = f.GPUs[0].Name
		}
		if f.Observed.CUDAAvailable != nil {
			seen = map[bool]string{true: "true", false: "false"}[*f.Observed.CUDAAvailable]
		}
		b := f.Environments[0].Builds[0]
		if b.Name != "jax" || b.Version != "0.6.2" || b.Accelerator != test.accelerator || gpu != test.gpu || seen != test.seen ||
			f.Environments[0].Python != "3.12.3" || len(f.Probes) != 1 || f.Probes[0].Status != "ok" {
			t.Errorf("%q: %+v, GPU %q, seen %q, %+v", test.text, b, gpu, seen, f.Probes)
		}
	}
}
