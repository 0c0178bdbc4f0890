package smi

import (
	"fmt"
	"strconv"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
)

// A field is one value of nvidia-smi's long forms that says something of a GPU that a rule needs. It fills the fact that
// NVML fills on a live machine.
type field struct {
	query string // its place in -q, with its headings: "MIG Mode/Current"
	xml   string // its place in -x -q: "mig_mode>current_mig"
	rule  string // the rule that needs the fact; "identity" for what tells which GPU it is
	// set takes a value and reports whether it is one that the rule knows.
	set func(g *facts.GPU, value string) bool
}

// fields maps what nvidia-smi prints to facts. The names are those of all driver branches from 390 on. A field that is
// neither here nor in ignored is named in the report.
var fields = []field{
	{"Product Name", "product_name", "identity", func(g *facts.GPU, v string) bool { g.Name = v; return true }},
	{"Product Brand", "product_brand", "container-requirements", setBrand},
	{"PCI/Device Id", "pci>pci_device_id", "identity", func(g *facts.GPU, v string) bool { g.PCIID = pciID(v); return g.PCIID != "" }},
	{"Minor Number", "minor_number", "device-nodes-missing", setMinor},
	{"Persistence Mode", "persistence_mode", "persistence-off", setPersistence},
	{"Compute Mode", "compute_mode", "compute-mode", setMode},
	{"MIG Mode/Current", "mig_mode>current_mig", "mig-devices", setMIG},
	{"GPU Recovery Action", "gpu_recovery_action", "gpu-health", setRecovery},
	{"GPU Reset Status/Reset Required", "gpu_reset_status>reset_required", "gpu-health", recoveryIf("reset")},
	{"GPU Reset Status/Drain and Reset Recommended", "gpu_reset_status>drain_and_reset_recommended", "gpu-health",
		recoveryIf("drain and reset")},
	{"Remapped Rows/Pending", "remapped_rows>remapped_row_pending", "gpu-health",
		flag(func(h *facts.Health) *bool { return &h.RemapPending })},
	{"Remapped Rows/Remapping Failure Occurred", "remapped_rows>remapped_row_failure", "gpu-health",
		flag(func(h *facts.Health) *bool { return &h.RemapFailure })},
	{"ECC Errors/Volatile/SRAM Uncorrectable", "ecc_errors>volatile>sram_uncorrectable", "gpu-health", addUncorrectable},
	{"ECC Errors/Volatile/SRAM Uncorrectable Parity", "ecc_errors>volatile>sram_uncorrectable_parity", "gpu-health", addUncorrectable},
	{"ECC Errors/Volatile/SRAM Uncorrectable SEC-DED", "ecc_errors>volatile>sram_uncorrectable_secded", "gpu-health", addUncorrectable},
	{"ECC Errors/Volatile/DRAM Uncorrectable", "ecc_errors>volatile>dram_uncorrectable", "gpu-health", addUncorrectable},
	{"ECC Errors/Volatile/Double Bit/Total", "ecc_errors>volatile>double_bit>total", "gpu-health", addUncorrectable},
	{"Clocks Event Reasons/HW Slowdown", "clocks_event_reasons>clocks_event_reason_hw_slowdown", "gpu-health", slowdown("hardware")},
	{"Clocks Event Reasons/HW Slowdown/HW Thermal Slowdown", "clocks_event_reasons>clocks_event_reason_hw_thermal_slowdown",
		"gpu-health", slowdown("hardware thermal")},
	{"Clocks Event Reasons/HW Slowdown/HW Power Brake Slowdown", "clocks_event_reasons>clocks_event_reason_hw_power_brake_slowdown",
		"gpu-health", slowdown("power brake")},
	{"Clocks Event Reasons/SW Thermal Slowdown", "clocks_event_reasons>clocks_event_reason_sw_thermal_slowdown", "gpu-health",
		slowdown("software thermal")},
	{"Clocks Event Reasons/SW Power Cap", "clocks_event_reasons>clocks_event_reason_sw_power_cap", "gpu-health", slowdown("power cap")},
	{"Clocks Event Reasons/Idle", "clocks_event_reasons>clocks_event_reason_gpu_idle", "gpu-health", slowdown("idle")},
	{"Fabric/State", "fabric>state", "fabric-manager", setFabric},
	{"Fabric/Status", "fabric>status", "fabric-manager", setFabricStatus},
	{"Fabric/Health/Summary", "fabric>health>summary", "fabric-manager", fabricHealth("")},
	{"Fabric/Health/Bandwidth", "fabric>health>bandwidth", "fabric-manager", fabricHealth("bandwidth degraded")},
	{"Fabric/Health/Route Unhealthy", "fabric>health>route_unhealthy", "fabric-manager", fabricHealth("route unhealthy")},
	{"Fabric/Health/Incorrect Configuration", "fabric>health>incorrect_configuration", "fabric-manager",
		fabricHealth("incorrect configuration")},
	{"FB Memory Usage/Total", "fb_memory_usage>total", "memory-in-use", setMemory(func(m *facts.Memory) *uint64 { return &m.Total })},
	{"FB Memory Usage/Used", "fb_memory_usage>used", "memory-in-use", setMemory(func(m *facts.Memory) *uint64 { return &m.Used })},
	{"vGPU Software Licensed Product/License Status", "vgpu_software_licensed_product>license_status", "gpu-not-ready", setLicence},
	{"vGPU Software Licensed Product/License Status", "vgpu_licensed_product>license_status", "gpu-not-ready", setLicence},
}

// ignored are the fields of a GPU that no rule needs, with the reason. A name stands for all that is below it.
var ignored = map[string]string{
	"Product Architecture": "the tables tell it by the name",
	"Display Mode":         "of screens", "Display Active": "of screens", "Display Attached": "of screens",
	"Addressing Mode": "no rule judges HMM by a paste", "MIG Mode/Pending": "what runs now is judged",
	"MIG Device": "counted, not read", "MIG Devices": "counted, not read",
	"Accounting Mode": "of statistics", "Accounting Mode Buffer Size": "of statistics",
	"Driver Model":  "read for the whole machine",
	"Serial Number": "identifies a board", "GPU UUID": "identifies a board", "UUID": "identifies a board", "GPU PDI": "identifies a board",
	"VBIOS Version": "of the board", "MultiGPU Board": "of the board", "Board ID": "of the board", "Board Part Number": "of the board",
	"GPU Part Number": "of the board", "FRU Part Number": "of the board", "Module ID": "of the board", "Platform Info": "of the board",
	"Inforom Version": "of the board", "Inforom BBX Object Flush": "of the board", "GPU Operation Mode": "of the board",
	"GPU C2C Mode": "no rule", "GPU Virtualization Mode": "no rule", "GSP Firmware Version": "the driver that runs has it",
	"IBMNPU": "of POWER", "GPU Link Info": "no rule", "PCI": "no rule judges the link", "Fan Speed": "load", "Performance State": "load",
	"Clocks Event Reasons": "not what keeps a program from running", "Clocks Event Reasons Counters": "of the past",
	"Sparse Operation Mode": "of the board",
	"FB Memory Usage":       "total and used are read", "BAR1 Memory Usage": "load", "Conf Compute Protected Memory Usage": "load",
	"Utilization": "load", "Encoder Stats": "load", "FBC Stats": "load", "DRAM Encryption Mode": "no rule", "ECC Mode": "its errors are read",
	"ECC Errors":    "the volatile uncorrectable ones are read",
	"Retired Pages": "NVML's remapped rows are what the rule asks for", "Remapped Rows": "pending and failure are read",
	"Temperature": "load", "GPU T.Limit Temp": "load", "Supported GPU Target Temp": "load", "Power Readings": "load",
	"GPU Power Readings": "load", "GPU Memory Power Readings": "load", "Module Power Readings": "load", "Power Smoothing": "load",
	"Workload Power Profiles": "load", "EDPp Multiplier": "load", "Clocks": "load", "Applications Clocks": "load",
	"Default Applications Clocks": "load", "Deferred Clocks": "load", "Max Clocks": "load", "Max Customer Boost Clocks": "load",
	"Clock Policy": "load", "Voltage": "load", "Fabric": "state, status and health are read", "Supported Clocks": "load",
	"Processes": "their memory is in FB Memory Usage", "Capabilities": "no rule", "vGPU Software Licensed Product": "its licence is read",
	"vGPU Device Capability": "of the host", "GPU Reset Status": "both values are read", "Compute Instance ID": "counted, not read",
	"GPU Instance ID": "counted, not read", "HOSTVGPU Mode": "of the host",
}

// ignoredXML are the elements of a GPU that no rule needs, those apart whose names follow from ignored.
var ignoredXML = map[string]bool{"mig_mode": true, "mig_devices": true, "serial": true, "pdi": true, "platformInfo": true, "platform_info": true,
	"inforom_bbx_flush": true, "c2c_mode": true, "ibmnpu": true, "cc_protected_memory_usage": true, "gpu_fru_part_number": true,
	"gpu_module_id": true, "power_profiles": true, "edpp_multiplier": true, "multigpu_board": true, "accounted_processes": true,
	"vgpu_software_licensed_product": true, "vgpu_licensed_product": true, "grid_licensed_product": true,
	"performance_state": true, "gpu_virtualization_mode": true, "max_customer_boost_clocks": true}

// renamed are headings and elements that older or newer branches call otherwise.
var renamed = map[string]string{"Clocks Throttle Reasons": "Clocks Event Reasons", "GRID Licensed Product": "vGPU Software Licensed Product",
	"vGPU Licensed Product": "vGPU Software Licensed Product"}

var byQuery, byXML = func() (map[string]field, map[string]field) {
	query, xml := map[string]field{}, map[string]field{}
	for _, f := range fields {
		query[f.query], xml[f.xml] = f, f
	}
	return query, xml
}()

// fieldOf finds a field of -q by its headings. known is false for one that is neither read nor ignored.
func fieldOf(path []string) (f field, mapped, known bool) {
	if other := renamed[path[0]]; other != "" {
		path = append([]string{other}, path[1:]...)
	}
	if f, ok := byQuery[strings.Join(path, "/")]; ok {
		return f, true, true
	}
	for i := range path {
		if ignored[strings.Join(path[:i+1], "/")] != "" {
			return f, false, true
		}
	}
	return f, false, false
}

// elementOf finds a field of -x -q by its elements.
func elementOf(path []string) (f field, mapped, known bool) {
	joined := strings.ReplaceAll(strings.Join(path, ">"), "clocks_throttle_reason", "clocks_event_reason")
	if f, ok := byXML[joined]; ok {
		return f, true, true
	}
	return f, false, ignoredXML[path[0]] || ignoredElement(strings.ReplaceAll(path[0], "clocks_throttle_reason", "clocks_event_reason"))
}

// ignoredElement reports whether an element is the one of an ignored field, "power_readings" of "Power Readings".
func ignoredElement(name string) bool {
	for heading := range ignored {
		if elementName(heading) == name {
			return true
		}
	}
	return false
}

func elementName(heading string) string {
	return strings.NewReplacer(" ", "_", ".", "", "/", "_").Replace(strings.ToLower(heading))
}

// unsaid matches what stands in a value's place where nvidia-smi has none.
var (
	unsaid    = lazyregexp.New(`(?i)^(?:|N/?A|None|Not (?:Supported|Available|Found|Applicable)|Unknown|.*\bdeprecated\b.*|Insufficient Permissions|-)$`)
	bracketed = lazyregexp.New(`\s+\[[^\]]*\]$`)
)

// take sets one field. It names a value that the rule does not know, and counts a GPU that is lost as NVML does.
func (s *smi) take(g *facts.GPU, f field, value string) {
	value = strings.TrimSpace(bracketed.ReplaceAllString(value, ""))
	value = strings.TrimSuffix(strings.TrimPrefix(value, "["), "]")
	switch lower := strings.ToLower(value); {
	case strings.Contains(lower, "gpu is lost"):
		s.failed(g, nvmlLost)
	case strings.Contains(lower, "gpu requires reset"):
		s.failed(g, nvmlReset)
	case lower == "none" && f.query == "GPU Recovery Action":
		f.set(g, value)
	case unsaid.MatchString(value):
	case !f.set(g, value):
		s.unread("GPU "+placeOf(g), fmt.Sprintf("nvidia-smi says %q for its %s: the driver could not read it, or the value is new",
			value, strings.ToLower(strings.ReplaceAll(f.query, "/", ", "))))
	}
}

// failed counts a GPU that NVML does not let anybody ask, once.
func (s *smi) failed(g *facts.GPU, code int) {
	index := s.indexOf(g)
	for _, f := range s.Driver.NVML.Failed {
		if f.Index == index {
			return
		}
	}
	s.Driver.NVML.Failed = append(s.Driver.NVML.Failed, facts.FailedGPU{Index: index, Code: code})
}

func (s *smi) indexOf(g *facts.GPU) int {
	for i := range s.GPUs {
		if &s.GPUs[i] == g {
			return i
		}
	}
	return 0
}

func placeOf(g *facts.GPU) string {
	if g.Bus != "" {
		return g.Bus
	}
	return g.Name
}

func health(g *facts.GPU) *facts.Health {
	if g.Health == nil {
		g.Health = &facts.Health{}
	}
	return g.Health
}

// setBrand takes a brand as NVIDIA_REQUIRE_* writes it, "geforcertx".
func setBrand(g *facts.GPU, value string) bool {
	g.Brand = strings.ReplaceAll(strings.ToLower(value), " ", "")
	return true
}

func setMinor(g *facts.GPU, value string) bool {
	n, err := strconv.Atoi(value)
	if err == nil {
		g.Minor = &n
	}
	return err == nil
}

func setPersistence(g *facts.GPU, value string) bool {
	state, ok := map[string]string{"enabled": "on", "on": "on", "disabled": "off", "off": "off"}[strings.ToLower(value)]
	if ok {
		health(g).Persistence = state
	}
	return ok
}

// computeModes are in the words of -q and of the table.
var computeModes = map[string]string{"default": "default", "exclusive_process": "exclusive", "exclusive_thread": "exclusive",
	"exclusive process": "exclusive", "e. process": "exclusive", "e. thread": "exclusive", "prohibited": "prohibited"}

func setMode(g *facts.GPU, value string) bool {
	mode, ok := computeModes[strings.ToLower(value)]
	if ok {
		g.Mode = mode
	}
	return ok
}

// setMIG turns MIG on with an unknown number of devices: the list of them comes later.
func setMIG(g *facts.GPU, value string) bool {
	switch strings.ToLower(strings.TrimSuffix(value, "*")) { // the star is a change that waits for a reset
	case "enabled":
		if g.MIG != "on" {
			g.MIG, g.Instances = "on", -1
		}
	case "disabled":
		g.MIG = "off"
	default:
		return false
	}
	return true
}

// recoveries are nvidia-smi's words for NVML's recovery actions.
var recoveries = map[string]string{"none": "none", "reset": "reset", "gpu reset": "reset", "reboot": "reboot", "node reboot": "reboot",
	"drain p2p": "drain", "drain and reset": "drain and reset", "recover imex domain": "recover the IMEX domain",
	"bus reset": "reset", "system reboot": "reboot"}

func setRecovery(g *facts.GPU, value string) bool {
	action, ok := recoveries[strings.ToLower(value)]
	if ok {
		health(g).Recovery = action
	}
	return ok
}

// recoveryIf reads branches before 570, which tell two actions apart and no others.
func recoveryIf(action string) func(*facts.GPU, string) bool {
	return func(g *facts.GPU, value string) bool {
		if strings.EqualFold(value, "yes") {
			health(g).Recovery = action
		}
		return strings.EqualFold(value, "yes") || strings.EqualFold(value, "no")
	}
}

func flag(of func(*facts.Health) *bool) func(*facts.GPU, string) bool {
	return func(g *facts.GPU, value string) bool {
		*of(health(g)) = strings.EqualFold(value, "yes")
		return strings.EqualFold(value, "yes") || strings.EqualFold(value, "no")
	}
}

func addUncorrectable(g *facts.GPU, value string) bool {
	n, err := strconv.ParseUint(strings.TrimSuffix(value, "*"), 10, 64)
	if err == nil {
		health(g).Uncorrectable += n
	}
	return err == nil
}

func slowdown(name string) func(*facts.GPU, string) bool {
	return func(g *facts.GPU, value string) bool {
		switch strings.ToLower(value) {
		case "active":
			health(g).Slowdown = append(health(g).Slowdown, name)
		case "not active":
			health(g)
		default:
			return false
		}
		return true
	}
}

var fabricStates = map[string]bool{"not started": true, "in progress": true, "completed": true}

func setFabric(g *facts.GPU, value string) bool {
	if state := strings.ToLower(value); fabricStates[state] {
		health(g).Fabric = state
		return true
	}
	return false
}

func setFabricStatus(g *facts.GPU, value string) bool {
	health(g).FabricStatus = strings.ToLower(value)
	return true
}

// fabricHealth takes one line of the fabric's health; the summary has no fault of its own.
func fabricHealth(fault string) func(*facts.GPU, string) bool {
	return func(g *facts.GPU, value string) bool {
		switch strings.ToLower(value) {
		case "healthy", "full", "false", "none":
		case "degraded", "true", "unhealthy", "limited capacity":
			if fault != "" {
				health(g).FabricFaults = append(health(g).FabricFaults, fault)
			}
		default:
			if fault != "incorrect configuration" { // its values name what is incorrect
				return false
			}
			health(g).FabricFaults = append(health(g).FabricFaults, fault)
		}
		return true
	}
}

func setMemory(of func(*facts.Memory) *uint64) func(*facts.GPU, string) bool {
	return func(g *facts.GPU, value string) bool {
		n, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(value, "MiB")), 10, 44)
		if err != nil {
			return false
		}
		if g.Memory == nil {
			g.Memory = &facts.Memory{}
		}
		*of(g.Memory) = n << 20
		return true
	}
}

func setLicence(g *facts.GPU, value string) bool {
	switch lower := strings.ToLower(value); {
	case strings.HasPrefix(lower, "licensed"):
		g.Licence = "licensed"
	case strings.HasPrefix(lower, "unlicensed"):
		g.Licence = "unlicensed"
	default:
		return false
	}
	return true
}
