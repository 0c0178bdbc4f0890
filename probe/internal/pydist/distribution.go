package pydist

import (
	"path"
	"strings"

	"cudacompat/probe/host"
	"cudacompat/probe/internal/distname"
)

// Distribution is one installed distribution. What its files say is read when it is first asked for.
type Distribution struct {
	Name    string // normalised as pip does, "nvidia-nccl-cu12"
	Version string // by the name of its directory; METADATA's where two directories claim one name
	Path    string // its metadata: "/opt/venv/lib/python3.12/site-packages/xgboost-3.4.1.dist-info"
	Egg     bool   // the metadata has the older form, egg-info, without RECORD
	Linked  bool   // Path may be a symbolic link

	h              *host.Host
	record         *Record
	metadata       *Metadata
	tags           *Tags
	intact         map[string]Check
	damaged, front *[]Damage
}

// Dir returns the package directory of the distribution, which paths in RECORD are relative to.
func (d *Distribution) Dir() string { return path.Dir(d.Path) }

// String returns the name and the version, "numpy 2.3.1".
func (d *Distribution) String() string { return d.Name + " " + d.Version }

// Installer returns the program that installed the distribution, "pip", "uv" or "conda".
func (d *Distribution) Installer() (string, error) { return d.h.ReadLine(d.Path + "/INSTALLER") }

// Record returns what RECORD lists.
func (d *Distribution) Record() *Record {
	if d.record == nil {
		d.record = &Record{}
		if !d.Egg {
			d.record.data, d.record.err = d.h.ReadFile(d.Path + "/RECORD")
		}
	}
	return d.record
}

// Metadata returns what METADATA says.
func (d *Distribution) Metadata() *Metadata {
	if d.metadata == nil {
		data, err := d.h.ReadFile(d.Path + "/METADATA")
		m := ParseMetadata(data)
		m.err = err
		d.metadata = &m
	}
	return d.metadata
}

// Damage returns why METADATA says nothing: it is unreadable, missing, or without a version.
func (d *Distribution) Damage() error {
	switch m := d.Metadata(); {
	case m.err == nil && m.Version == "":
		return host.Damaged(d.Path+"/METADATA", "no Version in it")
	case host.Absent(m.err) && !d.Egg:
		return host.Damaged(d.Path, "no METADATA in it")
	default:
		return m.err
	}
}

// Tags returns what the tags of WHEEL say.
func (d *Distribution) Tags() *Tags {
	if d.tags == nil {
		data, err := d.h.ReadFile(d.Path + "/WHEEL")
		t := parseWheel(data)
		t.err = err
		d.tags = &t
	}
	return d.tags
}

// Requires returns the requirements that METADATA lists.
func (d *Distribution) Requires() []Requirement { return d.Metadata().Requires }

// splitInfo splits the name of a metadata directory, such as nvidia_nccl_cu12-2.27.5.dist-info,
// torch-2.9.0+cu126.dist-info and, from the packages of Linux distributions, numpy-1.24.2.egg-info or
// PyYAML-6.0-py3.11.egg-info. A name with a tilde is something that pip could not remove; it does not count.
func splitInfo(entry string) (name, version string, egg, ok bool) {
	stem, isInfo := strings.CutSuffix(entry, ".dist-info")
	if !isInfo {
		if stem, egg = strings.CutSuffix(entry, ".egg-info"); !egg {
			return "", "", false, false
		}
	}
	name, version, _ = strings.Cut(stem, "-")
	if egg {
		version, _, _ = strings.Cut(version, "-py")
	}
	return distname.Normal(name), version, egg, name != "" && name[0] != '~'
}
