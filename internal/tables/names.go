package tables

import (
	"cmp"
	"slices"
	"strings"

	"cudacompat/internal/version"
)

// Library is a shared library or DLL by its file name, and what holds it.
type Library struct {
	Name    string   `csv:"name"`
	Library string   `csv:"library"` // in words: "cuDNN"
	CUDA    []string `csv:"cuda"`    // the majors of CUDA that it comes with
	Pip     []string `csv:"pip"`     // the wheels that hold it
	Origin
}

// Library returns the row of a file name, nil when there is none. A library of a patch release
// ("libcublas.so.12.4.5.8") is known by its soname.
func (t *Tables) Library(name string) *Library {
	rows := Rows[Library](t)
	for {
		if i := slices.IndexFunc(rows, func(l Library) bool { return strings.EqualFold(l.Name, name) }); i >= 0 {
			return &rows[i]
		}
		dot := strings.LastIndexByte(name, '.')
		if dot < 0 || !strings.Contains(name[:dot], ".so.") {
			return nil
		}
		name = name[:dot]
	}
}

// WheelOf returns the name of NVIDIA's wheel with a library ("libcudart.so.12", or "cudart"), without "nvidia-" and its
// CUDA family: "cuda-runtime". A library may have moved to another wheel with a CUDA family, as NVVM has. One that the
// table does not know is taken for its wheel's name.
func (t *Tables) WheelOf(library string, cuda version.Number) string {
	stem, wheel := libraryStem(library), ""
	for _, l := range Rows[Library](t) {
		own := libraryStem(l.Name)
		if own != stem && !strings.HasPrefix(stem, own+"_") || len(l.Pip) == 0 {
			continue
		}
		if wheel == "" || version.ParseOrZero(l.CUDA[0]).Major() <= cuda.Major() {
			wheel, _, _ = strings.Cut(strings.TrimPrefix(l.Pip[0], "nvidia-"), "-cu1")
		}
	}
	return cmp.Or(wheel, strings.ToLower(stem))
}

// libraryStem returns a library's name without what depends on its release: "cudnn_ops" of "libcudnn_ops.so.9".
func libraryStem(name string) string {
	stem, _, _ := strings.Cut(strings.TrimPrefix(name, "lib"), ".so")
	return stem
}

// Status is a value that a call of one of NVIDIA's libraries returns.
type Status struct {
	Name    string `csv:"name"`
	API     string `csv:"api"`
	Code    int    `csv:"code"`
	Text    string `csv:"text"`    // as the library itself puts it, where it was asked
	Blame   string `csv:"blame"`   // empty: not known, or no error
	Cause   string `csv:"cause"`   // a cause of the logs' signatures
	Meaning string `csv:"meaning"` // in our words; empty: the name says it
	Origin
}

// Statuses returns the rows of a name, or of a code of CUDA's driver and runtime, which share their numbers.
func (t *Tables) Statuses(name string, code int) []Status {
	var list []Status
	for _, s := range Rows[Status](t) {
		if strings.EqualFold(s.Name, name) || name == "" && s.Code == code && strings.HasPrefix(s.API, "cuda-") {
			list = append(list, s)
		}
	}
	return list
}
