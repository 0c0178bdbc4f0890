package dockerfile

import (
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/internal/input/request"
	"cudacompat/probe/internal/input/requirements"
)

// pipValues are pip's options that take the next word and say nothing of what is installed.
var pipValues = []string{"-t", "--target", "--prefix", "--root", "--python", "-p", "--timeout", "--retries",
	"--cache-dir", "--proxy", "--cert",
	"--log", "--client-cert", "--exists-action", "--keyring-provider", "--use-feature", "--use-deprecated",
	"--trusted-host", "--progress-bar", "--platform", "--python-version", "--only-binary", "--no-binary",
	"--upgrade-strategy", "--no-build-isolation-package"}

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

// pip reads the words of one installation: options hold for it alone, and for the files that it names.
func (f *dockerfile) pip(args []string, number int, by string) step {
	r := &requirements.File{Includes: f.files}
	var projects []request.Package
	f.indexes(r)
	for i := 0; i < len(args); i++ {
		arg, next := args[i], ""
		if i+1 < len(args) {
			next = args[i+1]
		}
		switch {
		case arg == "--group" || strings.HasPrefix(arg, "--group="):
			f.unread("pip install "+strings.Join(args[i:], " "), inAnotherFile, number)
			i++
		case (arg == "-r" || arg == "--requirement" || arg == "--requirements") && isProjectFile(next):
			if i++; path.Base(next) != "pyproject.toml" || slices.ContainsFunc(args, isExtra) {
				f.unread("pip install -r "+next, inAnotherFile, number)
			} else {
				projects = append(projects, f.source(r, path.Dir(next), args, number, by)...)
			}
		case slices.Contains([]string{"-r", "--requirement", "-c", "--constraint"}, arg):
			if i++; strings.Contains(next, "$") {
				f.unread("pip install "+arg+" "+next, requirements.UnsetVariable, number)
			} else {
				r.Includes.Ask(f.find(next), strings.HasPrefix(strings.TrimLeft(arg, "-"), "c"))
			}
		case arg == "--torch-backend":
			r.Option(requirements.TorchBackend(next))
			i++
		case strings.HasPrefix(arg, "--torch-backend="):
			r.Option(requirements.TorchBackend(strings.TrimPrefix(arg, "--torch-backend=")))
		case pipIndex(arg):
			r.Option(strings.NewReplacer("--default-index", "--index-url", "--index ", "--extra-index-url ").Replace(arg+" ") +
				next)
			i++
		case slices.Contains(pipValues, arg):
			i++
		case printsFile.MatchString(arg):
			m := printsFile.FindStringSubmatch(arg)
			r.Includes.Ask(f.find(m[1]+m[2]), false)
		case strings.ContainsAny(arg, "`*"), strings.Contains(arg, "$("):
			f.unread("pip install "+arg, requirements.UnsetPattern, number)
		case strings.HasPrefix(arg, "--requirement="), strings.HasPrefix(arg, "--constraint="):
			name, value, _ := strings.Cut(arg, "=")
			r.Includes.Ask(f.find(value), name == "--constraint")
		case arg == "-e" || arg == "--editable":
			i++
			projects = append(projects, f.source(r, next, args, number, by)...)
		case strings.HasPrefix(arg, ".") || strings.HasPrefix(arg, "/"):
			projects = append(projects, f.source(r, arg, args, number, by)...)
		case strings.HasPrefix(arg, "-"):
			r.Option(arg)
		case !r.ReadLine(arg, number) && strings.Contains(arg, "$"):
			f.unread("pip install "+arg, requirements.UnsetVariable, number)
		}
	}
	r.ReadIncludes()
	f.files.Seen = r.Includes.Seen
	f.leftUnread = append(f.leftUnread, r.Unread...)
	list := append(r.Packages(), projects...)
	f.noteConfig(list, number)
	return step{list: list, forced: slices.ContainsFunc(args, forces), apart: slices.ContainsFunc(args, moves)}
}

// isProjectFile reports whether a file that uv takes as requirements is a project's own.
func isProjectFile(name string) bool {
	return slices.Contains([]string{"pyproject.toml", "setup.py", "setup.cfg"}, path.Base(name))
}

// isExtra reports whether an option of uv adds a project's optional packages.
func isExtra(option string) bool {
	return option == "--extra" || option == "--all-extras" || strings.HasPrefix(option, "--extra=")
}

// syncedFiles returns the words of an installation of the files that uv pip sync and pip-sync name.
func syncedFiles(args []string) []string {
	var list []string
	for i, arg := range args {
		if !strings.HasPrefix(arg, "-") && (i == 0 || !slices.Contains(pipValues, args[i-1]) && !pipIndex(args[i-1])) {
			list = append(list, "-r")
		}
		list = append(list, arg)
	}
	return list
}

// pipIndex reports whether an option's next word is a package index.
func pipIndex(option string) bool {
	return slices.Contains([]string{"-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--index",
		"--default-index"}, option)
}

// indexes reads the package indexes that the image's variables name.
func (f *dockerfile) indexes(r *requirements.File) {
	for _, name := range []string{"PIP_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX"} {
		if v := f.value(name); v.text != "" {
			r.Option("--index-url " + v.text)
		}
	}
	for _, name := range []string{"PIP_EXTRA_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_INDEX"} {
		for _, address := range strings.Fields(f.value(name).text) {
			if label, rest, ok := strings.Cut(address, "="); ok && !strings.Contains(label, ":") { // UV_INDEX=torch=https://…
				address = rest
			}
			r.Option("--extra-index-url " + address)
		}
	}
	for _, name := range []string{"PIP_FIND_LINKS", "UV_FIND_LINKS"} {
		if v := f.value(name); v.text != "" {
			r.Option("--find-links " + v.text)
		}
	}
	for _, name := range strings.Fields(f.value("PIP_REQUIREMENT").text) {
		r.Includes.Ask(f.find(name), false)
	}
	if v := f.value("UV_TORCH_BACKEND"); v.text != "" {
		r.Option(requirements.TorchBackend(v.text))
	}
}
