package dockerfile

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/internal/input/dockerfile/installer"
	"cudacompat/probe/internal/input/dockerfile/shell"
	"cudacompat/probe/internal/input/uvlock"
)

// filledDir is a directory of the image into which an archive, a repository or another tree was unpacked. The names of
// its files are not known, so any file below it may have been replaced.
type filledDir struct {
	dir    string
	by     string // "tar in line 3"
	copied int    // how many paths had been copied before
	stage  int    // how many stages had begun
	number int    // counts what filled a directory
}

// maxFilled bounds the directories that are told apart. With more of them, any file may have been replaced.
const maxFilled = 64

// fill notes that a command or an instruction fills a directory.
func (f *dockerfile) fill(dir, by string) {
	if shell.IsDynamic(dir) { // any directory
		dir = "/"
	}
	f.fills++
	d := filledDir{dir: f.absolutePath(dir), by: by, copied: len(f.copied), stage: len(f.stages), number: f.fills}
	if len(f.filled) >= maxFilled {
		d.dir, f.filled = "/", nil
	}
	f.filled = append(f.filled, d)
}

// filler returns what filled a directory above a file after the file was last copied or written; empty if nothing did.
func (f *dockerfile) filler(name string) string {
	if len(f.filled) == 0 {
		return ""
	}
	at := f.absolutePath(name)
	for _, d := range slices.Backward(f.filled) {
		switch {
		case f.renewed[at] >= d.number:
			return ""
		case at != d.dir && !strings.HasPrefix(at, strings.TrimSuffix(d.dir, "/")+"/"):
		case slices.ContainsFunc(f.copied[min(d.copied, len(f.copied)):], func(c copiedPath) bool { return f.brings(c, at) }):
			return ""
		default:
			return d.by
		}
	}
	return ""
}

// stageFiller returns what filled a directory of an earlier stage, if nothing of the build context was copied there later.
func (f *dockerfile) stageFiller(source string) string {
	at := path.Join("/", source)
	isBelow := func(file, dir string) bool {
		return file == dir || strings.HasPrefix(file, strings.TrimSuffix(dir, "/")+"/")
	}
	for _, d := range slices.Backward(f.filled) {
		copied := slices.ContainsFunc(f.copied[min(d.copied, len(f.copied)):], func(c copiedPath) bool {
			return c.stage == d.stage && (isBelow(at, c.target) || isBelow(c.target, at))
		})
		if isBelow(at, d.dir) && !copied {
			return d.by
		}
	}
	return ""
}

// brings reports whether a copied path of the build context has the file at a path of the image.
func (f *dockerfile) brings(c copiedPath, at string) bool {
	target := strings.TrimSuffix(c.target, "/")
	rest, below := strings.CutPrefix(at, target+"/")
	return at == target || below && (path.Base(c.source) == rest || f.inContext(path.Join(c.source, rest)))
}

// inContext reports whether the build context has a file.
func (f *dockerfile) inContext(name string) bool {
	if f.context == nil {
		return false
	}
	there, asked := f.inside[name]
	if !asked {
		_, err := f.context(name)
		there = err == nil
		f.inside[name] = there
	}
	return there
}

var (
	// archiveFile matches the archives that ADD unpacks.
	archiveFile = lazyregexp.New(`(?i)\.(?:tar(?:\.\w+)?|tgz|tbz2?|txz|tzst|tlz)$`)
	// repository matches an address from which ADD fetches a whole repository.
	repository = lazyregexp.New(`^git@|^(?:https?|git|ssh)://\S+\.git(?:[#?]|$)`)
	// compressedFile matches the suffix that gunzip and others cut off a file's name.
	compressedFile = lazyregexp.New(`\.(?:gz|xz|bz2|zst|lz4|lzma)$`)
	unpacker       = lazyregexp.New(`^(?:tar|bsdtar|unzip|7z[azr]?|cpio|unrar)$`)
	startsOthers   = lazyregexp.New(`^(?:busybox|toybox|xargs|find|parallel|timeout|nohup|nice|ionice)$`)
	decompressor   = lazyregexp.New(`^(?:gunzip|unxz|bunzip2|unzstd|unlzma|unlz4|gzip|xz|bzip2|zstd|lz4|pigz)$`)
	tarExtracts    = lazyregexp.New(`^-?[a-zA-Z]*x[a-zA-Z]*$`)
	treeFetcher    = lazyregexp.New(`^(?:aws|gsutil|gcloud|rclone|azcopy|s5cmd|hf|huggingface-cli|rsync|scp|svn|hg|dvc|unar|unrar|cabextract)$`)
	// fetchVerb matches the words by which such a program copies a tree.
	fetchVerb = lazyregexp.New(`^(?:cp|sync|rsync|copy|copyto|download|clone|co|checkout|export|pull|get|x|e)$`)
)

// unpacks notes the directory that a command fills with files: tar -x, unzip, git clone.
func (s *edit) unpacks(name string, words []string) {
	if name != "tar" && name != "bsdtar" && !slices.ContainsFunc(words, func(w string) bool { return !strings.HasPrefix(w, "-") }) {
		words = append(words, ".")
	}
	if i := slices.IndexFunc(words, func(w string) bool { return unpacker.MatchString(path.Base(w)) }); i >= 0 && startsOthers.MatchString(name) {
		name, words = path.Base(words[i]), words[i+1:]
	}
	by := fmt.Sprintf("%s in line %d", name, s.number)
	if i := slices.IndexFunc(words, func(w string) bool { return archiveFile.MatchString(w) || path.Ext(w) == ".zip" }); i >= 0 {
		by = fmt.Sprintf("%s %s in line %d", name, words[i], s.number)
	}
	last := "."
	if len(words) > 0 && !strings.HasPrefix(words[len(words)-1], "-") {
		last = words[len(words)-1]
	}
	switch {
	case name == "tar" || name == "bsdtar" || name == "gtar":
		s.unpacksTar(words, by)
	case name == "unzip":
		if !slices.ContainsFunc(words, func(w string) bool { return lists.MatchString(w) }) {
			s.fill(optionOr(words, "-d", "."), by)
		}
	case name == "7z" || name == "7za" || name == "7zz" || name == "7zr":
		i := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "-o") })
		switch {
		case len(words) == 0 || words[0] != "x" && words[0] != "e":
		case i >= 0:
			s.fill(words[i][2:], by)
		default:
			s.fill(".", by)
		}
	case name == "cpio" && slices.ContainsFunc(words, func(w string) bool { return tarInput.MatchString(w) }), name == "jar", name == "unar", name == "unrar":
		s.fill(optionOr(words, "-D", "."), by)
	case name == "ar" && len(words) > 0 && strings.Contains(words[0], "x"):
		s.fill(".", by)
	case name == "dpkg-deb" && len(words) > 2 || name == "dpkg" && len(words) > 2 && (words[0] == "-x" || words[0] == "-X"):
		s.fill(last, by)
	case decompressor.MatchString(name):
		for _, w := range words {
			if file := compressedFile.ReplaceAllString(w, ""); file != w && listFile.MatchString(file) {
				s.MarkChanged(file, []string{name}, s.number)
			}
		}
	case name == "git":
		s.checksOut(words, by)
	case treeFetcher.MatchString(name) && (name == "rsync" || name == "scp" || slices.ContainsFunc(words, fetchVerb.MatchString)):
		s.fill(optionOr(words, "--local-dir", last), by)
	case installer.PythonName.MatchString(name):
		if i := slices.Index(words, "-m"); i >= 0 && i+2 < len(words) && (words[i+1] == "tarfile" || words[i+1] == "zipfile") &&
			(words[i+2] == "-e" || words[i+2] == "--extract") {
			s.fill(directoryAfter(words[i+3:], 1), by)
		}
	}
}

// pythonUnpacks matches a Python program that unpacks an archive.
var pythonUnpacks = lazyregexp.New(`\bextractall\b|\bunpack_archive\b|\bunpack_file\b`)

var (
	// lists matches the options by which unzip only prints.
	lists = lazyregexp.New(`^-[a-zA-Z]*[lptvzZ]`)
	// tarInput matches the option by which cpio unpacks.
	tarInput = lazyregexp.New(`^-[a-zA-Z]*i|^--extract$`)
)

// optionOr returns the value of an option, else another word.
func optionOr(words []string, option, missing string) string {
	if list := uvlock.OptionValues(words, option); len(list) > 0 {
		return list[len(list)-1]
	}
	return missing
}

// directoryAfter returns the word behind n operands, else the working directory.
func directoryAfter(words []string, n int) string {
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return strings.HasPrefix(w, "-") })
	if len(words) > n {
		return words[n]
	}
	return "."
}

// unpacksTar notes the directory that tar fills. Members that are named are the only files that it writes.
func (s *edit) unpacksTar(words []string, by string) {
	extracts, dir := false, "."
	for i, w := range words {
		switch {
		case w == "--extract" || w == "--get", (i == 0 || strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--")) && tarExtracts.MatchString(w):
			extracts = true
		case w == "--to-stdout":
			return
		case strings.HasPrefix(w, "--directory="):
			dir = strings.TrimPrefix(w, "--directory=")
		case strings.HasPrefix(w, "-C") && len(w) > 2:
			dir = w[2:]
		}
		if i+1 < len(words) && (w == "--directory" || strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && strings.HasSuffix(w, "C")) {
			dir = words[i+1]
		}
	}
	if extracts {
		s.fill(dir, by)
	}
}

// checksOut notes the directory that git fills.
func (s *edit) checksOut(words []string, by string) {
	dir := "."
	for len(words) > 1 && strings.HasPrefix(words[0], "-") {
		if words[0] == "-C" {
			dir = words[1]
		}
		if words[0] == "-C" || words[0] == "-c" {
			words = words[1:]
		}
		words = words[1:]
	}
	if len(words) == 0 {
		return
	}
	switch words[0] {
	case "clone":
		var operands []string
		for i, w := range words[1:] {
			if !strings.HasPrefix(w, "-") && !slices.Contains(cloneValues, words[i]) {
				operands = append(operands, w)
			}
		}
		switch {
		case len(operands) > 1:
			s.fill(path.Join(dir, operands[1]), by)
		case len(operands) == 1:
			s.fill(path.Join(dir, strings.TrimSuffix(path.Base(operands[0]), ".git")), by)
		}
	case "checkout", "pull", "reset", "restore", "switch", "merge", "rebase", "stash", "cherry-pick", "revert", "worktree":
		s.fill(dir, by)
	}
}

// cloneValues are the options of git clone that take the next word.
var cloneValues = []string{"-b", "--branch", "--depth", "-o", "--origin", "-c", "--config", "-j", "--jobs", "--filter", "--reference", "--template"}
