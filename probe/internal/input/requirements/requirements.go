// Package requirements reads pip's requirements files, and the requirements in METADATA.
package requirements

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/pylines"
	"cudacompat/internal/redact"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/input/document"
	"cudacompat/probe/internal/input/request"
)

// requirementName matches the names that people give to these files: a bare list of names is one then.
var requirementName = lazyregexp.New(`(?i)(requirement|constraint)[^/]*\.(txt|in|pip)$|(^|/)requirements/[^/]+$`)

// Is looks at each line by itself and keeps none: how much a file may have is asked once its format is known.
// Of a file without such a name one line of no such format is enough to know.
func Is(d document.Document) bool {
	named := requirementName.MatchString(d.Name)
	sure, good, bad := named, 0, 0
	for number, line := range requirementLines(string(d.Data)) {
		var one File
		switch {
		case one.ReadLine(line, number):
			good++
			sure = sure || one.sure
		case !named:
			return false
		default:
			bad++
		}
	}
	return len(d.Data) > 0 && sure && (bad == 0 || bad < good)
}

func Read(d document.Document) (facts.Facts, error) {
	list, left := parseRequirements(d)
	f := request.Facts("requirements", list, left)
	f.Plan = compiledPlan(d, list)
	return f, nil
}

// parseRequirements reads pip's requirements format and what it includes.
func parseRequirements(d document.Document) ([]request.Package, []facts.Unread) {
	f := &File{Includes: NewIncludes(d), typed: d.Typed}
	f.ReadLines(string(d.Data))
	f.ReadIncludes()
	return f.Packages(), append(f.Bad, f.Unread...)
}

// requirementLines returns the relevant lines of a text, each with the number of its first line. It joins and cuts
// lines as pip does: a comment does not continue on the next line, and ends a continued line.
func requirementLines(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		start, joined := 0, ""
		say := func() bool {
			line := strings.TrimSpace(comment.ReplaceAllString(joined, ""))
			joined = ""
			return line == "" || fence.MatchString(line) || yield(start, line)
		}
		number := 0
		for line := range pylines.Split(text) {
			number++
			if joined == "" {
				start = number
			}
			whole := strings.HasPrefix(strings.TrimSpace(line), "#")
			if whole {
				line = " " + line
			}
			if strings.HasSuffix(line, "\\") && !whole {
				joined += strings.Trim(line, "\\")
				continue
			}
			joined += line
			if !say() {
				return
			}
		}
		say()
	}
}

// comment matches the end of a line from where it is a comment on.
var comment = lazyregexp.New(`(?:^|[\s\p{Zs}]+)#.*$`)

// ReadLines reads a text, and notes the lines that are none of the format.
func (f *File) ReadLines(text string) {
	f.findFrozen(text)
	if name := declaredEncoding(text); name != "" {
		f.Unread = append(f.Unread, facts.Unread{Place: f.place(1), Kind: facts.UnreadNeeded,
			Reason: "the file declares an encoding that is not read"})
	}
	for number, line := range requirementLines(text) {
		if f.ReadLine(line, number) {
			f.good++
			continue
		}
		f.Bad = append(f.Bad, facts.Unread{Place: f.place(number), Kind: facts.UnreadNeeded,
			Reason: f.quoteLine(line) + " is not a requirement that pip reads"})
	}
}

// encodingLine matches the comment by which pip decodes a file, as Python does a source.
var encodingLine = lazyregexp.New(`^#.*?coding[:=]\s*([\w.-]+)`)

// plainEncoding matches encodings in which ASCII bytes always mean ASCII characters.
var plainEncoding = lazyregexp.New(`(?i)^(?:utf[-_]?8(?:[-_]sig)?|(?:us[-_])?ascii|latin[-_]?\d+|iso[-_]?8859[-_]\d+|(?:cp|windows[-_])125\d)$`)

// declaredEncoding returns the encoding that one of the first two lines declares, if the file may mean another text
// under it.
func declaredEncoding(text string) string {
	lines := strings.SplitN(text, "\n", 3)
	for _, line := range lines[:min(2, len(lines))] {
		if m := encodingLine.FindStringSubmatch(line); m != nil {
			if plainEncoding.MatchString(m[1]) {
				return ""
			}
			return m[1]
		}
	}
	return ""
}

// quoteLine returns what a message calls a line: its text, of a file that was given.
func (f *File) quoteLine(line string) string {
	if f.within {
		return "the line"
	}
	return redact.Quote(line, 80)
}

// fence matches the marks around what is pasted.
var fence = lazyregexp.New("^`{3,}[a-z]*$")

// ReadLine reads a line; false says that it is none of the format.
func (f *File) ReadLine(line string, number int) bool {
	if f.within {
		f.Includes.asker = f.place(number)
	}
	if m := editable.FindStringSubmatch(line); m != nil {
		f.sure = true
		f.install(m[1], number) // a directory, too, of which nothing but the option tells that it is one
		return true
	}
	return f.Option(line) || f.Requirement(line, number) || f.address(line, number) || f.unset(line, number)
}

// Packages returns the packages that the file names, each with its index and, where constraints say so, its version.
func (f *File) Packages() []request.Package {
	index := f.index()
	pinned := map[string]string{}
	for _, c := range request.ForOneMachine(f.constraints) {
		pinned[c.Name] = cmp.Or(pinned[c.Name], c.Version)
	}
	f.Named = request.ForOneMachine(f.Named)
	for i := range f.Named {
		p := &f.Named[i]
		if p.Index == "" && !p.Direct {
			p.Index = index
			p.IndexCUDA = f.servedCUDA(p.Name)
		}
		if pin := pinned[p.Name]; pin != "" && p.Version == "" {
			p.Version, p.Specifier = pin, ""
		}
	}
	return f.Named
}

// SetIndex sets the index of a package to that of the file's options.
func (f *File) SetIndex(p *request.Package) {
	p.Index, p.IndexCUDA = f.index(), f.servedCUDA(p.Name)
}

// Option reads a line that is an option of pip's.
func (f *File) Option(line string) bool {
	if !strings.HasPrefix(line, "-") {
		return false
	}
	name, value, found := strings.Cut(strings.Replace(line, "=", " ", 1), " ")
	if !strings.HasPrefix(name, "--") && len(name) > 2 { // -rbase.txt
		name, value, found = line[:2], line[2:], true
	}
	if value = strings.Trim(strings.TrimSpace(value), `"'`); found && value == "" {
		return false
	}
	switch name {
	case "-i", "--index-url", "--pypi-url":
		f.indexes, f.replace = append([]string{value}, f.indexes...), true
	case "--extra-index-url":
		f.indexes = append(f.indexes, value)
	case "-f", "--find-links", "--no-index":
		if m := torchLinks.FindStringSubmatch(value); m != nil {
			f.indexes = append(f.indexes, m[1])
		} else {
			f.links = true
		}
	case "-r", "--requirement", "-c", "--constraint":
		f.Includes.Ask(value, f.bounds || name == "-c" || name == "--constraint")
	case "--pre", "--prefer-binary", "--no-binary", "--only-binary", "--require-hashes",
		"--trusted-host", "--use-feature":
	default:
		return false
	}
	if strings.HasPrefix(value, "https://") || strings.HasPrefix(value, "http://") {
		f.served = append(f.served, value)
	}
	f.sure = true
	return true
}

// TorchBackend returns what uv makes of its option for PyTorch's variant, in pip's words: that variant's index. Which one
// "auto" takes is decided where uv runs.
func TorchBackend(variant string) string {
	if variant == "auto" {
		return "--no-index"
	}
	return "--extra-index-url https://download.pytorch.org/whl/" + variant
}

// servedCUDA returns the CUDA of a package by the addresses of indexes and of pages of links; empty where two of them
// differ.
func (f *File) servedCUDA(name string) string {
	cuda := ""
	for _, address := range f.served {
		switch c := request.ServedCUDA(address, name); {
		case c == "" || c == cuda:
		case cuda != "":
			return ""
		default:
			cuda = c
		}
	}
	return cuda
}

// torchLinks matches PyTorch's page of links for one variant, which pip and uv take as they take that variant's index.
var torchLinks = lazyregexp.New(`^(https?://download\.pytorch\.org/whl/(?:cu\d+|cpu|rocm[\d.]+))/torch[a-z_]*\.html$`)

// ownIndex matches an index that holds its owner's packages and no framework, so that it does not decide which torch is
// installed: vLLM names it beside a plain torch
// (https://github.com/vllm-project/vllm/blob/009d5248/requirements/cuda.txt).
// NVIDIA's has what it publishes itself, and Jupyter's images name it beside PyTorch's index
// (https://github.com/jupyter/docker-stacks/blob/82093869/images/pytorch-notebook/cuda12/Dockerfile).
var ownIndex = lazyregexp.New(`^https://(?:flashinfer\.ai/whl|pypi\.nvidia\.com)(?:/|$)`)

// index returns where the file's packages come from. A variant's index beside the installer's own wins for pip and for
// uv: its builds have a local version, which is higher than none. Several variants leave it open.
func (f *File) index() string {
	var variants []string
	for i, address := range f.indexes {
		if ownIndex.MatchString(address) && (i > 0 || !f.replace) {
			continue
		}
		switch i := request.IndexOf(address); {
		case i == "":
			return ""
		case i != request.DefaultIndex && !slices.Contains(variants, i):
			variants = append(variants, i)
		}
	}
	switch {
	case len(variants) > 1 || f.links:
		return ""
	case len(variants) == 1:
		return variants[0]
	}
	return request.DefaultIndex
}
