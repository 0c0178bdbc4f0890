package distname

import (
	"strings"

	"cudacompat/internal/lazyregexp"
)

var (
	wheelLocal  = lazyregexp.New(`\+(cu\d+|cpu|rocm[\d.]+|xpu)(\.with\.pypi\.cudnn)?$`)
	ngcLocal    = lazyregexp.New(`\+.*\.?nv\d+\.\d+`)
	sourceLocal = lazyregexp.New(`\+(git)?[0-9a-f]{6,}`)
	distroLocal = lazyregexp.New(`\+(debian|dfsg|ds\d*)$`)
	plainNew    = lazyregexp.New(`^([2-9]|1\.13)\.[0-9.]+$`)
)

// LocalOrigin returns who built a PyTorch, by its local version, or "".
func LocalOrigin(version string) string {
	switch {
	case ngcLocal.MatchString(version):
		return "ngc"
	case wheelLocal.MatchString(version):
		return "wheel"
	case distroLocal.MatchString(version):
		return "distribution"
	case sourceLocal.MatchString(version):
		return "source"
	}
	return ""
}

// CondaOrigin distinguishes the pytorch channel's builds (py3.10_cuda12.4_cudnn9.1.0_0) from conda-forge's.
func CondaOrigin(build string) string {
	if strings.HasPrefix(build, "py3") {
		return "conda"
	}
	return "conda-forge"
}

// PlainOrigin judges a version without a local part: PyTorch's own wheels have carried one since 1.13.
func PlainOrigin(version string) string {
	if plainNew.MatchString(version) {
		return "source"
	}
	return ""
}
