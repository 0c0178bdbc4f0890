package probe

import (
	"slices"

	"cudacompat/probe/internal/python"
)

// NoEnvironments in Options.Envs means that no build is looked for: the driver and the GPUs are all that matters.
const NoEnvironments = "none"

// readPython reads every Python environment.
func readPython(h *Host, opt Options) (found, error) {
	if slices.Contains(opt.Envs, NoEnvironments) {
		return nil, skipped("--env none: no build is looked for")
	}
	read, err := python.Read(h, opt.Envs)
	return func(f *Facts) {
		f.Environments, f.Programs = read.Environments, read.Programs
		f.Unread = append(f.Unread, read.Unread...)
	}, err
}
