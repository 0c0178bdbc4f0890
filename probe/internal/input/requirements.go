package input

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/redact"
	"cudacompat/probe/facts"
)

// requirementName matches the names that people give to these files: a bare list of names is one then.
var requirementName = lazyregexp.New(`(?i)(requirement|constraint)[^/]*\.(txt|in|pip)$|(^|/)requirements/[^/]+$`)

// isRequirements looks at each line by itself and keeps none: how much a file may have is asked once its format is known.
// Of a file without such a name one line of no such format is enough to know.
func isRequirements(d Document) bool {
	named := requirementName.MatchString(d.Name)
	sure, good, bad := named, 0, 0
	for number, line := range requirementLines(string(d.Data)) {
		var one requirementFile
		switch {
		case one.read(line, number):
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

func readRequirements(d Document) (facts.Facts, error) {
	list, left := parseRequirements(d)
	f := lockedFacts("requirements", list, left)
	f.Plan = compiledPlan(d, list)
	return f, nil
}

// parseRequirements reads pip's requirements format and what it includes.
func parseRequirements(d Document) ([]lockedRelease, []facts.Unread) {
	f := &requirementFile{files: newIncludes(d), typed: d.Typed}
	f.lines(string(d.Data))
	f.include()
	return f.packages(), append(f.bad, f.leftUnread...)
}

// requirementLines are the lines of a text that say something, each with the number of the line where it starts.
func requirementLines(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		number := 1
		for line := range strings.Lines(strings.ReplaceAll(joinedLines(text), "\r", "")) {
			start := number
			number += 1 + strings.Count(line, "\v")
			line, _, _ = strings.Cut(" "+strings.ReplaceAll(line, "\v", " "), " #")
			line = strings.TrimSpace(line)
			if line != "" && !fence.MatchString(line) && !yield(start, line) {
				return
			}
		}
	}
}

// lines reads a text, and notes the lines that are none of the format.
func (f *requirementFile) lines(text string) {
	for number, line := range requirementLines(text) {
		if f.read(line, number) {
			f.good++
			continue
		}
		f.bad = append(f.bad, facts.Unread{Place: f.place(number), Kind: facts.UnreadNeeded,
			Reason: f.quoteLine(line) + " is not a requirement that pip reads"})
	}
}

// quoteLine is what a message calls a line: its text, of a file that was given.
func (f *requirementFile) quoteLine(line string) string {
	if f.within {
		return "the line"
	}
	return redact.Quote(line, 80)
}

// fence matches the marks around what is pasted.
var fence = lazyregexp.New("^`{3,}[a-z]*$")

// read reads a line; false says that it is none of the format.
func (f *requirementFile) read(line string, number int) bool {
	if f.within {
		f.files.asker = f.place(number)
	}
	if m := editable.FindStringSubmatch(line); m != nil {
		f.sure = true
		f.install(m[1], number) // a directory, too, of which nothing but the option tells that it is one
		return true
	}
	return f.option(line) || f.requirement(line, number) || f.address(line, number) || f.unset(line, number)
}

// packages are the packages that the file names, each with its index and, where constraints say so, its version.
func (f *requirementFile) packages() []lockedRelease {
	index := f.index()
	pinned := map[string]string{}
	for _, c := range forOneMachine(f.constraints) {
		pinned[c.name] = cmp.Or(pinned[c.name], c.version)
	}
	f.list = forOneMachine(f.list)
	for i := range f.list {
		p := &f.list[i]
		if p.index == "" && !p.direct {
			p.index = index
		}
		if pin := pinned[p.name]; pin != "" && p.version == "" {
			p.version, p.specifier = pin, ""
		}
	}
	return f.list
}

// joinedLines joins lines that end in a backslash; "\v" stands for the break, so that lines can still be counted.
func joinedLines(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\\\r\n", "\v"), "\\\n", "\v")
}

// option reads a line that is an option of pip's.
func (f *requirementFile) option(line string) bool {
	if !strings.HasPrefix(line, "-") {
		return false
	}
	name, value, found := strings.Cut(strings.Replace(line, "=", " ", 1), " ")
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
		f.files.ask(value, f.bounds || name == "-c" || name == "--constraint")
	case "--pre", "--prefer-binary", "--no-binary", "--only-binary", "--require-hashes",
		"--trusted-host", "--use-feature":
	default:
		return false
	}
	f.sure = true
	return true
}

// torchLinks matches PyTorch's page of links for one variant, which pip and uv take as they take that variant's index.
var torchLinks = lazyregexp.New(`^(https?://download\.pytorch\.org/whl/(?:cu\d+|cpu|rocm[\d.]+))/torch[a-z_]*\.html$`)

// ownIndex matches an index that holds its owner's packages and no framework, so that it does not decide which torch is
// installed: vLLM names it beside a plain torch
// (https://github.com/vllm-project/vllm/blob/009d5248/requirements/cuda.txt).
// NVIDIA's has what it publishes itself, and Jupyter's images name it beside PyTorch's index
// (https://github.com/jupyter/docker-stacks/blob/82093869/images/pytorch-notebook/cuda12/Dockerfile).
var ownIndex = lazyregexp.New(`^https://(?:flashinfer\.ai/whl|pypi\.nvidia\.com)(?:/|$)`)

// index is where the file's packages come from. A variant's index beside the installer's own wins for pip and for uv:
// its builds have a local version, which is higher than none. Several variants leave it open.
func (f *requirementFile) index() string {
	var variants []string
	for i, address := range f.indexes {
		if ownIndex.MatchString(address) && (i > 0 || !f.replace) {
			continue
		}
		switch i := indexOf(address); {
		case i == "":
			return ""
		case i != defaultIndex && !slices.Contains(variants, i):
			variants = append(variants, i)
		}
	}
	switch {
	case len(variants) > 1 || f.links:
		return ""
	case len(variants) == 1:
		return variants[0]
	}
	return defaultIndex
}
