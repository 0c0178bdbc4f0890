// Package input reads facts that somebody else has written down: reports, requirements, locks.
package input

import (
	"errors"

	"cudacompat/probe/facts"
)

// A format is one kind of file: how it is recognised, how it is read, and how much of what its parser keeps it may have.
type format struct {
	name string // what people call it, "uv.lock"
	is   func(Document) bool
	read func(Document) (facts.Facts, error)
	most limit
}

// formats is every kind of file that is read. The first that recognises a file reads it, so those with marks of their
// own stand before those that take any JSON, any list of names or any text.
var formats = []format{
	{"Pipfile.lock", isPipfileLock, readPipfileLock, objects},
	{"pip install --report", isPipReport, readPipReport, objects},
	{"conda install --dry-run --json", isCondaPlan, readCondaPlan, objects},
	{"pixi update --dry-run --json", isPixiPlan, readPixiPlan, objects},
	{"pip list --format=json", isPipJSON, readPipJSON, objects},
	{"conda list --json", isCondaJSON, readCondaJSON, objects},
	{"facts or a report from cudacompat", isJSON, readJSON, Excess},
	{"uv pip install --dry-run, uv sync --dry-run", isUVPlan, readUVPlan, instructions},
	{"pip install --dry-run", isPipPlan, readPipPlan, words},
	{"poetry install --dry-run", isPoetryPlan, readPoetryPlan, instructions},
	{"nvidia-smi -x -q", isSMIXML, readSMIXML, tags},
	{"nvidia-smi -q", isSMIQuery, readSMIQuery, lines},
	{"nvidia-smi", isSMITable, readPaste, instructions},
	{"nvidia-smi -L", isSMIList, readSMIList, rows},
	{"an error of nvidia-smi", isSMIFailure, readPaste, lines},
	{"poetry.lock", isPoetryLock, readPoetryLock, tables},
	{"uv.lock", isUVLock, readUVLock, tables},
	{"pylock.toml", isPylock, readPylock, tables},
	{"pyproject.toml", isPyproject, readPyproject, project},
	{"pixi.lock", isPixiLock, readPixiLock, entries},
	{"conda-lock.yml", isCondaLock, readCondaLock, lines},
	{"environment.yml", isCondaYAML, readCondaYAML, project},
	{"conda list --explicit", isCondaExplicit, readCondaExplicit, rows},
	{"conda list", isCondaList, readCondaList, rows},
	{"Dockerfile", isDockerfile, readDockerfile, instructions},
	{"pip list", isPipList, readPaste, rows},
	{"requirements (pip freeze)", isRequirements, readRequirements, rows},
	{"collect_env report", isPastedText, readPaste, lines},
}

// ErrForeign is a file of no kind that is read.
var ErrForeign = errors.New("cannot tell what kind of file this is")

// Formats are the kinds of files that are read, as people call them.
func Formats() []string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = f.name
	}
	return names
}

// Read reads what was taken elsewhere, of whatever format; ErrForeign says that it is of none.
func Read(d Document) (facts.Facts, error) {
	r := d.recognised()
	if r.err != nil {
		return facts.Facts{}, r.err
	}
	d.Data = r.data
	if err := r.format.most(d.Data); err != nil {
		return facts.Facts{}, err
	}
	f, err := r.format.read(d)
	if err == nil {
		err = tooManyNamed(f)
	}
	if err != nil {
		return facts.Facts{}, err
	}
	f.Shorten()
	f.Complete()
	f.Anonymous()
	return f, nil
}

// formatOf is the format that reads a document.
func formatOf(d Document) (format, bool) {
	for _, f := range formats {
		if f.is(d) {
			return f, true
		}
	}
	return format{}, false
}
