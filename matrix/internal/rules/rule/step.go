package rule

import (
	"strings"

	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
)

// ExportStep returns a step that sets variables in a shell. It returns words instead of a command if the reader must
// look something up first.
func ExportStep(m *model.Machine, setting, that string) pin.Step {
	if m.Windows() {
		return pin.Say("set " + strings.ReplaceAll(setting, " CUDA_", " and CUDA_") + ": " + that)
	}
	if strings.Contains(setting, "(") {
		return pin.Say("set " + setting)
	}
	return pin.Run("export " + setting).Explained(that)
}

// ImageConfiguration names the place where images declare their variables.
const ImageConfiguration = "the image's configuration"

// VariableEvidence returns the evidence for a variable of the programs that are judged: its value, and where it is set.
func VariableEvidence(m *model.Machine, name string) verdict.Evidence {
	from := "environment"
	if m.Facts.Image != nil {
		from = ImageConfiguration
	}
	return verdict.Evidence{Fact: name, Value: m.Facts.Variables[name], From: from}
}

// UnsetStep returns the step that unsets a variable of the programs that are judged.
func UnsetStep(m *model.Machine, name string) pin.Step {
	if m.Facts.Image != nil {
		return pin.Say("build the image without " + name)
	}
	return pin.Run("unset " + name)
}
