package input

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/distname"

	"go.yaml.in/yaml/v4"
)

// conda is a list of packages of conda's, those of pip's among them.
type conda struct {
	list []lockedRelease
	cuda string // of cuda-version, pytorch-cuda or cudatoolkit: what all of them are of
	cpu  bool   // cpuonly
	bad  []facts.Unread
}

var (
	buildCUDA = lazyregexp.New(`cuda_?(\d+\.\d+|\d{3}|\d{2})(?:\D|$)`)
	buildCPU  = lazyregexp.New(`(^|_)cpu(_|$)`)
	// condaExact is one number: "2.5.1" of "=2.5.1" means 2.5.1.*, which for a whole release is the same.
	condaExact = lazyregexp.New(`^={0,2}(\d+(?:\.\d+){2,}[a-z0-9.]*)$`)
	condaFile  = lazyregexp.New(`^(.+)-([^-]+)-([^-]+?)(?:\.conda|\.tar\.bz2)$`)
)

// package adds one of conda's packages; of version, build and channel any can be empty.
func (c *conda) add(name, version, specifier, build string) {
	switch name {
	case "cuda-version", "pytorch-cuda", "cudatoolkit":
		c.cuda = cmp.Or(c.cuda, twoParts(leadVersion.FindString(version+strings.TrimLeft(specifier, "=<>~"))))
		return
	case "cpuonly":
		c.cpu = true
		return
	}
	p := lockedRelease{name: distname.OfConda(name), version: version, specifier: specifier,
		from: "package " + name, origin: "conda"}
	if build != "" {
		p.origin = distname.CondaOrigin(build)
	}
	if m := buildCUDA.FindStringSubmatch(build); m != nil {
		p.accelerator, p.cuda = "cuda", withDot(m[1])
	} else if buildCPU.MatchString(build) || strings.Contains(build, "mkl") || strings.Contains(build, "eigen") {
		p.accelerator = "cpu"
	}
	if version == "" && specifier == "" {
		p.specifier = facts.Unspecified
	}
	c.list = append(c.list, p)
}

// withDot is "12.6" of "126"; two digits are a family, "12".
func withDot(digits string) string {
	if len(digits) == 3 && !strings.Contains(digits, ".") {
		return digits[:2] + "." + digits[2:]
	}
	return digits
}

// packages are the list's, each with the CUDA that the others tell; a framework stands in it once.
func (c *conda) packages() []lockedRelease {
	var list []lockedRelease
	for _, p := range c.list {
		framework := p.name == "torch" || p.name == "tensorflow"
		conda := p.origin != "" // pip's come with a CUDA of their own
		switch {
		case framework && conda && p.accelerator == "" && c.cpu:
			p.accelerator = "cpu"
		case framework && conda && p.accelerator == "" && c.cuda != "":
			p.accelerator, p.cuda = "cuda", c.cuda
		}
		at := -1
		if framework {
			at = slices.IndexFunc(list, func(o lockedRelease) bool { return o.name == p.name })
		}
		if at < 0 {
			list = append(list, p)
			continue
		}
		list[at].accelerator, list[at].cuda = cmp.Or(list[at].accelerator, p.accelerator), cmp.Or(list[at].cuda, p.cuda)
	}
	return list
}

var condaHead = lazyregexp.New(`(?m)^# (?:packages in environment at |Name\s+Version\s+Build)`)

func isCondaList(d Document) bool {
	if smiBanner.Match(d.Data) || isCollectEnv(d) {
		return false
	}
	return condaHead.Match(d.Data) || condaExportHead.Match(d.Data) && !isCondaExplicit(d)
}

// condaExportHead is the head of conda list --export.
var condaExportHead = lazyregexp.New(`(?m)^# This file may be used to create an environment using:\n# \$ conda create`)

// readCondaList reads conda list, and its --export, whose lines are name=version=build:
//
//	# Name                    Version                   Build  Channel
//	pytorch                   2.5.1           py3.12_cuda12.4_cudnn9.1.0_0    pytorch
//	numpy                     2.1.2                    pypi_0    pypi
func readCondaList(d Document) (facts.Facts, error) {
	c := &conda{}
	for line := range strings.Lines(string(d.Data)) {
		fields := strings.Fields(line)
		if len(fields) == 1 {
			fields = strings.Split(fields[0], "=")
		}
		if len(fields) < 3 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		c.take(listedPackage{fields[0], fields[1], fields[2], fields[len(fields)-1]})
	}
	return lockedFacts("conda list", c.packages(), nil), nil
}

// take adds a line of a list: one of pip's, or one of conda's.
func (c *conda) take(p listedPackage) {
	if p.Channel == "pypi" || strings.HasPrefix(p.Build, "pypi") {
		c.list = append(c.list, lockedPackage(p.Name, p.Version, "", nil))
		return
	}
	c.add(p.Name, p.Version, "", p.Build)
}

var condaKey = lazyregexp.New(`"build_string"\s*:`)

func isCondaJSON(d Document) bool {
	return jsonList.Match(d.Data) && condaKey.Match(d.Data) || condaFirst.Match(d.Data)
}

// condaFirst is the first field of conda list --json.
var condaFirst = lazyregexp.New(`^\[\s*\{\s*"base_url":`)

// readCondaJSON reads conda list --json:
//
// [{"base_url": "…", "build_string": "py3.12_cuda12.4_cudnn9.1.0_0", "channel": "pytorch", "name": "pytorch",
// "version": "2.5.1"}]
func readCondaJSON(d Document) (facts.Facts, error) {
	var document []listedPackage
	if err := json.Unmarshal(d.Data, &document); err != nil {
		return facts.Facts{}, jsonError(err)
	}
	c := &conda{}
	for _, p := range document {
		c.take(p)
	}
	return lockedFacts("conda list", c.packages(), nil), nil
}

func isCondaExplicit(d Document) bool {
	return bytes.Contains(d.Data, []byte("\n@EXPLICIT")) || d.starts("@EXPLICIT")
}

// readCondaExplicit reads an explicit list, an address a line:
//
//	@EXPLICIT
//	https://conda.anaconda.org/pytorch/linux-64/pytorch-2.5.1-py3.12_cuda12.4_cudnn9.1.0_0.tar.bz2#0123…
func readCondaExplicit(d Document) (facts.Facts, error) {
	c := &conda{}
	c.explicit(d.Data)
	return lockedFacts("conda list --explicit", c.packages(), nil), nil
}

func (c *conda) explicit(data []byte) {
	for line := range strings.Lines(string(data)) {
		c.address(strings.TrimSpace(line))
	}
}

// address adds the package whose archive an address names.
func (c *conda) address(address string) {
	address, _, _ = strings.Cut(address, "#")
	name, err := url.PathUnescape(path.Base(address))
	if m := condaFile.FindStringSubmatch(name); m != nil && err == nil {
		c.add(m[1], m[2], "", m[3])
	}
}

var condaDependencies = lazyregexp.New(`(?m)^dependencies\s*:`)

func isCondaYAML(d Document) bool { return condaDependencies.Match(d.Data) }

// readCondaYAML reads conda's environment.yml; pip's packages stand in a list of their own, and may be a file's:
//
//	dependencies:
//	  - pytorch::pytorch=2.5.1=py3.12_cuda12.4_cudnn9.1.0_0
//	  - pip:
//	      - torch==2.9.0
func readCondaYAML(d Document) (facts.Facts, error) {
	c := &conda{}
	left, err := c.environment(d)
	if err != nil {
		return facts.Facts{}, err
	}
	return lockedFacts("environment.yml", c.packages(), append(left, c.bad...)), nil
}

// environment adds what an environment.yml names, and tells what it refers to and was not read.
func (c *conda) environment(d Document) ([]facts.Unread, error) {
	var document struct {
		Dependencies []any `yaml:"dependencies"`
	}
	if err := yaml.Unmarshal(d.Data, &document); err != nil {
		return nil, fmt.Errorf("not valid YAML: %s",
			strings.TrimPrefix(strings.Join(strings.Fields(err.Error()), " "), "yaml: "))
	}
	pip := &requirementFile{files: newIncludes(d), where: "pip's "}
	for _, item := range document.Dependencies {
		switch item := item.(type) {
		case string:
			c.spec(item)
		case map[string]any:
			pip.lines(strings.Join(texts(anyList(item["pip"])), "\n"))
		}
	}
	pip.include()
	for _, p := range pip.packages() {
		if rest, ok := strings.CutPrefix(p.from, "pip's line "); ok && rest != "" {
			p.from = "package " + p.name
		}
		c.list = append(c.list, p)
	}
	return append(pip.bad, pip.leftUnread...), nil
}

// condaBuilt is a release with its build, "pytorch=2.0.1=py3.10_cuda11.8_cudnn8.7.0_0".
var condaBuilt = lazyregexp.New(`^(?:[^:\s]+::)?([A-Za-z0-9._-]+)={1,2}(\d[^=\s*]*)=([^=\s]+)$`)

var condaSpec = lazyregexp.New(`^(?:[^:\s]+::)?([A-Za-z0-9._-]+)\s*(?:\[[^\]]*\])?\s*([=<>!~][^=\s]*(?:=[^=\s]*)?` +
	`|\d\S*)?(?:[=\s]+(\S+))?$`)

// spec adds a match specification: "pytorch=2.5.1", "pytorch 2.5.1 cuda126*", "conda-forge::pytorch>=2.5".
func (c *conda) spec(text string) {
	if m := condaBuilt.FindStringSubmatch(strings.TrimSpace(text)); m != nil {
		c.add(m[1], m[2], "", m[3])
		return
	}
	m := condaSpec.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		c.bad = append(c.bad, facts.Unread{Place: "package " + text, Kind: facts.UnreadNeeded,
			Reason: "this form of a conda package is not read"})
		return
	}
	if exact := condaExact.FindStringSubmatch(m[2]); exact != nil {
		c.add(m[1], exact[1], "", m[3])
		return
	}
	c.add(m[1], "", m[2], m[3])
}
