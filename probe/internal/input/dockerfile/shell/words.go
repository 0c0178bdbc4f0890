package shell

import (
	"strconv"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/internal/input/dockerfile/bash"

	"mvdan.cc/sh/v3/syntax"
)

// expansion is a word on its way into the words that a command is given. What is not known stays as it is written.
type expansion struct {
	*script
	list  []string
	word  strings.Builder
	begun bool // whether there is a word, if an empty one
	known bool // whether all of it is
}

// words returns the words that a command is given: the values of variables outside quotes are split at white space.
func (s *script) words(words []*syntax.Word) []string {
	list, _ := s.expand(words)
	return list
}

// expand returns words, and whether the file says all of them.
func (s *script) expand(words []*syntax.Word) (list []string, known bool) {
	known = true
	for _, w := range words {
		all, ok := bash.Braces(w)
		known = known && ok
		for _, one := range all {
			e := &expansion{script: s, known: true}
			for _, part := range one.Parts {
				e.part(part, false)
			}
			e.end()
			list, known = append(list, e.list...), known && e.known
		}
		if !ok {
			list = append(list, "$()")
		}
	}
	return list, known
}

// literalWord returns a word in one piece, as an assignment or a test takes it; known tells whether the file says all
// of it.
func (s *script) literalWord(w *syntax.Word) (text string, known bool) {
	if w == nil {
		return "", true
	}
	e := &expansion{script: s, known: true}
	for _, part := range w.Parts {
		e.part(part, true)
	}
	return e.word.String(), e.known
}

// heredoc returns the text of one: its backslashes stand before what is not to be put in alone.
func (s *script) heredoc(w *syntax.Word) (text string, known bool) {
	e := &expansion{script: s, known: true}
	for _, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			e.word.WriteString(strings.NewReplacer(`\$`, "$", "\\`", "`", `\\`, `\`, "\\\n", "").Replace(lit.Value))
			continue
		}
		e.part(part, true)
	}
	return e.word.String(), e.known
}

// end closes a word.
func (e *expansion) end() {
	if e.begun || e.word.Len() > 0 {
		e.list = append(e.list, e.word.String())
	}
	e.word.Reset()
	e.begun = false
}

// source keeps how a part is written; it is not known what stands for it.
func (e *expansion) source(part syntax.Node) {
	e.known = false
	from, to := int(part.Pos().Offset()), int(part.End().Offset())
	if from >= 0 && from <= to && to <= len(e.text) {
		e.word.WriteString(e.text[from:to])
	} else {
		e.word.WriteString("$()")
	}
}

// part adds one part of a word.
func (e *expansion) part(part syntax.WordPart, quoted bool) {
	switch part := part.(type) {
	case *syntax.Lit:
		e.word.WriteString(unescaped(part.Value, false))
	case *syntax.SglQuoted:
		e.begun = true
		if text := part.Value; part.Dollar {
			e.word.WriteString(bash.Unescape(text))
		} else {
			e.word.WriteString(text)
		}
	case *syntax.DblQuoted:
		e.begun = true
		for _, inner := range part.Parts {
			if lit, ok := inner.(*syntax.Lit); ok {
				e.word.WriteString(unescaped(lit.Value, true))
				continue
			}
			e.part(inner, true)
		}
	case *syntax.ParamExp:
		e.variable(part, quoted)
	case *syntax.CmdSubst:
		e.substitution(part, quoted)
	default:
		e.source(part)
	}
}

// unescaped returns a literal without its backslashes: within double quotes they stand only before some characters.
func unescaped(text string, quoted bool) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && (!quoted || strings.IndexByte("$`\"\\\n", text[i+1]) >= 0) {
			if i++; text[i] == '\n' {
				continue
			}
		}
		out.WriteByte(text[i])
	}
	return out.String()
}

// add adds a value, split at white space outside quotes.
func (e *expansion) add(v Value, quoted bool) {
	if e.added += len(v.Text); e.added > MaxExpanded {
		e.known = false
		e.word.WriteString("$()")
		return
	}
	if quoted {
		e.word.WriteString(v.Text)
		return
	}
	for i := range len(v.Text) {
		if c := v.Text[i]; c == ' ' || c == '\t' || c == '\n' {
			e.end()
		} else {
			e.word.WriteByte(c)
		}
	}
}

// variable adds what stands for a variable.
func (e *expansion) variable(p *syntax.ParamExp, quoted bool) {
	if p.Param == nil || p.Excl || p.IsSet || p.Flags != nil || p.Names != 0 {
		e.source(p)
		return
	}
	v := e.Value(p.Param.Value)
	if all := p.Param.Value == "@" || wholeArray(p.Index); v.List != nil && all {
		for i, item := range v.List {
			if i > 0 && quoted {
				e.end()
			}
			e.begun = e.begun || quoted
			e.add(Value{Text: item}, quoted)
			if !quoted {
				e.end()
			}
		}
		return
	}
	if p.Index != nil && !wholeArray(p.Index) {
		e.source(p)
		return
	}
	operand := ""
	switch {
	case p.Exp != nil:
		operand, _ = e.literalWord(p.Exp.Word)
		v = v.Substitute(p.Exp.Op.String(), operand)
	case p.Repl != nil:
		from, _ := e.literalWord(p.Repl.Orig)
		to, _ := e.literalWord(p.Repl.With)
		v = v.Substitute(map[bool]string{true: "//", false: "/"}[p.Repl.All], from+"/"+to)
	case p.Slice != nil:
		v = slice(v, p.Slice)
	case p.Length:
		v = Value{Text: strconv.Itoa(len(v.Text)), State: v.State}
	}
	if v.State != Known {
		e.source(p)
		return
	}
	e.known = e.known && !strings.ContainsAny(operand, "$`")
	e.add(v, quoted)
}

// wholeArray reports whether an index is @ or *.
func wholeArray(index syntax.ArithmExpr) bool {
	w, ok := index.(*syntax.Word)
	return ok && (w.Lit() == "@" || w.Lit() == "*")
}

// slice returns ${NAME:offset:length} of numbers.
func slice(v Value, s *syntax.Slice) Value {
	from, ok := number(s.Offset, 0)
	count, counted := number(s.Length, len(v.Text))
	if from < 0 {
		from += len(v.Text)
	}
	to := from + count
	if count < 0 {
		to = len(v.Text) + count
	}
	if ok && counted && from > len(v.Text) {
		return Value{State: v.State}
	}
	if !ok || !counted || from < 0 || to < from {
		return Value{State: Hidden}
	}
	return Value{Text: v.Text[from:min(to, len(v.Text))], State: v.State}
}

// number returns a whole number of a slice.
func number(x syntax.ArithmExpr, missing int) (n int, ok bool) {
	switch x := x.(type) {
	case nil:
		return missing, true
	case *syntax.Word:
		n, err := strconv.Atoi(x.Lit())
		return n, err == nil
	case *syntax.UnaryArithm:
		n, ok := number(x.X, 0)
		return -n, ok && x.Op == syntax.Minus
	}
	return 0, false
}

// substitution adds what another command prints: $(echo $CUDA | tr -d .). Of cat the file's name is put in; what else
// prints is not known.
func (e *expansion) substitution(c *syntax.CmdSubst, quoted bool) {
	if len(c.Stmts) == 1 {
		if text, ok := e.outputOf(c.Stmts[0]); ok {
			e.add(Value{Text: strings.TrimRight(text, "\n"), State: Known}, quoted)
			return
		}
		if call, ok := c.Stmts[0].Cmd.(*syntax.CallExpr); ok && len(c.Stmts[0].Redirs) == 0 {
			e.known = false
			e.word.WriteString("$(" + strings.Join(e.words(call.Args), " ") + ")")
			return
		}
	}
	e.source(c)
}

// outputOf returns what a command prints whose words are known: echo, and what cut and tr make of it.
func (e *expansion) outputOf(stmt *syntax.Stmt) (text string, ok bool) {
	switch command := stmt.Cmd.(type) {
	case *syntax.CallExpr:
		text, ok = e.prints(stmt)
		return text, ok && !IsDynamic(text)
	case *syntax.BinaryCmd:
		call, isCall := command.Y.Cmd.(*syntax.CallExpr)
		if text, ok = e.outputOf(command.X); !ok || command.Op != syntax.Pipe || !isCall {
			return "", false
		}
		return cutOrTranslate(text, e.words(call.Args))
	}
	return "", false
}

// cutFields are cut's options for one field, or for neighbours.
var cutFields = lazyregexp.New(`^-d ?(.) -f ?(\d)(?:([-,])(\d))?$`)

// cutOrTranslate returns what cut -d. -f1-2 and tr -d . make of a line.
func cutOrTranslate(text string, list []string) (string, bool) {
	options := strings.Join(list[min(1, len(list)):], " ")
	switch {
	case len(list) == 3 && list[0] == "tr" && list[1] == "-d":
		if strings.ContainsAny(list[2], `-[\`) {
			return "", false
		}
		return strings.Map(func(r rune) rune {
			if strings.ContainsRune(list[2], r) {
				return -1
			}
			return r
		}, text), true
	case len(list) > 0 && list[0] == "cut":
		m := cutFields.FindStringSubmatch(options)
		if m == nil {
			return "", false
		}
		parts := strings.Split(strings.TrimRight(text, "\n"), m[1])
		first, _ := strconv.Atoi(m[2])
		last := first
		if m[4] != "" {
			last, _ = strconv.Atoi(m[4])
		}
		if first < 1 || first > len(parts) || last < first || m[3] == "," && last != first+1 {
			return "", false
		}
		return strings.Join(parts[first-1:min(last, len(parts))], m[1]), true
	}
	return "", false
}
