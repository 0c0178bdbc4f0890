package input

import (
	"strconv"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/distname"
)

// plan is what an installer's dry run says, line by line.
type plan struct {
	facts.Plan
	list       []lockedRelease // what it installs
	leftUnread []facts.Unread  // what of it is not read
}

// install notes what a plan installs.
func (p *plan) install(l lockedRelease) {
	p.list = append(p.list, l)
	p.Installs = append(p.Installs, facts.Planned{Name: l.name, Version: l.version})
}

// remove notes what a plan takes away.
func (p *plan) remove(name, version string) {
	p.Removes = append(p.Removes, facts.Planned{Name: distname.Normal(name), Version: version})
}

// facts are the set that the plan names, which is all that is there where nobody says what it is applied to.
func (p *plan) facts() facts.Facts {
	f := lockedFacts("plan", p.list, p.leftUnread)
	f.Plan = &p.Plan
	return f
}

var (
	// uvChange matches what uv would do to one distribution; "~" puts the same release there again:
	//
	//	 - torch==2.6.0
	//	 + torch==2.7.0
	//	 + mine==1.0 (from file:///src/mine)
	uvChange = lazyregexp.New(`(?m)^ *([-+~]) ([A-Za-z0-9][A-Za-z0-9._-]*)==(\S+)(?: \(from (\S+)\))?\s*$`)
	// uvSays matches the lines around them, of which a dry run has one at least.
	uvSays = lazyregexp.New(`(?m)^Would (?:install|uninstall|download) \d+ packages?\s*$|^Would make no changes\s*$`)
	// uvResolved matches how many distributions it looked at, those that are there included.
	uvResolved = lazyregexp.New(`(?m)^Resolved (\d+) packages? in `)
	// uvPlace matches what uv says of the environment.
	uvPlace = lazyregexp.New(`(?m)^(?:Using Python \S+ environment at: |Would (?:use|create|replace) project environment at: )(.+?)\s*$`)
)

func isUVPlan(d Document) bool { return uvSays.Match(d.Data) }

// readUVPlan reads what uv pip install, uv pip sync, uv pip uninstall and uv sync print with --dry-run.
func readUVPlan(d Document) (facts.Facts, error) {
	p := &plan{Plan: facts.Plan{By: "uv"}}
	if m := uvPlace.FindSubmatch(d.Data); m != nil {
		p.Path = string(m[1])
	}
	for m := range uvChange.EachSubmatch(d.Data) {
		mark, name, version := string(m[1]), string(m[2]), string(m[3])
		if mark != "+" {
			p.remove(name, version)
		}
		if mark != "-" {
			p.install(fromPlace(lockedPackage(name, version, "", nil), string(m[4])))
		}
	}
	if m := uvResolved.FindSubmatch(d.Data); m != nil {
		resolved, err := strconv.Atoi(string(m[1]))
		p.noteAlone(err == nil && resolved <= len(p.Installs))
	}
	return p.facts(), nil
}

// noteAlone notes that nothing was looked at but what a plan installs: what that requires comes with it, or nobody asked.
func (p *plan) noteAlone(is bool) {
	if is && len(p.Installs) > 0 {
		p.NoDeps = facts.NoDepsPerhaps
	}
}

// fromPlace is a package that is installed from an address and no index.
func fromPlace(p lockedRelease, address string) lockedRelease {
	if address == "" {
		return p
	}
	p.direct, p.index = true, ""
	if wheel := wheelFile(address); wheel != "" {
		p.wheels = []string{wheel}
	} else {
		p.origin = "source"
	}
	return p
}

// pipHas matches what pip says of a requirement that is fulfilled.
var pipHas = lazyregexp.New(`(?m)^Requirement already satisfied: `)

// pipWould matches the last line of pip install --dry-run:
//
//	Would install MarkupSafe-3.0.4 torch-2.10.0+cu128
var pipWould = lazyregexp.New(`(?m)^Would install ([^\s\d]\S*-\d\S*(?: \S+-\S+)*)\s*$`)

func isPipPlan(d Document) bool { return pipWould.Match(d.Data) }

// readPipPlan reads what pip install --dry-run prints. What it replaces only the environment tells.
func readPipPlan(d Document) (facts.Facts, error) {
	p := &plan{Plan: facts.Plan{By: "pip"}}
	for m := range pipWould.EachSubmatch(d.Data) {
		for word := range strings.FieldsSeq(string(m[1])) {
			at := strings.LastIndex(word, "-")
			p.install(lockedPackage(word[:at], word[at+1:], "", nil))
		}
	}
	p.noteAlone(!pipHas.Match(d.Data))
	return p.facts(), nil
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

func isPoetryPlan(d Document) bool { return poetryCounts.Match(d.Data) }

// readPoetryPlan reads what poetry install, add, update and remove print with --dry-run.
func readPoetryPlan(d Document) (facts.Facts, error) {
	p := &plan{Plan: facts.Plan{By: "poetry"}}
	met := map[string]bool{} // old releases print each line twice
	for m := range poetryChange.EachSubmatch(d.Data) {
		does, name, before, version := string(m[1]), string(m[2]), string(m[3]), string(m[4])
		if len(m[5]) > 0 || met[name] {
			continue
		}
		met[name] = true
		switch {
		case does == "Removing":
			p.remove(name, version)
			continue
		case before != "":
			p.remove(name, before)
		}
		p.install(lockedPackage(name, version, "", nil))
	}
	return p.facts(), nil
}

// compiledHeader matches what uv pip compile and pip-compile write first.
var compiledHeader = lazyregexp.New(`^#(?:\s*#)*\s*This file (?:was|is) autogenerated by (?:uv|pip-compile)`)

// compiledPlan is what a list of releases that uv or pip-tools has resolved would install; nil where it is none.
func compiledPlan(d Document, list []lockedRelease) *facts.Plan {
	if !compiledHeader.Match(d.Data) {
		return nil
	}
	p := &plan{Plan: facts.Plan{By: "requirements"}}
	for _, one := range list {
		if one.version != "" && one.linux() {
			p.install(one)
		}
	}
	return &p.Plan
}
