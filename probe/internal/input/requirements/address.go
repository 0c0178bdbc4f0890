package requirements

import (
	"path"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/distname"
	"cudacompat/probe/internal/input/request"
)

var (
	// bareAddress matches what pip takes in a name's place: an address, a repository, a path, an archive.
	bareAddress = lazyregexp.New(`^(?:[a-z]+(?:\+[a-z]+)?://\S+|\.{1,2}(?:\[[^\]]*\])?|\.{0,2}/\S*|` +
		`[^\s=<>~!;@]+\.(?:whl|zip|tar\.gz))$`)
	// telling matches addresses that no other kind of file has on a line of their own.
	telling = lazyregexp.New(`^(?:git|hg|svn|bzr)\+|\.whl(?:#.*)?$|[#&]egg=`)
	eggName = lazyregexp.New(`[#&]egg=([A-Za-z0-9._-]+)`)
	// archiveVersion matches from the version on: flash_attn-2.8.3.tar.gz.
	archiveVersion = lazyregexp.New(`-\d.*$`)
	archiveEnd     = lazyregexp.New(`\.(?:git|zip|tar\.gz)$`)
	extrasEnd      = lazyregexp.New(`\[[^\]]*\]$`)
	editable       = lazyregexp.New(`^(?:-e|--editable)[ =]\s*(\S.*)$`)
	variable       = lazyregexp.New(`\$\{([A-Z0-9_]+)\}`)
)

// Elsewhere is why what a directory installs is not known.
const Elsewhere = "the project's own requirements are in another file: check that one, too"

// UnsetPattern is why what a pattern of files, or another command's output, names is not known.
const UnsetPattern = "the file does not say which packages these are"

// UnsetVariable is why what a shell's variable names is not known.
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

// install adds what an address installs; "-e ." is the project itself, which has no name here.
func (f *File) install(line string, number int) {
	marker := lineEnd.FindString(line)
	address := strings.TrimSpace(strings.TrimSuffix(line, marker))
	from := f.place(number)
	name := addressName(address)
	f.readProject(address, from)
	if _, _, local := localDirectory(address); name == "" && local {
		return
	}
	if name == "" {
		place := from + ": " + address
		if f.within {
			place = from
		}
		f.Unread = append(f.Unread, facts.Unread{Place: place, Kind: facts.UnreadNeeded, Reason: Elsewhere})
		return
	}
	p := request.Package{Name: distname.Normal(name), From: from}
	p.Take(address, "")
	f.add(p, marker)
}

// addressName is the distribution at an address: by pip's own egg=, by a wheel's name, else by the last part of the
// path, which a repository nearly always has from it.
func addressName(address string) string {
	if m := eggName.FindStringSubmatch(address); m != nil {
		return m[1]
	}
	address, _, _ = strings.Cut(address, "#")
	address, _, _ = strings.Cut(address, "?")
	if _, rest, ok := strings.Cut(address, "://"); ok {
		_, address, _ = strings.Cut(rest, "/") // a host is no name, nor is who logs in there
	}
	address = extrasEnd.ReplaceAllString(address, "")
	if wheel := request.WheelFile(address); wheel != "" {
		name, _, _ := strings.Cut(wheel, "-")
		return name
	}
	base := path.Base(strings.TrimRight(address, "/"))
	base, _, _ = strings.Cut(base, "@") // a branch or tag
	name := archiveVersion.ReplaceAllString(archiveEnd.ReplaceAllString(base, ""), "")
	return strings.Trim(name, ".")
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
