package dockerfile

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/version"
	"cudacompat/probe/internal/input/dockerfile/installer"
	"cudacompat/probe/internal/input/requirements"

	"mvdan.cc/sh/v3/syntax"
)

// What a script may hold. Its parser and its reader call themselves for what stands within something else, and a loop
// repeats its commands.
const (
	maxScript   = 256 << 10 // bytes
	maxOpened   = 2_000     // brackets, quotes and words that open a block
	maxCommands = 10_000    // that are followed in one Dockerfile
	deepest     = 4         // shells that start one another (bash -c "su x -c '…'"), and functions that call one another
)

// script is one text that a shell is given. Nothing is run: which of its commands are reached is followed as far as the
// file tells. Of a condition that it does not answer (a test of a file, a variable without a value) what depends on it
// is Unsaid. A command is taken to succeed.
type script struct {
	*dockerfile
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

// shell reads a text as a shell does; reached is Unsaid where a condition around it is not answered.
func (f *dockerfile) shell(text string, number int, reached version.Truth, depth int) {
	file, reason := parsedShell(text)
	switch {
	case file != nil:
		s := &script{dockerfile: f, text: text, number: number, depth: depth, functions: map[string]*syntax.Stmt{}}
		if reached != version.Unmet {
			f.noteSubstitutions(file, text, number)
		}
		s.runAll(file.Stmts, reached)
	case installing.MatchString(text):
		f.unread("a script", reason, number)
	}
}

// parsedShell returns a script as Bash reads it, else as the shell of POSIX does; nil, with the reason, where neither
// can.
func parsedShell(text string) (file *syntax.File, reason string) {
	if len(text) > maxScript || len(nestingStart.FindAllString(text, maxOpened+1)) > maxOpened {
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
		local, functions := maps.Clone(s.local), maps.Clone(s.functions)
		holds = s.runAll(command.Stmts, reached)
		s.local, s.functions = local, functions
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
		s.unread("its commands", "there are too many of them", s.number)
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
	if text, ok := s.prints(command.X); ok {
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
		s.set(words.Name.Value, value{state: hidden})
		s.runAll(command.Do, reached)
		return
	}
	for _, item := range items {
		if s.commands > maxCommands {
			return
		}
		s.set(words.Name.Value, valueOf(item))
		s.runAll(command.Do, reached)
	}
}

// isDynamic reports whether a word holds what the file does not tell: a variable, another command's output, a pattern.
func isDynamic(word string) bool { return strings.ContainsAny(word, "$`*") }

// call follows a simple command, and says whether it succeeds.
func (s *script) call(command *syntax.CallExpr, redirects []*syntax.Redirect, reached version.Truth) version.Truth {
	if len(command.Args) == 0 {
		for _, a := range command.Assigns {
			s.assign(a, reached)
		}
		return version.Met
	}
	outer := s.local
	if len(command.Assigns) > 0 { // A=B command: for this command alone
		s.local = maps.Clone(s.local)
		defer func() { s.local = outer }()
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
	s.edits(list, redirects, s.writes(list, redirects, input))
	switch inner, ok := innerScript(list, input); {
	case shellSays.MatchString(list[0]):
		return version.Met
	case ok && s.depth < deepest:
		s.shell(inner, s.number, reached, s.depth+1)
		return version.Met
	case list[0] == "eval" && s.depth < deepest:
		s.inline(strings.Join(list[1:], " "), reached)
		return version.Met
	case s.startsFile(list, reached):
		return version.Met
	case list[0] == "unset":
		for _, name := range list[1:] {
			s.set(name, value{})
		}
		return version.Met
	}
	if len(prefix) > 0 {
		list = slices.Concat([]string{"env"}, prefix, list)
	}
	if input != "" {
		s.writtenFiles["stdin"], s.writtenFiles["-"] = input, input // pip install -r /dev/stdin
	}
	s.configured = s.configured || slices.Contains(installer.Configurers, path.Base(list[0]))
	if what := installer.FindHidden(list, input, s.configured); what != "" && reached != version.Unmet {
		s.unread(what, byHidden, s.number)
	}
	s.start(list, s.number, reached == version.Met)
	return succeeds(list)
}

// inline follows a text in the same shell.
func (s *script) inline(text string, reached version.Truth) {
	if file, _ := parsedShell(text); file != nil {
		inner := *s
		inner.text, inner.depth = text, s.depth+1
		inner.runAll(file.Stmts, reached)
	}
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

// startsFile follows a script of the build context, or one that a command wrote: sh install.sh, ./install.sh, . env.sh. It
// returns false if the command starts none whose text is known.
func (s *script) startsFile(list []string, reached version.Truth) bool {
	here := list[0] == "." || list[0] == "source"
	word := installer.FindScript(list).Command
	if here && len(list) > 1 {
		word = list[1]
	}
	if word == "" || installer.PyScript.MatchString(word) {
		return false
	}
	text, ok := s.textOf(word)
	switch {
	case !ok || !shebang.MatchString(text) && strings.HasPrefix(text, "#!"):
		return false
	case s.depth >= deepest:
		if n := len(s.leftUnread); n == 0 || s.leftUnread[n-1].Reason != byDepth {
			s.unread(word, byDepth, s.number)
		}
	case here:
		s.inline(text, reached)
	default:
		s.shell(text, s.number, reached, s.depth+1)
	}
	return true
}

// followFunction follows a function with its arguments.
func (s *script) followFunction(body *syntax.Stmt, list []string, reached version.Truth) version.Truth {
	if s.depth >= deepest {
		if n := len(s.leftUnread); n == 0 || s.leftUnread[n-1].Reason != byDepth {
			s.unread(list[0], byDepth, s.number)
		}
		return version.Unsaid
	}
	outer := s.local
	s.local = maps.Clone(s.local)
	for i, word := range list[1:min(len(list), 10)] {
		s.set(string(rune('1'+i)), valueOf(word))
	}
	arguments := value{text: strings.Join(list[1:], " "), list: list[1:], state: known}
	s.set("@", arguments)
	s.set("*", arguments)
	s.depth++
	holds := s.followStatement(body, reached)
	s.depth--
	s.local = outer
	return holds
}

// assign keeps a shell's variable, if its value is known.
func (s *script) assign(a *syntax.Assign, reached version.Truth) {
	if a.Name == nil || a.Naked {
		return
	}
	v := value{state: hidden}
	switch {
	case reached != version.Met || a.Index != nil:
	case a.Array != nil:
		v = s.array(a.Array)
	case a.Value == nil:
		v = valueOf("")
	default:
		if text, ok := s.literalWord(a.Value); ok {
			v = valueOf(text)
		}
	}
	if before := s.value(a.Name.Value); a.Append && v.state == known {
		v = value{text: before.text + v.text, list: slices.Concat(before.list, v.list), state: before.state}
		if len(v.text) > maxValue || before.state == unset {
			v.state = hidden
		}
	}
	s.set(a.Name.Value, v)
}

// array returns Bash's NAME=(a b c).
func (s *script) array(a *syntax.ArrayExpr) value {
	var words []*syntax.Word
	for _, e := range a.Elems {
		if e.Index != nil || e.Value == nil {
			return value{state: hidden}
		}
		words = append(words, e.Value)
	}
	list := s.words(words)
	text := strings.Join(list, " ")
	if len(text) > maxValue {
		return value{state: hidden}
	}
	return value{text: text, list: list, state: known}
}

func (s *script) set(name string, v value) { s.local[name] = v }

// input returns what a command reads: a heredoc, a word behind <<<, or what another prints into it.
func (s *script) input(redirects []*syntax.Redirect) string {
	text := s.piped
	for _, r := range redirects {
		switch {
		case r.Hdoc != nil:
			text, _ = s.heredoc(r.Hdoc)
		case r.Op == syntax.WordHdoc:
			text, _ = s.literalWord(r.Word)
		}
	}
	return text
}

// prints returns the text that a command is known to print: echo's words, or a heredoc through cat.
func (s *script) prints(stmt *syntax.Stmt) (text string, ok bool) {
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return "", false
	}
	switch list := s.words(call.Args); {
	case list[0] == "cat" && len(list) == 1 && len(stmt.Redirs) > 0:
		text := s.input(stmt.Redirs)
		return text, text != ""
	case list[0] == "echo":
		list = list[1:]
		for len(list) > 0 && (list[0] == "-e" || list[0] == "-n") {
			list = list[1:]
		}
		return strings.ReplaceAll(strings.Join(list, " "), `\n`, "\n"), true
	case list[0] == "printf" && len(list) > 1:
		format := strings.ReplaceAll(list[1], `\n`, "\n")
		var text strings.Builder
		for _, word := range append(list[2:], make([]string, 1)[:max(0, 3-len(list))]...) {
			text.WriteString(strings.Replace(format, "%s", word, 1))
		}
		return text.String(), true
	}
	return "", false
}

// writes notes a file that a command writes, and returns false if what is in it is not known.
func (s *script) writes(list []string, redirects []*syntax.Redirect, input string) bool {
	text := input
	if list[0] != "cat" && list[0] != "tee" {
		printed, ok := s.prints(&syntax.Stmt{Cmd: &syntax.CallExpr{Args: literals(list)}})
		if !ok {
			if text, ok = s.filters(list); !ok {
				return false
			}
			printed = strings.TrimSuffix(text, "\n")
		}
		text = printed + "\n"
	} else if list[0] == "cat" && text == "" {
		text, _ = s.filters(list)
	}
	if text == "" {
		return false
	}
	if list[0] == "tee" {
		for _, name := range list[1:] {
			s.make(name, text, slices.Contains(list, "-a"))
		}
	}
	for _, r := range redirects {
		if name, ok := s.literalWord(r.Word); ok && (r.Op == syntax.RdrOut || r.Op == syntax.AppOut || r.Op == syntax.RdrClob) && r.N == nil {
			s.make(name, text, r.Op == syntax.AppOut)
		}
	}
	return true
}

// literals returns texts as a command's words.
func literals(list []string) (words []*syntax.Word) {
	for _, text := range list {
		words = append(words, &syntax.Word{Parts: []syntax.WordPart{&syntax.SglQuoted{Value: text}}})
	}
	return words
}

// make notes a file of the image that the Dockerfile itself writes.
func (f *dockerfile) make(name, text string, more bool) {
	before, known := "", true
	if more && listFile.MatchString(name) {
		before, known = f.textOf(name)
		known = known || !f.mayHave(name)
	} else if more {
		before = f.writtenFiles[path.Base(name)]
	}
	f.noteSettings(name)
	name = path.Base(name)
	if !known || len(before)+len(text) > requirements.MaxIncludeBytes {
		delete(f.writtenFiles, name)
		f.changedFiles[name] = "a command"
		return
	}
	f.renew(name)
	f.writtenFiles[name] = before + text
}

// innerScript returns what a command gives to a shell that it starts: bash -lc "…", su user -c "…", bash <<EOF.
func innerScript(list []string, input string) (text string, ok bool) {
	i := slices.IndexFunc(list, func(w string) bool { return installer.ShellName.MatchString(path.Base(w)) })
	if i < 0 || i > 0 && !slices.Contains(installer.Starters, path.Base(list[0])) && !installer.CondaName.MatchString(path.Base(list[0])) {
		return "", false
	}
	if j := slices.IndexFunc(list[i:], installer.CommandOption.MatchString); j >= 0 && i+j+1 < len(list) {
		return list[i+j+1], true
	}
	plain := !slices.ContainsFunc(list[i+1:], func(w string) bool { return !strings.HasPrefix(w, "-") })
	return input, plain && input != ""
}

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
