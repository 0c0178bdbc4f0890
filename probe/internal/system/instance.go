package system

import (
	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/source"
)

// instanceType matches EC2's names: "g5.xlarge", "p5.48xlarge", "p6-b200.48xlarge", "u-6tb1.metal".
var instanceType = lazyregexp.New(`^[a-z][a-z0-9-]*\.[a-z0-9-]+$`)

// ReadInstance reads the EC2 instance type from DMI, which needs neither the network nor the metadata service. Xen
// instances (p2, p3, g3) do not have it there.
func ReadInstance(h *host.Host) (source.Update, error) {
	const dir = "/sys/devices/virtual/dmi/id/"
	vendor, err := h.ReadLine(dir + "sys_vendor")
	if err != nil {
		return nil, err
	}
	product, err := h.ReadLine(dir + "product_name")
	if err != nil {
		return nil, err
	}
	if vendor != "Amazon EC2" || !instanceType.MatchString(product) {
		return nil, host.ErrAbsent
	}
	return func(f *facts.Facts) { f.System.Instance = product }, nil
}
