package facts

import (
	"slices"
	"strings"

	"cudacompat/internal/version"
)

// OnPython keeps, of a file's package sets for different Pythons, those for one Python, "3.12". Empty keeps all.
func (f *Facts) OnPython(python string) {
	if python == "" {
		return
	}
	f.Environments = slices.DeleteFunc(f.Environments, func(e Environment) bool {
		asked, err := version.ParseSpecifiers(e.Pythons)
		return err == nil && !asked.Has(python) && !(patchless(python) && asked.Has(python+".99"))
	})
	for i := range f.Environments {
		e := &f.Environments[i]
		e.Active = e.Active || strings.HasPrefix(e.Path, "Python ")
	}
}

// patchless reports whether a Python is named without its patch release, so that it may be any of them.
func patchless(python string) bool { return version.ParseOrZero(python).Parts() == 2 }
