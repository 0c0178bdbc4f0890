// Package sed does to a text what a call of sed does, for the commands that edit requirements files: s and d.
package sed

import (
	"regexp"
	"strings"

	"cudacompat/internal/lazyregexp"
)

// Call is one call of sed.
type Call struct {
	InPlace  bool
	Files    []string
	commands []command
}

// command is one command of a script: it removes lines, or replaces what matches in them.
type command struct {
	lines   *regexp.Regexp // the lines it holds for; nil: all
	pattern *regexp.Regexp // what is replaced; nil: the line is removed
	to      string         // in the form of regexp.Expand
	all     bool
}

// Parse reads the words behind sed. ok is false where it has options or commands that Edit does not follow; the files are
// those of the call all the same.
func Parse(words []string) (c Call, ok bool) {
	ok = true
	extended, scripted := false, false
	var scripts []string
	for i := 0; i < len(words); i++ {
		switch word := words[i]; {
		case word == "-e" || word == "--expression":
			if i++; i < len(words) {
				scripts, scripted = append(scripts, words[i]), true
			}
		case strings.HasPrefix(word, "--expression="):
			scripts, scripted = append(scripts, strings.TrimPrefix(word, "--expression=")), true
		case word == "-f" || word == "--file":
			i++
			ok, scripted = false, true
		case word == "-E" || word == "-r" || word == "--regexp-extended":
			extended = true
		case word == "-i" || strings.HasPrefix(word, "--in-place"):
			c.InPlace = true
		case inPlace.MatchString(word): // -i.bak, -Ei, -ie
			c.InPlace = true
			flags, _, _ := strings.Cut(word, "i") // what stands behind the i is the ending of a copy
			extended = extended || strings.ContainsAny(flags, "Er")
			ok = ok && !strings.ContainsAny(flags, "nz")
		case strings.HasPrefix(word, "-") && word != "-":
			ok = false
		case !scripted:
			scripts, scripted = append(scripts, word), true
		default:
			c.Files = append(c.Files, word)
		}
	}
	for _, text := range scripts {
		list, read := parseScript(text, extended)
		c.commands, ok = append(c.commands, list...), ok && read
	}
	return c, ok && len(c.commands) <= maxCommands
}

// ParseGrep reads the words behind grep -v, which leaves lines out.
func ParseGrep(words []string, extended bool) (c Call, ok bool) {
	inverted, ignoreCase, pattern := false, false, ""
	for i, word := range words {
		switch {
		case strings.HasPrefix(word, "-") && strings.Trim(word, "-viE") == "":
			inverted = inverted || strings.Contains(word, "v")
			ignoreCase = ignoreCase || strings.Contains(word, "i")
			extended = extended || strings.Contains(word, "E")
		case strings.HasPrefix(word, "-"):
			return c, false
		case pattern == "":
			pattern = words[i]
		default:
			c.Files = append(c.Files, word)
		}
	}
	lines, ok := expression(pattern, extended, ignoreCase)
	c.commands = []command{{lines: lines}}
	return c, ok && inverted && pattern != ""
}

// maxCommands bounds the commands that are followed.
const maxCommands = 50

var inPlace = lazyregexp.New(`^-[nErsuz]*i`)

// Edit returns the text as sed leaves it.
func (c Call) Edit(text string) (edited string, ok bool) {
	var out strings.Builder
	for line := range strings.Lines(text) {
		line, end := strings.TrimSuffix(line, "\n"), line[len(strings.TrimSuffix(line, "\n")):]
		if line, kept := c.edit(line); kept {
			out.WriteString(line + end)
		}
		if out.Len() > 4*len(text)+1<<16 {
			return "", false
		}
	}
	return out.String(), true
}

// edit returns one line, and whether it stays.
func (c Call) edit(line string) (edited string, kept bool) {
	for _, command := range c.commands {
		switch {
		case command.lines != nil && !command.lines.MatchString(line):
		case command.pattern == nil:
			return "", false
		default:
			line = command.replace(line)
		}
	}
	return line, true
}

// replace replaces the first match, or all.
func (c command) replace(line string) string {
	var out []byte
	rest := 0
	for _, at := range c.pattern.FindAllStringSubmatchIndex(line, -1) {
		out = append(out, line[rest:at[0]]...)
		out = c.pattern.ExpandString(out, c.to, line, at)
		if rest = at[1]; !c.all {
			break
		}
	}
	return string(append(out, line[rest:]...))
}

// parseScript reads commands with a semicolon or a line break between them: /re/d, s/re/text/g, /re/s/re/text/.
func parseScript(text string, extended bool) (list []command, ok bool) {
	for text = strings.TrimLeft(text, "; \n"); text != ""; text = strings.TrimLeft(text, "; \n") {
		var c command
		if text[0] == '/' {
			address, rest, read := cut(text[1:], '/')
			if c.lines, ok = expression(address, extended, false); !read || !ok {
				return nil, false
			}
			text = strings.TrimLeft(rest, " ")
		}
		switch {
		case c.lines != nil && strings.HasPrefix(text, "d"):
			text = text[1:]
		case len(text) > 1 && text[0] == 's' && text[1] != '\\' && text[1] != '\n':
			if text, ok = c.substitution(text[1:], extended); !ok {
				return nil, false
			}
		default:
			return nil, false
		}
		if text != "" && text[0] != ';' && text[0] != '\n' && text[0] != ' ' {
			return nil, false
		}
		list = append(list, c)
	}
	return list, true
}

// substitution reads /re/text/flags, and returns what stands behind it.
func (c *command) substitution(text string, extended bool) (rest string, ok bool) {
	mark := text[0]
	pattern, rest, read := cut(text[1:], mark)
	to, rest, more := cut(rest, mark)
	if !read || !more || pattern == "" {
		return "", false
	}
	ignore := false
	for rest != "" && strings.IndexByte("gI", rest[0]) >= 0 {
		c.all, ignore = c.all || rest[0] == 'g', ignore || rest[0] == 'I'
		rest = rest[1:]
	}
	if c.pattern, ok = expression(pattern, extended, ignore); !ok {
		return "", false
	}
	c.to, ok = replacement(to)
	return rest, ok
}

// cut divides a text at the first mark that no backslash escapes; an escaped mark stands for itself.
func cut(text string, mark byte) (before, after string, ok bool) {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text) && text[i+1] == mark:
			i++
			out.WriteByte(mark)
		case text[i] == '\\' && i+1 < len(text):
			out.WriteString(text[i : i+2])
			i++
		case text[i] == mark:
			return out.String(), text[i+1:], true
		default:
			out.WriteByte(text[i])
		}
	}
	return "", "", false
}

// expression returns a basic or an extended expression of POSIX in Go's form.
func expression(text string, extended, ignoreCase bool) (*regexp.Regexp, bool) {
	var out strings.Builder
	if ignoreCase {
		out.WriteString("(?i)")
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '[': // the same in both, up to the bracket behind the first character
			end := strings.IndexByte(text[min(i+2, len(text)):], ']')
			if end < 0 || strings.Contains(text[i:], `\`) {
				return nil, false
			}
			out.WriteString(text[i : i+3+end])
			i += 2 + end
		case c == '\\' && i+1 < len(text):
			i++
			switch c := text[i]; {
			case strings.IndexByte("(){}|+?", c) >= 0 && !extended:
				out.WriteByte(c)
			case c == 'r' || c == 't' || c == 's' || c == 'S' || c == 'w' || c == 'W' || c == 'b':
				out.WriteString(text[i-1 : i+1])
			case c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '<' || c == '>' || c == '`' || c == '\'':
				return nil, false
			default:
				out.WriteString(regexp.QuoteMeta(string(c)))
			}
		case strings.IndexByte("(){}|+?", c) >= 0 && !extended:
			out.WriteByte('\\')
			out.WriteByte(c)
		case c == '*' && i == 0, c == '^' && i > 0, c == '$' && i < len(text)-1, c == '\n', c >= 0x80:
			return nil, false
		default:
			out.WriteByte(c)
		}
	}
	e, err := regexp.Compile(out.String())
	if err == nil {
		e.Longest()
	}
	return e, err == nil
}

// replacement returns what an s command puts in, in the form of regexp.Expand.
func replacement(text string) (string, bool) {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '&':
			out.WriteString("${0}")
		case c == '$':
			out.WriteString("$$")
		case c == '\\' && i+1 < len(text):
			i++
			switch c := text[i]; {
			case c >= '1' && c <= '9':
				out.WriteString("${" + string(c) + "}")
			case c == 'n':
				out.WriteByte('\n')
			case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '0':
				return "", false
			case c == '$':
				out.WriteString("$$")
			default:
				out.WriteByte(c)
			}
		default:
			out.WriteByte(c)
		}
	}
	return out.String(), true
}
