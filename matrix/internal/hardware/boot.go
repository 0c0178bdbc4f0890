package hardware

import (
	"slices"

	"cudacompat/internal/tables/sheet"
)

// BootKernel returns the running kernel. At rest it returns the boot loader's default kernel, otherwise the newest. It
// returns "" if none is known.
func (m *Machine) BootKernel() (kernel, from string) {
	switch {
	case !m.Facts.System.Rest:
		return m.Facts.System.Kernel, "/proc/sys/kernel/osrelease"
	case m.Facts.Machine.Boot != "":
		return m.Facts.Machine.Boot, m.Facts.Machine.BootFrom
	case len(m.Facts.Machine.Kernels) > 0:
		return slices.MaxFunc(m.Facts.Machine.Kernels, sheet.CompareNaturally), "the newest of /lib/modules"
	}
	return "", ""
}

// ModuleOf returns the module on disk for one kernel, or nil.
func (m *Machine) ModuleOf(kernel string) *Module {
	i := slices.IndexFunc(m.Found.modules, func(d Module) bool { return d.Kernel == kernel })
	if i < 0 {
		return nil
	}
	return &m.Found.modules[i]
}
