package shell

import (
	"path"
	"slices"
	"strings"

	"cudacompat/probe/internal/input/dockerfile/installer"

	"mvdan.cc/sh/v3/syntax"
)

// EveryFile stands for all files among those that a command changed.
const EveryFile = "*"

// input returns what a command reads: a heredoc, a word behind <<<, or what another prints into it.
func (s *script) input(redirects []*syntax.Redirect) string {
	text := s.piped
	for _, r := range redirects {
		switch {
		case r.Hdoc != nil:
			text, _ = s.heredoc(r.Hdoc)
		case r.Op == syntax.WordHdoc:
			text, _ = s.literalWord(r.Word)
		case r.Op == syntax.RdrIn && r.N == nil:
			name, _ := s.literalWord(r.Word)
			text, _ = s.Text(name)
		}
	}
	return text
}

// noteInput names the file that a shell reads its script from: bash < install.sh.
func (s *script) noteInput(redirects []*syntax.Redirect) {
	for _, r := range redirects {
		if name, _ := s.literalWord(r.Word); r.Op == syntax.RdrIn && r.N == nil && name != "/dev/null" {
			s.Unread(name, installer.ByHidden, s.number)
		}
	}
}

// pipes returns the text that a command before a pipe is known to print.
func (s *script) pipes(stmt *syntax.Stmt) (text string, ok bool) {
	if text, ok = s.prints(stmt); ok {
		return text, true
	}
	if call, isCall := stmt.Cmd.(*syntax.CallExpr); isCall && len(call.Args) > 0 && len(stmt.Redirs) == 0 {
		return s.Filter(s.words(call.Args))
	}
	return "", false
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
			if text, ok = s.Filter(list); !ok {
				return false
			}
			printed = strings.TrimSuffix(text, "\n")
		}
		text = printed + "\n"
	} else if list[0] == "cat" && text == "" {
		text, _ = s.Filter(list)
	}
	if text == "" {
		return false
	}
	if list[0] == "tee" {
		for _, name := range list[1:] {
			s.Write(name, text, slices.Contains(list, "-a"))
		}
	}
	for _, r := range redirects {
		if name, ok := s.literalWord(r.Word); ok && (r.Op == syntax.RdrOut || r.Op == syntax.AppOut || r.Op == syntax.RdrClob) && r.N == nil {
			s.Write(name, text, r.Op == syntax.AppOut)
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

// redirects notes the files that a command's output goes to, unless their text is known.
func (s *script) redirects(list []string, redirects []*syntax.Redirect, wrote bool) {
	for _, r := range redirects {
		name, _ := s.literalWord(r.Word)
		switch r.Op {
		case syntax.RdrOut, syntax.AppOut, syntax.RdrClob:
			if wrote && r.N == nil && !IsDynamic(path.Base(name)) {
				continue
			}
		case syntax.RdrAll, syntax.AppAll:
		default:
			continue
		}
		switch {
		case strings.HasPrefix(name, "/dev/"):
		case strings.HasPrefix(path.Base(name), "$"):
			s.MarkChanged(EveryFile, list, s.number)
		default:
			s.MarkChanged(name, list, s.number)
		}
	}
}
