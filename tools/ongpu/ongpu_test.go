package main

import (
	"encoding/xml"
	"strings"
	"testing"

	"cudacompat/probe/facts"

	"github.com/google/go-cmp/cmp"
)

// saidOfAnL4 is an excerpt of what nvidia-smi -q -x prints, in its form.
const saidOfAnL4 = `<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
	<driver_version>550.54.15</driver_version>
	<cuda_version>12.4</cuda_version>
	<gpu id="00000000:31:00.0">
		<product_name>NVIDIA L4</product_name>
		<persistence_mode>Enabled</persistence_mode>
		<mig_mode><current_mig>N/A</current_mig></mig_mode>
		<pci><pci_device_id>27B810DE</pci_device_id></pci>
		<remapped_rows><remapped_row_pending>No</remapped_row_pending></remapped_rows>
		<compute_mode>Default</compute_mode>
	</gpu>
</nvidia_smi_log>`

func TestBesideSMI(t *testing.T) {
	var said smi
	if err := xml.Unmarshal([]byte(saidOfAnL4), &said); err != nil {
		t.Fatal(err)
	}
	l4 := facts.GPU{Name: "NVIDIA L4", PCIID: "10de:27b8", Bus: "0000:31:00.0", Mode: "default",
		Health: &facts.Health{Persistence: "on"}}
	for name, c := range map[string]struct {
		change func(*facts.Facts)
		want   []string
	}{
		"equal": {func(*facts.Facts) {}, nil},
		"driver": {func(f *facts.Facts) { f.Driver.Version = "550.90.07" },
			[]string{`driver: the facts say "550.90.07", nvidia-smi "550.54.15"`}},
		"gone": {func(f *facts.Facts) { f.GPUs = nil },
			[]string{"nvidia-smi sees a GPU at 0000:31:00.0, the facts do not"}},
		"id": {func(f *facts.Facts) { f.GPUs[0].PCIID = "10de:2237" },
			[]string{`PCI id: the facts say "10de:2237", nvidia-smi "10de:27b8"`}},
		"rows": {func(f *facts.Facts) { f.GPUs[0].Health = &facts.Health{Persistence: "on", RemapPending: true} },
			[]string{`rows to be remapped: the facts say "true", nvidia-smi "false"`}},
	} {
		f := facts.Facts{Driver: facts.Driver{Version: "550.54.15", CUDA: "12.4"}, GPUs: []facts.GPU{l4}}
		c.change(&f)
		var s section
		if compare(&s, &f, &said); cmp.Diff(c.want, s.differences) != "" {
			t.Errorf("%s (-want +got):\n%s", name, cmp.Diff(c.want, s.differences))
		}
	}
}

func TestPredicted(t *testing.T) {
	runs := tried{Version: "2.9.0+cu130", Available: true}
	blind := tried{Version: "2.9.0+cu130"}
	slow := tried{Version: "2.9.0+cu130", Available: true,
		Failed: map[string]string{"matmul": "RuntimeError: no kernel image"}}
	for name, c := range map[string]struct {
		answer  string
		happens *tried
		differs bool
	}{
		"works, runs":           {"works", &runs, false},
		"broken, runs":          {"broken", &runs, true},
		"works, blind":          {"works-minor-version", &blind, true},
		"broken, no kernel":     {"broken", &slow, false},
		"cpu only, blind":       {"works-cpu-only", &blind, false},
		"nothing said, nothing": {"unknown", &blind, false},
	} {
		v := verdict{}
		v.Answers = append(v.Answers, struct {
			Subject string   `json:"subject"`
			Answer  string   `json:"answer"`
			Because []string `json:"because"`
		}{"torch 2.9.0+cu130 in /opt/venv", c.answer, nil})
		var s section
		if predicted(&s, &v, c.happens); len(s.differences) > 0 != c.differs {
			t.Errorf("%s: %s", name, strings.Join(s.differences, "; "))
		}
	}
}

func TestShortBus(t *testing.T) {
	for id, want := range map[string]string{"00000000:1D:00.0": "0000:1d:00.0", "0000:31:00.0": "0000:31:00.0", "": ""} {
		if got := shortBus(id); got != want {
			t.Errorf("%q is at %q, not %q", id, got, want)
		}
	}
}
