package probe

import (
	"slices"

	"cudacompat/probe/internal/python"
)

// readCaches reads the extensions that programs compiled for the GPU that they met, and kept.
func readCaches(h *Host, opt Options) (writeFound, error) {
	if slices.Contains(opt.Envs, NoEnvironments) {
		return nil, skipped("--env none: no build is looked for")
	}
	caches, err := python.Caches(h)
	return func(f *Facts) { f.Caches = caches }, err
}
