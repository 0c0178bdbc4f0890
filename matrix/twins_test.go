package matrix

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cudacompat/matrix/verdict"
	"cudacompat/probe"
	"cudacompat/probe/facts"
)

// gpuState is one GPU as a form of nvidia-smi prints it, in that program's words. An empty word stands for N/A.
type gpuState struct {
	name, gpu, driver        string
	mig                      string // "Enabled", "Disabled"
	parts                    int    // MIG devices
	mode                     string // as -q prints it
	ecc                      string // volatile uncorrectable errors of the memory
	sram                     string // and of the caches
	recovery                 string
	pending, failed          string // remapped rows
	slow                     []string
	fabric, status           string
	bandwidth, configuration string // the fabric's health
	persistence              string
	used, total              string
	licence                  string
	strange                  bool // it has a word that no rule knows, which NVML does not say
}

// gpuStates are those that must come out alike, pasted or asked through NVML.
var gpuStates = []gpuState{
	{name: "sound L4", gpu: "NVIDIA L4", driver: "580.95.05", mode: "Default", ecc: "0", persistence: "Enabled", used: "0", total: "23034"},
	{name: "no persistence", gpu: "NVIDIA L4", driver: "580.95.05", mode: "Default", ecc: "0", persistence: "Disabled"},
	{name: "prohibited", gpu: "NVIDIA L4", driver: "580.95.05", mode: "Prohibited"},
	{name: "exclusive process", gpu: "NVIDIA L4", driver: "580.95.05", mode: "Exclusive_Process"},
	{name: "exclusive thread", gpu: "NVIDIA L4", driver: "535.183.01", mode: "Exclusive_Thread"},
	{name: "strange mode", gpu: "NVIDIA L4", driver: "580.95.05", mode: "ERR!", strange: true},
	{name: "MIG off", gpu: "NVIDIA A100-SXM4-40GB", driver: "535.183.01", mode: "Default", mig: "Disabled"},
	{name: "MIG without devices", gpu: "NVIDIA A100-SXM4-40GB", driver: "535.183.01", mode: "Default", mig: "Enabled"},
	{name: "MIG with one device", gpu: "NVIDIA A100-SXM4-40GB", driver: "535.183.01", mode: "Default", mig: "Enabled", parts: 1},
	{name: "MIG with seven devices", gpu: "NVIDIA H100 80GB HBM3", driver: "580.95.05", mode: "Default", mig: "Enabled", parts: 7},
	{name: "MIG without devices on H200", gpu: "NVIDIA H200", driver: "570.133.20", mode: "Default", mig: "Enabled"},
	{name: "one uncorrectable error", gpu: "NVIDIA A10G", driver: "550.54.15", ecc: "1", mode: "Default"},
	{name: "seven uncorrectable errors", gpu: "Tesla T4", driver: "535.183.01", ecc: "7", mode: "Default"},
	{name: "no error", gpu: "Tesla T4", driver: "535.183.01", ecc: "0", mode: "Default"},
	{name: "error in a cache", gpu: "NVIDIA H100 80GB HBM3", driver: "580.95.05", ecc: "0", sram: "2"},
	{name: "unreadable ECC", gpu: "NVIDIA A10G", driver: "550.54.15", ecc: "ERR!", mode: "Default", strange: true},
	{name: "recovery none", gpu: "NVIDIA H100 80GB HBM3", driver: "580.95.05", recovery: "None"},
	{name: "recovery reset", gpu: "NVIDIA H100 80GB HBM3", driver: "580.95.05", recovery: "Reset"},
	{name: "recovery reboot", gpu: "NVIDIA GeForce RTX 5090", driver: "580.95.05", recovery: "Reboot"},
	{name: "recovery drain", gpu: "NVIDIA B200", driver: "580.95.05", recovery: "Drain P2P"},
	{name: "recovery drain and reset", gpu: "NVIDIA B200", driver: "580.95.05", recovery: "Drain and Reset"},
	{name: "strange recovery", gpu: "NVIDIA B200", driver: "580.95.05", recovery: "Replace the Sun", strange: true},
	{name: "remap pending", gpu: "NVIDIA A100-SXM4-80GB", driver: "570.133.20", pending: "Yes", failed: "No"},
	{name: "remap failed", gpu: "NVIDIA A100-SXM4-80GB", driver: "570.133.20", pending: "No", failed: "Yes"},
	{name: "remap pending and failed", gpu: "NVIDIA A10G", driver: "535.183.01", pending: "Yes", failed: "Yes"},
	{name: "remap sound", gpu: "NVIDIA A10G", driver: "535.183.01", pending: "No", failed: "No"},
	{name: "hardware slowdown", gpu: "NVIDIA L40S", driver: "550.54.15", slow: []string{"HW Slowdown"}},
	{name: "thermal slowdown", gpu: "NVIDIA L40S", driver: "550.54.15", slow: []string{"HW Slowdown", "HW Thermal Slowdown"}},
	{name: "power brake", gpu: "NVIDIA A10G", driver: "550.54.15", slow: []string{"HW Slowdown", "HW Power Brake Slowdown"}},
	{name: "power cap", gpu: "NVIDIA A10G", driver: "550.54.15", slow: []string{"SW Power Cap"}},
	{name: "idle", gpu: "NVIDIA A10G", driver: "550.54.15", slow: []string{"Idle"}},
	{name: "driver's own thermal control", gpu: "NVIDIA A10G", driver: "550.54.15", slow: []string{"SW Thermal Slowdown"}},
	{name: "fabric in progress", gpu: "NVIDIA B200", driver: "580.95.05", fabric: "In Progress"},
	{name: "fabric not started", gpu: "NVIDIA H100 80GB HBM3", driver: "580.95.05", fabric: "Not Started"},
	{name: "fabric complete", gpu: "NVIDIA H100 80GB HBM3", driver: "580.95.05", fabric: "Completed", status: "Success"},
	{name: "fabric failed", gpu: "NVIDIA H200", driver: "580.95.05", fabric: "Completed", status: "Unknown Error"},
	{name: "fabric degraded", gpu: "NVIDIA B200", driver: "580.95.05", fabric: "Completed", status: "Success", bandwidth: "Degraded"},
	{name: "fabric misconfigured", gpu: "NVIDIA B200", driver: "580.95.05", fabric: "Completed", status: "Success", configuration: "Invalid Topology"},
	{name: "unlicensed vGPU", gpu: "NVIDIA L4", driver: "580.95.05", licence: "Unlicensed (Restricted)"},
	{name: "licensed vGPU", gpu: "NVIDIA L4", driver: "580.95.05", licence: "Licensed (Expiry: 2027-1-1 0:0:0 GMT)"},
	{name: "full memory", gpu: "NVIDIA L4", driver: "580.95.05", used: "22900", total: "23034", mode: "Default", ecc: "0"},
	{name: "all at once", gpu: "NVIDIA H100 80GB HBM3", driver: "580.95.05", mode: "Prohibited", mig: "Enabled", ecc: "3", recovery: "Reset", failed: "Yes"},
}

func orNA(s string) string {
	if s == "" {
		return "N/A"
	}
	return s
}

// table prints the state as nvidia-smi without options does. It shows fewer fields than the others.
func (s gpuState) table() (text string, shown gpuState) {
	mode := map[string]string{"Exclusive_Process": "E. Process", "Exclusive_Thread": "E. Thread"}[s.mode]
	if mode == "" {
		mode = orNA(s.mode)
	}
	persistence := map[string]string{"Enabled": "On", "Disabled": "Off"}[s.persistence]
	used, total := s.used, s.total
	if total == "" {
		used, total = "0", "23034"
	}
	cuda := map[string]string{"535": "12.2", "550": "12.4", "570": "12.8", "580": "13.0"}[s.driver[:3]]
	text = fmt.Sprintf(`+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI %-22s Driver Version: %-14s CUDA Version: %-8s |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  %-31s %-3s |   00000000:53:00.0 Off | %20s |
| N/A   31C    P0             72W /  700W | %7sMiB / %6sMiB |      0%% %12s |
|                                         |                        | %20s |
+-----------------------------------------+------------------------+----------------------+
`, s.driver, s.driver, cuda, s.gpu, orNA(persistence), orNA(s.ecc), used, total, mode, orNA(s.mig))
	if s.mig == "Enabled" {
		text += "\n+-----------------------------------------------------------------------------------------+\n" +
			"| MIG devices:                                                                            |\n"
		if s.parts == 0 {
			text += "|  No MIG devices found                                                                   |\n"
		}
		for i := range s.parts {
			text += fmt.Sprintf("|  0    %d   0   %d  |              12MiB / 19968MiB    | 14      0 |  1   0    1    0    0 |\n", i+3, i)
		}
		text += "+-----------------------------------------------------------------------------------------+\n"
	}
	text += "\n| Processes:                                                                              |\n|  No running processes found                                                             |\n"
	return text, gpuState{gpu: s.gpu, driver: s.driver, mig: s.mig, parts: s.parts, mode: s.mode, ecc: s.ecc, persistence: s.persistence,
		used: used, total: total, strange: s.strange && (s.mode == "ERR!" || s.ecc == "ERR!")}
}

// query prints the state as nvidia-smi -q does.
func (s gpuState) query() string {
	var b strings.Builder
	field := func(indent int, name, value string) {
		fmt.Fprintf(&b, "%s%-*s: %s\n", strings.Repeat(" ", indent), 54-indent, name, orNA(value))
	}
	heading := func(indent int, name string) { fmt.Fprintf(&b, "%s%s\n", strings.Repeat(" ", indent), name) }
	b.WriteString("\n==============NVSMI LOG==============\n\n")
	field(0, "Timestamp", "Fri Aug 21 10:11:12 2026")
	field(0, "Driver Version", s.driver)
	field(0, "CUDA Version", "")
	b.WriteString("\n")
	field(0, "Attached GPUs", "1")
	heading(0, "GPU 00000000:53:00.0")
	field(4, "Product Name", s.gpu)
	field(4, "Product Architecture", "Hopper")
	field(4, "Persistence Mode", s.persistence)
	heading(4, "MIG Mode")
	field(8, "Current", s.mig)
	field(8, "Pending", s.mig)
	if s.mig == "Enabled" && s.parts == 0 {
		field(4, "MIG Devices", "None")
	}
	for i := range s.parts {
		heading(4, "MIG Device")
		field(8, "Index", fmt.Sprint(i))
		heading(8, "FB Memory Usage")
		field(12, "Used", "12 MiB")
	}
	field(4, "GPU Recovery Action", s.recovery)
	heading(4, "Clocks Event Reasons")
	for _, reason := range []string{"Idle", "SW Power Cap", "HW Slowdown", "  HW Thermal Slowdown", "  HW Power Brake Slowdown", "SW Thermal Slowdown"} {
		name, indent := strings.TrimSpace(reason), 8
		if name != reason {
			indent = 12
		}
		state := "Not Active"
		if slices.Contains(s.slow, name) {
			state = "Active"
		}
		if s.slow == nil {
			state = ""
		}
		field(indent, name, state)
	}
	heading(4, "FB Memory Usage")
	field(8, "Total", strings.TrimSuffix(s.total+" MiB", " MiB")+map[bool]string{true: " MiB"}[s.total != ""])
	field(8, "Used", map[bool]string{true: s.used + " MiB"}[s.used != ""])
	field(4, "Compute Mode", s.mode)
	heading(4, "ECC Errors")
	heading(8, "Volatile")
	field(12, "SRAM Uncorrectable Parity", s.sram)
	field(12, "DRAM Uncorrectable", s.ecc)
	heading(8, "Aggregate")
	field(12, "DRAM Uncorrectable", "44")
	heading(4, "Remapped Rows")
	field(8, "Uncorrectable Error", "0")
	field(8, "Pending", s.pending)
	field(8, "Remapping Failure Occurred", s.failed)
	heading(4, "vGPU Software Licensed Product")
	field(8, "License Status", s.licence)
	heading(4, "Fabric")
	field(8, "State", s.fabric)
	field(8, "Status", s.status)
	heading(8, "Health")
	field(12, "Bandwidth", s.bandwidth)
	field(12, "Incorrect Configuration", s.configuration)
	field(4, "Processes", "None")
	return b.String()
}

// xml prints the state as nvidia-smi -x -q does.
func (s gpuState) xml() string {
	active := func(name string) string {
		switch {
		case s.slow == nil:
			return "N/A"
		case slices.Contains(s.slow, name):
			return "Active"
		}
		return "Not Active"
	}
	parts := "None"
	if s.parts > 0 {
		parts = strings.Repeat("<mig_device><index>0</index><fb_memory_usage><used>12 MiB</used></fb_memory_usage></mig_device>", s.parts)
	}
	size := func(n string) string {
		if n == "" {
			return "N/A"
		}
		return n + " MiB"
	}
	return fmt.Sprintf(`<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log><timestamp>Fri Aug 21 10:11:12 2026</timestamp><driver_version>%s</driver_version><attached_gpus>1</attached_gpus>
<gpu id="00000000:53:00.0"><product_name>%s</product_name><persistence_mode>%s</persistence_mode>
<mig_mode><current_mig>%s</current_mig><pending_mig>N/A</pending_mig></mig_mode><mig_devices>%s</mig_devices>
<gpu_recovery_action>%s</gpu_recovery_action>
<clocks_event_reasons><clocks_event_reason_gpu_idle>%s</clocks_event_reason_gpu_idle>
<clocks_event_reason_sw_power_cap>%s</clocks_event_reason_sw_power_cap><clocks_event_reason_hw_slowdown>%s</clocks_event_reason_hw_slowdown>
<clocks_event_reason_hw_thermal_slowdown>%s</clocks_event_reason_hw_thermal_slowdown>
<clocks_event_reason_hw_power_brake_slowdown>%s</clocks_event_reason_hw_power_brake_slowdown>
<clocks_event_reason_sw_thermal_slowdown>%s</clocks_event_reason_sw_thermal_slowdown></clocks_event_reasons>
<fb_memory_usage><total>%s</total><used>%s</used></fb_memory_usage><compute_mode>%s</compute_mode>
<ecc_errors><volatile><sram_uncorrectable_parity>%s</sram_uncorrectable_parity><dram_uncorrectable>%s</dram_uncorrectable></volatile>
<aggregate><dram_uncorrectable>44</dram_uncorrectable></aggregate></ecc_errors>
<remapped_rows><remapped_row_pending>%s</remapped_row_pending><remapped_row_failure>%s</remapped_row_failure></remapped_rows>
<vgpu_software_licensed_product><license_status>%s</license_status></vgpu_software_licensed_product>
<fabric><state>%s</state><status>%s</status><health><bandwidth>%s</bandwidth><incorrect_configuration>%s</incorrect_configuration></health></fabric>
</gpu></nvidia_smi_log>
`, s.driver, s.gpu, orNA(s.persistence), orNA(s.mig), parts, orNA(s.recovery), active("Idle"), active("SW Power Cap"), active("HW Slowdown"),
		active("HW Thermal Slowdown"), active("HW Power Brake Slowdown"), active("SW Thermal Slowdown"), size(s.total), size(s.used), orNA(s.mode),
		orNA(s.sram), orNA(s.ecc), orNA(s.pending), orNA(s.failed), orNA(s.licence), orNA(s.fabric), orNA(s.status), orNA(s.bandwidth),
		orNA(s.configuration))
}

// asked returns the facts that NVML would give of the state.
func (s gpuState) asked() probe.Facts {
	h := &facts.Health{RemapPending: s.pending == "Yes", RemapFailure: s.failed == "Yes",
		Persistence: map[string]string{"Enabled": "on", "Disabled": "off"}[s.persistence], Fabric: strings.ToLower(s.fabric),
		FabricStatus: strings.ToLower(s.status)}
	h.Recovery = map[string]string{"None": "none", "Reset": "reset", "Reboot": "reboot", "Drain P2P": "drain", "Drain and Reset": "drain and reset"}[s.recovery]
	for _, count := range []string{s.ecc, s.sram} {
		n := uint64(0)
		if _, err := fmt.Sscan(count, &n); err == nil {
			h.Uncorrectable += n
		}
	}
	for _, reason := range s.slow {
		h.Slowdown = append(h.Slowdown, map[string]string{"HW Slowdown": "hardware", "HW Thermal Slowdown": "hardware thermal",
			"HW Power Brake Slowdown": "power brake", "SW Power Cap": "power cap", "Idle": "idle", "SW Thermal Slowdown": "software thermal"}[reason])
	}
	if s.bandwidth != "" {
		h.FabricFaults = append(h.FabricFaults, "bandwidth degraded")
	}
	if s.configuration != "" {
		h.FabricFaults = append(h.FabricFaults, "incorrect configuration")
	}
	g := facts.GPU{Name: s.gpu, Bus: "0000:53:00.0", From: []string{"NVML"}, Health: h,
		Mode:    map[string]string{"Default": "default", "Exclusive_Process": "exclusive", "Exclusive_Thread": "exclusive", "Prohibited": "prohibited"}[s.mode],
		MIG:     map[string]string{"Enabled": "on", "Disabled": "off"}[s.mig],
		Licence: map[bool]string{true: "unlicensed"}[strings.HasPrefix(s.licence, "Unl")]}
	if g.MIG == "on" {
		g.Instances = s.parts
	}
	f := probe.Facts{GPUs: []facts.GPU{g}, Driver: facts.Driver{Version: s.driver, From: "NVML", NVML: facts.NVML{Status: "ok"}}}
	f.Complete()
	return f
}

// TestTwins holds that each state of a GPU that nvidia-smi prints is judged as the same state asked through NVML: the
// same outcome, the same findings.
func TestTwins(t *testing.T) {
	if len(gpuStates) < 40 {
		t.Fatalf("%d states", len(gpuStates))
	}
	for _, s := range gpuStates {
		table, shown := s.table()
		forms := []struct {
			name, text string
			state      gpuState
		}{{"table", table, shown}, {"-q", s.query(), s}, {"-x -q", s.xml(), s}}
		for _, form := range forms {
			f, err := probe.Given([]byte(form.text))
			if err != nil {
				t.Fatalf("%s, %s: %v\n%s", s.name, form.name, err, form.text)
			}
			pasted := Check(context.Background(), Embedded(), f, nil, verdict.Policy{})
			asked := Check(context.Background(), Embedded(), form.state.asked(), nil, verdict.Policy{})
			got, want := judgedAs(pasted), judgedAs(asked)
			if form.state.strange { // what NVML does not say, a paste does not prove sound
				want = strings.Replace(want, "compatible", "inconclusive", 1)
			}
			if got != want {
				t.Errorf("%s, %s: pasted %s\nasked %s\n%s", s.name, form.name, got, want, form.text)
			}
		}
	}
}

// judgedAs writes the outcome and the findings in one line.
func judgedAs(v verdict.Verdict) string {
	var list []string
	for _, f := range v.Findings {
		list = append(list, fmt.Sprint(f.Severity, " ", f.Rule))
	}
	slices.Sort(list)
	return fmt.Sprint(v.Outcome, " ", strings.Join(list, ", "))
}
