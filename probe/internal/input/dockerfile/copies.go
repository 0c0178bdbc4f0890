package dockerfile

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/internal/input/uvlock"
)

// recursive matches the options by which cp copies directories.
var recursive = lazyregexp.New(`^-[a-zA-Z]*[raR]|^--(?:recursive|archive)$`)

// copies follows cp, mv, ln and install.
func (s *edit) copies(list, words []string) {
	files, dir := operands(list[0], words)
	target := ""
	switch {
	case dir != "":
		target = dir + "/"
	case len(files) < 2:
		return
	default:
		target, files = files[len(files)-1], files[:len(files)-1]
	}
	whole := list[0] != "cp" && list[0] != "install" || slices.ContainsFunc(words, recursive.MatchString)
	into := strings.HasSuffix(target, "/") || path.Base(target) == "." || path.Base(target) == ".." || len(files) > 1
	for _, source := range files {
		name := path.Base(source)
		switch {
		case settingsFile.MatchString(source) || settingsFile.MatchString(target):
			s.noteSettings(target)
			s.noteSettings(path.Join(target, name))
			fallthrough
		case listFile.MatchString(name):
			if into || !listFile.MatchString(target) {
				s.copyFile(list, source, path.Join(target, name))
			} else {
				s.copyFile(list, source, target)
			}
		case listFile.MatchString(target) && !into:
			s.copyFile(list, source, target)
		case whole || strings.Contains(name, "*"):
			s.copyTree(source, target, fmt.Sprintf("%s in line %d", list[0], s.number))
		}
	}
}

// operands returns the words of cp, mv, ln or install that are files, and the directory that -t names.
func operands(program string, words []string) (files []string, dir string) {
	if list := append(uvlock.OptionValues(words, "-t"), uvlock.OptionValues(words, "--target-directory")...); len(list) > 0 {
		dir = list[0]
	}
	for i, word := range words {
		valued := i > 0 && (words[i-1] == "-t" || program == "install" && slices.Contains([]string{"-m", "-o", "-g"}, words[i-1]))
		if !strings.HasPrefix(word, "-") && !valued {
			files = append(files, word)
		}
	}
	return files, dir
}

// copyFile notes the text of a file that is copied over another.
func (s *edit) copyFile(list []string, source, target string) {
	if s.absolutePath(source) == s.absolutePath(target) {
		return
	}
	text, ok := s.Text(source)
	switch {
	case ok:
		s.Write(target, text, false)
	case path.Base(source) != path.Base(target), s.changedFile(source) != "", s.mayHave(target):
		s.MarkChanged(target, list, s.number)
	}
}

// copyTree notes the files that a directory brings: those of the build context are known.
func (s *edit) copyTree(source, target, by string) {
	name := path.Base(source)
	content := name == "." || strings.Contains(name, "*")
	from := s.absolutePath(strings.TrimRight(source, "/"))
	if content {
		from = path.Dir(s.absolutePath(path.Join(path.Dir(source), "x")))
	}
	places := []string{target}
	if !content {
		places = append(places, path.Join(target, name))
		if strings.HasSuffix(target, "/") || s.exists(target) {
			places = places[1:]
		}
	}
	known := ""
	if s.filler(path.Join(from, "x")) == "" {
		known = s.contextPath(from)
	}
	for _, place := range places {
		if known == "" {
			s.fill(place, by)
			continue
		}
		s.copied = append(s.copied, copiedPath{source: known, target: strings.TrimSuffix(s.absolutePath(place), "/") + "/", stage: len(s.stages)})
	}
}

// exists reports whether a directory of the image is known to exist.
func (f *dockerfile) exists(dir string) bool {
	at := f.absolutePath(dir)
	return at == f.dir() || strings.HasPrefix(f.dir(), strings.TrimSuffix(at, "/")+"/") || slices.ContainsFunc(f.copied, func(c copiedPath) bool {
		return strings.HasPrefix(c.target, strings.TrimSuffix(at, "/")+"/")
	})
}

// contextPath returns the directory of the build context that was copied to a directory of the image; empty if none was.
func (f *dockerfile) contextPath(at string) string {
	for _, c := range slices.Backward(f.copied) {
		if rest, below := strings.CutPrefix(at+"/", strings.TrimSuffix(c.target, "/")+"/"); below {
			return path.Join(c.source, rest)
		}
	}
	return ""
}
