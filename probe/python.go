package probe

import (
	"slices"

	"cudacompat/probe/internal/framework"
	"cudacompat/probe/internal/pyenv"
	"cudacompat/probe/internal/source"
)

// NoEnvironments in Options.Envs means that no build is looked for: the driver and the GPUs are all that matters.
const NoEnvironments = "none"

// readPython reads every Python environment.
func readPython(h *Host, opt Options) (source.Update, error) {
	if slices.Contains(opt.Envs, NoEnvironments) {
		return nil, source.Skipped("--env none: no build is looked for")
	}
	read, err := framework.ReadTelling(h, opt.Envs, func(soFar pyenv.Found) { opt.tell(ofPython(soFar)) })
	return ofPython(read), err
}

func ofPython(read pyenv.Found) source.Update {
	return func(f *Facts) {
		f.Environments, f.Programs = read.Environments, read.Programs
		f.Unread = append(f.Unread, read.Unread...)
	}
}
