package input

import (
	"bytes"
	"fmt"
	"net/url"
	"path"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"

	"go.yaml.in/yaml/v4"
)

var pixiHead = lazyregexp.New(`(?m)^version: \d+\s*\n(?:platforms:\n(?:[ -].*\n)+)?environments:`)

func isPixiLock(d Document) bool { return pixiHead.Match(d.Data) }

// readPixiLock reads pixi's lock: each of its environments lists the archives of each platform.
//
//	environments:
//	  default:
//	    packages:
//	      linux-64:
//	      - conda: https://conda.anaconda.org/conda-forge/linux-64/pytorch-2.5.1-cuda126_py312_h1763f6d_306.conda
//	      - pypi: https://…/torch-2.9.0-cp312-cp312-manylinux_2_28_x86_64.whl
func readPixiLock(d Document) (facts.Facts, error) {
	// The rest tells of each archive what its name does, too, and is the larger part by far.
	head, _, _ := bytes.Cut(d.Data, []byte("\npackages:\n"))
	var document struct {
		Environments map[string]struct {
			Packages map[string][]struct {
				Conda string `yaml:"conda"`
				PyPI  string `yaml:"pypi"`
			} `yaml:"packages"`
		} `yaml:"environments"`
	}
	if err := yaml.Unmarshal(head, &document); err != nil {
		return facts.Facts{}, fmt.Errorf("not valid YAML: %s",
			strings.TrimPrefix(strings.Join(strings.Fields(err.Error()), " "), "yaml: "))
	}
	var f facts.Facts
	for _, name := range sortedKeys(document.Environments) {
		c := &conda{}
		packages := document.Environments[name].Packages
		list := packages["linux-64"]
		if len(list) == 0 {
			list = packages["linux-aarch64"]
		}
		for _, p := range list {
			if p.Conda != "" {
				c.address(p.Conda)
			} else {
				c.wheel(p.PyPI)
			}
		}
		env := lockedEnvironment("pixi.lock", c.packages())
		if len(env.Builds)+len(env.Packages)+len(env.Requested) == 0 {
			continue
		}
		if env.Active = name == "default"; !env.Active {
			env.Path = "environment " + name
		}
		f.Environments = append(f.Environments, env)
	}
	return f, nil
}

// wheel adds the package whose wheel, or source, an address names.
func (c *conda) wheel(address string) {
	file, err := url.PathUnescape(path.Base(address))
	name, version, ok := strings.Cut(file, "-")
	if stem, source := strings.CutSuffix(file, ".tar.gz"); source && strings.Contains(stem, "-") {
		at := strings.LastIndexByte(stem, '-')
		name, version = stem[:at], stem[at+1:]
	}
	if err != nil || !ok {
		return
	}
	version, _, _ = strings.Cut(version, "-")
	index := ""
	if variantDir.MatchString(path.Base(path.Dir(address))) {
		index = path.Dir(address)
	}
	c.list = append(c.list, lockedPackage(name, version, index, nil))
}
