package given

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/version"
)

// shell follows the commands of one RUN: which of them are reached. Of a condition that the file does not answer
// (a test of a file, a variable without a value) what depends on it is Unsaid. A command is taken to succeed.
type shell struct {
	list   version.Truth // whether the list of commands before && or || succeeded
	blocks []block       // open ones, the innermost last
}

// block is an open if, case or loop.
type block struct {
	outer version.Truth // whether it is reached
	taken version.Truth // whether a branch before this one was
	now   version.Truth // whether this branch is
}

var (
	shellSetting = lazyregexp.New(`^(?:export\s+)?([A-Za-z_]\w*)=("[^"]*"|'[^']*'|\$\(.*\)|\S*)$`)
	shellKeyword = lazyregexp.New(`^(?:[({!]|(?:if|then|elif|else|fi|case|esac|for|while|until|do|done)\b)\s*`)
	runOption    = lazyregexp.New(`^--(?:mount|network|security)=\S+\s+`)
	// shellSays matches what installs nothing, whatever it says.
	shellSays = lazyregexp.New(`^(?:#|(?:echo|printf)\b)`)
	// shellAsks matches commands whose only purpose is to ask.
	shellAsks = lazyregexp.New(`^(?:command -v|which|type|grep|nvidia-smi|dpkg -[ls])\b`)
)

// runText is what a RUN hands to its shell, whose own form (["pip", "install", "torch"]) is one command.
func runText(text string) string {
	for runOption.MatchString(text) {
		text = runOption.ReplaceAllString(text, "")
	}
	var list []string
	if strings.HasPrefix(text, "[") && json.Unmarshal([]byte(text), &list) == nil {
		for i, word := range list {
			list[i] = asWord(word)
		}
		return strings.Join(list, " ")
	}
	return text
}

// asWord quotes a word, so that a shell takes it for one.
func asWord(word string) string {
	switch {
	case !strings.ContainsAny(word, " ;|&<>'\"\t\n"):
		return word
	case strings.Contains(word, `"`):
		return "'" + word + "'"
	}
	return `"` + word + `"`
}

// splitShell splits a text into commands and what stands before each: "", ";", "&&", "||", "|". Quotes and $(…) hold
// together.
func splitShell(text string) (commands [][2]string) {
	start, before, quote, depth := 0, "", byte(0), 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"' || c == '`':
			quote = c
		case c == '(' && i > 0 && text[i-1] == '$' || c == '(' && depth > 0:
			depth++
		case c == ')' && depth > 0:
			depth--
		case c == '&' && (i > 0 && text[i-1] == '>' || strings.HasPrefix(text[i+1:], ">")): // 2>&1, &>
		case depth == 0 && strings.IndexByte(";|&\n", c) >= 0:
			end := i
			for i+1 < len(text) && text[i+1] == c {
				i++
			}
			commands = append(commands, [2]string{before, strings.TrimSpace(text[start:end])})
			start, before = i+1, text[end:min(i+1, end+2)]
		}
	}
	return append(commands, [2]string{before, strings.TrimSpace(text[start:])})
}

// here is whether the place is reached that the open blocks lead to.
func (s *shell) here() version.Truth {
	if len(s.blocks) == 0 {
		return version.Met
	}
	return s.blocks[len(s.blocks)-1].now
}

// next reports whether a command is reached, given what stands before it, and returns it without its keywords.
func (s *shell) next(before, text string) (command string, reached version.Truth) {
	negated := false
	for {
		word := strings.TrimSpace(shellKeyword.FindString(text))
		if word == "" {
			break
		}
		text = text[len(shellKeyword.FindString(text)):]
		negated = negated != (word == "!")
		s.keyword(word)
	}
	switch before {
	case "&&":
		reached = min(s.here(), s.list)
	case "||":
		reached = min(s.here(), version.Met-s.list)
	default:
		reached = s.here()
	}
	holds := truthOf(text)
	if negated {
		holds = version.Met - holds
	}
	switch before {
	case "&&":
		s.list = min(s.list, holds)
	case "||":
		s.list = max(s.list, holds)
	default:
		s.list = holds
	}
	return text, reached
}

// keyword opens a block, goes on to its next branch, or closes it.
func (s *shell) keyword(word string) {
	switch word {
	case "if":
		s.blocks = append(s.blocks, block{outer: s.here(), now: s.here()})
	case "case":
		s.blocks = append(s.blocks, block{outer: s.here(), now: min(s.here(), version.Unsaid)})
	case "for", "while", "until":
		s.blocks = append(s.blocks, block{outer: s.here(), now: s.here()})
	}
	if len(s.blocks) == 0 {
		return
	}
	switch b := &s.blocks[len(s.blocks)-1]; word {
	case "then":
		b.now = min(b.outer, version.Met-b.taken, s.list)
		b.taken = max(b.taken, s.list)
	case "elif":
		b.now = b.outer
	case "else":
		b.now = min(b.outer, version.Met-b.taken)
	case "fi", "esac", "done":
		s.blocks = s.blocks[:len(s.blocks)-1]
	}
}

// truthOf is what a command says to && and ||: a test answers where its words are known, what asks of the machine does
// not, and all else succeeds.
func truthOf(command string) version.Truth {
	list := words(command)
	switch {
	case len(list) == 0:
		return version.Met
	case list[0] == "false":
		return version.Unmet
	case list[0] == "test":
		return testOf(list[1:], false)
	case list[0] == "[" || list[0] == "[[":
		list = slices.DeleteFunc(list, func(word string) bool { return word == "]" || word == "]]" })
		return testOf(list[1:], list[0] == "[[")
	case shellAsks.MatchString(command):
		return version.Unsaid
	}
	return version.Met
}

// testOf is what [ a = b ], [ a != b ], [ -n a ] and [ -z a ] say; in [[ ]] the right side is a pattern.
func testOf(list []string, pattern bool) version.Truth {
	if slices.ContainsFunc(list, func(word string) bool { return strings.ContainsAny(word, "$`") }) {
		return version.Unsaid
	}
	holds := false
	switch {
	case len(list) == 3 && slices.Contains([]string{"=", "==", "!="}, list[1]):
		holds = list[0] == list[2]
		if pattern && !holds {
			holds, _ = path.Match(list[2], list[0])
		}
		holds = holds != (list[1] == "!=")
	case len(list) == 2 && list[0] == "-n":
		holds = list[1] != ""
	case len(list) == 2 && list[0] == "-z":
		holds = list[1] == ""
	default:
		return version.Unsaid
	}
	if holds {
		return version.Met
	}
	return version.Unmet
}
