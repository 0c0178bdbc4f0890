package dockerfile

import (
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/internal/input/dockerfile/instruction"
	"cudacompat/probe/internal/input/dockerfile/shell"
)

// BuildKit puts variables into FROM, ARG, ENV, COPY and ADD itself, with rules of its own
// (https://github.com/moby/buildkit/blob/v0.34.2/frontend/dockerfile/shell/lex.go). What stands in RUN it leaves to the
// shell.

// dockerWords are the words of an instruction with the values of its variables; a variable whose value is not known is
// left as it stands.
type dockerWords struct {
	escape byte
	of     func(name string) shell.Value
	added  int // bytes that variables added
	depth  int // of defaults within defaults
}

// deepestDefault is how deep ${A:-${B:-…}} is followed.
const deepestDefault = 8

// split returns the words of a text.
func (w *dockerWords) split(text string) (list []string) {
	for text = strings.TrimLeft(text, " \t"); text != ""; text = strings.TrimLeft(text, " \t") {
		end := instruction.WordEnd(text, w.escape)
		list = append(list, w.word(text[:end]))
		text = text[end:]
	}
	return list
}

// word returns a text without its quotes, its variables put in.
func (w *dockerWords) word(text string) string {
	var out strings.Builder
	double := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == w.escape && i+1 < len(text):
			i++
			if double && text[i] != '"' && text[i] != '$' && text[i] != w.escape {
				out.WriteByte(c)
			}
			out.WriteByte(text[i])
		case c == '"':
			double = !double
		case c == '\'' && !double:
			end := strings.IndexByte(text[i+1:], '\'')
			if end < 0 {
				end = len(text) - i - 1
			}
			out.WriteString(text[i+1 : i+1+end])
			i += end + 1
		case c == '$':
			variable := variableAt(text[i:])
			out.WriteString(w.put(variable))
			i += len(variable) - 1
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}

var (
	plainVariable = lazyregexp.New(`^\$\w+`)
	dockerValue   = lazyregexp.New(`(?s)^\$(?:(\w+)|\{(\w+)(?:(:?[-+?]|//?|%%?|##?)(.*))?\})$`)
)

// variableAt returns the variable that a text begins with, "$A" or "${A:-b}", or its first character alone.
func variableAt(text string) string {
	if !strings.HasPrefix(text, "${") {
		if name := plainVariable.FindString(text); name != "" {
			return name
		}
		return text[:1]
	}
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return text[:i+1]
			}
		}
	}
	return text[:1]
}

// put returns what stands for a variable.
func (w *dockerWords) put(variable string) string {
	m := dockerValue.FindStringSubmatch(variable)
	if m == nil || w.added > shell.MaxExpanded || w.depth > deepestDefault {
		return variable
	}
	w.depth++
	v := w.of(m[1]+m[2]).Substitute(m[3], w.word(m[4]))
	w.depth--
	if v.State != shell.Known {
		return variable
	}
	w.added += len(v.Text)
	return v.Text
}
