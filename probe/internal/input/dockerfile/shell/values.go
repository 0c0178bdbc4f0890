package shell

import (
	"regexp"
	"strings"

	"cudacompat/internal/version"

	"mvdan.cc/sh/v3/pattern"
)

// Value is what is known of a variable.
type Value struct {
	Text  string
	List  []string // of an array
	State State
}

// State says whether the value of a variable is known.
type State int

const (
	Unset  State = iota // nothing gives it a value here; who builds the image may
	Hidden              // it has one, which this file does not tell
	Known
)

// A value grows if it is made of others (ENV A=$A$A). A longer one is not known: no version and no tag is that long.
const (
	MaxValue    = 4 << 10 // bytes of a variable's value
	MaxExpanded = 1 << 20 // bytes that the variables of one instruction may add to it
)

// ValueOf returns a text that is known, unless it is too long to be a version, a name or an address.
func ValueOf(text string) Value {
	if len(text) > MaxValue {
		return Value{State: Hidden}
	}
	return Value{Text: text, State: Known}
}

// Substitute returns what stands for ${NAME:-operand} and its kin: one that nothing sets has its default.
func (v Value) Substitute(operator, operand string) Value {
	colon := strings.HasPrefix(operator, ":")
	absent := v.State == Unset || colon && v.State == Known && v.Text == ""
	switch strings.TrimPrefix(operator, ":") {
	case "-", "=":
		if absent {
			return ValueOf(operand)
		}
	case "+":
		switch {
		case v.State == Hidden:
			return v
		case absent:
			return ValueOf("")
		}
		return ValueOf(operand)
	case "/", "//":
		return v.replace(operator == "//", operand)
	case "%", "%%", "#", "##":
		if v.State == Known {
			return ValueOf(trimPattern(v.Text, operator, operand))
		}
	case "^^":
		return Value{Text: strings.ToUpper(v.Text), State: v.State}
	case ",,":
		return Value{Text: strings.ToLower(v.Text), State: v.State}
	}
	return v
}

// replace returns what ${CUDA/./} makes of a value; from and to are divided by a slash.
func (v Value) replace(all bool, operand string) Value {
	from, to, _ := strings.Cut(operand, "/")
	glob := globOf(from, 0)
	if v.State != Known || from == "" || glob == nil {
		return v
	}
	most := 1
	if all {
		most = -1
	}
	var text strings.Builder
	rest := 0
	for _, at := range glob.FindAllStringIndex(v.Text, most) {
		text.WriteString(v.Text[rest:at[0]] + to)
		rest = at[1]
	}
	text.WriteString(v.Text[rest:])
	return ValueOf(text.String())
}

// trimPattern cuts off what a pattern matches: of the end for % and %%, of the start for # and ##; doubled, the longest.
func trimPattern(text, operator, operand string) string {
	glob := globOf(operand, pattern.EntireString)
	if glob == nil {
		return text
	}
	end, longest := operator[0] == '%', len(operator) == 2
	for i := range len(text) + 1 {
		cut := i // characters that are cut off
		if longest {
			cut = len(text) - i
		}
		head, tail := text[:cut], text[cut:]
		if end {
			tail, head = text[:len(text)-cut], text[len(text)-cut:]
		}
		if glob.MatchString(head) {
			return tail
		}
	}
	return text
}

// globOf returns a shell's pattern as an expression; nil for one that is none.
func globOf(glob string, mode pattern.Mode) *regexp.Regexp {
	text, err := pattern.Regexp(glob, mode)
	if err != nil {
		return nil
	}
	expression, err := regexp.Compile(text)
	if err != nil {
		return nil
	}
	return expression
}

// matches reports whether all of a text is what a shell's pattern means.
func matches(glob, text string) bool {
	expression := globOf(glob, pattern.EntireString)
	return expression != nil && expression.MatchString(text)
}

// truthOf returns a plain answer.
func truthOf(holds bool) version.Truth {
	if holds {
		return version.Met
	}
	return version.Unmet
}
