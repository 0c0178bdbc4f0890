package inputs

import (
	"fmt"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/usage"
	"cudacompat/matrix"
	"cudacompat/matrix/pin"
	"cudacompat/probe"
)

// wantText matches a package with extras and a range of releases.
var wantText = lazyregexp.New(`^\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(\[[A-Za-z0-9._,\s-]+\])?\s*((?:===?|~=|!=|[<>]=?)[A-Za-z0-9.!*+_,<>=~\s-]+)?$`)

// IsWant reports whether a text names a package, with extras and a range of releases.
func IsWant(text string) bool { return wantText.MatchString(text) }

// ParseWant parses a value of --want.
func ParseWant(t *matrix.Tables, text string) (pin.Want, error) {
	m := wantText.FindStringSubmatch(text)
	bad := &usage.Error{Message: fmt.Sprintf("--want %s does not name a package with its releases", text),
		Hint: "--want vllm, --want flash-attn==2.8.3, --want 'torch>=2.8,<2.10'"}
	if pinned := FindPin(text); pinned != "" {
		bad.Hint = "did you mean --want " + pinned + "?"
	}
	if m == nil {
		return pin.Want{}, bad
	}
	squeeze := func(text string) string { return strings.Join(strings.Fields(text), "") }
	want := pin.Want{Package: probe.PackageName(m[1]), Extras: squeeze(m[2]), Specifier: squeeze(m[3])}
	if !matrix.HasPackage(t, want.Package) {
		hint := usage.Suggest(want.Package, matrix.PackageNames(t))
		if strings.HasSuffix(hint, " more") {
			hint = "leave it out: the installer picks the release of what has nothing to do with CUDA"
		}
		if want.Package == "pytorch" {
			hint = "--want torch" + want.Specifier + ": conda's pytorch channel ended with 2.5.1, and the wheels are named torch"
		}
		return want, &usage.Error{Message: fmt.Sprintf("the tables know nothing of %q", want.Package), Hint: hint}
	}
	if !matrix.IsSpecifier(want.Specifier) {
		return want, bad
	}
	return want, nil
}
