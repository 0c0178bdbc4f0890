// Package plan reads the dry runs of uv, pip and Poetry.
package plan

import (
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/distname"
	"cudacompat/probe/internal/input/document"
	"cudacompat/probe/internal/input/request"
)

// Plan is what an installer's dry run says, line by line.
type Plan struct {
	facts.Plan
	list   []request.Package // what it installs
	Unread []facts.Unread    // what of it is not read
}

// Install notes what a plan installs.
func (p *Plan) Install(l request.Package) {
	p.list = append(p.list, l)
	p.Installs = append(p.Installs, facts.Planned{Name: l.Name, Version: l.Version})
}

// Remove records a removal in the plan.
func (p *Plan) Remove(name, version string) {
	p.Removes = append(p.Removes, facts.Planned{Name: distname.Normal(name), Version: version})
}

// Facts returns the packages in the plan. If it is unknown what the plan is applied to, there are no others.
func (p *Plan) Facts() facts.Facts {
	f := request.Facts("plan", p.list, p.Unread)
	f.Plan = &p.Plan
	return f
}

var (
	// uvChange matches what uv would do to one distribution; "~" puts the same release there again. Of what is not in
	// its cache, uv names the address and not the release:
	//
	//	 - torch==2.6.0
	//	 + torch==2.7.0
	//	 + mine==1.0 (from file:///src/mine)
	//	 + torch @ file:///wheels/torch-2.7.0+cu126-cp312-cp312-linux_x86_64.whl
	uvChange = lazyregexp.New(`(?m)^ *([-+~]) ([A-Za-z0-9][A-Za-z0-9._-]*)(?:==(\S+))?(?: +(\S.*?))?\s*$`)
	// uvSays matches the lines around them, of which a dry run has one at least.
	uvSays = lazyregexp.New(`(?m)^Would (?:install|uninstall|download) \d+ packages?\s*$|^Would make no changes\s*$`)
	// uvResolved matches how many distributions it looked at, those that are there included.
	uvResolved = lazyregexp.New(`(?m)^Resolved (\d+) packages? in `)
	// uvPlace matches what uv says of the environment.
	uvPlace = lazyregexp.New(`(?m)^(?:Using Python \S+ environment at: |Would (?:use|create|replace) project environment at: )(.+?)\s*$`)
)

func IsUV(d document.Document) bool { return uvSays.Match(d.Data) }

// ReadUV reads what uv pip install, uv pip sync, uv pip uninstall and uv sync print with --dry-run.
func ReadUV(d document.Document) (facts.Facts, error) {
	p := &Plan{Plan: facts.Plan{By: "uv"}}
	if m := uvPlace.FindSubmatch(d.Data); m != nil {
		p.Path = string(m[1])
	}
	for m := range uvChange.EachSubmatch(d.Data) {
		mark, one := string(m[1]), uvPackage(string(m[2]), string(m[3]), string(m[4]))
		if mark != "+" {
			p.Remove(one.Name, one.Version)
		}
		if mark != "-" {
			p.Install(one)
		}
	}
	if m := uvResolved.FindSubmatch(d.Data); m != nil {
		resolved, err := strconv.Atoi(string(m[1]))
		p.noteAlone(err == nil && resolved <= len(p.Installs))
	}
	return p.Facts(), nil
}

// uvPackage returns the package of one line. Its release is unknown where neither the line nor a wheel's name has it.
func uvPackage(name, version, rest string) request.Package {
	address, direct := strings.CutPrefix(rest, "@ ")
	if !direct {
		address, _ = strings.CutPrefix(rest, "(from ")
		address = strings.TrimSuffix(address, ")")
	}
	parts := strings.SplitN(request.WheelFile(address), "-", 3)
	if version == "" && len(parts) == 3 && distname.Normal(parts[0]) == distname.Normal(name) {
		version = parts[1]
	}
	return FromPlace(request.New(name, version, "", nil), address)
}

// noteAlone records that only the plan's own packages were considered: their requirements come with them, or nobody
// asked.
func (p *Plan) noteAlone(is bool) {
	if is && len(p.Installs) > 0 {
		p.NoDeps = facts.NoDepsPerhaps
	}
}

// FromPlace returns a package that is installed from an address and no index.
func FromPlace(p request.Package, address string) request.Package {
	if address == "" {
		return p
	}
	p.Direct, p.Index = true, ""
	if wheel := request.WheelFile(address); wheel != "" {
		p.Wheels = []string{wheel}
	} else {
		p.Origin = "source"
	}
	return p
}

// pipHas matches pip's line about a requirement that is already satisfied.
var pipHas = lazyregexp.New(`(?m)^Requirement already satisfied: `)

// pipWould matches the last line of pip install --dry-run:
//
//	Would install MarkupSafe-3.0.4 torch-2.10.0+cu128
var pipWould = lazyregexp.New(`(?m)^Would install ([^\s\d]\S*-\d\S*(?: \S+-\S+)*)\s*$`)

func IsPip(d document.Document) bool { return pipWould.Match(d.Data) }

// ReadPip parses the output of pip install --dry-run. Only the environment shows what it replaces.
func ReadPip(d document.Document) (facts.Facts, error) {
	p := &Plan{Plan: facts.Plan{By: "pip"}}
	for m := range pipWould.EachSubmatch(d.Data) {
		for _, one := range pipWords(string(m[1])) {
			p.Install(one)
		}
	}
	p.noteAlone(!pipHas.Match(d.Data))
	return p.Facts(), nil
}

// pipWords returns the packages that pip writes as one word each, "torch-2.10.0+cu128".
func pipWords(text string) (list []request.Package) {
	for word := range strings.FieldsSeq(text) {
		if at := strings.LastIndex(word, "-"); at > 0 {
			list = append(list, request.New(word[:at], word[at+1:], "", nil))
		}
	}
	return list
}

// pipInstalled matches the last line of pip install:
//
//	Successfully installed MarkupSafe-3.0.4 torch-2.10.0+cu128
var pipInstalled = lazyregexp.New(`(?m)^[\s>]*(?:#\d+ [\d.]+ )?Successfully installed ([^\s\d]\S*-\d\S*(?: \S+-\S+)*)\s*$`)

// IsPipInstalled recognises what pip says at its end of a framework that it has installed.
func IsPipInstalled(d document.Document) bool {
	for m := range pipInstalled.EachSubmatch(d.Data) {
		if slices.ContainsFunc(pipWords(string(m[1])), func(p request.Package) bool { return slices.Contains(frameworks, p.Name) }) {
			return true
		}
	}
	return false
}

// frameworks lists packages of which at least one must be among what pip has installed.
var frameworks = []string{"torch", "tensorflow", "jax"}

// PipInstalled returns what pip has installed. If it installed a package twice, the later one counts.
func PipInstalled(d document.Document) (list []request.Package) {
	for m := range pipInstalled.EachSubmatch(d.Data) {
		for _, one := range pipWords(string(m[1])) {
			list = slices.DeleteFunc(list, func(p request.Package) bool { return p.Name == one.Name })
			list = append(list, one)
		}
	}
	return list
}

var (
	// poetryCounts matches the line before poetry's list, which is the same with and without --dry-run.
	poetryCounts = lazyregexp.New(`(?m)^Package operations: \d+ installs?, \d+ updates?, \d+ removals?`)
	// poetryChange matches one line of it:
	//
	//	  - Updating torch (2.6.0 -> 2.7.0)
	//	  • Removing xformers (0.0.29)
	//	  - Installing numpy (2.4.6): Skipped for the following reason: Already installed
	poetryChange = lazyregexp.New(`(?m)^ *[-•] (Installing|Updating|Downgrading|Removing) ([A-Za-z0-9][A-Za-z0-9._-]*) ` +
		`\((?:(\S+) -> )?([^\s)]+)[^)]*\)(: Skipped)?`)
)

func IsPoetry(d document.Document) bool { return poetryCounts.Match(d.Data) }

// ReadPoetry reads what poetry install, add, update and remove print with --dry-run.
func ReadPoetry(d document.Document) (facts.Facts, error) {
	p := &Plan{Plan: facts.Plan{By: "poetry"}}
	met := map[string]bool{} // old releases print each line twice
	for m := range poetryChange.EachSubmatch(d.Data) {
		does, name, before, version := string(m[1]), string(m[2]), string(m[3]), string(m[4])
		if len(m[5]) > 0 || met[name] {
			continue
		}
		met[name] = true
		switch {
		case does == "Removing":
			p.Remove(name, version)
			continue
		case before != "":
			p.Remove(name, before)
		}
		p.Install(request.New(name, version, "", nil))
	}
	return p.Facts(), nil
}
