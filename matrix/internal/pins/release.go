package pins

import (
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/fit"
	"cudacompat/matrix/internal/model"
)

// IsInstallable reports whether a release can be installed directly and the tables know what it is for, such as the
// torch of an engine. A source on the index counts if its row says what it is for. For flash-attn's sources nothing
// does.
func IsInstallable(m *model.Machine, e tables.Extension) bool {
	switch {
	case !e.IsFor(m.Platform):
		return false
	case m.Tables.Trait("pins-torch", e.Package, version.Number{}) && len(e.Torch) == 0, m.Tables.CompiledForOlder(&e):
		return false
	case e.Variant == "sdist":
		return len(e.Torch)+len(e.CUDA) > 0
	}
	return e.Variant == "pypi" || OnReleases(e) || e.Index() != ""
}

// CompareReleases compares releases, including post-releases.
func CompareReleases(a, b string) int {
	number := func(text string) version.Number { return version.ParseOrZero(strings.ReplaceAll(text, ".post", ".")) }
	return number(a).Compare(number(b))
}

// OnReleases reports whether a wheel of a row is on its project's release page, under the name that the project's
// setup.py gives it.
func OnReleases(e tables.Extension) bool {
	return len(e.CXX11) > 0 && len(e.SASS) > 0 && slices.ContainsFunc(e.Source, func(s string) bool { return releasePage.MatchString(s) })
}

// releasePage matches the source of such a row, at a tag.
var releasePage = lazyregexp.New(`^https://github\.com/([\w.-]+/[\w.-]+)/blob/(v[\w.]+)/setup\.py$`)

// ReleaseWheel returns the wheel of a row on its project's release page for a torch and a Python ("3.12"): its name,
// its version and its address. All are "" if the row names no such page, or torch's C++ ABI is unknown.
func ReleaseWheel(m *model.Machine, e tables.Extension, torch version.Release, python string) (wheel, release, url string) {
	abi, _ := fit.TorchABI(m.Tables, torch, e.Platform, "cuda")
	if !OnReleases(e) || abi == "" || !slices.Contains(e.CXX11, abi) || python == "" || !TakesPython(e, python) {
		return "", "", ""
	}
	i := slices.IndexFunc(e.Source, func(s string) bool { return releasePage.MatchString(s) })
	page := releasePage.FindStringSubmatch(e.Source[i])
	local := fmt.Sprintf("cu%dtorch%scxx11abi%s", version.ParseOrZero(e.CUDA[0]).Major(), torch.Number.Short(), strings.ToUpper(abi))
	tag := "cp" + strings.ReplaceAll(python, ".", "")
	release = e.Release + "+" + local
	wheel = fmt.Sprintf("%s-%s-%s-%s-linux_x86_64.whl", strings.ReplaceAll(e.Package, "-", "_"), release, tag, tag)
	return wheel, release, "https://github.com/" + page[1] + "/releases/download/" + page[2] + "/" + wheel
}
