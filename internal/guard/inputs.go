package guard

import (
	"bytes"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/pylines"
)

// outputOptions name files that an installer writes.
var outputOptions = []string{"--report", "--log"}

// inputVariables name files that an installer reads besides those of its arguments.
var inputVariables = []string{"PIP_REQUIREMENT", "PIP_CONSTRAINT", "PIP_BUILD_CONSTRAINT", "UV_CONSTRAINT", "UV_OVERRIDE",
	"UV_BUILD_CONSTRAINT", "PIP_CONFIG_FILE", "UV_CONFIG_FILE"}

// Inputs returns every text that may name a file which the installer reads: "-" is its standard input. Most of them name
// none.
func (c Command) Inputs(s Settings) []string {
	var args []string
	for before, arg := range c.Argv[1:] {
		name, _, _ := strings.Cut(arg, "=")
		if !slices.Contains(outputOptions, c.Argv[before]) && !slices.Contains(outputOptions, name) {
			args = append(args, arg)
		}
	}
	list := valuesIn(args)
	for _, name := range inputVariables {
		list = append(list, strings.Fields(s.Getenv(name))...)
	}
	if c.By == "pip" {
		list = append(list, c.pipInputs(s)...)
	}
	return slices.DeleteFunc(list, func(text string) bool { return text == "" })
}

// pipInputs returns the files that pip's configuration names.
func (c Command) pipInputs(s Settings) []string {
	var list []string
	for _, file := range pipFiles(s) {
		sections, _ := parseConfig(s.Read(file)) // what cannot be read is refused elsewhere
		for _, keys := range sections {
			for key, value := range keys {
				key = strings.TrimPrefix(strings.ReplaceAll(key, "_", "-"), "--")
				if slices.Contains([]string{"requirement", "constraint", "build-constraint"}, key) {
					list = append(list, strings.Fields(value)...)
				}
			}
		}
	}
	return list
}

// valuesIn returns arguments and the values of options. Of a cluster of letters each may be the option that takes the rest:
// -qrFILE is -q -r FILE.
func valuesIn(args []string) []string {
	var list []string
	for _, arg := range args {
		_, value, _ := strings.Cut(arg, "=")
		switch {
		case strings.HasPrefix(arg, "--"):
			list = append(list, value)
		case strings.HasPrefix(arg, "-") && arg != "-":
			for at := 2; at < len(arg); at++ {
				list = append(list, strings.TrimPrefix(arg[at:], "="))
				if arg[at] < 'A' || arg[at] > 'z' { // no letter: the rest is a value
					break
				}
			}
		default:
			list = append(list, arg)
		}
	}
	return list
}

// variableName matches the variables that pip and uv expand in requirements.
var variableName = lazyregexp.New(`\$\{([A-Z0-9_]+)\}`)

// Included returns the texts of a requirements file that may name a file which it includes, as "-r more.txt" does.
func Included(data []byte, getenv func(string) string) []string {
	if bytes.HasPrefix(data, []byte("PK")) || bytes.HasPrefix(data, []byte("\x1f\x8b")) {
		return nil // a wheel or an archive
	}
	text := strings.NewReplacer("\x00", "", "\ufeff", "", "\\\r\n", "", "\\\n", "", `"`, "", "'", "").Replace(string(data))
	var list []string
	for line := range pylines.Split(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), "-") {
			continue
		}
		line = variableName.ReplaceAllStringFunc(line, func(found string) string { return getenv(found[2 : len(found)-1]) })
		list = append(list, valuesIn(strings.Fields(line))...)
	}
	return slices.DeleteFunc(list, func(text string) bool { return text == "" })
}
