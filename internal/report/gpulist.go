package report

import (
	"fmt"
	"slices"
	"strings"
)

// gpuList counts equal GPUs, "8 × NVIDIA H100 (9.0)".
func gpuList(gpus []string) string {
	var list []string
	for _, g := range slices.Compact(slices.Sorted(slices.Values(gpus))) {
		n := 0
		for _, other := range gpus {
			if other == g {
				n++
			}
		}
		if n > 1 {
			g = fmt.Sprintf("%d × %s", n, g)
		}
		list = append(list, g)
	}
	return strings.Join(list, ", ")
}
