package shell

import (
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/version"
	"cudacompat/probe/internal/input/dockerfile/installer"

	"mvdan.cc/sh/v3/syntax"
)

// Shebang matches a script whose first line names a shell as its interpreter.
var Shebang = lazyregexp.New(`^#!.*\b(?:ba|da|z|k|a)?sh\b`)

// inline follows a text in the same shell.
func (s *script) inline(text string, reached version.Truth) {
	if file, _ := parsedShell(text); file != nil {
		inner := *s
		inner.text, inner.depth = text, s.depth+1
		inner.runAll(file.Stmts, reached)
	}
}

// startsFile follows a script of the build context, or one that a command wrote: sh install.sh, ./install.sh, . env.sh. It
// returns false if the command starts none whose text is known.
func (s *script) startsFile(list []string, reached version.Truth) bool {
	here := list[0] == "." || list[0] == "source"
	word := installer.FindScript(list).Command
	if here && len(list) > 1 {
		word = list[1]
	}
	if word == "" || path.Ext(word) == ".py" {
		return false
	}
	text, ok := s.Text(word)
	switch {
	case !ok || !Shebang.MatchString(text) && strings.HasPrefix(text, "#!"):
		return false
	case s.depth >= deepest:
		s.Unread(word, ByDepth, s.number)
	case here:
		s.inline(text, reached)
	default:
		s.Follow(text, s.number, reached, s.depth+1)
	}
	return true
}

// InnerScript returns what a command gives to a shell that it starts: bash -lc "…", su user -c "…", bash <<EOF.
func InnerScript(list []string, input string) (text string, ok bool) {
	i := slices.IndexFunc(list, func(w string) bool { return installer.ShellName.MatchString(path.Base(w)) })
	if i < 0 || i > 0 && !slices.Contains(installer.Starters, path.Base(list[0])) && !installer.CondaName.MatchString(path.Base(list[0])) {
		return "", false
	}
	if j := slices.IndexFunc(list[i:], installer.CommandOption.MatchString); j >= 0 && i+j+1 < len(list) {
		return list[i+j+1], true
	}
	return input, isPlain(list[i+1:]) && input != ""
}

// isPlainShell reports whether a command starts a shell that reads its script from its input.
func isPlainShell(list []string) bool {
	at := installer.FindProgram(list)
	return at < len(list) && installer.ShellProgram.MatchString(path.Base(list[at])) && isPlain(list[at+1:]) &&
		!slices.ContainsFunc(list[at+1:], installer.CommandOption.MatchString)
}

// isPlain reports whether a shell is given no file. What stands behind -s are the script's own arguments.
func isPlain(words []string) bool {
	for _, word := range words {
		switch {
		case word == "-s":
			return true
		case !strings.HasPrefix(word, "-"):
			return false
		}
	}
	return true
}

// noteSubstitutions names the substitutions of a script that install packages: x=$(pip install torch).
func (r *Reader) noteSubstitutions(file *syntax.File, text string, number int) {
	syntax.Walk(file, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			from, to := int(node.Pos().Offset()), int(node.End().Offset())
			if from <= to && to <= len(text) && (installer.HasInstall(text[from:to]) || r.startsScript(node)) {
				r.Unread(text[from:to], installer.ByUnfollowed, number)
				return false
			}
		case *syntax.CallExpr:
			return !r.noteFetched(node, text, number)
		}
		return true
	})
}

// runsText matches the programs that run a text which they are given.
var runsText = lazyregexp.New(`^(?:eval|source|\.|(?:ba|da|z|k)?sh)$`)

// fetchesText matches the address that curl or wget fetches within a substitution.
var fetchesText = lazyregexp.New("(?s)^[$`<>(]+ *(?:curl|wget)\\b.*?(https?://[^\\s\"')`]+)")

// noteFetched names a fetched script that a command runs by a substitution: bash -c "$(curl https://…)".
func (r *Reader) noteFetched(call *syntax.CallExpr, text string, number int) (noted bool) {
	if len(call.Args) < 2 || !runsText.MatchString(path.Base(call.Args[0].Lit())) {
		return false
	}
	syntax.Walk(call, func(node syntax.Node) bool {
		switch node.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			from, to := int(node.Pos().Offset()), int(node.End().Offset())
			if from > to || to > len(text) {
				return false
			}
			if m := fetchesText.FindStringSubmatch(text[from:to]); m != nil && !harmlessScript.MatchString(m[1]) {
				r.Unread(text[from:to], installer.ByHidden, number)
				noted = true
			}
			return false
		}
		return true
	})
	return noted
}

// startsScript reports whether a substitution starts a script whose text is not known: x=$(bash /opt/x.sh).
func (r *Reader) startsScript(substitution syntax.Node) (starts bool) {
	syntax.Walk(substitution, func(node syntax.Node) bool {
		if call, ok := node.(*syntax.CallExpr); ok {
			var words []string
			for _, w := range call.Args {
				words = append(words, w.Lit())
			}
			if t := installer.FindScript(words); len(words) > 0 && t.Script {
				_, known := r.Text(t.Command)
				starts = starts || !known
			}
		}
		return !starts
	})
	return starts
}
