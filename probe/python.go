package probe

import (
	"slices"

	"cudacompat/probe/internal/framework"
	"cudacompat/probe/internal/pyenv"
	"cudacompat/probe/internal/source"
)

// NoEnvironments in Options.Envs skips Python: only the driver and the GPUs matter.
const NoEnvironments = "none"

// readPython reads every Python environment.
func readPython(h *Host, opt Options) (source.Update, error) {
	if slices.Contains(opt.Envs, NoEnvironments) {
		return nil, source.Skipped("--env none: no build is looked for")
	}
	read, err := framework.ReadTelling(h, opt.Envs, func(soFar pyenv.Found) { opt.keep(updatePython(soFar)) })
	return updatePython(read), err
}

// updatePython returns the update for what was read of Python environments.
func updatePython(read pyenv.Found) source.Update {
	return func(f *Facts) {
		f.Environments, f.Programs = read.Environments, read.Programs
		f.Unread = append(f.Unread, read.Unread...)
	}
}
