package host

import "path"

// PCIDevice is one function of a device on the PCI bus.
type PCIDevice struct {
	Dir    string // below /sys
	Vendor string // "0x10de"
	Err    error  // why the vendor could not be read
}

// PCI lists the devices of the PCI bus by address; the list is shared, so it is not to be written to.
func (h *Host) PCI() ([]PCIDevice, error) {
	const devices = "/sys/bus/pci/devices"
	if h.lookups.pci != nil {
		return h.lookups.pci, nil
	}
	entries, err := h.ReadDir(devices)
	if err != nil {
		return nil, err
	}
	list := make([]PCIDevice, len(entries))
	for i, e := range entries {
		list[i].Dir = path.Join(devices, e.Name())
		h.Listed(list[i].Dir)
		list[i].Vendor, list[i].Err = h.ReadLine(path.Join(list[i].Dir, "vendor"))
	}
	h.lookups.pci = list
	return list, nil
}
