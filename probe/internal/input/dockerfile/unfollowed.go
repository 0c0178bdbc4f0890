package dockerfile

import (
	"path"
	"slices"
	"strings"

	"cudacompat/probe/internal/input/dockerfile/installer"

	"mvdan.cc/sh/v3/syntax"
)

// Why what an installer does is not known.
const (
	byUnfollowed = "it may install packages, and this form of the command is not followed"
	byDepth      = "it may install packages, and functions or scripts that call one another this deeply are not followed"
	byConfig     = "it may choose another index or other releases, and it was not read"
)

// noteSubstitutions names the substitutions of a script that install packages: x=$(pip install torch).
func (f *dockerfile) noteSubstitutions(file *syntax.File, text string, number int) {
	syntax.Walk(file, func(node syntax.Node) bool {
		switch node.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			from, to := int(node.Pos().Offset()), int(node.End().Offset())
			if from <= to && to <= len(text) && installer.HasInstall(text[from:to]) {
				f.unread(text[from:to], byUnfollowed, number)
				return false
			}
		}
		return true
	})
}

// configFiles are the variables that name files which change what pip and uv install.
var configFiles = []string{"UV_OVERRIDE", "UV_CONFIG_FILE", "PIP_CONFIG_FILE"}

// configure keeps the index that "pip config set global.index-url" names, as the variable of the same meaning does.
func (f *dockerfile) configure(list []string) {
	i := slices.Index(list, "config")
	if i < 1 || !installer.PipName.MatchString(path.Base(list[i-1])) {
		return
	}
	words := slices.DeleteFunc(slices.Clone(list[i+1:]), func(w string) bool { return strings.HasPrefix(w, "-") })
	if len(words) < 3 || words[0] != "set" {
		return
	}
	_, key, _ := strings.Cut(strings.ReplaceAll(words[1], "_", "-"), ".")
	if slices.Contains([]string{"index-url", "extra-index-url", "find-links", "constraint", "requirement"}, key) {
		f.values["PIP_"+strings.ToUpper(strings.ReplaceAll(key, "-", "_"))] = valueOf(words[2])
	}
}
