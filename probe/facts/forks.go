package facts

import (
	"slices"
	"strings"

	"cudacompat/internal/version"
)

// OnPython leaves of the sets of packages that a file names for different Pythons those for one, "3.12", which then are
// what is installed. Empty leaves all of them.
func (f *Facts) OnPython(python string) {
	if python == "" {
		return
	}
	f.Environments = slices.DeleteFunc(f.Environments, func(e Environment) bool {
		fits, err := version.Allows(e.Pythons, version.Of(python))
		return e.Pythons != "" && err == nil && !fits
	})
	for i := range f.Environments {
		e := &f.Environments[i]
		e.Active = e.Active || strings.HasPrefix(e.Path, "Python ")
	}
}
