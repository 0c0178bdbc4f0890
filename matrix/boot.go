package matrix

import (
	"slices"

	"cudacompat/internal/tables"
)

// bootKernel is the kernel that runs; at rest the boot loader's default, else the newest. Empty when none is known.
func (m *machine) bootKernel() (kernel, from string) {
	switch {
	case !m.f.System.Rest:
		return m.f.System.Kernel, "/proc/sys/kernel/osrelease"
	case m.f.Machine.Boot != "":
		return m.f.Machine.Boot, m.f.Machine.BootFrom
	case len(m.f.Machine.Kernels) > 0:
		return slices.MaxFunc(m.f.Machine.Kernels, tables.CompareNaturally), "the newest of /lib/modules"
	}
	return "", ""
}

// moduleOf is the module on disk of one kernel, or nil.
func (m *machine) moduleOf(kernel string) *module {
	i := slices.IndexFunc(m.found.modules, func(d module) bool { return d.Kernel == kernel })
	if i < 0 {
		return nil
	}
	return &m.found.modules[i]
}
