package hardware

import (
	"slices"

	"cudacompat/internal/version"
)

// TargetWords describes the machine that a file is judged for, as part of a sentence.
func (m *Machine) TargetWords() string {
	words := m.DriverWords()
	if m.Driver().CUDA.Known() {
		words += " (CUDA " + m.Driver().CUDA.Short() + ")"
	}
	if len(m.GPUs) > 0 {
		words += " with " + m.GPUs[0].Label
	}
	return words
}

// TargetProperties returns the properties that image constraints refer to if no container runs: each GPU under every
// brand that NVML may report.
func (m *Machine) TargetProperties() [][]version.Properties {
	base := version.Properties{CUDA: m.Driver().CUDA, Driver: m.Driver().Version, NoGPU: len(m.GPUs) == 0}
	list := [][]version.Properties{}
	for _, g := range m.GPUs {
		var one []version.Properties
		for _, brand := range g.brands() {
			p := base
			p.NoGPU, p.Brand, p.Arch = false, brand, g.Capability.Number()
			one = append(one, p)
		}
		list = append(list, one)
	}
	if len(list) == 0 {
		list = append(list, []version.Properties{base})
	}
	return list
}

// brands returns the brand names that NVML may report for a GPU, as NVIDIA_REQUIRE_CUDA writes them.
func (g GPU) brands() []string {
	switch {
	case g.DataCentre() == Yes:
		return []string{"tesla", "nvidia"}
	case g.DataCentre() == No:
		return []string{"geforce", "geforcertx", "titan", "titanrtx"}
	}
	return []string{"quadro", "quadrortx", "nvidiartx"}
}

// OnEither evaluates an expression for several possible properties. The result is known only if they all agree.
func OnEither(expression version.Requirement, alternatives []version.Properties) version.Truth {
	first := expression.On(alternatives[0])
	if slices.ContainsFunc(alternatives[1:], func(p version.Properties) bool { return expression.On(p) != first }) {
		return version.Unsaid
	}
	return first
}
