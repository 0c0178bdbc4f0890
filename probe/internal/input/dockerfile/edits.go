package dockerfile

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/internal/input/dockerfile/installer"
	"cudacompat/probe/internal/input/dockerfile/sed"
	"cudacompat/probe/internal/input/dockerfile/shell"
	"cudacompat/probe/internal/input/requirements"
)

// Why the text of a file is not known that a command of the Dockerfile changed.
const (
	byEdit = "changes it, and that is not followed"
	byFill = "brings or replaces it, and its files are not read"
)

var (
	// listFile matches the names of files that installers read.
	listFile = lazyregexp.New(`\.(?:txt|in|pip|toml|lock|ya?ml|cfg|conf|list|req)$`)
	// readsOnly matches programs that leave the files alone which their words name, or change no line of them that counts.
	readsOnly = lazyregexp.New(`^(?:cat|echo|printf|grep|egrep|fgrep|head|tail|less|ls|test|\[|chmod|chown|chgrp|stat|file|wc|sort|diff|cmp|` +
		`rm|mkdir|touch|cd|find|du|dos2unix|sha\d+sum|md5sum|tar|zip|unzip|export|source|\.|git|curl|wget|true|false|:)$`)
	// outputOption matches the options behind which a program's output file stands.
	outputOption = lazyregexp.New(`^(?:-[a-zA-Z]*[oO]|--output|--output-file|--output-document|--out)$`)
)

// edit is one command that changes files.
type edit struct {
	*dockerfile
	number int // of the instruction's line
}

// changedFile returns why a file of the image is not known; empty where no command changed it.
func (f *dockerfile) changedFile(name string) string {
	if by := f.filler(name); by != "" {
		return by + " " + byFill
	}
	what, ok := f.changedFiles[path.Base(name)]
	if !ok && listFile.MatchString(name) {
		what = f.changedFiles[shell.EveryFile]
	}
	if what == "" {
		return ""
	}
	return what + " " + byEdit
}

// renew notes that what a file holds is known from here on. A file of the same name in another directory keeps its mark.
func (f *dockerfile) renew(file string) {
	name, at := path.Base(file), f.absolutePath(file)
	f.renewed[at] = f.fills
	if changed := f.changedPaths[name]; f.changedFiles[name] != "" && changed != "" && changed != at && !shell.IsDynamic(changed) {
		return
	}
	delete(f.writtenFiles, name)
	f.changedFiles[name] = ""
}

// MarkChanged notes that a command changed a file.
func (f *dockerfile) MarkChanged(name string, list []string, number int) {
	f.noteSettings(name)
	at := f.absolutePath(name)
	name = path.Base(name)
	delete(f.writtenFiles, name)
	f.changedPaths[name] = at
	f.changedFiles[name] = fmt.Sprintf("%s in line %d", path.Base(list[0]), number)
	if name == shell.EveryFile {
		for name, what := range f.changedFiles {
			f.changedFiles[name] = cmp.Or(what, f.changedFiles[shell.EveryFile])
		}
		clear(f.writtenFiles)
	}
}

// Edit follows what a command does to files that an installer may read later: it copies one, sed edits one, a program
// writes one. What it cannot follow it notes.
func (f *dockerfile) Edit(list []string, number int, wrote bool) {
	s := &edit{dockerfile: f, number: number}
	at := installer.FindProgram(list)
	if at == len(list) {
		return
	}
	name, words := path.Base(list[at]), list[at+1:]
	s.unpacks(name, words)
	switch {
	case name == "cp" || name == "mv" || name == "ln" || name == "install":
		s.copies(list[at:], words)
	case name == "sed":
		s.sed(list[at:], words)
	case name == "tee" && wrote:
	case name == "git" && slices.ContainsFunc(words, func(word string) bool { return word == "apply" || word == "am" }),
		name == "patch" && !slices.ContainsFunc(words, listFile.MatchString):
		s.MarkChanged(shell.EveryFile, list[at:], s.number)
	case readsOnly.MatchString(name), installer.InstallerName.MatchString(name), installer.PipName.MatchString(name), installer.CondaName.MatchString(name),
		installer.PythonName.MatchString(name) && runsInstaller(words):
		s.outputs(list[at:], words)
	default:
		s.named(list[at:], words)
	}
}

// fileWords matches the names of files in a program's text: open('requirements.txt', 'w').
var fileWords = lazyregexp.New(`[\w./-]+\.(?:txt|in|pip|toml|lock|ya?ml|cfg|conf)\b`)

// named notes the files that the words of a program name: any of them it may write.
func (s *edit) named(list, words []string) {
	if path.Base(list[0]) == "pip-compile" { // it writes requirements.txt beside requirements.in
		s.MarkChanged("requirements.txt", list, s.number)
	}
	for _, word := range words {
		if strings.ContainsAny(word, " \n(;") {
			if pythonUnpacks.MatchString(word) {
				s.fill("/", fmt.Sprintf("%s in line %d", path.Base(list[0]), s.number))
			}
			for _, name := range fileWords.FindAllString(word, -1) {
				s.MarkChanged(name, list[:1], s.number)
			}
			continue
		}
		if _, value, ok := strings.Cut(word, "="); ok {
			word = value
		}
		if listFile.MatchString(word) {
			s.MarkChanged(word, list, s.number)
		}
	}
}

// runsInstaller reports whether Python's words start an installer: -m pip install.
func runsInstaller(words []string) bool {
	i := slices.Index(words, "-m")
	return i >= 0 && i+1 < len(words) && (installer.InstallerName.MatchString(words[i+1]) || words[i+1] == "venv" || words[i+1] == "ensurepip")
}

// outputs notes the files that a program writes by an option, or that curl and wget fetch.
func (s *edit) outputs(list, words []string) {
	for i, word := range words {
		option, value, joined := strings.Cut(word, "=")
		switch {
		case joined && outputOption.MatchString(option):
			s.MarkChanged(value, list, s.number)
		case i > 0 && outputOption.MatchString(words[i-1]) && listFile.MatchString(word),
			installer.WebAddress.MatchString(word) && listFile.MatchString(word) && (list[0] == "curl" || list[0] == "wget"):
			s.MarkChanged(word, list, s.number)
		}
	}
}

// maxFollowed bounds the bytes of files that scripts, copies and edits read in one Dockerfile.
const maxFollowed = 8 << 20

// Text returns what a file of the image holds that comes of the build context or that a command wrote.
func (f *dockerfile) Text(name string) (text string, ok bool) {
	if shell.IsDynamic(name) || f.changedFile(name) != "" {
		return "", false
	}
	data, err := f.files.Read(requirements.Include{Name: f.find(name)})
	f.followed += len(data)
	return string(data), err == nil && len(data) <= shell.MaxScript && f.followed <= maxFollowed
}

// Filter returns what cat, sed and grep -v print of files whose text is known.
func (f *dockerfile) Filter(list []string) (text string, ok bool) {
	name, words := path.Base(list[0]), list[1:]
	c, ok := sed.Call{}, true
	switch name {
	case "cat":
		c.Files = words
	case "sed":
		c, ok = sed.Parse(words)
	case "grep", "egrep":
		c, ok = sed.ParseGrep(words, name == "egrep")
	default:
		return "", false
	}
	if !ok || c.InPlace || len(c.Files) == 0 {
		return "", false
	}
	for _, name := range c.Files {
		one, known := f.Text(name)
		if !known || len(text)+len(one) > shell.MaxScript {
			return "", false
		}
		text += one
	}
	return c.Edit(text)
}

// Write notes a file of the image that the Dockerfile itself writes.
func (f *dockerfile) Write(name, text string, more bool) {
	before, known := "", true
	if more && listFile.MatchString(name) {
		before, known = f.Text(name)
		known = known || !f.mayHave(name)
	} else if more {
		before = f.writtenFiles[path.Base(name)]
	}
	f.noteSettings(name)
	file := name
	name = path.Base(name)
	if !known || len(before)+len(text) > requirements.MaxIncludeBytes {
		delete(f.writtenFiles, name)
		f.changedFiles[name] = "a command"
		return
	}
	f.renew(file)
	f.writtenFiles[name] = before + text
}

// sed follows sed -i, which edits files in place.
func (s *edit) sed(list, words []string) {
	c, ok := sed.Parse(words)
	if !c.InPlace {
		return
	}
	for _, name := range c.Files {
		text, known := s.Text(name)
		if known && ok {
			text, known = c.Edit(text)
		}
		switch {
		case known && ok:
			s.Write(name, text, false)
		case listFile.MatchString(name):
			s.MarkChanged(name, list, s.number)
		}
	}
}
