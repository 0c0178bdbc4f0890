package paste

import (
	"regexp"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/distname"
	"cudacompat/probe/internal/input/collectenv"
	"cudacompat/probe/internal/input/document"
	"cudacompat/probe/internal/input/request"
	"cudacompat/probe/internal/input/requirements"
)

// People show what a framework says of itself by a line of Python and what it printed:
//
//	$ python -c 'import torch; print(torch.__version__, torch.version.cuda, torch.cuda.is_available())'
//	2.9.1+cu130 13.0 True
//
//	>>> torch.__version__
//	'2.9.1+cu130'

// printed is what such lines say.
type printed struct {
	packages  []request.Package // each once
	cuda      string            // torch.version.cuda
	available *bool
	gpu       string
	denied    []string // packages of which two releases were printed
}

var (
	// asksPython matches a line of Python that asks a framework about itself.
	asksPython = lazyregexp.New(`\.__version__|torch\.version\.cuda|torch\.cuda\.(?:is_available|get_device_name)\(`)
	printCall  = lazyregexp.New(`\bprint\s*\(`)
	prompt     = lazyregexp.New(`^\s*(?:>>> ?|In ?\[\d*\]: ?)`)
	outMark    = lazyregexp.New(`^\s*Out ?\[\d*\]: ?`)
	moduleOf   = lazyregexp.New(`^(\w+)\.__version__$`)
	stringOf   = lazyregexp.New(`^f?(?:"([^"]*)"|'([^']*)')$`)
	braces     = lazyregexp.New(`\{([^{}:!]*)(?:[:!][^{}]*)?\}`)
)

// moduleNames are the packages of modules that go by another name.
var moduleNames = map[string]string{"tf": "tensorflow", "flash_attn": "flash-attn", "ort": "onnxruntime-gpu", "np": "numpy", "sgl_kernel": "sgl-kernel"}

// answer is a line that a call of print writes: a pattern of it, and what each of its groups says.
type answer struct {
	pattern *regexp.Regexp
	says    []string // a package's name, "#cuda", "#available", "#gpu"; empty: something else
}

// maxGap is how many lines of warnings may stand between a command and what it printed.
const maxGap = 4

// readPrinted reads the lines of Python in a text, and what they printed.
func readPrinted(text string) printed {
	p := printed{}
	var wait []answer
	gap := 0
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if asksPython.MatchString(line) {
			wait, gap = answersTo(line), 0
			continue
		}
		if len(wait) == 0 || strings.TrimSpace(line) == "" {
			continue
		}
		m := wait[0].pattern.FindStringSubmatch(outMark.ReplaceAllString(line, ""))
		if m == nil {
			if gap++; gap > maxGap {
				wait = nil
			}
			continue
		}
		for i, what := range wait[0].says {
			p.take(what, strings.Trim(m[i+1], `'"`))
		}
		wait, gap = wait[1:], 0
	}
	return p
}

// take takes one value.
func (p *printed) take(what, value string) {
	switch what {
	case "":
	case "#cuda":
		p.cuda = document.LeadVersion.FindString(value)
	case "#available":
		seen := value == "True"
		p.available = &seen
	case "#gpu":
		p.gpu = value
	default:
		i := slices.IndexFunc(p.packages, func(o request.Package) bool { return o.Name == what })
		switch {
		case slices.Contains(p.denied, what):
		case i < 0:
			one := request.New(what, value, "", nil)
			one.From = "what Python printed"
			p.packages = append(p.packages, one)
		case p.packages[i].Version != value:
			p.packages, p.denied = slices.Delete(p.packages, i, i+1), append(p.denied, what)
		}
	}
}

// answersTo returns the lines that a line of Python writes: one for each call of print, or that of an expression at a
// prompt.
func answersTo(line string) (list []answer) {
	for _, at := range printCall.FindAllStringSubmatchIndex(line, 20) {
		if inside, ok := callArguments(line[at[1]:]); ok {
			list = append(list, answerOf(inside))
		}
	}
	if mark := prompt.FindString(line); len(list) == 0 && mark != "" {
		list = append(list, answerOf([]string{strings.TrimSpace(line[len(mark):])}))
	}
	return slices.DeleteFunc(list, func(a answer) bool { return a.pattern == nil })
}

// callArguments splits what follows the parenthesis of a call at its commas; ok is false where the call does not end.
func callArguments(text string) (list []string, ok bool) {
	depth, from, quote := 0, 0, rune(0)
	for i, r := range text {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '"' || r == '\'':
			quote = r
		case strings.ContainsRune("([{", r):
			depth++
		case r == ')' && depth == 0:
			return append(list, strings.TrimSpace(text[from:i])), true
		case strings.ContainsRune(")]}", r):
			depth--
		case r == ',' && depth == 0:
			list, from = append(list, strings.TrimSpace(text[from:i])), i+1
		}
	}
	return nil, false
}

// maxArguments bounds the pattern of one line.
const maxArguments = 12

// answerOf returns the line that print writes of these arguments; it has no pattern where nothing in it is of use.
func answerOf(arguments []string) (a answer) {
	if len(arguments) > maxArguments {
		return a
	}
	var parts []string
	for _, argument := range arguments {
		if strings.Contains(argument, "=") && !strings.ContainsAny(argument, `"'`) {
			continue // sep, file
		}
		parts = append(parts, a.expect(argument))
	}
	if !slices.ContainsFunc(a.says, func(what string) bool { return what != "" }) {
		return answer{}
	}
	if pattern, err := regexp.Compile(`^\s*` + strings.Join(parts, `\s+`) + `\s*$`); err == nil {
		a.pattern = pattern
	}
	return a
}

// expect returns the pattern of what print writes of one argument.
func (a *answer) expect(argument string) string {
	m := stringOf.FindStringSubmatch(argument)
	if m == nil {
		return a.expectValue(argument)
	}
	text := m[1] + m[2]
	if !strings.HasPrefix(argument, "f") {
		return regexp.QuoteMeta(strings.TrimSpace(text))
	}
	pattern, from := "", 0
	for _, at := range braces.FindAllStringSubmatchIndex(text, maxArguments) {
		pattern += regexp.QuoteMeta(text[from:at[0]]) + a.expectValue(strings.TrimSpace(text[at[2]:at[3]]))
		from = at[1]
	}
	return pattern + regexp.QuoteMeta(text[from:])
}

// expectValue returns the pattern of the value of an expression.
func (a *answer) expectValue(expression string) string {
	switch m := moduleOf.FindStringSubmatch(expression); {
	case m != nil:
		name := m[1]
		if own := moduleNames[name]; own != "" {
			name = own
		}
		a.says = append(a.says, name)
		return `(['"]?\d+(?:\.\w+)+(?:\+[\w.]+)?['"]?)`
	case expression == "torch.version.cuda":
		a.says = append(a.says, "#cuda")
		return `(['"]?\d+\.\d+['"]?|None)`
	case strings.HasPrefix(expression, "torch.cuda.is_available("):
		a.says = append(a.says, "#available")
		return `(True|False)`
	case strings.HasPrefix(expression, "torch.cuda.get_device_name("):
		a.says = append(a.says, "#gpu")
		return `(['"]?\w[\w ./-]*?['"]?)`
	}
	a.says = append(a.says, "")
	return `(.*?)`
}

var (
	// saidRelease matches a sentence that names the build of PyTorch, or a line that is nothing else.
	saidRelease = lazyregexp.New(`(?im)\b(?:py)?torch(?:[ -]version)?(?: is)?[\s:=]{1,3}v?(\d+\.\d+\.\d+ ?\+ ?(?:cu\d{2,3}|cpu))\b|^[\s>*-]*(?:py)?torch(?: version)? ?[: ] ?v?(\d+\.\d+\.\d+)[ \t]*$`)
	// saidAvailable matches a sentence about what torch.cuda.is_available() returns.
	saidAvailable = lazyregexp.New("torch\\.cuda\\.is_available\\(\\)`?\\s*(?:is|returns?|returned|gives|prints|says|was|=|==|:|->|=>|→)?\\s*[`'\"]?(True|False|true|false)\\b")
	// typedInstall matches a command that installs.
	typedInstall = lazyregexp.New(`^[\s>$!%]*(?:sudo )?(?:python[\d.]* -m )?(?:uv )?pip[\d.]* install (.*?)\s*$`)
)

// addPrinted adds what a text shows of frameworks in lines of Python, and where nothing else tells, in sentences and in
// commands that install.
func addPrinted(f *facts.Facts, text string) {
	p := readPrinted(text)
	for i := range p.packages {
		if one := &p.packages[i]; one.Name == "torch" {
			f.Observed.Imported = true
			if !strings.Contains(one.Version, "+") {
				one.CUDA = p.cuda
			}
		}
	}
	if len(p.packages) > 0 {
		addPackages(f, []facts.Environment{request.Environment("", p.packages)})
	}
	if m := saidAvailable.FindStringSubmatch(text); m != nil && p.available == nil {
		seen := strings.EqualFold(m[1], "true")
		p.available = &seen
	}
	if f.Observed.CUDAAvailable == nil {
		f.Observed.CUDAAvailable = p.available
	}
	if p.gpu != "" && len(f.GPUs) == 0 {
		f.GPUs = []facts.GPU{{Name: p.gpu, From: []string{"what Python printed"}}}
	}
	if hasFramework(f) {
		return
	}
	list := saidPackages(text)
	if len(list) == 0 {
		list = typedPackages(text)
	}
	if len(list) > 0 {
		addPackages(f, []facts.Environment{request.Environment("", list)})
	}
}

// hasFramework reports whether anything is known of what is installed.
func hasFramework(f *facts.Facts) bool {
	return slices.ContainsFunc(f.Environments, func(e facts.Environment) bool {
		return len(e.Builds)+len(e.Requested)+len(e.Packages) > 0
	})
}

// saidPackages returns the one build of PyTorch that the sentences of a text name.
func saidPackages(text string) []request.Package {
	release := ""
	for _, m := range saidRelease.FindAllStringSubmatch(text, 50) {
		switch said := strings.ReplaceAll(m[1]+m[2], " ", ""); {
		case release == "" || strings.HasPrefix(said, release+"+"):
			release = said
		case said != release && !strings.HasPrefix(release, said+"+"):
			return nil
		}
	}
	if release == "" {
		return nil
	}
	p := request.New("torch", release, "", nil)
	p.From = collectenv.From
	return []request.Package{p}
}

// typedPackages returns what the commands of a text install, with an exact release; none of what two of them install in
// different releases.
func typedPackages(text string) []request.Package {
	file, number := &requirements.File{}, 0
	for line := range strings.Lines(text) {
		number++
		m := typedInstall.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		words := strings.Fields(m[1])
		for i := 0; i < len(words); i++ {
			word := strings.Trim(words[i], `"'`)
			switch {
			case !strings.HasPrefix(word, "-"):
				file.Requirement(word, number)
			case strings.Contains(word, "="):
				file.Option(word)
			case i+1 < len(words) && slices.Contains([]string{"-i", "--index-url", "--extra-index-url", "-f", "--find-links"}, word):
				file.Option(word + " " + words[i+1])
				i++
			}
		}
	}
	releases := map[string]string{}
	for _, p := range file.Packages() {
		if other, met := releases[p.Name]; met && other != p.Version {
			p.Version = ""
		}
		releases[p.Name] = p.Version
	}
	return slices.DeleteFunc(file.Packages(), func(p request.Package) bool { return p.Version == "" || releases[p.Name] == "" })
}

// tellsPrinted reports whether lines of Python in a text, or a sentence about them, tell anything.
func tellsPrinted(text string) bool {
	if saidAvailable.MatchString(text) {
		return true
	}
	p := readPrinted(text)
	return len(p.packages) > 0 || p.available != nil || slices.ContainsFunc(typedPackages(text), func(p request.Package) bool {
		return distname.Reported.Match(p.Name) || distname.Companions.Match(p.Name) || isFramework(p.Name)
	})
}

// isFramework reports whether a package is a framework, which the file's other packages are judged beside.
func isFramework(name string) bool {
	return slices.Contains([]string{"torch", "tensorflow", "jax", "paddlepaddle-gpu"}, name)
}
