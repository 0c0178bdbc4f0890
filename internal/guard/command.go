// Package guard judges a change before it is made: it knows the installers' commands, runs their own dry runs, compares
// the verdicts before and after, and words what to ask for instead. Package probe foretells the facts, package matrix
// judges them, package report prints the forecast.
package guard

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
)

// Command is an installer's command, as it was typed.
type Command struct {
	Argv []string // the program and its arguments
	By   string   // "uv pip", "uv", "pip"
	Verb string   // "install", "sync", "uninstall"
	at   int      // where in Argv the verb stands
}

// Forms are the commands that are understood, for people.
const Forms = "uv pip install, uv pip sync, uv pip uninstall, uv sync, pip install, pip uninstall, python -m pip install"

var (
	pythonName = lazyregexp.New(`^python(\d+(\.\d+)?)?$`)
	pipName    = lazyregexp.New(`^pip(\d+(\.\d+)?)?$`)
)

// Parse recognises a command; the error says which are understood.
func Parse(argv []string) (Command, error) {
	if len(argv) == 0 {
		return Command{}, errors.New("no command is given")
	}
	c := Command{Argv: argv}
	rest := 1
	switch name := path.Base(argv[0]); {
	case name == "uv":
		c.By = "uv"
		if at := c.nextWord(1); at > 0 && argv[at] == "pip" {
			c.By, rest = "uv pip", at+1
		}
	case pipName.MatchString(name):
		c.By = "pip"
	case pythonName.MatchString(name) && len(argv) > 3 && argv[1] == "-m" && argv[2] == "pip":
		c.By, rest = "pip", 3
	default:
		return c, fmt.Errorf("guard does not know the installer %s", short(strings.Join(argv, " ")))
	}
	c.at = c.nextWord(rest)
	if c.at < 0 {
		return c, fmt.Errorf("%s says nothing to install", short(strings.Join(argv, " ")))
	}
	c.Verb = argv[c.at]
	known := map[string][]string{"uv pip": {"install", "sync", "uninstall"}, "uv": {"sync"}, "pip": {"install", "uninstall"}}
	if !slices.Contains(known[c.By], c.Verb) {
		return c, fmt.Errorf("guard does not know %s %s", c.By, short(c.Verb))
	}
	return c, c.checkDestination()
}

func short(text string) string {
	if len(text) > 60 {
		text = text[:60] + "..."
	}
	return fmt.Sprintf("%q", text)
}

// optionsWithValue are options of uv and pip, before and after the verb, whose value is the next argument.
var optionsWithValue = []string{"--directory", "--project", "--config-file", "--cache-dir", "--color", "--allow-insecure-host",
	"--python", "-p", "--log", "--proxy", "--retries", "--timeout", "--cert", "--client-cert", "--trusted-host",
	"--index-url", "-i", "--extra-index-url", "--index", "--default-index", "--find-links", "-f", "-r", "--requirement",
	"--requirements", "-c", "--constraint", "--constraints", "--override", "--overrides", "-b", "--build-constraints",
	"--extra", "--group", "--only-group", "--no-group", "--no-extra", "--target", "-t", "--prefix", "--root", "--src",
	"--platform", "--python-version", "--python-platform", "--implementation", "--abi", "--only-binary", "--no-binary",
	"--no-build-package", "--no-binary-package", "--index-strategy", "--keyring-provider", "--resolution", "--prerelease",
	"--torch-backend", "--link-mode", "--exclude-newer", "-P", "--upgrade-package", "--refresh-package",
	"--reinstall-package", "--no-build-isolation-package", "-C", "--config-setting", "--config-settings", "--report",
	"--upgrade-strategy", "--progress-bar", "--use-feature", "--use-deprecated", "--package", "--no-install-package",
	"-e", "--editable", "--script", "--exists-action", "--fork-strategy", "--config-settings-package", "--build-constraint"}

// nextWord returns the index of the next argument that is neither an option nor an option's value, or -1.
func (c Command) nextWord(from int) int {
	for i := from; i < len(c.Argv); i++ {
		switch arg := c.Argv[i]; {
		case arg == "--":
		case !strings.HasPrefix(arg, "-"):
			return i
		case slices.Contains(optionsWithValue, arg):
			i++
		}
	}
	return -1
}

// words returns the indexes of the arguments after the verb that are not options: the requirements.
func (c Command) words() []int {
	var list []int
	for at := c.nextWord(c.at + 1); at > 0; at = c.nextWord(at + 1) {
		list = append(list, at)
	}
	return list
}

// value returns an option's value, in either form, or false. If an option is given twice the last counts, as in pip; uv
// rejects it.
func (c Command) value(names ...string) (value string, ok bool) { return valueIn(c.Argv, names) }

func valueIn(argv, names []string) (value string, ok bool) {
	for i := 0; i < len(argv); i++ {
		for _, name := range names {
			arg := argv[i]
			if arg == name && i+1 < len(argv) && slices.Contains(optionsWithValue, name) {
				i++
				value, ok = argv[i], true
				break
			}
			if rest, found := strings.CutPrefix(arg, name); found && name == "-t" && rest != "" {
				value, ok = rest, true
			}
			if rest, found := strings.CutPrefix(arg, name+"="); found && strings.HasPrefix(name, "--") {
				value, ok = rest, true
			}
		}
	}
	return value, ok
}

func (c Command) has(name string) bool { return slices.Contains(c.Argv[c.at:], name) }

// checkDestination refuses what guard cannot follow to where it installs.
func (c Command) checkDestination() error {
	for _, option := range []string{"--prefix", "--root", "--user"} {
		if _, given := c.value(option); given || c.has(option) {
			return fmt.Errorf("guard does not follow %s: name the environment's own installer", option)
		}
	}
	if _, given := c.value("--script"); given && c.By == "uv" {
		return errors.New("guard does not follow --script: uv gives a script an environment of its own")
	}
	if arg := c.abbreviated(); arg != "" {
		return fmt.Errorf("guard does not follow %s: write out the option that it stands for", short(arg))
	}
	switch _, file := c.value("-r", "--requirement", "--requirements"); {
	case c.has("--dry-run"):
		return errors.New("guard makes the dry run itself: give --dry-run to guard, before the --")
	case c.By == "pip" && c.Verb == "uninstall" && file:
		return errors.New("pip has no dry run of uninstall: name the packages, not a file")
	}
	return nil
}

// quiet are the options that keep an installer from saying its plan.
var quiet = []string{"-q", "-qq", "-qqq", "--quiet", "-y", "--yes"}

// DryRun returns the command that shows what this one would do. ok is false if the installer has none and the arguments
// already say it.
func (c Command) DryRun() (argv []string, ok bool) {
	if c.By == "pip" && c.Verb == "uninstall" {
		return nil, false
	}
	argv = append(slices.Clone(c.Argv[:c.at+1]), "--dry-run")
	if c.By == "pip" {
		argv = append(argv, "--quiet", "--report", "-")
	}
	for _, arg := range c.Argv[c.at+1:] {
		if !slices.Contains(quiet, arg) {
			argv = append(argv, arg)
		}
	}
	return argv, true
}

// Bare returns the command that also installs requirements, if this one ignores them. ok is false if it does not ignore
// them, or if its plan lists them anyway, as pip's does.
func (c Command) Bare() (whole Command, ok bool) {
	whole = c
	whole.Argv = slices.Clone(c.Argv)
	switch {
	case c.By != "uv pip":
		return c, false
	case c.Verb == "sync":
		whole.Verb, whole.Argv[c.at] = "install", "install"
		for _, at := range slices.Backward(c.words()) {
			whole.Argv = slices.Insert(whole.Argv, at, "-r")
		}
		return whole, true
	}
	whole.Argv = slices.DeleteFunc(whole.Argv, func(arg string) bool { return arg == "--no-deps" })
	return whole, len(whole.Argv) < len(c.Argv)
}

// PackageNames returns the packages that the arguments name.
func (c Command) PackageNames() []string {
	var names []string
	for _, at := range c.words() {
		names = append(names, c.Argv[at])
	}
	return names
}

// Into returns the directory in --target, or "" if the packages go into an environment.
func (c Command) Into() string { dir, _ := c.value("--target", "-t"); return dir }

// Python returns the interpreter or the environment that the command names.
func (c Command) Python() string {
	names := []string{"--python"}
	if c.By != "pip" {
		names = append(names, "-p")
	}
	if python, given := valueIn(c.Argv[:c.at], names); given && c.By == "pip" {
		return python // pip starts this one, which leaves a --python behind the verb alone
	}
	python, _ := c.value(names...)
	return python
}

// BreaksSystem reports whether the caller lets pip change an externally managed environment.
func (c Command) BreaksSystem() bool { return c.has("--break-system-packages") }

// String returns the command as a shell takes it.
func (c Command) String() string { return Shell(c.Argv) }

var plainWord = lazyregexp.New(`^[A-Za-z0-9_./:=+@%,-]+$`)

// Shell returns a command for a shell: what it would read for itself is quoted.
func Shell(argv []string) string {
	var words []string
	for _, arg := range argv {
		if !plainWord.MatchString(arg) {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		words = append(words, arg)
	}
	return strings.Join(words, " ")
}
