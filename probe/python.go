package probe

import "cudacompat/probe/internal/python"

// readPython reads every Python environment.
func readPython(h *Host, opt Options) (found, error) {
	environments, err := python.Read(h, opt.Envs)
	return func(f *Facts) { f.Environments = environments }, err
}
