package dockerfile

import (
	"encoding/json"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
)

// instruction is one of a Dockerfile.
type instruction struct {
	number int    // of the line that it begins on
	name   string // in capitals
	flags  []string
	text   string   // what stands behind its flags, in one line
	list   []string // the words of the form ["pip", "install", "torch"], which no shell reads
	docs   []heredoc
}

// heredoc is a text that stands below an instruction.
type heredoc struct {
	name    string
	quoted  bool // the instruction puts no variables in
	chomp   bool // <<-: the tabs before each line are no part of it
	content string
	open    bool // the file ends before it does
}

// simple reports whether the heredoc is all that the instruction says: its text is the script then.
func (i *instruction) simple() bool { return len(i.docs) == 1 && heredocWord.MatchString(i.text) }

// body returns the text without the tabs that <<- leaves out.
func (h *heredoc) body() string {
	if !h.chomp {
		return h.content
	}
	return leadingTabs.ReplaceAllString(h.content, "")
}

var (
	escapeLine  = lazyregexp.New(`(?i)^#\s*(escape|syntax|check)\s*=\s*(.+?)\s*$`)
	leadingTabs = lazyregexp.New(`(?m)^\t+`)
	heredocWord = lazyregexp.New(`^(\d*)<<(-?)\s*([^<]*)$`)
)

// lineReader hands out a Dockerfile's lines. Their rules are BuildKit's
// (https://github.com/moby/buildkit/blob/v0.34.2/frontend/dockerfile/parser/parser.go).
type lineReader struct {
	lines  []string
	at     int
	escape byte // which character continues a line, and escapes another
}

// instructionsOf reads a Dockerfile. A line that ends in the escape character goes on in the next one, which is joined
// to it as it stands; comments and blank lines between are left out. A heredoc's lines are no instructions.
func instructionsOf(text string) (list []instruction, escape byte) {
	r := &lineReader{lines: strings.Split(text, "\n"), escape: '\\'}
	r.directives()
	for r.at < len(r.lines) {
		number := r.at + 1
		line := r.logicalLine()
		if line == "" {
			continue
		}
		i := instruction{number: number}
		i.name, i.text = cutWord(line)
		i.name = strings.ToUpper(i.name)
		i.takeFlags(r.escape)
		kind, rest := i.name, i.text
		if kind == "ONBUILD" {
			kind, rest = cutWord(i.text)
		}
		if json.Unmarshal([]byte(rest), &i.list) != nil {
			i.list = nil
			if slices.Contains([]string{"RUN", "COPY", "ADD"}, strings.ToUpper(kind)) {
				i.docs = r.heredocs(rest)
			}
		}
		list = append(list, i)
	}
	return list, r.escape
}

// cutWord divides a line behind its first word.
func cutWord(line string) (word, rest string) {
	end := strings.IndexAny(line+" ", " \t")
	return line[:end], strings.TrimSpace(line[end:])
}

// directives reads the comments before everything else that say how the file is read.
func (r *lineReader) directives() {
	for _, line := range r.lines {
		m := escapeLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			return
		}
		if strings.EqualFold(m[1], "escape") && (m[2] == "`" || m[2] == `\`) {
			r.escape = m[2][0]
		}
	}
}

// logicalLine returns the next line with those that go on from it; empty for a comment or a blank one.
func (r *lineReader) logicalLine() string {
	line := strings.TrimLeft(r.lines[r.at], " \t\v\f\r")
	r.at++
	if strings.HasPrefix(line, "#") {
		return ""
	}
	line, more := r.continued(line)
	whole := []string{line}
	for more && r.at < len(r.lines) {
		next := r.lines[r.at]
		r.at++
		if bare := strings.TrimSpace(next); bare == "" || bare[0] == '#' {
			continue
		}
		next, more = r.continued(next)
		whole = append(whole, next)
	}
	return strings.TrimSpace(strings.Join(whole, ""))
}

// continued cuts off the escape character at the end of a line, unless another escapes it.
func (r *lineReader) continued(line string) (rest string, more bool) {
	trimmed := strings.TrimRight(line, " \t")
	rest, more = strings.CutSuffix(trimmed, string(r.escape))
	if !more || strings.HasSuffix(rest, string(r.escape)) {
		return line, false
	}
	return rest, true
}

// takeFlags cuts off the words that begin with two dashes.
func (i *instruction) takeFlags(escape byte) {
	for strings.HasPrefix(i.text, "--") {
		end := wordEnd(i.text, escape)
		flag := strings.NewReplacer(`"`, "", `'`, "").Replace(i.text[:end])
		i.text = strings.TrimSpace(i.text[end:])
		if flag == "--" {
			return
		}
		i.flags = append(i.flags, flag)
	}
}

// wordEnd returns where the first word of a text ends: at white space that is neither quoted nor escaped.
func wordEnd(text string, escape byte) int {
	quote := byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == escape && quote != '\'':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == ' ' || c == '\t':
			return i
		}
	}
	return len(text)
}

// heredocs reads the texts that an instruction announces, one after the other.
func (r *lineReader) heredocs(text string) (docs []heredoc) {
	if !strings.Contains(text, "<<") {
		return nil
	}
	for _, word := range heredocWords(text) {
		m := heredocWord.FindStringSubmatch(word)
		if m == nil || m[3] == "" {
			continue
		}
		h := heredoc{name: unquoted(m[3]), chomp: m[2] == "-", open: true}
		h.quoted = h.name != m[3]
		var content strings.Builder
		for h.open && r.at < len(r.lines) {
			line := r.lines[r.at]
			r.at++
			end := strings.TrimRight(line, "\r")
			if h.chomp {
				end = strings.TrimLeft(end, "\t")
			}
			if h.open = end != h.name; h.open {
				content.WriteString(line + "\n")
			}
		}
		h.content = content.String()
		docs = append(docs, h)
	}
	return docs
}

// heredocWords splits a line at white space, but not behind "<<", and keeps its quotes; nothing where a quote is not
// closed.
func heredocWords(text string) (words []string) {
	var word strings.Builder
	quote := byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && quote != '\'' && i+1 < len(text):
			word.WriteByte(c)
			i++
			word.WriteByte(text[i])
			continue
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case quote == 0 && (c == ' ' || c == '\t') && !strings.HasSuffix(strings.TrimRight(word.String(), " \t"), "<<"):
			words = append(words, word.String())
			word.Reset()
			continue
		}
		word.WriteByte(c)
	}
	if quote != 0 {
		return nil
	}
	return append(words, word.String())
}

// unquoted returns a word without its quotes and escapes.
func unquoted(word string) string {
	var text strings.Builder
	quote := byte(0)
	for i := 0; i < len(word); i++ {
		switch c := word[i]; {
		case c == '\\' && quote != '\'' && i+1 < len(word):
			i++
			text.WriteByte(word[i])
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		default:
			text.WriteByte(c)
		}
	}
	return text.String()
}
