package given

import (
	"bytes"
	"cmp"
	"path"
	"strings"

	"cudacompat/internal/lazyregexp"
)

// dockerValue matches a variable, with what the shell does to its value: ${CUDA:-12.6}, ${CUDA/./}, ${CUDA%%.*}.
var dockerValue = lazyregexp.New(`\$(?:\{(\w+)(?:(:?-|:?\+|//?|%%?|##?)([^}]*))?\}|(\w+))`)

// Values grow where one is made of others (ENV A=$A$A). What is longer is not known: no version and no tag is.
const (
	maxValue    = 4 << 10 // bytes of a variable's value
	maxExpanded = 1 << 20 // bytes that the variables of one instruction may add to it
)

// keep notes a variable's value, or that it is not known any more.
func keep(values map[string]string, name, value string) {
	if len(value) > maxValue {
		value = ""
	}
	values[name] = value
}

// value is that of a variable of the shell that runs, else of the image; empty where it is not known.
func (f *dockerfile) value(name string) string {
	if value, ok := f.local[name]; ok {
		return value
	}
	return f.values[name]
}

// assign takes NAME=VALUE pairs, and ENV's old form NAME VALUE. An ARG of a stage without a default keeps the global's.
func (f *dockerfile) assign(kind, text string) {
	for _, word := range words(text) {
		if key, value, ok := strings.Cut(word, "="); ok {
			keep(f.values, key, value)
		}
	}
	if key, value, ok := strings.Cut(text, " "); ok && kind == "ENV" && !strings.Contains(key, "=") {
		keep(f.values, key, strings.TrimSpace(value))
	}
}

// expand puts the values of variables in, or their defaults; what has neither is left as it stands.
func (f *dockerfile) expand(text string) string {
	added := 0
	return dockerValue.ReplaceAllStringFunc(text, func(variable string) string {
		if added > maxExpanded {
			return variable
		}
		value := f.expanded(variable)
		added += len(value)
		return value
	})
}

// blank puts nothing in for those variables of an image's name whose default is nothing (ARG SUFFIX="").
func (f *dockerfile) blank(image string) string {
	name := dockerValue.ReplaceAllStringFunc(image, func(variable string) string {
		m := dockerValue.FindStringSubmatch(variable)
		if value, given := f.values[m[1]+m[4]]; given && value == "" {
			return ""
		}
		return variable
	})
	return cmp.Or(name, image)
}

// expanded is what stands for one variable.
func (f *dockerfile) expanded(variable string) string {
	m := dockerValue.FindStringSubmatch(variable)
	value, operator, operand := f.value(m[1]+m[4]), m[2], m[3]
	switch {
	case strings.HasSuffix(operator, "+"):
		if value == "" {
			return ""
		}
		return operand
	case value == "" && strings.HasSuffix(operator, "-"):
		return cmp.Or(operand, variable)
	case value == "":
		return variable
	}
	return altered(value, operator, operand)
}

// altered is a value after what the shell does to it.
func altered(value, operator, operand string) string {
	switch operator {
	case "/", "//":
		from, to, _ := strings.Cut(operand, "/")
		if from == "" {
			return value
		}
		return strings.Replace(value, from, to, map[string]int{"/": 1, "//": -1}[operator])
	case "%", "%%", "#", "##":
		return trimmed(value, operator, operand)
	}
	return value
}

// trimmed cuts off what a pattern matches: of the end for % and %%, of the start for # and ##; doubled, the longest.
func trimmed(value, operator, pattern string) string {
	end, longest := operator[0] == '%', len(operator) == 2
	for i := range len(value) + 1 {
		cut := i // characters that are cut off
		if longest {
			cut = len(value) - i
		}
		head, tail := value[:cut], value[cut:]
		if end {
			tail, head = value[:len(value)-cut], value[len(value)-cut:]
		}
		if ok, _ := path.Match(pattern, head); ok {
			return tail
		}
	}
	return value
}

// words splits a command as a shell does, as far as quotes go; what another command prints ($(…), `…`) is one word.
func words(text string) []string {
	var list []string
	var word bytes.Buffer
	quote, begun, depth := byte(0), false, 0
	for i := range len(text) {
		c := text[i]
		switch {
		case quote == '`':
			word.WriteByte(c)
			if c == quote {
				quote = 0
			}
		case quote != '\'' && c == '(' && (depth > 0 || i > 0 && text[i-1] == '$'):
			word.WriteByte(c)
			depth++
		case depth > 0:
			word.WriteByte(c)
			if c == ')' {
				depth--
			}
		case quote == 0 && c == '`':
			word.WriteByte(c)
			quote, begun = c, true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, begun = c, true
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n'):
			if begun {
				list = append(list, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteByte(c)
			begun = true
		}
	}
	if begun {
		list = append(list, word.String())
	}
	return list
}
