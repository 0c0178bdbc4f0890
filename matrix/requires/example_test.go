package requires_test

import (
	"context"
	"fmt"

	"cudacompat/matrix"
	"cudacompat/matrix/requires"
	"cudacompat/probe"
)

// need returns what the builds of a requirements file ask of a host.
func need(lines string) requires.Requirement {
	node, err := probe.Given([]byte(lines + "\n"))
	if err != nil {
		fmt.Println(err)
	}
	return matrix.Requires(context.Background(), matrix.Embedded(), node, "3.12")
}

// Before a release is bumped: which GPUs are lost, and for which a newer driver is needed.
func ExampleCompare() {
	diff := requires.Compare(need("torch==2.9.0+cu126"), need("torch==2.9.0+cu130"))
	for _, c := range diff.Changes {
		if c.Kind == "lost" {
			fmt.Println(c.Capabilities, "took the drivers", c.Old, "and take", c.New)
		}
	}
	// Output: [5.0 5.2 6.0 6.1 7.0] took the drivers 525.60.13 to branch 580 and take none
}

// Schedulers that know no product ask by compute capability.
func ExampleRequirement_GroupByCapability() {
	for _, c := range need("torch==2.9.0+cu130").GroupByCapability() {
		if c.Capability == "7.0" || c.Capability == "9.0" {
			fmt.Println(c.Capability, c.Arch, c.Drivers)
		}
	}
	// Output:
	// 7.0 x86_64 none
	// 9.0 x86_64 >= 580.65.06
	// 9.0 aarch64 >= 580.65.06
}
