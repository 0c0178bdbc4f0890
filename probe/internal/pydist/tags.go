package pydist

import (
	"bytes"

	"cudacompat/internal/lazyregexp"
)

// Tags is what the tags of a WHEEL say. Several tags are alternatives.
type Tags struct {
	Python string // CPython's ABI, "3.12" or "3.13t"; abi3 and none tell none
	Glibc  string // the least glibc; a plain linux_x86_64 tells none
	Arch   string // "x86_64" or "aarch64"; empty for a wheel of every architecture
	Pure   bool   // it holds no compiled modules
	AnyABI bool   // one tag is for more than one Python
	err    error
}

// Err tells why WHEEL could not be read.
func (t *Tags) Err() error { return t.err }

var (
	wheelPython   = lazyregexp.New(`(?m)^Tag: cp(\d)(\d+)-cp\d+m?(t?)-`)
	wheelPlatform = lazyregexp.New(`(?m)^Tag: \S*?-manylinux(_(\d+)_(\d+)|2014|2010|1)_`)
	wheelArch     = lazyregexp.New(`(?m)^Tag: \S+_(x86_64|aarch64)\r?$`)
	// anyPython matches the tag of a wheel that is for more than one Python, "Tag: cp310-abi3-manylinux_2_28_x86_64".
	anyPython = lazyregexp.New(`(?m)^Tag: \S+?-(abi3|none)-`)
	purelib   = []byte("Root-Is-Purelib: true")
)

// parseWheel reads "Tag: cp312-cp312-manylinux_2_28_x86_64" (PEP 600; manylinux1, 2010 and 2014 are 2.5, 2.12 and 2.17).
// The tag of the oldest glibc is written first.
func parseWheel(data []byte) Tags {
	t := Tags{Pure: bytes.Contains(data, purelib), AnyABI: anyPython.Match(data)}
	if m := wheelPython.FindSubmatch(data); m != nil {
		t.Python = string(m[1]) + "." + string(m[2]) + string(m[3])
	}
	if m := wheelArch.FindSubmatch(data); m != nil {
		t.Arch = string(m[1])
	}
	m := wheelPlatform.FindSubmatch(data)
	switch {
	case m == nil:
	case m[2] != nil:
		t.Glibc = string(m[2]) + "." + string(m[3])
	default:
		t.Glibc = map[string]string{"1": "2.5", "2010": "2.12", "2014": "2.17"}[string(m[1])]
	}
	return t
}
