package pin

import (
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
)

// Install describes a change of a Python environment, independent of the installer.
type Install struct {
	Remove   []string // packages that go first: they own the same files
	Packages []string // requirements: "torch==2.9.0+cu126", "numpy<2"
	Index    string   // the package index; empty: the installer's own
	Extra    string   // others, for some of the packages, separated by spaces; empty: none
	NoDeps   bool     // and nothing that the packages require
	Again    bool     // also where the release is there: its files are not
	Upgrade  bool     // to the newest release
}

// Place is the environment to install into.
type Place struct {
	Python string // its interpreter; empty: whichever is active
	Target string // the directory of packages, where it is one and no environment
	NoPip  bool   // it has no pip of its own
}

// Commands returns the commands of pip and uv by the tool's name. It returns none if a name or a version, which then
// came from a file, is not valid.
func (i Install) Commands(at Place) map[string]string {
	commands := map[string]string{}
	if slices.ContainsFunc(i.Packages, invalidRequirement) || slices.ContainsFunc(i.Remove, invalidRequirement) {
		return commands
	}
	if !at.NoPip {
		commands["pip"] = i.pip(at)
	}
	commands["uv"] = i.uv(at)
	return commands
}

// Step returns the change as one step: pip's command, or uv's if there is no pip.
func (i Install) Step(at Place) string {
	commands := i.Commands(at)
	if pip, ok := commands["pip"]; ok {
		return pip
	}
	return commands["uv"]
}

// requirement matches a package with its releases. No match can be taken for an option.
var requirement = lazyregexp.New(`^[a-z0-9-]+ @ https://github\.com/[\w./+-]+\.whl$|^[A-Za-z0-9][\w.-]*(?:\[[\w.,-]+\])?(?:(?:[<>=!~]=?=?)[\w.*+!-]+(?:, *[<>=!~]=?=?[\w.*+!-]+)*)?$`)

// invalidRequirement reports whether a requirement is not safe to put into a command.
func invalidRequirement(spec string) bool { return !requirement.MatchString(spec) }

func (i Install) pip(at Place) string {
	program, place := []string{"pip"}, []string(nil)
	switch {
	case at.Target != "":
		// pip does not replace an existing copy in a directory unless told to upgrade, and it cannot uninstall from a
		// directory.
		place, i.Upgrade, i.Remove = []string{"--target", at.Target}, true, nil
	case at.Python != "":
		program = []string{at.Python, "-m", "pip"}
	}
	install := Command(slices.Concat(program, []string{"install"}, place, i.options("--force-reinstall"), i.Packages, i.index(), i.extraIndex())...)
	if len(i.Remove) == 0 {
		return install
	}
	return Sequence(Command(slices.Concat(program, []string{"uninstall"}, place, []string{"-y"}, i.Remove)...), install)
}

func (i Install) uv(at Place) string {
	var place []string
	switch {
	case at.Target != "":
		place = []string{"--target", at.Target}
	case at.Python != "":
		place = []string{"--python", at.Python}
	}
	install := Command(slices.Concat([]string{"uv", "pip", "install"}, place, i.options("--reinstall"), i.Packages, i.index(), i.extraIndex("--index-strategy", "unsafe-best-match"))...)
	if len(i.Remove) == 0 {
		return install
	}
	return Sequence(Command(slices.Concat([]string{"uv", "pip", "uninstall"}, place, i.Remove)...), install)
}

// options returns the options before the packages. again is the installer's option for reinstalling an installed
// package.
func (i Install) options(again string) []string {
	var list []string
	if i.NoDeps {
		list = append(list, "--no-deps")
	}
	if i.Upgrade {
		list = append(list, "--upgrade")
	}
	if i.Again {
		list = append(list, again)
	}
	return list
}

func (i Install) index() []string {
	if i.Index == "" {
		return nil
	}
	return []string{"--index-url", i.Index}
}

// extraIndex returns the options for additional indexes. uv takes a package from the first index that has it, unless
// told to search all.
func (i Install) extraIndex(strategy ...string) []string {
	if i.Extra == "" {
		return nil
	}
	var list []string
	for _, index := range strings.Fields(i.Extra) {
		list = append(list, "--extra-index-url", index)
	}
	return append(list, strategy...)
}
