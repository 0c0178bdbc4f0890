// Package input parses facts that somebody else has recorded: reports, requirements, locks.
package input

import (
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/input/compose"
	"cudacompat/probe/internal/input/conda"
	"cudacompat/probe/internal/input/dockerfile"
	"cudacompat/probe/internal/input/document"
	"cudacompat/probe/internal/input/factsjson"
	"cudacompat/probe/internal/input/paste"
	"cudacompat/probe/internal/input/pipfile"
	"cudacompat/probe/internal/input/piplist"
	"cudacompat/probe/internal/input/pixi"
	"cudacompat/probe/internal/input/plan"
	"cudacompat/probe/internal/input/poetry"
	"cudacompat/probe/internal/input/pylock"
	"cudacompat/probe/internal/input/pyproject"
	"cudacompat/probe/internal/input/requirements"
	"cudacompat/probe/internal/input/smi"
	"cudacompat/probe/internal/input/uvlock"
)

// Document is a file that somebody else has written, with a function that opens the files it refers to.
type Document = document.Document

// What Read says of a file that it does not read.
var (
	ErrForeign = document.ErrForeign // it is of no kind that is read
	ErrArchive = document.ErrArchive // it is an archive, such as an image
)

// formats lists every supported kind of file. The first that recognises a file parses it, so kinds with distinctive
// marks precede those that accept any JSON, any list of names or any text.
var formats = []document.Format{
	{Name: "Pipfile.lock", Is: pipfile.Is, Read: pipfile.Read, Most: document.Objects},
	{Name: "pip install --report", Is: plan.IsPipReport, Read: plan.ReadPipReport, Most: document.Objects},
	{Name: "conda install --dry-run --json", Is: conda.IsPlan, Read: conda.ReadPlan, Most: document.Objects},
	{Name: "pixi update --dry-run --json", Is: pixi.IsPlan, Read: pixi.ReadPlan, Most: document.Objects},
	{Name: "conda list --json", Is: conda.IsJSON, Read: conda.ReadJSON, Most: document.Objects},
	{Name: "pip list --format=json", Is: piplist.IsJSON, Read: piplist.ReadJSON, Most: document.Objects},
	{Name: factsFormat, Is: factsjson.Is, Read: factsjson.Read, Most: document.Excess},
	{Name: "uv pip install --dry-run, uv sync --dry-run", Is: plan.IsUV, Read: plan.ReadUV, Most: document.Instructions},
	{Name: "pip install --dry-run", Is: plan.IsPip, Read: plan.ReadPip, Most: document.Words},
	{Name: "poetry install --dry-run", Is: plan.IsPoetry, Read: plan.ReadPoetry, Most: document.Instructions},
	{Name: "nvidia-smi -x -q", Is: smi.IsXML, Read: smi.ReadXML, Most: document.Tags},
	{Name: "nvidia-smi -q", Is: smi.IsQuery, Read: smi.ReadQuery, Most: document.Lines},
	{Name: "nvidia-smi --version", Is: smi.IsVersions, Read: paste.Read, Most: document.Lines},
	{Name: "nvidia-smi", Is: smi.IsTable, Read: paste.Read, Most: document.Instructions},
	{Name: "nvidia-smi -L", Is: smi.IsList, Read: smi.ReadList, Most: document.Rows},
	{Name: "nvidia-smi --query-gpu", Is: smi.IsCSV, Read: smi.ReadCSV, Most: document.Rows},
	{Name: "nvidia-smi dmon, nvidia-smi topo -m", Is: isMonitor, Read: smi.ReadMonitor, Most: document.Lines},
	{Name: "an error of nvidia-smi", Is: smi.IsFailure, Read: paste.Read, Most: document.Lines},
	{Name: "poetry.lock", Is: poetry.Is, Read: poetry.Read, Most: document.Tables},
	{Name: "uv.lock", Is: uvlock.Is, Read: uvlock.Read, Most: document.Tables},
	{Name: "pylock.toml", Is: pylock.Is, Read: pylock.Read, Most: document.Tables},
	{Name: "pyproject.toml", Is: pyproject.Is, Read: pyproject.Read, Most: document.Project},
	{Name: "pixi.lock", Is: pixi.IsLock, Read: pixi.ReadLock, Most: document.Entries},
	{Name: "conda-lock.yml", Is: conda.IsLock, Read: conda.ReadLock, Most: document.Lines},
	{Name: "environment.yml", Is: conda.IsYAML, Read: conda.ReadYAML, Most: document.Project},
	{Name: "conda list --explicit", Is: conda.IsExplicit, Read: conda.ReadExplicit, Most: document.Rows},
	{Name: "conda list", Is: conda.IsList, Read: conda.ReadList, Most: document.Rows},
	{Name: "compose file", Is: compose.Is, Read: compose.Read, Most: document.Project},
	{Name: "Dockerfile", Is: dockerfile.Is, Read: dockerfile.Read, Most: document.Instructions},
	{Name: "pip list", Is: piplist.Is, Read: paste.Read, Most: document.Rows},
	{Name: "requirements (pip freeze)", Is: requirements.Is, Read: requirements.Read, Most: document.Rows},
	{Name: "collect_env report", Is: paste.Is, Read: paste.Read, Most: document.Lines},
}

// isMonitor recognises nvidia-smi's tables without names, unless there is a report beside them.
func isMonitor(d Document) bool { return smi.IsMonitor(d) && !paste.Is(d) && !smi.IsTable(d) }

// Formats returns the kinds of files that are read, as people call them.
func Formats() []string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = f.Name
	}
	return names
}

// Read parses a document of any supported format, or returns ErrForeign.
func Read(d Document) (facts.Facts, error) {
	r := d.Recognise(formats)
	if r.Err != nil {
		return facts.Facts{}, r.Err
	}
	d.Data = r.Data
	if err := r.Format.Most(d.Data); err != nil {
		return facts.Facts{}, err
	}
	f, err := r.Format.Read(d)
	if err == nil {
		err = document.TooManyNamed(f)
	}
	if err != nil {
		return facts.Facts{}, err
	}
	f.Shorten()
	f.Complete()
	f.Anonymous()
	return f, nil
}

// Together merges the facts about one machine from several documents.
func Together(list []facts.Facts) facts.Facts { return paste.Together(list) }
