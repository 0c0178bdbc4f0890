package requirements

import (
	"fmt"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/distname"
	"cudacompat/probe/internal/input/request"
)

// File is the state of reading a requirements file. Options apply to the whole file, wherever they are.
type File struct {
	Named       []request.Package
	Unread      []facts.Unread    // what the file refers to and is not read
	constraints []request.Package // what constraints files say of packages, named or not
	indexes     []string          // addresses, --index-url first
	served      []string          // addresses of indexes and of pages of links
	replace     bool              // --index-url is given: the installer's own index is not asked
	links       bool              // --find-links or --no-index: the packages may come from anywhere
	sure        bool              // something in it is of no other kind of file
	good        int               // lines that were read
	Bad         []facts.Unread    // lines that are none of the format

	frozen map[string]bool // addresses whose packages a comment of pip freeze names

	Includes Includes
	Where    string // before a line's number: the included file that is read
	within   bool   // an included file is read, of which no line is shown
	bounds   bool   // a constraints file is read, which asks for nothing by itself
	typed    bool   // no file: each line is an argument of the command
}

// place returns where a line stands: "line 3", "base.txt line 3".
func (f *File) place(number int) string {
	if f.typed {
		return "command line"
	}
	return fmt.Sprintf("%sline %d", f.Where, number)
}

// requirementLine matches one requirement of pip's file format, its marker and hashes cut off:
//
//	torch==2.9.0
//	jax[cuda12]>=0.4.30,<0.7
//	torch @ https://download.pytorch.org/whl/cu126/torch-2.9.0%2Bcu126-cp312-cp312-manylinux_2_28_x86_64.whl
var requirementLine = lazyregexp.New(`^([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[([^\]]*)\])?\s*` +
	`(?:@\s*(\S+)|\(?\s*((?:` + comparison + `(?:\s*,\s*` + comparison + `)*\s*,?\s*)?)\)?)$`)

const comparison = `(?:(?:===|==|!=|<=|>=|<|>)\s*[A-Za-z0-9.*+!_-]+|~=\s*v?\d+(?:!\d+)?\.[A-Za-z0-9.*+!_-]+)`

// lineOption matches the options that pip allows after a requirement: its own, and those of a whole file.
var lineOption = lazyregexp.New(`^--(?:hash|global-option|install-option|config-settings?|index-url|extra-index-url|no-index` +
	`|find-links|no-binary|only-binary|prefer-binary|require-hashes|pre|trusted-host|use-feature|constraint|requirement)\b|^-[cefir] `)

// lineEnd matches the end of a requirement: before its marker, and before options of its own such as --hash, or of a
// whole file such as -f, which pip allows there and ignores.
var lineEnd = lazyregexp.New(`\s*(?:;| --?[a-z]).*$`)

// optionEnd matches the options behind a marker.
var optionEnd = lazyregexp.New(` --?[a-z].*$`)

// Requirement reads a line that names a package.
func (f *File) Requirement(line string, number int) bool {
	marker := lineEnd.FindString(line)
	if _, option, _ := strings.Cut(" "+marker, " -"); option != "" && !lineOption.MatchString("-"+option) {
		return false
	}
	m := requirementLine.FindStringSubmatch(strings.TrimSpace(strings.TrimSuffix(line, marker)))
	if _, condition, _ := strings.Cut(marker, ";"); m == nil || !request.IsMarker(optionEnd.ReplaceAllString(condition, "")) {
		return false
	}
	if m[3]+m[4] == "" && archiveEnd.MatchString(m[1]) { // pip takes it for a file
		return false
	}
	p := request.Package{Name: distname.Normal(m[1]), From: f.place(number)}
	for extra := range strings.SplitSeq(m[2], ",") {
		if extra = strings.TrimSpace(extra); extra != "" {
			p.Extras = append(p.Extras, extra)
		}
	}
	p.Take(m[3], strings.TrimSpace(m[4]))
	if strings.HasPrefix(m[3], "file:") {
		f.readProject(m[3], f.place(number))
	}
	f.sure = f.sure || m[3] != "" || m[4] != "" || distname.Companions.Match(p.Name)
	f.add(p, marker)
	return true
}

// add keeps a package.
func (f *File) add(p request.Package, marker string) {
	if strings.HasPrefix(strings.TrimSpace(marker), ";") {
		p.Markers = []string{marker}
	}
	if f.bounds {
		f.constraints = append(f.constraints, p)
	} else {
		f.Named = append(f.Named, p)
	}
}
