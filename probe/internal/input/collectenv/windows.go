package collectenv

import (
	"cmp"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
)

// Windows' own tools list every display adapter with its driver, which they number in another way than NVIDIA: the last
// five digits of 32.0.15.7283 are NVIDIA's 572.83. PowerShell's Win32_VideoController has a table or a list, dxdiag a list:
//
//	Name                       DriverVersion
//	NVIDIA GeForce RTX 4070    32.0.15.7283
//
//	Name          : NVIDIA GeForce RTX 4070
//	DriverVersion : 32.0.15.7283
//
//	      Card name: NVIDIA GeForce RTX 4070
//	 Driver Version: 32.0.15.7283
var (
	adapterRow     = lazyregexp.New(`^\s*(NVIDIA \S.*?)\s{2,}(\d{2}\.\d{1,2}\.\d{1,2}\.\d{4})\b`)
	adapterRowBack = lazyregexp.New(`^\s*(\d{2}\.\d{1,2}\.\d{1,2}\.\d{4})\s{2,}(NVIDIA \S.*?)\s*$`)
	adapterName    = lazyregexp.New(`^\s*(?:Card name|Name|Caption|Description)\s*: (\S.*?)\s*$`)
	adapterDriver  = lazyregexp.New(`^\s*Driver ?Version\s*: (\d{2}\.\d{1,2}\.\d{1,2}\.\d{4})\s*$`)
	windowsName    = lazyregexp.New(`^\s*(?:OS Name|Operating System|Caption)\s*:\s+((?:Microsoft )?Windows \S.*?)\s*$`)
	windowsDigits  = lazyregexp.New(`(\d)\.(\d{2})(\d{2})$`)
)

// adapterTells returns the loose fact that a line about a display adapter tells, as of typed lines.
func adapterTells(line string) string {
	switch m := adapterName.FindStringSubmatch(line); {
	case m != nil && strings.HasPrefix(m[1], "NVIDIA "):
		return "typedGPU"
	case adapterDriver.MatchString(line):
		return "typed"
	case windowsName.MatchString(line):
		return "system"
	}
	return ""
}

// isAdapterRow reports whether a line is one of the table of display adapters, which is no other text's.
func isAdapterRow(line string) bool {
	return adapterRow.MatchString(line) || adapterRowBack.MatchString(line)
}

// readAdapter reads a line of Windows' tools. A driver belongs to the adapter that was named last.
func (r *reportReader) readAdapter(line string) bool {
	if m := windowsName.FindStringSubmatch(line); m != nil {
		r.System.OS = cmp.Or(r.System.OS, m[1])
		return true
	}
	if m := adapterName.FindStringSubmatch(line); m != nil {
		r.adapter = m[1]
		r.takeAdapter(m[1], "")
		return true
	}
	if m := adapterDriver.FindStringSubmatch(line); m != nil {
		r.takeAdapter(r.adapter, m[1])
		return true
	}
	if m := adapterRow.FindStringSubmatch(line); m != nil {
		r.takeAdapter(m[1], m[2])
		return true
	}
	m := adapterRowBack.FindStringSubmatch(line)
	if m != nil {
		r.takeAdapter(m[2], m[1])
	}
	return m != nil
}

// takeAdapter takes a display adapter of NVIDIA with its driver, where one is named.
func (r *reportReader) takeAdapter(name, driver string) {
	if !strings.HasPrefix(name, "NVIDIA ") {
		return
	}
	if !HasGPUNamed(r.GPUs, name) {
		r.GPUs = append(r.GPUs, facts.GPU{Name: name, From: []string{From}})
	}
	r.brief = true
	if m := windowsDigits.FindStringSubmatch(driver); m != nil {
		r.System.OS = cmp.Or(r.System.OS, facts.Windows)
		if r.Driver.Version == "" {
			r.Driver.Version, r.Driver.From = m[1]+m[2]+"."+m[3], From
		}
	}
}
