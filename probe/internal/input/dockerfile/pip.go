package dockerfile

import (
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/input/dockerfile/installer"
	"cudacompat/probe/internal/input/request"
	"cudacompat/probe/internal/input/requirements"
)

// forces reports whether an option makes pip replace what would do.
func forces(option string) bool {
	return slices.Contains([]string{"-U", "--upgrade", "--force-reinstall", "-I", "--ignore-installed", "--reinstall"},
		option)
}

// moves reports whether an option makes pip install into a directory or an environment of its own.
func moves(option string) bool {
	name, _, _ := strings.Cut(option, "=")
	return slices.Contains([]string{"-t", "--target", "--prefix", "--root", "--python", "-p"}, name)
}

// printsFile is a command whose output is a file's content: $(cat requirements.txt).
var printsFile = lazyregexp.New("^(?:\\$\\((?:cat|<) *([^\\s$`)]+)\\)|`cat ([^\\s$`]+)`)$")

// pipCall is one installation by pip or uv: its options hold for it alone, and for the files that it names.
type pipCall struct {
	*dockerfile
	file     *requirements.File
	args     []string
	number   int
	by       string
	projects []request.Package // of the directories that it names
}

// pip reads the words of one installation.
func (f *dockerfile) pip(args []string, number int, by string) step {
	c := &pipCall{dockerfile: f, file: &requirements.File{Includes: f.files}, args: args, number: number, by: by}
	left := f.settings(c.file, by)
	f.indexes(c.file)
	for i := 0; i < len(args); i++ {
		next := ""
		if i+1 < len(args) {
			next = args[i+1]
		}
		if c.joinNext(args[i], next) {
			i++
		} else {
			c.word(args[i])
		}
	}
	c.file.ReadIncludes()
	f.files.Seen = c.file.Includes.Seen
	f.leftUnread = append(f.leftUnread, c.file.Unread...)
	list := append(c.file.Packages(), c.projects...)
	if slices.Contains(args, "--no-deps") {
		for i := range list {
			list[i].NoDeps = true
		}
	}
	f.noteConfig(list, left, number)
	return step{list: list, forced: slices.ContainsFunc(args, forces), apart: slices.ContainsFunc(args, moves)}
}

// joinNext reads an option with the word behind it; it returns false for any other word.
func (c *pipCall) joinNext(arg, next string) bool {
	switch {
	case arg == "--group":
		c.notFollowed("pip install "+arg+" "+next, installer.InAnotherFile)
	case (arg == "-r" || arg == "--requirement" || arg == "--requirements") && isProjectFile(next):
		if path.Base(next) != "pyproject.toml" || slices.ContainsFunc(c.args, isExtra) {
			c.notFollowed("pip install -r "+next, installer.InAnotherFile)
		} else {
			c.projects = append(c.projects, c.source(c.file, path.Dir(next), c.args, c.number, c.by)...)
		}
	case slices.Contains([]string{"-r", "--requirement", "--requirements", "-c", "--constraint", "--constraints"}, arg):
		c.ask(arg, next)
	case otherFile.MatchString(arg) && !strings.Contains(arg, "="):
		c.notFollowed("pip install "+arg+" "+next, byConfig)
	case arg == "--torch-backend":
		c.file.Option(requirements.TorchBackend(next))
	case installer.IsIndexOption(arg):
		c.file.Option(strings.NewReplacer("--default-index", "--index-url", "--index ", "--extra-index-url ").Replace(arg+" ") + next)
	case arg == "-e" || arg == "--editable":
		c.projects = append(c.projects, c.source(c.file, next, c.args, c.number, c.by)...)
	default:
		return slices.Contains(installer.PipValues, arg)
	}
	return true
}

// word reads a word that no option takes: a requirement, a directory, or an option that stands by itself.
func (c *pipCall) word(arg string) {
	option, value, _ := strings.Cut(arg, "=")
	switch {
	case strings.HasPrefix(arg, "--group="):
		c.notFollowed("pip install "+arg, installer.InAnotherFile)
	case option == "--torch-backend":
		c.file.Option(requirements.TorchBackend(value))
	case printsFile.MatchString(arg):
		m := printsFile.FindStringSubmatch(arg)
		c.ask("-r", m[1]+m[2])
	case strings.ContainsAny(arg, "`*"), strings.Contains(arg, "$("):
		c.notFollowed("pip install "+arg, requirements.UnsetPattern)
	case slices.Contains([]string{"--requirement", "--requirements", "--constraint", "--constraints"}, option):
		c.ask(option, value)
	case otherFile.MatchString(option):
		c.notFollowed("pip install "+arg, byConfig)
	case strings.HasPrefix(arg, ".") || strings.HasPrefix(arg, "/"):
		c.projects = append(c.projects, c.source(c.file, arg, c.args, c.number, c.by)...)
	case strings.HasPrefix(arg, "-"):
		if !c.file.Option(arg) && installer.NamedBuild.MatchString(value) { // pipx install app --pip-args="torch==2.9.0"
			c.notFollowed("pip install "+arg, installer.ByUnfollowed)
		}
	case !c.file.ReadLine(arg, c.number) && strings.Contains(arg, "$"):
		c.notFollowed("pip install "+arg, requirements.UnsetVariable)
	}
}

// otherFile matches the options that name a file which changes what is installed, or lists it, and that is not read.
var otherFile = lazyregexp.New(`^(?:--overrides?|--excludes?|--requirements-from-script|--with-requirements)$`)

// ask puts a requirements file, or one of constraints, among those that are read.
func (c *pipCall) ask(option, name string) {
	switch why := c.changedFile(name); {
	case strings.Contains(name, "$"):
		c.notFollowed("pip install "+option+" "+name, requirements.UnsetVariable)
	case why != "":
		c.leftUnread = append(c.leftUnread, facts.Unread{Place: name, Reason: why, Kind: facts.UnreadNeeded})
	default:
		c.file.Includes.Ask(c.find(name), strings.HasPrefix(strings.TrimLeft(option, "-"), "c"))
	}
}

// notFollowed names a part of the command that is not followed.
func (c *pipCall) notFollowed(what, why string) { c.unread(what, why, c.number) }

// isProjectFile reports whether a file that uv takes as requirements is a project's own.
func isProjectFile(name string) bool {
	return slices.Contains([]string{"pyproject.toml", "setup.py", "setup.cfg"}, path.Base(name))
}

// isExtra reports whether an option of uv adds a project's optional packages.
func isExtra(option string) bool {
	return option == "--extra" || option == "--all-extras" || strings.HasPrefix(option, "--extra=")
}

// indexes reads the package indexes that the image's variables name.
func (f *dockerfile) indexes(r *requirements.File) {
	for _, name := range []string{"PIP_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX"} {
		if v := f.value(name); v.Text != "" {
			r.Option("--index-url " + v.Text)
		}
	}
	for _, name := range []string{"PIP_EXTRA_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_INDEX"} {
		for _, address := range strings.Fields(f.value(name).Text) {
			if label, rest, ok := strings.Cut(address, "="); ok && !strings.Contains(label, ":") { // UV_INDEX=torch=https://…
				address = rest
			}
			r.Option("--extra-index-url " + address)
		}
	}
	for _, name := range []string{"PIP_FIND_LINKS", "UV_FIND_LINKS"} {
		if v := f.value(name); v.Text != "" {
			r.Option("--find-links " + v.Text)
		}
	}
	for _, name := range []string{"PIP_REQUIREMENT", "PIP_CONSTRAINT", "UV_CONSTRAINT"} {
		for _, file := range strings.Fields(f.value(name).Text) {
			r.Includes.Ask(f.find(file), name != "PIP_REQUIREMENT")
		}
	}
	if v := f.value("UV_TORCH_BACKEND"); v.Text != "" {
		r.Option(requirements.TorchBackend(v.Text))
	}
}
