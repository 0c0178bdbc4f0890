// Package given reads facts that somebody else has written down: reports, requirements, locks.
package given

import (
	"errors"

	"cudacompat/probe/facts"
)

// A format is one kind of file: how it is recognised, and how it is read.
type format struct {
	name string // what people call it, "uv.lock"
	is   func(Document) bool
	read func(Document) (facts.Facts, error)
}

// formats is every kind of file that is read. The first that recognises a file reads it, so those with marks of their
// own stand before those that take any JSON, any list of names or any text.
var formats = []format{
	{"Pipfile.lock", isPipfileLock, readPipfileLock},
	{"pip install --report", isPipReport, readPipReport},
	{"conda install --dry-run --json", isCondaPlan, readCondaPlan},
	{"uv pip install --dry-run, uv sync --dry-run", isUVPlan, readUVPlan},
	{"pip install --dry-run", isPipPlan, readPipPlan},
	{"poetry install --dry-run", isPoetryPlan, readPoetryPlan},
	{"pip list --format=json", isPipJSON, readPipJSON},
	{"conda list --json", isCondaJSON, readCondaJSON},
	{"facts or a report from cudacompat", isJSON, readJSON},
	{"nvidia-smi -x -q", isSMIXML, readSMIXML},
	{"nvidia-smi -q", isSMIQuery, readSMIQuery},
	{"nvidia-smi", isSMITable, readSMITable},
	{"nvidia-smi -L", isSMIList, readSMIList},
	{"an error of nvidia-smi", isSMIFailure, readSMIFailure},
	{"poetry.lock", isPoetryLock, readPoetryLock},
	{"uv.lock", isUVLock, readUVLock},
	{"pylock.toml", isPylock, readPylock},
	{"pyproject.toml", isPyproject, readPyproject},
	{"pixi.lock", isPixiLock, readPixiLock},
	{"conda-lock.yml", isCondaLock, readCondaLock},
	{"environment.yml", isCondaYAML, readCondaYAML},
	{"conda list --explicit", isCondaExplicit, readCondaExplicit},
	{"conda list", isCondaList, readCondaList},
	{"Dockerfile", isDockerfile, readDockerfile},
	{"pip list", isPipList, readPipList},
	{"requirements (pip freeze)", isRequirements, readRequirements},
	{"collect_env report", isCollectEnv, readCollectEnv},
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
	var err error
	if d.Data, err = decoded(d.Data); err == nil {
		err = tooLarge(d.Data)
	}
	if err != nil {
		return facts.Facts{}, err
	}
	kind, ok := formatOf(d)
	if !ok {
		return facts.Facts{}, ErrForeign
	}
	f, err := kind.read(d)
	if err == nil {
		err = tooManyNamed(f)
	}
	if err != nil {
		return facts.Facts{}, err
	}
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
