//go:build linux && cgo

package nvml

import (
	"slices"

	"cudacompat/probe/facts"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// machineWide is the GPU of a call that is about none.
const machineWide = -1

// session is NVML, initialised, with the answer that its calls fill.
type session struct {
	lib    nvml.Interface
	answer *Answer
	gpu    int // that is asked about, by NVML's number, or machineWide
}

// about returns the session for calls about one GPU.
func (s *session) about(gpu int) *session { return &session{s.lib, s.answer, gpu} }

// has reports whether this release of the library has a function. One that it lacks must not be called: the symbols are
// resolved lazily, and an undefined one ends the process.
func (s *session) has(function string) bool { return s.lib.Extensions().LookupSymbol(function) == nil }

// quiet lists the codes that say nothing about the driver or a GPU: this driver release or kind of GPU does not have
// the value, or this user may not ask.
var quiet = []nvml.Return{nvml.ERROR_NOT_SUPPORTED, nvml.ERROR_NO_PERMISSION, nvml.ERROR_FUNCTION_NOT_FOUND, nvml.ERROR_ARGUMENT_VERSION_MISMATCH}

// sick lists the codes that describe a broken GPU: its power cable, its interrupts, that it is lost or must be reset.
var sick = []nvml.Return{nvml.ERROR_INSUFFICIENT_POWER, nvml.ERROR_IRQ_ISSUE, nvml.ERROR_GPU_IS_LOST, nvml.ERROR_RESET_REQUIRED}

// succeeded reports whether a call succeeded. It records one that failed, each function and code once.
func (s *session) succeeded(function string, code nvml.Return) bool {
	switch {
	case code == nvml.SUCCESS:
		return true
	case slices.Contains(quiet, code):
	case s.gpu != machineWide && slices.Contains(sick, code):
		s.answer.noteFailed(s.gpu, code)
	default:
		s.answer.noteUnanswered(function, s.gpu, code)
	}
	return false
}

// noteUnanswered records a call that failed.
func (a *Answer) noteUnanswered(function string, gpu int, code nvml.Return) {
	same := func(u facts.Unanswered) bool { return u.Function == function && u.Code == int(code) }
	if slices.ContainsFunc(a.NVML.Unanswered, same) {
		return
	}
	u := facts.Unanswered{Function: function, Code: int(code)}
	if gpu != machineWide {
		u.GPU = &gpu
	}
	a.NVML.Unanswered = append(a.NVML.Unanswered, u)
}

// noteFailed records a GPU that cannot be queried. A GPU that this process has no right to is not its own.
func (a *Answer) noteFailed(index int, code nvml.Return) {
	failed := facts.FailedGPU{Index: index, Code: int(code)}
	if code != nvml.ERROR_NO_PERMISSION && !slices.Contains(a.NVML.Failed, failed) {
		a.NVML.Failed = append(a.NVML.Failed, failed)
	}
}
