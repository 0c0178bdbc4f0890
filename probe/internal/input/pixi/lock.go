// Package pixi reads Pixi's lock and plans.
package pixi

import (
	"bytes"
	"fmt"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/input/conda"
	"cudacompat/probe/internal/input/document"
	"cudacompat/probe/internal/input/request"

	"go.yaml.in/yaml/v4"
)

var pixiHead = lazyregexp.New(`(?m)^version: \d+\s*\n(?:platforms:\n(?:[ -].*\n)+)?environments:`)

func IsLock(d document.Document) bool { return pixiHead.Match(d.Data) }

// ReadLock reads pixi's lock: each of its environments lists the archives of each platform.
//
//	environments:
//	  default:
//	    packages:
//	      linux-64:
//	      - conda: https://conda.anaconda.org/conda-forge/linux-64/pytorch-2.5.1-cuda126_py312_h1763f6d_306.conda
//	      - pypi: https://…/torch-2.9.0-cp312-cp312-manylinux_2_28_x86_64.whl
func ReadLock(d document.Document) (facts.Facts, error) {
	// The rest tells of each archive what its name does, too, and is the larger part by far.
	head, _, _ := bytes.Cut(d.Data, []byte("\npackages:\n"))
	var parsed struct {
		Environments map[string]struct {
			Packages map[string][]struct {
				Conda string `yaml:"conda"`
				PyPI  string `yaml:"pypi"`
			} `yaml:"packages"`
		} `yaml:"environments"`
	}
	if err := yaml.Unmarshal(head, &parsed); err != nil {
		return facts.Facts{}, fmt.Errorf("not valid YAML: %s",
			strings.TrimPrefix(strings.Join(strings.Fields(err.Error()), " "), "yaml: "))
	}
	var f facts.Facts
	for _, name := range document.SortedKeys(parsed.Environments) {
		c := &conda.List{}
		packages := parsed.Environments[name].Packages
		list := packages["linux-64"]
		if len(list) == 0 {
			list = packages["linux-aarch64"]
		}
		for _, p := range list {
			if p.Conda != "" {
				c.Address(p.Conda)
			} else {
				c.Wheel(p.PyPI)
			}
		}
		env := request.Environment("pixi.lock", c.Resolved())
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
