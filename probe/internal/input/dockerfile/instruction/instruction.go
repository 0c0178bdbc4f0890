// Package instruction splits a Dockerfile into its instructions, by the rules of BuildKit.
package instruction

import (
	"encoding/json"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
)

// Instruction is one of a Dockerfile.
type Instruction struct {
	Number int    // of the line that it begins on
	Name   string // in capitals
	Flags  []string
	Text   string   // what stands behind its flags, in one line
	List   []string // the words of the form ["pip", "install", "torch"], which no shell reads
	Docs   []Heredoc
}

// Heredoc is a text that stands below an instruction.
type Heredoc struct {
	Name    string
	Quoted  bool // the instruction puts no variables in
	Chomp   bool // <<-: the tabs before each line are no part of it
	Content string
	Open    bool // the file ends before it does
}

// Simple reports whether the heredoc is all that the instruction says: its text is the script then.
func (i *Instruction) Simple() bool { return len(i.Docs) == 1 && HeredocWord.MatchString(i.Text) }

// Body returns the text without the tabs that <<- leaves out.
func (h *Heredoc) Body() string {
	if !h.Chomp {
		return h.Content
	}
	return leadingTabs.ReplaceAllString(h.Content, "")
}

var (
	escapeLine  = lazyregexp.New(`(?i)^#\s*(escape|syntax|check)\s*=\s*(.+?)\s*$`)
	leadingTabs = lazyregexp.New(`(?m)^\t+`)
	HeredocWord = lazyregexp.New(`^(\d*)<<(-?)\s*([^<]*)$`)
)

// lineReader hands out a Dockerfile's lines. Their rules are BuildKit's
// (https://github.com/moby/buildkit/blob/v0.34.2/frontend/dockerfile/parser/parser.go).
type lineReader struct {
	lines  []string
	at     int
	escape byte // which character continues a line, and escapes another
}

// Parse reads a Dockerfile. A line that ends in the escape character goes on in the next one, which is joined
// to it as it stands; comments and blank lines between are left out. A heredoc's lines are no instructions.
func Parse(text string) (list []Instruction, escape byte) {
	r := &lineReader{lines: strings.Split(text, "\n"), escape: '\\'}
	r.directives()
	for r.at < len(r.lines) {
		number := r.at + 1
		line := r.logicalLine()
		if line == "" {
			continue
		}
		i := Instruction{Number: number}
		i.Name, i.Text = CutWord(line)
		i.Name = strings.ToUpper(i.Name)
		i.TakeFlags(r.escape)
		kind, rest := i.Name, i.Text
		if kind == "ONBUILD" {
			kind, rest = CutWord(i.Text)
		}
		if json.Unmarshal([]byte(rest), &i.List) != nil {
			i.List = nil
			if slices.Contains([]string{"RUN", "COPY", "ADD"}, strings.ToUpper(kind)) {
				i.Docs = r.heredocs(rest)
			}
		}
		list = append(list, i)
	}
	return list, r.escape
}

// CutWord divides a line behind its first word.
func CutWord(line string) (word, rest string) {
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

// TakeFlags cuts off the words that begin with two dashes.
func (i *Instruction) TakeFlags(escape byte) {
	for strings.HasPrefix(i.Text, "--") {
		end := WordEnd(i.Text, escape)
		flag := strings.NewReplacer(`"`, "", `'`, "").Replace(i.Text[:end])
		i.Text = strings.TrimSpace(i.Text[end:])
		if flag == "--" {
			return
		}
		i.Flags = append(i.Flags, flag)
	}
}

// WordEnd returns where the first word of a text ends: at white space that is neither quoted nor escaped.
func WordEnd(text string, escape byte) int {
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
func (r *lineReader) heredocs(text string) (docs []Heredoc) {
	if !strings.Contains(text, "<<") {
		return nil
	}
	for _, word := range heredocWords(text) {
		m := HeredocWord.FindStringSubmatch(word)
		if m == nil || m[3] == "" {
			continue
		}
		h := Heredoc{Name: unquoted(m[3]), Chomp: m[2] == "-", Open: true}
		h.Quoted = h.Name != m[3]
		var content strings.Builder
		for h.Open && r.at < len(r.lines) {
			line := r.lines[r.at]
			r.at++
			end := strings.TrimRight(line, "\r")
			if h.Chomp {
				end = strings.TrimLeft(end, "\t")
			}
			if h.Open = end != h.Name; h.Open {
				content.WriteString(line + "\n")
			}
		}
		h.Content = content.String()
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
