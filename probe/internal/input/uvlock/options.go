package uvlock

import (
	"slices"
	"strings"

	"cudacompat/probe/internal/input/document"
)

// Selection returns what the options of uv sync and uv run choose.
func (l *Lock) Selection(args []string) Selection {
	c := Selection{Extras: OptionValues(args, "--extra"), Groups: slices.Clone(l.groups), members: OptionValues(args, "--package"),
		everyMember: slices.Contains(args, "--all-packages")}
	every := func(of func(*Package) map[string][]Need) (names []string) {
		for i := range l.Package {
			if p := &l.Package[i]; p.member() {
				names = append(names, document.SortedKeys(of(p))...)
			}
		}
		return names
	}
	for _, word := range args {
		switch word {
		case "--all-extras":
			c.Extras = every(func(p *Package) map[string][]Need { return p.Optional })
		case "--all-groups":
			c.Groups = every(func(p *Package) map[string][]Need { return p.Groups })
		case "--no-default-groups":
			c.Groups = nil
		}
	}
	c.Groups = append(c.Groups, OptionValues(args, "--group")...)
	if only := OptionValues(args, "--only-group"); len(only) > 0 {
		c.Groups, c.groupsOnly = only, true
	}
	without := OptionValues(args, "--no-group")
	if slices.Contains(args, "--no-dev") {
		without = append(without, "dev")
	}
	c.Groups = slices.DeleteFunc(c.Groups, func(name string) bool { return slices.Contains(without, name) })
	without = OptionValues(args, "--no-extra")
	c.Extras = slices.DeleteFunc(c.Extras, func(name string) bool { return slices.Contains(without, name) })
	return c
}

// OptionValues returns the values of an option that may stand several times.
func OptionValues(list []string, option string) (values []string) {
	for i, word := range list {
		if value, ok := strings.CutPrefix(word, option+"="); ok {
			values = append(values, value)
		} else if i > 0 && list[i-1] == option {
			values = append(values, word)
		}
	}
	return values
}
