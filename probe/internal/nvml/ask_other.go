//go:build !linux || !cgo

package nvml

import (
	"context"
	"time"
)

const (
	builtIn = false
	noNVML  = "this build has no NVML (built without cgo); driver and GPUs come only from /proc, /sys and files"
)

// askNVML does nothing in a build without NVML; Start has reported it.
func askNVML(bool, func(Answer)) {}

func serve() {}

func askChild(context.Context, map[string]string, time.Duration) *Answer { return nil }
