package guard

import (
	"slices"
	"strings"
)

// outputOptions name files that an installer writes.
var outputOptions = []string{"--report", "--log"}

// inputVariables name files that an installer reads besides those of its arguments.
var inputVariables = []string{"PIP_REQUIREMENT", "PIP_CONSTRAINT", "PIP_BUILD_CONSTRAINT", "UV_CONSTRAINT", "UV_OVERRIDE",
	"UV_BUILD_CONSTRAINT"}

// Inputs returns every text that may name a file which the installer reads: "-" is its standard input. Most of them name
// none. Of a cluster of letters each may be the option that takes the rest: -qrFILE is -q -r FILE.
func (c Command) Inputs(s Settings) []string {
	var list []string
	for before, arg := range c.Argv[1:] {
		name, value, _ := strings.Cut(arg, "=")
		switch {
		case slices.Contains(outputOptions, c.Argv[before]) || slices.Contains(outputOptions, name):
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
	for _, name := range inputVariables {
		list = append(list, strings.Fields(s.Getenv(name))...)
	}
	return slices.DeleteFunc(list, func(text string) bool { return text == "" })
}
