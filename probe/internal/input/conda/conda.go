// Package conda reads what conda and mamba write: lists, locks, environment files and plans.
package conda

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
	"cudacompat/probe/internal/input/collectenv"
	"cudacompat/probe/internal/input/document"
	"cudacompat/probe/internal/input/piplist"
	"cudacompat/probe/internal/input/request"
	"cudacompat/probe/internal/input/requirements"
	"cudacompat/probe/internal/input/smi"

	"go.yaml.in/yaml/v4"
)

// List is a list of packages of conda's, those of pip's among them.
type List struct {
	Packages []request.Package
	CUDA     string // of cuda-version, pytorch-cuda or cudatoolkit: what all of them are of
	CPU      bool   // cpuonly
	forge    bool   // cuda-version names the CUDA, as conda-forge's packages have it; the pytorch channel has pytorch-cuda
	Bad      []facts.Unread
}

var (
	buildCUDA = lazyregexp.New(`cuda_?(\d+\.\d+|\d{3}|\d{2})(?:\D|$)`)
	buildCPU  = lazyregexp.New(`(^|_)cpu(_|$)`)
	// condaExact is one number: "2.5.1" of "=2.5.1" means 2.5.1.*, which for a whole release is the same.
	condaExact = lazyregexp.New(`^={0,2}(\d+(?:\.\d+){2,}[a-z0-9.]*)$`)
	condaFile  = lazyregexp.New(`^(.+)-([^-]+)-([^-]+?)(?:\.conda|\.tar\.bz2)$`)
)

// add adds one of conda's packages; of version, build and channel any can be empty.
func (c *List) add(name, version, specifier, build string) {
	switch name {
	case "cuda-version", "pytorch-cuda", "cudatoolkit":
		c.forge = name == "cuda-version" && (c.forge || c.CUDA == "")
		c.CUDA = cmp.Or(c.CUDA, document.TwoParts(document.LeadVersion.FindString(version+strings.TrimLeft(specifier, "=<>~"))))
		return
	case "cpuonly":
		c.CPU = true
		return
	}
	p := request.Package{Name: distname.PipName(name), Version: version, Specifier: specifier,
		From: "package " + name, Origin: "conda"}
	if build != "" {
		p.Origin = distname.CondaOrigin(build)
	}
	if m := buildCUDA.FindStringSubmatch(build); m != nil {
		p.Accelerator, p.CUDA = "cuda", withDot(m[1])
	} else if buildCPU.MatchString(build) || strings.Contains(build, "mkl") || strings.Contains(build, "eigen") {
		p.Accelerator = "cpu"
	}
	if version == "" && specifier == "" {
		p.Specifier = facts.Unspecified
	}
	c.Packages = append(c.Packages, p)
}

// withDot returns "12.6" of "126"; two digits are a family, "12".
func withDot(digits string) string {
	if len(digits) == 3 && !strings.Contains(digits, ".") {
		return digits[:2] + "." + digits[2:]
	}
	return digits
}

// Resolved returns the list's, each with the CUDA that the others tell; a framework stands in it once.
func (c *List) Resolved() []request.Package {
	var list []request.Package
	for _, p := range c.Packages {
		framework := p.Name == "torch" || p.Name == "tensorflow"
		conda := p.Origin != "" // pip's come with a CUDA of their own
		switch {
		case framework && conda && p.Accelerator == "" && c.CPU:
			p.Accelerator = "cpu"
		case framework && conda && p.Accelerator == "" && c.CUDA != "":
			p.Accelerator, p.CUDA = "cuda", c.CUDA
			if c.forge {
				p.Origin = "conda-forge"
			}
		}
		at := -1
		if framework {
			at = slices.IndexFunc(list, func(o request.Package) bool { return o.Name == p.Name })
		}
		if at < 0 {
			list = append(list, p)
			continue
		}
		list[at].Accelerator, list[at].CUDA = cmp.Or(list[at].Accelerator, p.Accelerator), cmp.Or(list[at].CUDA, p.CUDA)
	}
	return list
}

var Head = lazyregexp.New(`(?m)^# (?:packages in environment at |Name\s+Version\s+Build)`)

func IsList(d document.Document) bool {
	if smi.Banner.Match(d.Data) || collectenv.Is(d) {
		return false
	}
	return Head.Match(d.Data) || condaExportHead.Match(d.Data) && !IsExplicit(d)
}

// condaExportHead is the head of conda list --export.
var condaExportHead = lazyregexp.New(`(?m)^# This file may be used to create an environment using:\n# \$ conda create`)

// ReadList reads conda list, and its --export, whose lines are name=version=build:
//
//	# Name                    Version                   Build  Channel
//	pytorch                   2.5.1           py3.12_cuda12.4_cudnn9.1.0_0    pytorch
//	numpy                     2.1.2                    pypi_0    pypi
func ReadList(d document.Document) (facts.Facts, error) {
	c := &List{}
	windows := false
	for line := range strings.Lines(string(d.Data)) {
		windows = windows || placeInWindows.MatchString(line)
		fields := strings.Fields(line)
		if len(fields) == 1 {
			fields = strings.Split(fields[0], "=")
		}
		if len(fields) < 3 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		c.Take(piplist.Package{Name: fields[0], Version: fields[1], Build: fields[2], Channel: fields[len(fields)-1]})
	}
	f := request.Facts("conda list", c.Resolved(), nil)
	if windows {
		f.System.OS = facts.Windows
	}
	return f, nil
}

// placeInWindows matches the head of a list of an environment on Windows.
var placeInWindows = lazyregexp.New(`^# packages in environment at [A-Za-z]:[\\/]`)

// Take adds a line of a list: one of pip's, or one of conda's.
func (c *List) Take(p piplist.Package) {
	if p.Channel == "pypi" || strings.HasPrefix(p.Build, "pypi") {
		c.Packages = append(c.Packages, request.New(p.Name, p.Version, "", nil))
		return
	}
	c.add(p.Name, p.Version, "", p.Build)
}

func IsJSON(d document.Document) bool { return piplist.HasBuilds(d.Data) }

// ReadJSON reads conda list --json:
//
// [{"base_url": "…", "build_string": "py3.12_cuda12.4_cudnn9.1.0_0", "channel": "pytorch", "name": "pytorch",
// "version": "2.5.1"}]
func ReadJSON(d document.Document) (facts.Facts, error) {
	var parsed []piplist.Package
	if err := json.Unmarshal(d.Data, &parsed); err != nil {
		return facts.Facts{}, document.JSONError(err)
	}
	c := &List{}
	for _, p := range parsed {
		c.Take(p)
	}
	return request.Facts("conda list", c.Resolved(), nil), nil
}

func IsExplicit(d document.Document) bool {
	return bytes.Contains(d.Data, []byte("\n@EXPLICIT")) || d.Starts("@EXPLICIT")
}

// ReadExplicit reads an explicit list, an address a line:
//
//	@EXPLICIT
//	https://conda.anaconda.org/pytorch/linux-64/pytorch-2.5.1-py3.12_cuda12.4_cudnn9.1.0_0.tar.bz2#0123…
func ReadExplicit(d document.Document) (facts.Facts, error) {
	c := &List{}
	c.Explicit(d.Data)
	return request.Facts("conda list --explicit", c.Resolved(), nil), nil
}

func (c *List) Explicit(data []byte) {
	for line := range strings.Lines(string(data)) {
		c.Address(strings.TrimSpace(line))
	}
}

// Address adds the package whose archive an address names; it returns false for another address.
func (c *List) Address(address string) bool {
	address, _, _ = strings.Cut(address, "#")
	name, err := url.PathUnescape(path.Base(address))
	m := condaFile.FindStringSubmatch(name)
	if m == nil || err != nil {
		return false
	}
	c.add(m[1], m[2], "", m[3])
	return true
}

var condaDependencies = lazyregexp.New(`(?m)^dependencies\s*:`)

func IsYAML(d document.Document) bool { return condaDependencies.Match(d.Data) }

// ReadYAML reads conda's environment.yml; pip's packages stand in a list of their own, and may be a file's:
//
//	dependencies:
//	  - pytorch::pytorch=2.5.1=py3.12_cuda12.4_cudnn9.1.0_0
//	  - pip:
//	      - torch==2.9.0
func ReadYAML(d document.Document) (facts.Facts, error) {
	c := &List{}
	left, err := c.Environment(d)
	if err != nil {
		return facts.Facts{}, err
	}
	return request.Facts("environment.yml", c.Resolved(), append(left, c.Bad...)), nil
}

// Environment adds what an environment.yml names, and tells what it refers to and was not read.
func (c *List) Environment(d document.Document) ([]facts.Unread, error) {
	var parsed struct {
		Dependencies []any          `yaml:"dependencies"`
		Variables    map[string]any `yaml:"variables"`
	}
	documents := yaml.NewDecoder(bytes.NewReader(d.Data))
	if err := documents.Decode(&parsed); err != nil {
		return nil, fmt.Errorf("not valid YAML: %s",
			strings.TrimPrefix(strings.Join(strings.Fields(err.Error()), " "), "yaml: "))
	}
	var second any
	if documents.Decode(&second) == nil && second != nil {
		c.bad("a second document", "conda reads one document")
	}
	pip := &requirements.File{Includes: requirements.NewIncludes(d), Where: "pip's "}
	for _, item := range parsed.Dependencies {
		switch item := item.(type) {
		case string:
			c.Spec(item)
		case map[string]any:
			c.inner(item, pip)
		}
	}
	pip.ReadIncludes()
	for _, name := range document.SortedKeys(parsed.Variables) {
		if pipVariable.MatchString(name) && len(pip.Named) > 0 {
			c.bad("the variable "+name, "it changes what pip installs when the environment is updated")
		}
	}
	for _, p := range pip.Packages() {
		if rest, ok := strings.CutPrefix(p.From, "pip's line "); ok && rest != "" {
			p.From = "package " + p.Name
		}
		c.Packages = append(c.Packages, p)
	}
	return append(pip.Bad, pip.Unread...), nil
}

var (
	// pipVariable matches the variables that change what pip installs.
	pipVariable = lazyregexp.New(`^PIP_(?:INDEX_URL|EXTRA_INDEX_URL|FIND_LINKS|NO_INDEX|CONSTRAINT|REQUIREMENT|CONFIG_FILE|PRE)$`)
	// selector matches mamba's key of packages for some platforms.
	selector = lazyregexp.New(`^sel\((\w+)\)$`)
)

// inner reads a mapping among the dependencies: pip's packages, or mamba's for some platforms, "sel(linux): cuda-version=12".
func (c *List) inner(item map[string]any, pip *requirements.File) {
	for _, key := range document.SortedKeys(item) {
		list := document.Texts(document.AnyList(item[key]))
		if text, ok := item[key].(string); ok {
			list = []string{text}
		}
		m := selector.FindStringSubmatch(key)
		switch {
		case key == "pip":
			pip.ReadLines(strings.Join(list, "\n"))
		case m != nil && (m[1] == "linux" || m[1] == "unix"):
			for _, text := range list {
				c.Spec(text)
			}
		case m != nil && slices.Contains([]string{"win", "osx", "macos"}, m[1]):
		default:
			c.bad(key, "these dependencies are not read: conda itself knows pip's only")
		}
	}
}

// bad notes what of a file was not read.
func (c *List) bad(place, reason string) {
	c.Bad = append(c.Bad, facts.Unread{Place: place, Kind: facts.UnreadNeeded, Reason: reason})
}

// condaBuilt is a release with its build, "pytorch=2.0.1=py3.10_cuda11.8_cudnn8.7.0_0".
var condaBuilt = lazyregexp.New(`^(?:[^:\s]+::)?([A-Za-z0-9._-]+)={1,2}(\d[^=\s*]*)=([^=\s]+)$`)

var SpecText = lazyregexp.New(`^(?:[^:\s]+::)?([A-Za-z0-9._-]+)\s*(?:\[[^\]]*\])?\s*([=<>!~][^=\s]*(?:=[^=\s]*)?` +
	`|\d\S*)?(?:[=\s]+(\S+))?$`)

// Spec adds a match specification: "pytorch=2.5.1", "pytorch 2.5.1 cuda126*", "conda-forge::pytorch>=2.5".
func (c *List) Spec(text string) {
	if m := condaBuilt.FindStringSubmatch(strings.TrimSpace(text)); m != nil {
		c.add(m[1], m[2], "", m[3])
		return
	}
	m := SpecText.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		c.Bad = append(c.Bad, facts.Unread{Place: "package " + text, Kind: facts.UnreadNeeded,
			Reason: "this form of a conda package is not read"})
		return
	}
	if exact := condaExact.FindStringSubmatch(m[2]); exact != nil {
		c.add(m[1], exact[1], "", m[3])
		return
	}
	c.add(m[1], "", m[2], m[3])
}

// Wheel adds the package whose wheel, or source, an address names; it returns false for another address.
func (c *List) Wheel(address string) bool {
	file, err := url.PathUnescape(path.Base(address))
	name, version, ok := strings.Cut(file, "-")
	if stem, source := strings.CutSuffix(file, ".tar.gz"); source && strings.Contains(stem, "-") {
		at := strings.LastIndexByte(stem, '-')
		name, version = stem[:at], stem[at+1:]
	}
	if err != nil || !ok || !sourceFile.MatchString(file) {
		return false
	}
	version, _, _ = strings.Cut(version, "-")
	index := ""
	if request.VariantDir.MatchString(path.Base(path.Dir(address))) {
		index = path.Dir(address)
	}
	c.Packages = append(c.Packages, request.New(name, version, index, nil))
	return true
}

// sourceFile matches the files that an index of Python packages serves.
var sourceFile = lazyregexp.New(`\.(?:whl|zip|tar\.\w+|tgz)(?:[#?].*)?$`)
