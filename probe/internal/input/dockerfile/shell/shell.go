// Package shell follows the scripts of a Dockerfile's RUN instructions as Bash and the shell of POSIX read them. It runs
// nothing. It expands words, evaluates the conditions whose answer the script itself contains, and reports to an Image
// each command that is reached: with its words, and with the files whose text it writes.
//
// What the script does not say is version.Unsaid: a test of a file, or a variable without a value. A command that depends
// on it is reported as not sure. A command is taken to succeed.
package shell

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/version"

	"mvdan.cc/sh/v3/syntax"
)

// Image is what the scripts of a Dockerfile run in. Its methods are given the line of the instruction.
type Image interface {
	// Variable returns the value that ARG and ENV give to a variable.
	Variable(name string) Value
	// Text returns the text of a file if it is known.
	Text(name string) (text string, ok bool)
	// Filter returns what a command prints of files whose text is known.
	Filter(list []string) (text string, ok bool)
	// Write notes the text that a command writes to a file, or with more set, adds to it.
	Write(name, text string, more bool)
	// MarkChanged notes that a command changed a file in a way that is not followed.
	MarkChanged(name string, list []string, number int)
	// Edit follows what a command does to files. wrote tells whether Write had the text of its output.
	Edit(list []string, number int, wrote bool)
	// Start follows a command that is given input. sure is false if it depends on a condition that is not answered.
	Start(list []string, input string, number int, sure bool)
	// Unread notes what may install packages and was not read.
	Unread(place, reason string, number int)
}

// Reader follows the scripts of one Dockerfile.
type Reader struct {
	Image
	Local    map[string]Value // the variables of the shell that is read; nil between two RUN instructions
	commands int              // that were followed
	added    int              // bytes that variables added to the instruction
}

// ByDepth is why what a deeply nested script installs is not known.
const ByDepth = "it may install packages, and functions or scripts that call one another this deeply are not followed"

// NewReader returns a reader of the scripts that run in an image.
func NewReader(image Image) *Reader { return &Reader{Image: image} }

// BeginInstruction lets variables add MaxExpanded bytes again.
func (r *Reader) BeginInstruction() { r.added = 0 }

// Value returns the value of a variable of the shell, else that of the image.
func (r *Reader) Value(name string) Value {
	if v, ok := r.Local[name]; ok {
		return v
	}
	return r.Variable(name)
}

// What a script may hold. Its parser and its reader call themselves for what stands within something else, and a loop
// repeats its commands.
const (
	MaxScript   = 256 << 10 // bytes
	maxOpened   = 2_000     // brackets, quotes and words that open a block
	maxCommands = 10_000    // that are followed in one Dockerfile
	deepest     = 4         // shells that start one another (bash -c "su x -c '…'"), and functions that call one another
)

// script is one text that a shell is given.
type script struct {
	*Reader
	text      string
	number    int // of the instruction's line
	depth     int
	functions map[string]*syntax.Stmt
	piped     string // what the command before a pipe prints, if that is known
}

var (
	// shellSays matches programs that install nothing, whatever they say.
	shellSays = lazyregexp.New(`^(?:echo|printf)$`)
	// shellAsks matches commands whose only purpose is to ask.
	shellAsks = lazyregexp.New(`^(?:command -v|which|type|grep|nvidia-smi|dpkg -[ls])\b`)
	// nestingStart matches what may stand within another of its kind.
	nestingStart = lazyregexp.New("[({`]|\\b(?:if|while|until|for|case|select|function|time|!)\\b")
	// installing matches scripts that are worth a word where they cannot be read.
	installing = lazyregexp.New(`(?i)\b(?:pip|uv|conda|mamba|micromamba|poetry|pixi|torch|apt-get)\b`)
)

// Follow follows a script as a shell does. reached is Unsaid if a condition around the script is not answered; depth counts
// the shells around it.
func (r *Reader) Follow(text string, number int, reached version.Truth, depth int) {
	file, reason := parsedShell(text)
	switch {
	case file != nil:
		s := &script{Reader: r, text: text, number: number, depth: depth, functions: map[string]*syntax.Stmt{}}
		if reached != version.Unmet {
			r.noteSubstitutions(file, text, number)
		}
		s.runAll(file.Stmts, reached)
	case installing.MatchString(text):
		r.Unread("a script", reason, number)
	}
}

// parsedShell returns a script as Bash reads it, else as the shell of POSIX does; nil, with the reason, where neither
// can.
func parsedShell(text string) (file *syntax.File, reason string) {
	if len(text) > MaxScript || len(nestingStart.FindAllString(text, maxOpened+1)) > maxOpened {
		return nil, "it is too long to be read"
	}
	for _, language := range []syntax.LangVariant{syntax.LangBash, syntax.LangPOSIX} {
		file, err := syntax.NewParser(syntax.Variant(language)).Parse(strings.NewReader(text), "")
		if err == nil {
			return file, ""
		}
	}
	return nil, "a shell cannot read it: a quote or a block has no end, or a word is in the wrong place"
}

// runAll follows commands one after the other.
func (s *script) runAll(list []*syntax.Stmt, reached version.Truth) version.Truth {
	holds := version.Met
	for _, stmt := range list {
		holds = s.followStatement(stmt, reached)
	}
	return holds
}

// followStatement follows one command, and says whether it succeeds.
func (s *script) followStatement(stmt *syntax.Stmt, reached version.Truth) version.Truth {
	if reached == version.Unmet || s.tooManyCommands() {
		return version.Unsaid
	}
	holds := version.Met
	switch command := stmt.Cmd.(type) {
	case *syntax.CallExpr:
		holds = s.call(command, stmt.Redirs, reached)
	case *syntax.BinaryCmd:
		holds = s.pair(command, reached)
	case *syntax.Block:
		holds = s.runAll(command.Stmts, reached)
	case *syntax.Subshell:
		local, functions := maps.Clone(s.Local), maps.Clone(s.functions)
		holds = s.runAll(command.Stmts, reached)
		s.Local, s.functions = local, functions
	case *syntax.IfClause:
		s.branches(command, reached)
	case *syntax.CaseClause:
		s.cases(command, reached)
	case *syntax.ForClause:
		s.loop(command, reached)
	case *syntax.WhileClause:
		s.runAll(command.Cond, reached)
		s.runAll(command.Do, reached)
	case *syntax.TestClause:
		holds = s.test(command.X)
	case *syntax.ArithmCmd, *syntax.LetClause:
		holds = version.Unsaid
	case *syntax.DeclClause:
		for _, a := range command.Args {
			s.assign(a, reached)
		}
	case *syntax.TimeClause:
		if command.Stmt != nil {
			holds = s.followStatement(command.Stmt, reached)
		}
	case *syntax.CoprocClause:
		holds = s.followStatement(command.Stmt, reached)
	case *syntax.FuncDecl:
		if command.Name != nil {
			s.functions[command.Name.Value] = command.Body
		}
	}
	if _, ok := stmt.Cmd.(*syntax.CallExpr); !ok {
		s.redirects([]string{"a block"}, stmt.Redirs, false)
	}
	if stmt.Negated {
		return version.Met - holds
	}
	return holds
}

// tooManyCommands counts a command, and reports whether there were too many.
func (s *script) tooManyCommands() bool {
	s.commands++
	if s.commands == maxCommands+1 {
		s.Unread("its commands", "there are too many of them", s.number)
	}
	return s.commands > maxCommands
}

// pair follows two commands with &&, || or a pipe between them.
func (s *script) pair(command *syntax.BinaryCmd, reached version.Truth) version.Truth {
	left := s.followStatement(command.X, reached)
	switch command.Op {
	case syntax.AndStmt:
		return min(left, s.followStatement(command.Y, min(reached, left)))
	case syntax.OrStmt:
		return max(left, s.followStatement(command.Y, min(reached, version.Met-left)))
	}
	if text, ok := s.pipes(command.X); ok {
		s.piped = text
	} else if reached != version.Unmet {
		s.fetched(command)
	}
	right := s.followStatement(command.Y, reached)
	s.piped = ""
	return right
}

// branches follows an if with what stands in its place otherwise.
func (s *script) branches(command *syntax.IfClause, reached version.Truth) {
	for ; command != nil; command = command.Else {
		holds := version.Met // an else has no condition
		if len(command.Cond) > 0 {
			holds = s.runAll(command.Cond, reached)
		}
		s.runAll(command.Then, min(reached, holds))
		reached = min(reached, version.Met-holds)
	}
}

// cases follows the branches of a case.
func (s *script) cases(command *syntax.CaseClause, reached version.Truth) {
	subject, sure := s.literalWord(command.Word)
	for _, item := range command.Items {
		holds := version.Unmet
		for _, word := range item.Patterns {
			glob, plain := s.literalWord(word)
			switch {
			case glob == "*":
				holds = version.Met
			case !sure || !plain:
				holds = max(holds, version.Unsaid)
			default:
				holds = max(holds, truthOf(matches(glob, subject)))
			}
		}
		s.runAll(item.Stmts, min(reached, holds))
		reached = min(reached, version.Met-holds)
	}
}

// loop follows the commands of a for, once for each word where the words are known.
func (s *script) loop(command *syntax.ForClause, reached version.Truth) {
	words, ok := command.Loop.(*syntax.WordIter)
	if !ok {
		s.runAll(command.Do, reached)
		return
	}
	items, told := s.expand(words.Items)
	if !told || slices.ContainsFunc(items, func(item string) bool { return strings.Contains(item, "*") }) {
		s.set(words.Name.Value, Value{State: Hidden})
		s.runAll(command.Do, reached)
		return
	}
	for _, item := range items {
		if s.commands > maxCommands {
			return
		}
		s.set(words.Name.Value, ValueOf(item))
		s.runAll(command.Do, reached)
	}
}

// IsDynamic reports whether a word holds what the file does not tell: a variable, another command's output, a pattern.
func IsDynamic(word string) bool { return strings.ContainsAny(word, "$`*") }

// call follows a simple command, and says whether it succeeds.
func (s *script) call(command *syntax.CallExpr, redirects []*syntax.Redirect, reached version.Truth) version.Truth {
	if len(command.Args) == 0 {
		for _, a := range command.Assigns {
			s.assign(a, reached)
		}
		return version.Met
	}
	outer := s.Local
	if len(command.Assigns) > 0 { // A=B command: for this command alone
		s.Local = maps.Clone(s.Local)
		defer func() { s.Local = outer }()
	}
	prefix := s.assignBefore(command.Assigns)
	list := s.words(command.Args)
	if len(list) == 0 {
		return version.Unsaid
	}
	if body := s.functions[list[0]]; body != nil {
		defer s.redirects(list[:1], redirects, false)
		return s.followFunction(body, list, reached)
	}
	input := s.input(redirects)
	if input == "" && isPlainShell(list) {
		s.noteInput(redirects)
	}
	wrote := s.writes(list, redirects, input)
	s.redirects(list, redirects, wrote)
	s.Edit(list, s.number, wrote)
	switch inner, ok := InnerScript(list, input); {
	case shellSays.MatchString(list[0]):
		return version.Met
	case ok && s.depth < deepest:
		s.Follow(inner, s.number, reached, s.depth+1)
		return version.Met
	case list[0] == "eval" && s.depth < deepest:
		s.inline(strings.Join(list[1:], " "), reached)
		return version.Met
	case s.startsFile(list, reached):
		return version.Met
	case list[0] == "unset":
		for _, name := range list[1:] {
			s.set(name, Value{})
		}
		return version.Met
	}
	if len(prefix) > 0 {
		list = slices.Concat([]string{"env"}, prefix, list)
	}
	s.Start(list, input, s.number, reached == version.Met)
	return succeeds(list)
}

// assignBefore assigns the variables before a command, and returns them as words.
func (s *script) assignBefore(list []*syntax.Assign) (words []string) {
	for _, a := range list {
		s.assign(a, version.Met)
		if a.Name != nil && a.Value != nil {
			text, _ := s.literalWord(a.Value)
			words = append(words, a.Name.Value+"="+text)
		}
	}
	return words
}

// followFunction follows a function with its arguments.
func (s *script) followFunction(body *syntax.Stmt, list []string, reached version.Truth) version.Truth {
	if s.depth >= deepest {
		s.Unread(list[0], ByDepth, s.number)
		return version.Unsaid
	}
	outer := s.Local
	s.Local = maps.Clone(s.Local)
	for i, word := range list[1:min(len(list), 10)] {
		s.set(string(rune('1'+i)), ValueOf(word))
	}
	arguments := Value{Text: strings.Join(list[1:], " "), List: list[1:], State: Known}
	s.set("@", arguments)
	s.set("*", arguments)
	s.depth++
	holds := s.followStatement(body, reached)
	s.depth--
	s.Local = outer
	return holds
}

// assign keeps a shell's variable, if its value is known.
func (s *script) assign(a *syntax.Assign, reached version.Truth) {
	if a.Name == nil || a.Naked {
		return
	}
	v := Value{State: Hidden}
	switch {
	case reached != version.Met || a.Index != nil:
	case a.Array != nil:
		v = s.array(a.Array)
	case a.Value == nil:
		v = ValueOf("")
	default:
		if text, ok := s.literalWord(a.Value); ok {
			v = ValueOf(text)
		}
	}
	if before := s.Value(a.Name.Value); a.Append && v.State == Known {
		v = Value{Text: before.Text + v.Text, List: slices.Concat(before.List, v.List), State: before.State}
		if len(v.Text) > MaxValue || before.State == Unset {
			v.State = Hidden
		}
	}
	s.set(a.Name.Value, v)
}

// array returns Bash's NAME=(a b c).
func (s *script) array(a *syntax.ArrayExpr) Value {
	var words []*syntax.Word
	for _, e := range a.Elems {
		if e.Index != nil || e.Value == nil {
			return Value{State: Hidden}
		}
		words = append(words, e.Value)
	}
	list := s.words(words)
	text := strings.Join(list, " ")
	if len(text) > MaxValue {
		return Value{State: Hidden}
	}
	return Value{Text: text, List: list, State: Known}
}

func (s *script) set(name string, v Value) { s.Local[name] = v }

// succeeds returns what a command says to && and ||: a test answers where its words are known, what asks of the machine
// does not, and all else succeeds.
func succeeds(list []string) version.Truth {
	switch list[0] {
	case "false":
		return version.Unmet
	case "test":
		return testOf(list[1:])
	case "[":
		return testOf(list[1:cmp.Or(max(1, slices.Index(list, "]")), len(list))])
	}
	if shellAsks.MatchString(strings.Join(list, " ")) {
		return version.Unsaid
	}
	return version.Met
}
