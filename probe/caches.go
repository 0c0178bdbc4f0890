package probe

import (
	"slices"

	"cudacompat/probe/internal/framework"
	"cudacompat/probe/internal/source"
)

// readCaches reads the extensions that programs compiled for this machine's GPU and cached on disk.
func readCaches(h *Host, opt Options) (source.Update, error) {
	if slices.Contains(opt.Envs, NoEnvironments) {
		return nil, source.Skipped("--env none: no build is looked for")
	}
	caches, err := framework.Caches(h)
	return func(f *Facts) { f.Caches = caches }, err
}
