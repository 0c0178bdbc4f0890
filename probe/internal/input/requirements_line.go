package input

import (
	"fmt"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/distname"
)

// requirementFile is a requirements file on its way into a list. Options hold for the whole file, wherever they stand.
type requirementFile struct {
	list        []lockedRelease
	leftUnread  []facts.Unread  // what the file refers to and is not read
	constraints []lockedRelease // what constraints files say of packages, named or not
	indexes     []string        // addresses, --index-url first
	replace     bool            // --index-url is given: the installer's own index is not asked
	links       bool            // --find-links or --no-index: the packages may come from anywhere
	sure        bool            // something in it is of no other kind of file
	good        int             // lines that were read
	bad         []facts.Unread  // lines that are none of the format

	files  includes
	where  string // before a line's number: the included file that is read
	within bool   // an included file is read, of which no line is shown
	bounds bool   // a constraints file is read, which asks for nothing by itself
	typed  bool   // no file: each line is an argument of the command
}

// place is where a line stands: "line 3", "base.txt line 3".
func (f *requirementFile) place(number int) string {
	if f.typed {
		return "command line"
	}
	return fmt.Sprintf("%sline %d", f.where, number)
}

// requirementLine matches one requirement of pip's file format, its marker and hashes cut off:
//
//	torch==2.9.0
//	jax[cuda12]>=0.4.30,<0.7
//	torch @ https://download.pytorch.org/whl/cu126/torch-2.9.0%2Bcu126-cp312-cp312-manylinux_2_28_x86_64.whl
var requirementLine = lazyregexp.New(`^([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[([^\]]*)\])?\s*` +
	`(?:@\s*(\S+)|\(?\s*((?:(?:===|==|~=|!=|<=|>=|<|>)\s*[A-Za-z0-9.*+!_-]+\s*,?\s*)*)\)?)$`)

var exactPin = lazyregexp.New(`^===?\s*([A-Za-z0-9.+!_-]+)$`)

// lineOption matches the options that pip lets stand behind a requirement: those of its own, and those of a whole file.
var lineOption = lazyregexp.New(`^--(?:hash|global-option|install-option|config-settings?|index-url|extra-index-url|no-index` +
	`|find-links|no-binary|only-binary|prefer-binary|require-hashes|pre|trusted-host|use-feature|constraint|requirement)\b|^-[cefir] `)

// lineEnd is where a requirement ends: before its marker, and before options of its own such as --hash, or of a whole
// file such as -f, which pip lets stand there and does not heed.
var lineEnd = lazyregexp.New(`\s*(?:;| --?[a-z]).*$`)

// requirement reads a line that names a package.
func (f *requirementFile) requirement(line string, number int) bool {
	marker := lineEnd.FindString(line)
	if _, option, _ := strings.Cut(" "+marker, " -"); option != "" && !lineOption.MatchString("-"+option) {
		return false
	}
	m := requirementLine.FindStringSubmatch(strings.TrimSpace(strings.TrimSuffix(line, marker)))
	if m == nil {
		return false
	}
	p := lockedRelease{name: distname.Normal(m[1]), from: f.place(number)}
	for extra := range strings.SplitSeq(m[2], ",") {
		if extra = strings.TrimSpace(extra); extra != "" {
			p.extras = append(p.extras, extra)
		}
	}
	p.take(m[3], strings.TrimSpace(m[4]))
	f.sure = f.sure || m[3] != "" || m[4] != "" || distname.Companions.Match(p.name)
	f.add(p, marker)
	return true
}

// add keeps a package.
func (f *requirementFile) add(p lockedRelease, marker string) {
	if strings.HasPrefix(strings.TrimSpace(marker), ";") {
		p.markers = []string{marker}
	}
	if f.bounds {
		f.constraints = append(f.constraints, p)
	} else {
		f.list = append(f.list, p)
	}
}

// frameworkName matches packages all of whose releases have three parts, of which shortRelease matches two: torch==2.7
// is 2.7.0.
var (
	frameworkName = lazyregexp.New(`^(?:torch(?:vision|audio)?|tensorflow(?:-gpu|-cpu)?|jax(?:lib)?)$`)
	shortRelease  = lazyregexp.New(`^(\d+\.\d+)($|\+)`)
)

// take fills in the version: of a wheel's address, or of the specifiers, of which one alone can be exact.
func (p *lockedRelease) take(address, specifiers string) {
	if address != "" {
		p.direct = true
		if name := wheelFile(address); name != "" {
			p.wheels = []string{name}
			if parts := strings.SplitN(name, "-", 3); len(parts) == 3 {
				p.version = parts[1]
			}
		}
		switch {
		case p.version == "":
			p.specifier = "(from an address)"
		case !strings.Contains(p.version, "+"): // every build of PyTorch's indexes has a local version
			p.index = defaultIndex
		}
		return
	}
	for s := range strings.SplitSeq(specifiers, ",") {
		if m := exactPin.FindStringSubmatch(strings.TrimSpace(s)); m != nil {
			p.version = m[1]
			if frameworkName.MatchString(p.name) {
				p.version = shortRelease.ReplaceAllString(p.version, "$1.0$2")
			}
			return
		}
	}
	p.specifier = strings.ReplaceAll(specifiers, " ", "")
	if p.specifier == "" {
		p.specifier = facts.Unspecified
	}
}
