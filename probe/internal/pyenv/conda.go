package pyenv

import (
	"path"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
)

// condaNames are the conda packages worth knowing.
var condaNames = lazyregexp.New(`^(pytorch|pytorch-gpu|pytorch-cuda|libtorch|tensorflow|jaxlib|torchvision|` +
	`torchaudio|` +
	`cudnn|nccl|cuda-version|cuda-cudart|cudatoolkit|numpy)$`)

// condaRecord is one file of conda-meta, "pytorch-2.5.1-py3.10_cuda12.4_cudnn9.1.0_0.json". Only its name is read.
type condaRecord struct{ name, version, Build, path string }

func condaRecords(h *host.Host, root string) []condaRecord {
	entries, err := h.ReadDir(root + "/conda-meta")
	if err != nil {
		return nil
	}
	var records []condaRecord
	for _, e := range entries {
		if r, ok := parseCondaName(e.Name()); ok {
			r.path = path.Join(root, "conda-meta", e.Name())
			records = append(records, r)
		}
	}
	return records
}

// parseCondaName splits <name>-<version>-<build>.json from the right; names have dashes, the others do not.
func parseCondaName(file string) (condaRecord, bool) {
	stem, ok := strings.CutSuffix(file, ".json")
	if !ok {
		return condaRecord{}, false
	}
	b := strings.LastIndexByte(stem, '-')
	if b < 0 {
		return condaRecord{}, false
	}
	v := strings.LastIndexByte(stem[:b], '-')
	if v <= 0 {
		return condaRecord{}, false
	}
	return condaRecord{name: stem[:v], version: stem[v+1 : b], Build: stem[b+1:]}, true
}

// CondaPackages lists the packages worth knowing of a conda prefix, under conda's own names.
func CondaPackages(h *host.Host, root string) []facts.Package {
	var packages []facts.Package
	for _, r := range condaRecords(h, root) {
		if condaNames.MatchString(r.name) {
			packages = append(packages, facts.Package{Name: "conda:" + r.name, Version: r.version, Path: r.path})
		}
	}
	return packages
}

// condaVersion returns the version of one package of a conda prefix, or empty.
func condaVersion(h *host.Host, root, name string) string {
	if r := CondaFind(h, root, name); r != nil {
		return r.version
	}
	return ""
}

func CondaFind(h *host.Host, root, name string) *condaRecord {
	for _, r := range condaRecords(h, root) {
		if r.name == name {
			return &r
		}
	}
	return nil
}
