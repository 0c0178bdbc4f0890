package dockerfile

import (
	"path"
	"slices"
	"strings"

	"cudacompat/probe/internal/input/dockerfile/instruction"
	"cudacompat/probe/internal/input/requirements"
)

// copiedPath is one source of a COPY or bind mount: a path of the build context and its path in the image.
type copiedPath struct {
	source, target string // the target ends in a slash if it is a directory
	stage          int    // how many stages had begun
}

// absolutePath returns the path of a file in the image. A relative name is joined to the working directory.
func (f *dockerfile) absolutePath(name string) string {
	if !path.IsAbs(name) {
		name = path.Join(f.dir(), name)
	}
	return path.Clean(name)
}

// dir returns the working directory of the stage and, in one command line, of the shell.
func (f *dockerfile) dir() string {
	switch {
	case f.moved != "":
		return f.moved
	case len(f.stages) > 0:
		return path.Join("/", f.stages[len(f.stages)-1].dir)
	}
	return "/"
}

// workdir sets the stage's working directory, as a WORKDIR instruction does.
func (f *dockerfile) workdir(i *instruction.Instruction) {
	list := f.words(i.Text, f.value)
	if len(f.stages) == 0 || len(list) == 0 {
		return
	}
	s := &f.stages[len(f.stages)-1]
	if dir := list[0]; path.IsAbs(dir) {
		s.dir = dir
	} else {
		s.dir = path.Join("/", s.dir, dir)
	}
}

// takes records the sources that a COPY, ADD or bind mount puts at target in the image.
func (f *dockerfile) takes(sources []string, target string) {
	directory := strings.HasSuffix(target, "/") || target == "." || len(sources) > 1
	target = f.absolutePath(target)
	for _, source := range sources {
		name := path.Base(target)
		if directory {
			name = path.Base(source)
		}
		file := target
		if directory {
			file = path.Join(target, name)
		}
		f.renew(file)
		f.noteSettings(file)
		c := copiedPath{source: strings.TrimPrefix(path.Clean(source), "/"), target: target, stage: len(f.stages)}
		if directory {
			c.target += "/"
		}
		f.copied = append(f.copied, c)
	}
}

// beside returns the paths of the build context from which a file of the image may have been copied: first the sources
// of the COPY instructions, the last instruction first, then the file's own name.
func (f *dockerfile) beside(name string) []string {
	at := f.absolutePath(name)
	var places []string
	add := func(place string) {
		if place = path.Clean(place); !slices.Contains(places, place) {
			places = append(places, place)
		}
	}
	for _, c := range slices.Backward(f.copied) {
		target := strings.TrimSuffix(c.target, "/")
		switch rest, below := strings.CutPrefix(at, target+"/"); {
		case at == target: // the file itself
			add(c.source)
		case below && path.Base(c.source) == rest: // a file into a directory
			add(c.source)
		case below && !f.hasFile(c.source): // a directory's content
			add(path.Join(c.source, rest))
		}
	}
	if f.moved != "" && len(places) > 0 {
		return places
	}
	for _, c := range f.copied { // a variable may hide the target, so the name decides
		if path.Base(c.source) == path.Base(name) {
			add(c.source)
		}
	}
	if f.moved != "" { // the build itself made this directory: the build context does not contain its files
		return places
	}
	if path.IsAbs(name) {
		name = path.Base(name)
	}
	add(name)
	return places
}

// mayHave reports whether the image may contain a file that was copied from the build context or changed by a command.
func (f *dockerfile) mayHave(name string) bool {
	at := f.absolutePath(name)
	return f.changedFile(name) != "" || slices.ContainsFunc(f.copied, func(c copiedPath) bool {
		return at == c.target || strings.HasPrefix(at, strings.TrimSuffix(c.target, "/")+"/") || path.Base(c.source) == path.Base(name)
	})
}

// hasFile reports whether a path of the build context is a file.
func (f *dockerfile) hasFile(name string) bool {
	_, err := f.files.Open(name)
	return err == nil
}

// find returns the first path of beside that can be opened. If none can be opened, it returns the first path.
func (f *dockerfile) find(name string) string {
	if requirements.IsAddress(name) {
		return name
	}
	places := f.beside(name)
	if _, written := f.writtenFiles[path.Base(name)]; written && len(places) > 0 { // a command wrote this file over a copied one: it includes files from the copied one's directory
		return path.Join(path.Dir(places[0]), path.Base(name))
	}
	for _, place := range places {
		if f.hasFile(place) {
			return place
		}
	}
	if len(places) == 0 { // nothing of the build context lies there
		return f.absolutePath(name)
	}
	return places[0]
}
