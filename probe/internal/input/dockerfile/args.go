package dockerfile

import (
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/internal/input/dockerfile/instruction"
	"cudacompat/probe/internal/input/dockerfile/shell"
)

// Arg is an ARG before a Dockerfile's first FROM.
type Arg struct {
	Name, Default string
	InFrom        bool // a FROM names it
}

// fromVariable matches a variable in a FROM.
var fromVariable = lazyregexp.New(`\$\{?(\w+)`)

// GlobalArgs returns the ARGs before a Dockerfile's first FROM that have a default, in their order.
func GlobalArgs(data []byte) (args []Arg) {
	list, escape := instruction.Parse(string(data))
	w := &dockerWords{escape: escape, of: func(string) shell.Value { return shell.Value{} }}
	at := map[string]int{} // where a name stands in args
	begun := false
	for _, i := range list {
		switch {
		case i.Name == "FROM":
			begun = true
			for _, m := range fromVariable.FindAllStringSubmatch(strings.Join(append(i.Flags, i.Text), " "), -1) {
				if n, ok := at[m[1]]; ok {
					args[n].InFrom = true
				}
			}
		case i.Name == "ARG" && !begun:
			for _, word := range w.split(i.Text) {
				name, text, ok := strings.Cut(word, "=")
				if n, again := at[name]; ok && again {
					args[n].Default = text
				} else if ok {
					at[name] = len(args)
					args = append(args, Arg{Name: name, Default: text})
				}
			}
		}
	}
	return args
}
