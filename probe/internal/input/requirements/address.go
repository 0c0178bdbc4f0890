package requirements

import (
	"path"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/distname"
	"cudacompat/probe/internal/input/request"
)

// archive matches the ends of the files that pip takes for archives, wherever they stand.
const archive = `\.(?:whl|zip|tgz|tbz|txz|tlz|tar(?:\.(?:gz|bz2|xz|lz|lzma))?)`

var (
	// bareAddress matches what pip accepts instead of a name: an address, a repository, a path, an archive.
	bareAddress = lazyregexp.New(`(?i)^(?:[a-z]+(?:\+[a-z]+)?://\S+|file:\S+|\.{1,2}(?:\[[^\]]*\])?|\.{0,2}/\S*|` +
		`[^\s=<>~!;@]+` + archive + `(?:\[[^\]]*\])?)$`)
	// telling matches addresses that no other kind of file has on a line of their own.
	telling = lazyregexp.New(`(?i)^(?:git|hg|svn|bzr)\+|\.whl(?:#.*)?$|[#&]egg=`)
	eggName = lazyregexp.New(`[#&]egg=([A-Za-z0-9._-]+)`)
	// archiveVersion matches from the version on: flash_attn-2.8.3.tar.gz.
	archiveVersion = lazyregexp.New(`-\d.*$`)
	archiveEnd     = lazyregexp.New(`(?i)(?:\.git|` + archive + `)$`)
	extrasEnd      = lazyregexp.New(`\[[^\]]*\]$`)
	editable       = lazyregexp.New(`^(?:-e|--editable)[ =]\s*(\S.*)$`)
	variable       = lazyregexp.New(`\$\{([A-Z0-9_]+)\}`)
)

// Elsewhere is the reason why a directory's packages are unknown.
const Elsewhere = "the project's own requirements are in another file: check that one, too"

// Unnamed is the reason why an address's package is unknown.
const Unnamed = "the address does not say which package it holds: write NAME @ ADDRESS"

// UnsetPattern is the reason why the packages named by a file pattern, or by another command's output, are unknown.
const UnsetPattern = "the file does not say which packages these are"

// UnsetVariable is the reason why the packages named by a shell variable are unknown.
const UnsetVariable = "the file does not say what the variable is"

// address reads a line without a name before its address.
func (f *File) address(line string, number int) bool {
	address := strings.TrimSpace(strings.TrimSuffix(line, lineEnd.FindString(line)))
	if !bareAddress.MatchString(address) || strings.Contains(request.WheelFile(address), "%") {
		return false
	}
	f.sure = f.sure || telling.MatchString(address)
	f.install(line, number)
	return true
}

// install adds what an address installs. "-e ." is the project itself, which has no name here. An address that may
// contain any package, a repository or a directory of another machine is recorded as not looked at.
func (f *File) install(line string, number int) {
	marker := lineEnd.FindString(line)
	address := strings.TrimSpace(strings.TrimSuffix(line, marker))
	from := f.place(number)
	name, said := addressName(address)
	f.readProject(address, from)
	dir, _, local := localDirectory(address)
	if local && !path.IsAbs(dir) && name == "" {
		return
	}
	if !said && (!local || path.IsAbs(dir)) && !f.frozen[address] {
		place, reason := from+": "+address, Unnamed
		if f.within {
			place = from
		}
		if local {
			reason = Elsewhere
		}
		f.Unread = append(f.Unread, facts.Unread{Place: place, Kind: facts.UnreadNeeded, Reason: reason})
	}
	if name == "" {
		return
	}
	p := request.Package{Name: distname.Normal(name), From: from}
	p.Take(address, "")
	f.add(p, marker)
}

// addressName returns the distribution at an address. said is true if pip insists on that name: by egg=, or by a
// wheel's name. Otherwise it is the last part of the path, which is nearly always a repository's name.
func addressName(address string) (name string, said bool) {
	if m := eggName.FindStringSubmatch(address); m != nil {
		return m[1], true
	}
	address, _, _ = strings.Cut(address, "#")
	address, _, _ = strings.Cut(address, "?")
	if _, rest, ok := strings.Cut(address, "://"); ok {
		_, address, _ = strings.Cut(rest, "/") // a host is no name, nor is who logs in there
	}
	address = extrasEnd.ReplaceAllString(address, "")
	if wheel := request.WheelFile(address); wheel != "" {
		name, _, _ := strings.Cut(wheel, "-")
		return name, true
	}
	base := path.Base(strings.TrimRight(address, "/"))
	base, _, _ = strings.Cut(base, "@") // a branch or tag
	name = archiveVersion.ReplaceAllString(archiveEnd.ReplaceAllString(base, ""), "")
	return strings.Trim(name, "."), false
}

// frozenEditable matches what pip freeze writes of an editable installation, whose requirements it lists, too:
//
//	# Editable install with no version control (foo==1.0)
//	-e /home/me/foo
var frozenEditable = lazyregexp.New(`(?m)^# Editable (?:Git )?install with no (?:version control|remote) \([A-Za-z0-9][\w.-]*==[^()\s]+\)\r?\n-e (\S+)\r?$`)

// findFrozen notes the addresses that pip freeze names the packages of.
func (f *File) findFrozen(text string) {
	f.frozen = map[string]bool{}
	for _, m := range frozenEditable.FindAllStringSubmatch(text, -1) {
		f.frozen[m[1]] = true
	}
}

// unset reads a line with a variable that pip would replace by its value.
func (f *File) unset(line string, number int) bool {
	m := variable.FindStringSubmatch(line)
	if m == nil {
		return false
	}
	named := requirementLine.FindStringSubmatch(variable.ReplaceAllString(lineEnd.ReplaceAllString(line, ""), "1"))
	if named == nil {
		return false
	}
	from := f.place(number)
	if name := distname.Normal(named[1]); distname.JAXPart.MatchString(name) {
		f.add(request.Package{Name: name, Direct: true, From: from}, "") // the other parts alone would be a JAX for CPUs
	}
	contains := "contains the variable " + m[1]
	if f.within {
		contains = "contains a variable"
	}
	f.Unread = append(f.Unread, facts.Unread{Place: from, Kind: facts.UnreadNeeded,
		Reason: f.quoteLine(line) + " " + contains + ", whose value is not in the file"})
	return true
}
