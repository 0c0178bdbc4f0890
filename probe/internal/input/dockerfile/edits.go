package dockerfile

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/internal/input/dockerfile/sed"
	"cudacompat/probe/internal/input/requirements"

	"mvdan.cc/sh/v3/syntax"
)

// byEdit is why what a file holds that a command of the Dockerfile changed is not known.
const byEdit = "changes this file, and that is not followed"

var (
	// listFile matches the names of files that installers read.
	listFile = lazyregexp.New(`\.(?:txt|in|pip|toml|lock|ya?ml|cfg|conf|list|req)$`)
	// readsOnly matches programs that leave the files alone which their words name, or change no line of them that counts.
	readsOnly = lazyregexp.New(`^(?:cat|echo|printf|grep|egrep|fgrep|head|tail|less|ls|test|\[|chmod|chown|chgrp|stat|file|wc|sort|diff|cmp|` +
		`rm|mkdir|touch|cd|find|du|dos2unix|sha\d+sum|md5sum|tar|zip|unzip|export|source|\.|git|curl|wget|true|false|:)$`)
	// outputOption matches the options behind which a program's output file stands.
	outputOption = lazyregexp.New(`^(?:-o|-O|--output|--output-file|--output-document|--out)$`)
)

// changedFile returns why a file of the image is not known; empty where no command changed it.
func (f *dockerfile) changedFile(name string) string {
	if what, ok := f.changedFiles[path.Base(name)]; ok {
		return what + " " + byEdit
	}
	return ""
}

// markChanged notes that a command changed a file.
func (s *script) markChanged(name string, list []string) {
	name = path.Base(name)
	delete(s.writtenFiles, name)
	s.changedFiles[name] = fmt.Sprintf("line %d: %s", s.number, strings.Join(list, " "))
	s.noteSettings(name)
}

// edits follows what a command does to files that an installer may read later: it copies one, sed edits one, a program
// writes one. What it cannot follow it notes.
func (s *script) edits(list []string, redirects []*syntax.Redirect, wrote bool) {
	if !wrote {
		for _, r := range redirects {
			name, ok := s.literalWord(r.Word)
			if ok && slices.Contains([]syntax.RedirOperator{syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll}, r.Op) {
				s.markChanged(name, list)
			}
		}
	}
	at := program(list)
	if at == len(list) {
		return
	}
	switch name, words := path.Base(list[at]), list[at+1:]; {
	case name == "cp" || name == "mv" || name == "ln" || name == "install":
		s.copies(list[at:], words)
	case name == "sed":
		s.sed(list[at:], words)
	case name == "tee" && wrote:
	case readsOnly.MatchString(name), installerName.MatchString(name), pipName.MatchString(name), condaName.MatchString(name),
		pythonName.MatchString(name) && runsInstaller(words):
		s.outputs(list[at:], words)
	default:
		for _, word := range words {
			if _, value, ok := strings.Cut(word, "="); ok {
				word = value
			}
			if listFile.MatchString(word) && !strings.ContainsAny(word, " \n") {
				s.markChanged(word, list[at:])
			}
		}
	}
}

// runsInstaller reports whether Python's words start an installer: -m pip install.
func runsInstaller(words []string) bool {
	i := slices.Index(words, "-m")
	return i >= 0 && i+1 < len(words) && (installerName.MatchString(words[i+1]) || words[i+1] == "venv" || words[i+1] == "ensurepip")
}

// outputs notes the files that a program writes by an option.
func (s *script) outputs(list, words []string) {
	for i, word := range words {
		option, value, joined := strings.Cut(word, "=")
		switch {
		case joined && outputOption.MatchString(option):
			s.markChanged(value, list)
		case i > 0 && outputOption.MatchString(words[i-1]) && listFile.MatchString(word):
			s.markChanged(word, list)
		}
	}
}

// copies follows cp, mv, ln and install with two files. A copy into a directory keeps the name.
func (s *script) copies(list, words []string) {
	words = slices.DeleteFunc(slices.Clone(words), func(word string) bool { return strings.HasPrefix(word, "-") })
	if len(words) != 2 || strings.HasSuffix(words[1], "/") || path.Base(words[0]) == path.Base(words[1]) || !listFile.MatchString(words[1]) {
		return
	}
	if text, ok := s.textOf(words[0]); ok {
		s.make(words[1], text, false)
		return
	}
	s.markChanged(words[1], list)
}

// textOf returns what a file of the image holds that comes of the build context or that a command wrote.
func (f *dockerfile) textOf(name string) (text string, ok bool) {
	if isDynamic(name) || f.changedFile(name) != "" {
		return "", false
	}
	data, err := f.files.Read(requirements.Include{Name: f.find(name)})
	return string(data), err == nil && len(data) <= maxScript
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
