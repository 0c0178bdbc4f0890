package dockerfile

import (
	"regexp"
	"strings"

	"cudacompat/internal/version"

	"mvdan.cc/sh/v3/pattern"
)

// value is what is known of a variable.
type value struct {
	text  string
	list  []string // of an array
	state valueState
}

type valueState int

const (
	unset  valueState = iota // nothing gives it a value here; who builds the image may
	hidden                   // it has one, which this file does not tell
	known
)

// Values grow where one is made of others (ENV A=$A$A). What is longer is not known: no version and no tag is.
const (
	maxValue    = 4 << 10 // bytes of a variable's value
	maxExpanded = 1 << 20 // bytes that the variables of one instruction may add to it
)

// valueOf returns a text that is known, unless it is too long to be a version, a name or an address.
func valueOf(text string) value {
	if len(text) > maxValue {
		return value{state: hidden}
	}
	return value{text: text, state: known}
}

// substitute returns what stands for ${NAME:-operand} and its kin: one that nothing sets has its default.
func (v value) substitute(operator, operand string) value {
	colon := strings.HasPrefix(operator, ":")
	absent := v.state == unset || colon && v.state == known && v.text == ""
	switch strings.TrimPrefix(operator, ":") {
	case "-", "=":
		if absent {
			return valueOf(operand)
		}
	case "+":
		switch {
		case v.state == hidden:
			return v
		case absent:
			return valueOf("")
		}
		return valueOf(operand)
	case "/", "//":
		return v.replace(operator == "//", operand)
	case "%", "%%", "#", "##":
		if v.state == known {
			return valueOf(trimPattern(v.text, operator, operand))
		}
	case "^^":
		return value{text: strings.ToUpper(v.text), state: v.state}
	case ",,":
		return value{text: strings.ToLower(v.text), state: v.state}
	}
	return v
}

// replace returns what ${CUDA/./} makes of a value; from and to are divided by a slash.
func (v value) replace(all bool, operand string) value {
	from, to, _ := strings.Cut(operand, "/")
	glob := globOf(from, 0)
	if v.state != known || from == "" || glob == nil {
		return v
	}
	most := 1
	if all {
		most = -1
	}
	var text strings.Builder
	rest := 0
	for _, at := range glob.FindAllStringIndex(v.text, most) {
		text.WriteString(v.text[rest:at[0]] + to)
		rest = at[1]
	}
	text.WriteString(v.text[rest:])
	return valueOf(text.String())
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
