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
	"cudacompat/probe/internal/input/requirements"

	"mvdan.cc/sh/v3/syntax"
)

// byEdit is why what a file holds that a command of the Dockerfile changed is not known.
const byEdit = "changes it, and that is not followed"

var (
	// listFile matches the names of files that installers read.
	listFile = lazyregexp.New(`\.(?:txt|in|pip|toml|lock|ya?ml|cfg|conf|list|req)$`)
	// readsOnly matches programs that leave the files alone which their words name, or change no line of them that counts.
	readsOnly = lazyregexp.New(`^(?:cat|echo|printf|grep|egrep|fgrep|head|tail|less|ls|test|\[|chmod|chown|chgrp|stat|file|wc|sort|diff|cmp|` +
		`rm|mkdir|touch|cd|find|du|dos2unix|sha\d+sum|md5sum|tar|zip|unzip|export|source|\.|git|curl|wget|true|false|:)$`)
	// outputOption matches the options behind which a program's output file stands.
	outputOption = lazyregexp.New(`^(?:-[a-zA-Z]*[oO]|--output|--output-file|--output-document|--out)$`)
)

// everyFile stands for all files among those that a command changed.
const everyFile = "*"

// changedFile returns why a file of the image is not known; empty where no command changed it.
func (f *dockerfile) changedFile(name string) string {
	what, ok := f.changedFiles[path.Base(name)]
	if !ok && listFile.MatchString(name) {
		what = f.changedFiles[everyFile]
	}
	if what == "" {
		return ""
	}
	return what + " " + byEdit
}

// renew notes that what a file holds is known from here on.
func (f *dockerfile) renew(name string) {
	delete(f.writtenFiles, name)
	f.changedFiles[name] = ""
}

// markChanged notes that a command changed a file.
func (s *script) markChanged(name string, list []string) {
	s.noteSettings(name)
	name = path.Base(name)
	delete(s.writtenFiles, name)
	s.changedFiles[name] = fmt.Sprintf("%s in line %d", path.Base(list[0]), s.number)
	if name == everyFile {
		for name, what := range s.changedFiles {
			s.changedFiles[name] = cmp.Or(what, s.changedFiles[everyFile])
		}
		clear(s.writtenFiles)
	}
}

// edits follows what a command does to files that an installer may read later: it copies one, sed edits one, a program
// writes one. What it cannot follow it notes.
func (s *script) edits(list []string, redirects []*syntax.Redirect, wrote bool) {
	s.redirects(list, redirects, wrote)
	at := installer.FindProgram(list)
	if at == len(list) {
		return
	}
	switch name, words := path.Base(list[at]), list[at+1:]; {
	case name == "cp" || name == "mv" || name == "ln" || name == "install":
		s.copies(list[at:], words)
	case name == "sed":
		s.sed(list[at:], words)
	case name == "tee" && wrote:
	case name == "git" && slices.ContainsFunc(words, func(word string) bool { return word == "apply" || word == "am" }),
		name == "patch" && !slices.ContainsFunc(words, listFile.MatchString):
		s.markChanged(everyFile, list[at:])
	case readsOnly.MatchString(name), installer.InstallerName.MatchString(name), installer.PipName.MatchString(name), installer.CondaName.MatchString(name),
		installer.PythonName.MatchString(name) && runsInstaller(words):
		s.outputs(list[at:], words)
	default:
		s.named(list[at:], words)
	}
}

// redirects notes the files that a command's output goes to, unless their text is known.
func (s *script) redirects(list []string, redirects []*syntax.Redirect, wrote bool) {
	for _, r := range redirects {
		name, _ := s.literalWord(r.Word)
		switch r.Op {
		case syntax.RdrOut, syntax.AppOut, syntax.RdrClob:
			if wrote && r.N == nil && !isDynamic(path.Base(name)) {
				continue
			}
		case syntax.RdrAll, syntax.AppAll:
		default:
			continue
		}
		switch {
		case strings.HasPrefix(name, "/dev/"):
		case strings.HasPrefix(path.Base(name), "$"):
			s.markChanged(everyFile, list)
		default:
			s.markChanged(name, list)
		}
	}
}

// fileWords matches the names of files in a program's text: open('requirements.txt', 'w').
var fileWords = lazyregexp.New(`[\w./-]+\.(?:txt|in|pip|toml|lock|ya?ml|cfg|conf)\b`)

// named notes the files that the words of a program name: any of them it may write.
func (s *script) named(list, words []string) {
	if path.Base(list[0]) == "pip-compile" { // it writes requirements.txt beside requirements.in
		s.markChanged("requirements.txt", list)
	}
	for _, word := range words {
		if strings.ContainsAny(word, " \n(;") {
			for _, name := range fileWords.FindAllString(word, -1) {
				s.markChanged(name, list[:1])
			}
			continue
		}
		if _, value, ok := strings.Cut(word, "="); ok {
			word = value
		}
		if listFile.MatchString(word) {
			s.markChanged(word, list)
		}
	}
}

// runsInstaller reports whether Python's words start an installer: -m pip install.
func runsInstaller(words []string) bool {
	i := slices.Index(words, "-m")
	return i >= 0 && i+1 < len(words) && (installer.InstallerName.MatchString(words[i+1]) || words[i+1] == "venv" || words[i+1] == "ensurepip")
}

// outputs notes the files that a program writes by an option, or that curl and wget fetch.
func (s *script) outputs(list, words []string) {
	for i, word := range words {
		option, value, joined := strings.Cut(word, "=")
		switch {
		case joined && outputOption.MatchString(option):
			s.markChanged(value, list)
		case i > 0 && outputOption.MatchString(words[i-1]) && listFile.MatchString(word),
			webAddress.MatchString(word) && listFile.MatchString(word) && (list[0] == "curl" || list[0] == "wget"):
			s.markChanged(word, list)
		}
	}
}

// copies follows cp, mv, ln and install with two files. A copy into a directory keeps the name.
func (s *script) copies(list, words []string) {
	var files []string
	for i, word := range words {
		valued := list[0] == "install" && i > 0 && slices.Contains([]string{"-m", "-o", "-g"}, words[i-1])
		if !strings.HasPrefix(word, "-") && !valued {
			files = append(files, word)
		}
	}
	if len(files) < 2 {
		return
	}
	target := files[len(files)-1]
	for _, name := range files[:len(files)-1] {
		if settingsFile.MatchString(name) || settingsFile.MatchString(target) {
			s.noteSettings(target)
			s.noteSettings(path.Join(target, path.Base(name)))
		}
	}
	if len(files) > 2 || strings.HasSuffix(target, "/") || path.Base(files[0]) == path.Base(target) || !listFile.MatchString(target) {
		return
	}
	if text, ok := s.textOf(files[0]); ok {
		s.make(target, text, false)
		return
	}
	s.markChanged(target, list)
}

// maxFollowed bounds the bytes of files that scripts, copies and edits read in one Dockerfile.
const maxFollowed = 8 << 20

// textOf returns what a file of the image holds that comes of the build context or that a command wrote.
func (f *dockerfile) textOf(name string) (text string, ok bool) {
	if isDynamic(name) || f.changedFile(name) != "" {
		return "", false
	}
	data, err := f.files.Read(requirements.Include{Name: f.find(name)})
	f.followed += len(data)
	return string(data), err == nil && len(data) <= maxScript && f.followed <= maxFollowed
}

// filters returns what cat, sed and grep -v print of files whose text is known.
func (s *script) filters(list []string) (text string, ok bool) {
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
		one, known := s.textOf(name)
		if !known || len(text)+len(one) > maxScript {
			return "", false
		}
		text += one
	}
	return c.Edit(text)
}

// sed follows sed -i, which edits files in place.
func (s *script) sed(list, words []string) {
	c, ok := sed.Parse(words)
	if !c.InPlace {
		return
	}
	for _, name := range c.Files {
		text, known := s.textOf(name)
		if known && ok {
			text, known = c.Edit(text)
		}
		switch {
		case known && ok:
			s.make(name, text, false)
		case listFile.MatchString(name):
			s.markChanged(name, list)
		}
	}
}
