package process

import (
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/source"
)

// variableNames lists the environment variables that are read. Reports are pasted into public threads, so nothing else
// is looked at.
var variableNames = []string{"LD_LIBRARY_PATH", "LD_PRELOAD", "PYTORCH_SKIP_CUDNN_COMPATIBILITY_CHECK",
	"PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION", "JAX_PLATFORMS", "JAX_PLATFORM_NAME", "RANK",
	"LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"}

// Further variables are read if they have one of these prefixes and this form.
var (
	variablePrefixes = []string{"CUDA_", "NVIDIA_", "NCCL_", "TRITON_PTXAS"}
	variableName     = lazyregexp.New(`^[A-Z]+_\w+$`)
)

// isVariable reports whether a variable is read.
func isVariable(name string) bool {
	begins := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
	return slices.Contains(variableNames, name) ||
		slices.ContainsFunc(variablePrefixes, begins) && variableName.MatchString(name)
}

// secretNames matches names that often hold secrets.
var secretNames = lazyregexp.New(`(?i)(TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|API_?KEY)`)

// ReadVariables reads the variables of this process that change what CUDA does.
func ReadVariables(h *host.Host) (source.Update, error) {
	variables := SelectVariables(h.Env)
	if len(variables) == 0 {
		return nil, host.ErrAbsent
	}
	return func(f *facts.Facts) { f.Variables = variables }, nil
}

// SelectVariables returns the variables of an environment that may be read.
func SelectVariables(env map[string]string) map[string]string {
	variables := map[string]string{}
	for name, value := range env {
		if isVariable(name) && !secretNames.MatchString(name) {
			variables[name] = value
		}
	}
	return variables
}
