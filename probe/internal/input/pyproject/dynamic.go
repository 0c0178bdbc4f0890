package pyproject

import (
	"maps"
	"slices"
	"strings"

	"cudacompat/probe/facts"
	"cudacompat/probe/internal/distname"
	"cudacompat/probe/internal/input/document"
	"cudacompat/probe/internal/input/request"
	"cudacompat/probe/internal/input/requirements"
)

// Dynamic returns the packages in the files that replace the list. For another program than setuptools and Hatch the
// list is computed, and Poetry has a table of its own.
func (p *Project) Dynamic(d document.Document) ([]request.Package, []facts.Unread) {
	if !slices.Contains(p.Project.Dynamic, "dependencies") || len(p.Tool.Poetry.Dependencies) > 0 {
		return nil, nil
	}
	file := document.Entry(p.Tool.Setuptools, "dynamic", "dependencies", "file")
	files := append(textsOf(file), textsOf(document.Entry(p.Tool.Hatch, "metadata", "hooks", "requirements_txt", "files"))...)
	if len(files) == 0 {
		return nil, computed("dependencies")
	}
	return readFiles(d, files)
}

// dynamicExtras returns the packages in the files that replace the lists of extras, by extra.
func (p *Project) dynamicExtras(d document.Document) (map[string][]request.Package, []facts.Unread) {
	if !slices.Contains(p.Project.Dynamic, "optional-dependencies") {
		return nil, nil
	}
	extras := map[string][]request.Package{}
	var left []facts.Unread
	add := func(extra string, files []string) {
		list, unread := readFiles(d, files)
		extras[extra], left = append(extras[extra], list...), append(left, unread...)
	}
	byTool, _ := document.Entry(p.Tool.Setuptools, "dynamic", "optional-dependencies").(map[string]any)
	for _, extra := range document.SortedKeys(byTool) {
		add(extra, textsOf(document.Entry(byTool[extra], "file")))
	}
	byTool, _ = document.Entry(p.Tool.Hatch, "metadata", "hooks", "requirements_txt", "optional-dependencies").(map[string]any)
	for _, extra := range document.SortedKeys(byTool) {
		add(extra, textsOf(byTool[extra]))
	}
	if len(extras) == 0 {
		return nil, computed("optional-dependencies")
	}
	return extras, left
}

// computed returns a list that only another program knows, as not read.
func computed(list string) []facts.Unread {
	return []facts.Unread{{Place: list, Kind: facts.UnreadNeeded,
		Reason: "pyproject.toml leaves them to the program that builds the package (setup.py, for example)"}}
}

// readFiles reads requirements files beside the project.
func readFiles(d document.Document, names []string) ([]request.Package, []facts.Unread) {
	list := &requirements.File{Includes: requirements.NewIncludes(d)}
	for _, name := range names {
		list.Includes.Ask(name, false)
	}
	list.ReadIncludes()
	return list.Packages(), list.Unread
}

// pixiTables returns the tables of Pixi's that name packages of a CUDA stack, as not read: Pixi's lock says which builds
// it installs.
func (p *Project) pixiTables() []facts.Unread {
	var left []facts.Unread
	look := func(place string, parent any) {
		for _, kind := range []string{"dependencies", "host-dependencies", "build-dependencies", "pypi-dependencies"} {
			table, _ := document.Entry(parent, kind).(map[string]any)
			if slices.ContainsFunc(slices.Collect(maps.Keys(table)), func(name string) bool { return stack(distname.PipName(name)) }) {
				left = append(left, facts.Unread{Place: place + "." + kind, Kind: facts.UnreadNeeded,
					Reason: "Pixi's tables are not read; give pixi.lock, which has the builds that they lead to"})
			}
		}
	}
	lookTargets := func(place string, parent any) {
		look(place, parent)
		targets, _ := document.Entry(parent, "target").(map[string]any)
		for _, name := range document.SortedKeys(targets) {
			if !strings.HasPrefix(name, "osx") && !strings.HasPrefix(name, "win") {
				look(place+".target."+name, targets[name])
			}
		}
	}
	lookTargets("tool.pixi", p.Tool.Pixi)
	features, _ := document.Entry(p.Tool.Pixi, "feature").(map[string]any)
	for _, name := range document.SortedKeys(features) {
		lookTargets("tool.pixi.feature."+name, features[name])
	}
	return left
}
