package library

import (
	"fmt"

	"cudacompat/internal/version"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
)

// firstExactPins is the first minor release of PyTorch of which each CUDA wheel for Linux on x86 requires its cuDNN and
// NCCL with `==`. Before it, the cu118 wheels contain them.
var firstExactPins = version.ParseOrZero("2.2")

// conflictsWithPin reports whether an installer refuses the environment, because it pins a library's wheel to another
// release than its torch requires.
func conflictsWithPin(m *model.Machine, b *model.Build, l model.Library, want version.Number) bool {
	p := b.Env.Package(l.Wheel)
	return b.Name == "torch" && m.Platform == "linux_x86_64" &&
		!b.Release.Number.Less(firstExactPins) && want.Parts() >= 3 && p != nil && p.Pinned && p.Number.Parts() >= want.Parts() &&
		p.Number.Compare(want) != 0
}

// addPinConflict makes the finding of a library's mismatch that of a file which no installer accepts.
func addPinConflict(f *verdict.Finding, b *model.Build, l model.Library, want version.Number) {
	f.Severity, f.Need = verdict.Error, fmt.Sprintf("%s==%s", l.Wheel, want)
	f.Message = fmt.Sprintf("%s %s requires %s==%s and the file pins %s: no installer accepts both (pip: ResolutionImpossible)",
		b.Name, b.Version, l.Wheel, want, l.Version)
	f.Steps = []pin.Step{pin.Say(fmt.Sprintf("write %s==%s in the file, or remove the line: %s brings its own", l.Wheel, want, b.Name))}
}
