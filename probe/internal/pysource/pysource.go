// Package pysource reads from a Python module's source what it imports and which libraries it opens. It runs nothing.
//
// An import is certain if running the module reaches it on every machine: at the top level, in a class or a with
// statement, in a try statement that lets the failure out again or stores it to raise it, or in the other branch of
// NumPy's and SciPy's "if __NUMPY_SETUP__". It is not certain under a condition, in a loop, in a handler or in a
// function. Functions that the top level calls count as far as they open libraries.
package pysource

import (
	"bytes"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
)

// Import is one import of a module.
type Import struct {
	Module  string   // "torch.utils"; empty in "from . import x"
	Level   int      // the number of leading dots
	Names   []string // of "from … import a, b"; nil of "import …"
	Certain bool     // it is made whenever the module is imported, and its failure is the module's
	Tried   bool     // it is made whenever the module is imported, and its failure is caught
	Lacked  bool     // as Tried, where only that there is no such module is caught (ModuleNotFoundError)
	Renamed bool     // its failure is caught, and let out as another one: "raise ImportError(advice)"
}

// Module is what one source file tells.
type Module struct {
	Imports []Import
	// Opens reports that the file opens libraries by path: ctypes.CDLL, torch.ops.load_library. OpensFirst: during its
	// import, without catching the failure.
	Opens, OpensFirst bool
	Libraries         []string // the names of libraries that its strings tell, "libxgboost.so"
	Unnamed           bool     // a statement that opens one tells no name
	Later             []string // of a file that opens libraries: the modules that its functions import
}

// maxLines bounds the logical lines of one file.
const maxLines = 200_000

// Parse reads a source file. What is no Python gives whatever its lines look like.
func Parse(data []byte) Module {
	p := newParser()
	p.opens = mayOpen(data)
	s := scanner{data: data, skip: -1, names: p.opens}
	p.read(&s)
	return p.module(s.libraries)
}

// read takes the lines of a source.
func (p *parser) read(s *scanner) {
	for range maxLines {
		told := s.librariesMet
		line, more := s.next()
		if !more {
			break
		}
		openings := len(p.openings)
		p.line(line)
		if len(p.openings) > openings && s.librariesMet == told {
			p.unnamed = true
		}
		s.skip = p.skip()
	}
}

// mayOpen reports whether a file names what opens libraries.
func mayOpen(data []byte) bool {
	return slices.ContainsFunc([]string{"DLL(", "LoadLibrary(", "load_library(", "dlopen("},
		func(name string) bool { return bytes.Contains(data, []byte(name)) })
}

// block is one compound statement that is open.
type block struct {
	indent int    // of its header
	word   string // "if", "try", "def"
	try    int    // the number of the try statement that it belongs to
	raises bool   // an except clause with a raise of its own
	other  bool   // what it raises is not what it took
	never  bool   // an if that a setup script or a type checker alone comes into
	types  bool   // an if that a type checker alone comes into
	all    bool   // an except clause that takes what an import raises
	lacked bool   // an except clause that takes only that there is no such module
	caught string // the name that an except clause gives to what it takes
	kept   string // the name under which it keeps that, for who raises it later
}

type parser struct {
	blocks   []block
	tries    int
	swallows map[int]bool    // by try statement in which a failure ends: whether any does, or a module's that is not there
	renames  map[int]bool    // the try statements out of which a failure comes as another one
	keeps    []block         // except clauses that keep the failure
	raised   map[string]bool // the names that the module raises
	last     block           // the block that was closed last, to which an except clause belongs

	candidates []candidate
	opens      bool                // the file opens libraries somewhere
	calls      map[string][]string // by function, empty for the top level: the names that are called
	off        string              // a name that is False unless a setup script gave it to the module
	later      []string
	unnamed    bool
	openings   []candidate
	defined    map[string]bool // its own functions
	takes      *taking         // where it is asked what is taken of a module; else nil
}

func newParser() *parser {
	return &parser{swallows: map[int]bool{}, renames: map[int]bool{}, raised: map[string]bool{}, calls: map[string][]string{}, defined: map[string]bool{}}
}

// candidate is an import with the try statements around it, which decide at the end; or a call that opens a library, by the
// name of the function.
type candidate struct {
	Import
	tries []int
	in    string
}

func (p *parser) line(l line) {
	p.closeTo(l.indent, l.word())
	word := l.word()
	if word == "raise" && len(p.blocks) > 0 {
		b := &p.blocks[len(p.blocks)-1]
		b.raises, b.other = true, l.text != "raise" && l.text != "raise "+b.caught
	}
	if compounds[word] && strings.HasSuffix(l.text, ":") {
		p.open(l, word)
		return
	}
	if last := len(p.blocks) - 1; last >= 0 && p.blocks[last].word == "except" {
		p.inHandler(l, &p.blocks[last])
	}
	if slices.ContainsFunc(p.blocks, func(b block) bool { return b.types }) {
		return
	}
	tries, plain, in := p.around()
	if word == "raise" && in == "" {
		if m := raising.FindStringSubmatch(l.text); m != nil {
			p.raised[m[1]] = true
		}
	}
	if p.takes != nil && plain && len(tries) == 0 {
		p.takes.line(l)
	}
	switch {
	case word == "import":
		for part := range strings.SplitSeq(strings.TrimPrefix(l.text, "import"), ",") {
			name, _, _ := strings.Cut(strings.TrimSpace(part), " ")
			if moduleName.MatchString(name) {
				p.add(candidate{Import{Module: name, Certain: plain}, tries, in})
			}
		}
	case word == "from":
		if i, ok := parseFrom(l.text); ok {
			i.Certain = plain
			p.add(candidate{i, tries, in})
		}
	}
	for _, m := range importsByName(l.text) {
		i := Import{Module: m[2], Level: len(m[1]), Certain: plain && !conditional.MatchString(l.text)}
		p.add(candidate{i, tries, in})
	}
	if !p.opens {
		return
	}
	for _, m := range opens.FindAllStringSubmatch(l.text, -1) {
		p.openings = append(p.openings, candidate{Import{Module: m[1]}, tries, in})
	}
	for _, m := range callName.FindAllStringSubmatch(l.text, -1) {
		p.calls[in] = append(p.calls[in], m[1])
	}
}

// importsByName finds the imports that a line makes by calls.
func importsByName(text string) [][]string {
	if !strings.Contains(text, "import_") { // as nearly all; "__import__" has it too
		return nil
	}
	return byName.FindAllStringSubmatch(text, -1)
}

// inHandler takes a line of an except clause.
func (p *parser) inHandler(l line, b *block) {
	if m := setToFalse.FindStringSubmatch(l.text); m != nil {
		p.off = m[1]
	}
	if m := assigned.FindStringSubmatch(l.text); m != nil && m[2] == b.caught {
		b.kept = m[1]
	}
}

// add takes an import. Of those in functions only the modules of others are kept.
func (p *parser) add(f candidate) {
	switch {
	case f.in == "":
		p.candidates = append(p.candidates, f)
	case f.Level == 0:
		p.later = append(p.later, f.Module)
	}
}

// parseFrom reads "from ..a.b import (c, d as e)".
func parseFrom(text string) (Import, bool) {
	m := fromImport.FindStringSubmatch(text)
	if m == nil {
		return Import{}, false
	}
	i := Import{Module: m[2], Level: strings.Count(m[1], "."), Names: []string{}}
	for part := range strings.SplitSeq(strings.Trim(m[3], "() \t"), ",") {
		if name, _, _ := strings.Cut(strings.TrimSpace(part), " "); name != "" {
			i.Names = append(i.Names, name)
		}
	}
	return i, i.Module != "" || i.Level > 0
}

// skip returns the indentation of the current function if nothing in it counts, or -1.
func (p *parser) skip() int {
	if last := len(p.blocks) - 1; !p.opens && last >= 0 && strings.HasPrefix(p.blocks[last].word, "def ") {
		return p.blocks[last].indent
	}
	return -1
}

// compounds begin compound statements; a name can begin so, too.
var compounds = map[string]bool{"async": true, "def": true, "class": true, "if": true, "elif": true, "else": true, "try": true,
	"except": true, "finally": true, "for": true, "while": true, "with": true, "match": true, "case": true}

var (
	fromImport = lazyregexp.New(`^from\s*([.\s]*)([A-Za-z_][\w.]*)?\s*\bimport\b(.*)$`)
	moduleName = lazyregexp.New(`^[A-Za-z_][\w.]*$`)
	opens      = lazyregexp.New(`((?:\w\.)?\b(?:CDLL|PyDLL|LoadLibrary|load_library|dlopen))\(\s*[^)\s]`)
	callName   = lazyregexp.New(`\b([A-Za-z_]\w*)\(`)
	swallowing = lazyregexp.New(`^except *(\*? *)?(:|.*\b(ImportError|ModuleNotFoundError|OSError|Exception|BaseException|Error|EnvironmentError)\b)`)
	setToFalse = lazyregexp.New(`^([A-Za-z_]\w*) = False$`)
	assigned   = lazyregexp.New(`^([A-Za-z_]\w*) = ([A-Za-z_]\w*)$`)
	raising    = lazyregexp.New(`^raise +([A-Za-z_]\w*)\b(?:$| +from\b)`)
	// namedFailure matches the end of "except ImportError as err:".
	namedFailure = lazyregexp.New(` as +([A-Za-z_]\w*) *:$`)
	// byName matches an import that is called with its name: importlib.import_module(".x", __package__).
	byName       = lazyregexp.New(`\b(?:import_module|__import__)\( *"(\.*)([A-Za-z_][\w.]*)"`)
	typeChecking = lazyregexp.New(`^if (\w+\.)?TYPE_CHECKING:`)
	lackedOnly   = lazyregexp.New(`^except *\(? *ModuleNotFoundError *\)? *( as \w+ *)?:`)
	definition   = lazyregexp.New(`^(?:async +)?(?:def|class) +(\w+)`)
)

// open takes the header of a compound statement.
func (p *parser) open(l line, word string) {
	if word == "async" {
		word = "def"
	}
	b := block{indent: l.indent, word: word}
	switch word {
	case "try":
		p.tries++
		b.try = p.tries
	case "finally":
		b.try = p.last.try
	case "except":
		b.try = p.last.try
		b.all, b.lacked = swallowing.MatchString(l.text), lackedOnly.MatchString(l.text)
		if m := namedFailure.FindStringSubmatch(l.text); m != nil {
			b.caught = m[1]
		}
	case "if":
		b.types = typeChecking.MatchString(l.text)
		b.never = p.off != "" && l.text == "if "+p.off+":" || b.types
	case "else":
		if p.last.never {
			b.word = "with"
		}
	case "with":
		if strings.Contains(l.text, "suppress(") {
			b.word = "if"
		}
	case "def", "class":
		if m := definition.FindStringSubmatch(l.text); m != nil && word == "def" {
			b.word = "def " + m[1]
			p.defined[m[1]] = true
		}
	}
	p.blocks = append(p.blocks, b)
}

// closeTo ends the blocks that a line of this indent stands outside of.
func (p *parser) closeTo(indent int, word string) {
	for len(p.blocks) > 0 && p.blocks[len(p.blocks)-1].indent >= indent {
		b := p.blocks[len(p.blocks)-1]
		p.blocks = p.blocks[:len(p.blocks)-1]
		switch {
		case b.word != "except" || !b.all:
		case b.raises:
			p.renames[b.try] = p.renames[b.try] || b.other
		case b.kept != "":
			p.keeps = append(p.keeps, b)
		default:
			p.swallow(b)
		}
		if b.indent == indent {
			p.last = b
		}
	}
}

// swallow notes that a failure ends in an except clause.
func (p *parser) swallow(b block) { p.swallows[b.try] = p.swallows[b.try] || !b.lacked }

// around describes the surroundings of a line: the try statements, whether nothing else around it may skip it, and the
// outermost function.
func (p *parser) around() (tries []int, plain bool, in string) {
	plain = true
	for _, b := range p.blocks {
		name, function := strings.CutPrefix(b.word, "def ")
		switch {
		case function && in == "":
			in = name
		case b.word == "try":
			tries = append(tries, b.try)
		case b.word != "class" && b.word != "with" && b.word != "finally":
			plain = false
		}
	}
	return tries, plain && in == "", in
}

func (p *parser) module(libraries []string) Module {
	for len(p.blocks) > 0 {
		p.closeTo(p.blocks[len(p.blocks)-1].indent, "")
	}
	for _, b := range p.keeps {
		if !p.raised[b.kept] {
			p.swallow(b)
		}
	}
	p.openings = slices.DeleteFunc(p.openings, func(f candidate) bool { return p.defined[f.Module] }) // which p.calls has
	m := Module{Libraries: libraries, Opens: len(p.openings) > 0}
	if m.Opens {
		m.Later, m.Unnamed = p.later, p.unnamed
	}
	caught := func(tries []int) bool {
		return slices.ContainsFunc(tries, func(t int) bool { _, swallows := p.swallows[t]; return swallows })
	}
	whatever := func(tries []int) bool { return slices.ContainsFunc(tries, func(t int) bool { return p.swallows[t] }) }
	for _, f := range p.candidates {
		f.Tried = f.Certain && caught(f.tries)
		f.Lacked = f.Tried && !whatever(f.tries)
		f.Certain = f.Certain && !f.Tried
		f.Renamed = slices.ContainsFunc(f.tries, func(t int) bool { return p.renames[t] })
		m.Imports = append(m.Imports, f.Import)
	}
	reached := map[string]bool{"": true}
	for list := []string{""}; len(list) > 0; list = list[1:] {
		for _, name := range p.calls[list[0]] {
			if _, ours := p.calls[name]; (ours || p.openingIn(name)) && !reached[name] {
				reached[name] = true
				list = append(list, name)
			}
		}
	}
	for _, f := range p.openings {
		m.OpensFirst = m.OpensFirst || reached[f.in] && !caught(f.tries)
	}
	return m
}

// openingIn reports whether a function opens a library.
func (p *parser) openingIn(name string) bool {
	return slices.ContainsFunc(p.openings, func(f candidate) bool { return f.in == name })
}
