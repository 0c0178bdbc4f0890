package pydist

import (
	"bytes"
	"cmp"
	"path"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/distname"
)

// Distributions lists the companions installed in dir by the names of their metadata directories, such as
// nvidia_nccl_cu12-2.27.5.dist-info, torch-2.9.0+cu126.dist-info and, from distributions' packages,
// numpy-1.24.2.egg-info or PyYAML-6.0-py3.11.egg-info.
func Distributions(h *host.Host, dir string, failed *host.Errors) []facts.Package {
	entries, err := h.ReadDir(dir)
	if err != nil {
		failed.Add(err)
		return nil
	}
	var dists []facts.Package
	for _, i := range InfosIn(h, dir, entries) {
		if i.Version != "" && distname.Companions.Match(i.Name) {
			dists = append(dists, facts.Package{Name: i.Name, Version: i.Version, Path: i.Path()})
		}
	}
	for _, e := range entries {
		stem, isEgg := strings.CutSuffix(e.Name(), ".egg-info")
		name, version, ok := strings.Cut(stem, "-")
		version, _, _ = strings.Cut(version, "-py")
		if name = distname.Normal(name); ok && isEgg && distname.Companions.Match(name) {
			dists = append(dists, facts.Package{Name: name, Version: version, Path: path.Join(dir, e.Name())})
		}
	}
	return dists
}

// Metadata is what a dist-info directory says of a wheel.
type Metadata struct {
	version  string
	Requires map[string]string // exact pins that hold on Linux without an extra, name to version
	Python   string            // CPython ABI by the wheel's tag, as Build.Python
	Glibc    string            // least glibc by the wheel's tags
	Arch     string            // "x86_64" or "aarch64" by the wheel's tag; empty for one of every architecture
	Pip      bool              // installed by pip or uv, not by conda
}

// requirement matches the exact pins of METADATA in both of setuptools' forms:
//
//	Requires-Dist: nvidia-nccl-cu12==2.27.5; platform_system == "Linux" and platform_machine == "x86_64"
//	Requires-Dist: nvidia-cudnn-cu12 (==8.9.2.26) ; platform_system == "Linux"
//	Requires-Dist: cuda-toolkit[cublas,cudart]==13.0.2; platform_system == "Linux"
var requirement = lazyregexp.New(`(?m)^Requires-Dist: ([A-Za-z0-9._-]+)(?:\[[^\]]*\])? *\(?==([^);,\s]+)\)?(.*)$`)

// Elsewhere matches markers of requirements that do not hold for a plain installation on Linux.
var Elsewhere = lazyregexp.New(`\bextra\s*==|==\s*['"](?i:windows|win32|darwin|cygwin)['"]`)

var metadataVersion = lazyregexp.New(`(?m)^Version: (\S+)\s*$`)

// ReadMetadata reads METADATA, WHEEL and INSTALLER of one dist-info directory.
func ReadMetadata(h *host.Host, dist *facts.Package) (Metadata, error) {
	var failed host.Errors
	data, err := h.ReadFile(dist.Path + "/METADATA")
	version, requires := ParseMetadata(data)
	switch {
	case err == nil && version == "":
		err = host.Damaged(dist.Path+"/METADATA", "no Version in it")
	case host.Absent(err) && strings.HasSuffix(dist.Path, ".dist-info"):
		err = host.Damaged(dist.Path, "no METADATA in it")
	}
	failed.Add(err)
	m := Metadata{version: cmp.Or(version, dist.Version), Requires: requires}
	wheel, err := h.ReadFile(dist.Path + "/WHEEL")
	failed.Add(err)
	m.Python, m.Glibc = parseWheel(wheel)
	if tag := WheelArch.FindSubmatch(wheel); tag != nil {
		m.Arch = string(tag[1])
	}
	installer, err := h.ReadLine(dist.Path + "/INSTALLER")
	failed.Add(err)
	m.Pip = installer == "pip" || installer == "uv"
	return m, failed.Err()
}

// maxHeader bounds, in bytes, what is read of METADATA above its description: thousands of requirements.
const maxHeader = 1 << 20

// HeaderOf is what stands in METADATA above the description.
func HeaderOf(metadata []byte) []byte {
	header, _, _ := bytes.Cut(metadata[:min(len(metadata), maxHeader)], []byte("\n\n"))
	header, _, _ = bytes.Cut(header, []byte("\n\r\n"))
	return header
}

// ParseMetadata reads a wheel's version and exact pins out of METADATA's header, which an empty line ends: the
// description below it may hold anything.
func ParseMetadata(data []byte) (version string, requires map[string]string) {
	header := HeaderOf(data)
	if bytes.Contains(header, []byte("\r\n")) {
		header = bytes.ReplaceAll(header, []byte("\r\n"), []byte("\n"))
	}
	if m := metadataVersion.FindSubmatch(header); m != nil {
		version = string(m[1])
	}
	requires = map[string]string{}
	for _, m := range requirement.FindAllSubmatch(header, -1) {
		if !Elsewhere.Match(m[3]) {
			requires[distname.Normal(string(m[1]))] = string(m[2])
		}
	}
	return version, requires
}

var (
	wheelPython   = lazyregexp.New(`(?m)^Tag: cp(\d)(\d+)-cp\d+m?(t?)-`)
	wheelPlatform = lazyregexp.New(`(?m)^Tag: \S*?-manylinux(_(\d+)_(\d+)|2014|2010|1)_`)
)

// WheelArch matches the architecture of a wheel, "Tag: cp312-cp312-manylinux_2_28_aarch64".
var WheelArch = lazyregexp.New(`(?m)^Tag: \S+_(x86_64|aarch64)\r?$`)

// parseWheel reads the CPython ABI and the least glibc out of WHEEL's tags, "Tag: cp312-cp312-manylinux_2_28_x86_64"
// (PEP 600; manylinux1, 2010 and 2014 are 2.5, 2.12 and 2.17). Several tags are alternatives, the one of the oldest
// glibc written first. A plain linux_x86_64 tag says nothing of glibc, abi3 and none nothing of Python's.
func parseWheel(data []byte) (python, glibc string) {
	if m := wheelPython.FindSubmatch(data); m != nil {
		python = string(m[1]) + "." + string(m[2]) + string(m[3])
	}
	m := wheelPlatform.FindSubmatch(data)
	switch {
	case m == nil:
	case m[2] != nil:
		glibc = string(m[2]) + "." + string(m[3])
	default:
		glibc = map[string]string{"1": "2.5", "2010": "2.12", "2014": "2.17"}[string(m[1])]
	}
	return python, glibc
}

// Requires reports whether the head of a METADATA asks for a distribution, perhaps for an extra alone:
//
//	Requires-Dist: sgl-flash-mla==1.0.0
//	Requires-Dist: flash_attn>=2; extra == "flash"
func Requires(data []byte, name string, extras bool) bool {
	head, _, _ := bytes.Cut(data, []byte("\n\n"))
	for line := range bytes.Lines(head) {
		rest, ok := bytes.CutPrefix(line, []byte("Requires-Dist: "))
		if !ok || Elsewhere.Match(rest) && !extras {
			continue
		}
		end := bytes.IndexFunc(rest, func(r rune) bool { return strings.ContainsRune(" ;[(<>=!~\r\n", r) })
		if end < 0 {
			end = len(rest)
		}
		if distname.Normal(string(rest[:end])) == name {
			return true
		}
	}
	return false
}
