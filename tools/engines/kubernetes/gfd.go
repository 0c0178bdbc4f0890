package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	spec "github.com/NVIDIA/k8s-device-plugin/api/config/v1"
	"github.com/NVIDIA/k8s-device-plugin/internal/lm"
	"github.com/NVIDIA/k8s-device-plugin/internal/resource"
)

// gfd writes one line of JSON for each line of standard input, "DRIVER CUDA CAPABILITY MEMORY-MiB COUNT NAME".
func gfd([]string) error {
	lines := bufio.NewScanner(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		labels, err := gpuLabels(lines.Text())
		if err != nil {
			return fmt.Errorf("%q: %v", lines.Text(), err)
		}
		if err := out.Encode(labels); err != nil {
			return err
		}
	}
	return lines.Err()
}

// gpuLabels returns those of a node with one kind of GPU, without MIG and sharing.
func gpuLabels(line string) (lm.Labels, error) {
	var driver string
	var cuda, capability [2]int
	var memory uint64
	var count int
	if _, err := fmt.Sscanf(line, "%s %d.%d %d.%d %d %d", &driver, &cuda[0], &cuda[1], &capability[0], &capability[1],
		&memory, &count); err != nil {
		return nil, err
	}
	name := strings.Join(strings.Fields(line)[5:], " ")
	gpu := &resource.DeviceMock{
		GetNameFunc:                  func() (string, error) { return name, nil },
		GetCudaComputeCapabilityFunc: func() (int, int, error) { return capability[0], capability[1], nil },
		GetTotalMemoryMiBFunc:        func() (uint64, error) { return memory, nil },
		IsMigEnabledFunc:             func() (bool, error) { return false, nil },
		IsMigCapableFunc:             func() (bool, error) { return capability[0] >= 8, nil },
		IsFabricAttachedFunc:         func() (bool, error) { return false, nil },
		GetPCIClassFunc:              func() (uint32, error) { return 0x030200, nil },
	}
	node := &resource.ManagerMock{
		InitFunc:                 func() error { return nil },
		ShutdownFunc:             func() error { return nil },
		GetDriverVersionFunc:     func() (string, error) { return driver, nil },
		GetCudaDriverVersionFunc: func() (int, int, error) { return cuda[0], cuda[1], nil },
		GetDevicesFunc: func() ([]resource.Device, error) {
			list := make([]resource.Device, count)
			for i := range list {
				list[i] = gpu
			}
			return list, nil
		},
	}
	none, nowhere := spec.MigStrategyNone, ""
	config := &spec.Config{Flags: spec.Flags{CommandLineFlags: spec.CommandLineFlags{
		MigStrategy: &none, GFD: &spec.GFDCommandLineFlags{MachineTypeFile: &nowhere}}}}
	labeller, err := lm.NewDeviceLabeler(node, config)
	if err != nil {
		return nil, err
	}
	return labeller.Labels()
}
