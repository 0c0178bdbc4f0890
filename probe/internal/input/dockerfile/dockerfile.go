// Package dockerfile reads what a Dockerfile installs: its instructions, its stages and their base images, and the
// packages that the commands of its RUN instructions name. Package shell follows the text of a RUN, package installer
// tells what a command installs, and package instruction splits the file.
//
// Nothing is run. A file of the image is known if it comes from the build context, or if the Dockerfile itself writes its
// text. What else may decide which packages are installed is named in Facts.Unread.
package dockerfile

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/input/dockerfile/installer"
	"cudacompat/probe/internal/input/dockerfile/instruction"
	"cudacompat/probe/internal/input/dockerfile/shell"
	"cudacompat/probe/internal/input/document"
	"cudacompat/probe/internal/input/request"
	"cudacompat/probe/internal/input/requirements"
)

var (
	dockerStart = lazyregexp.New(`(?im)^\s*from\s+(--platform=\S+\s+)?"?[\w./:@${}-]+"?(\s+as\s+\S+)?\s*$`)
	imageName   = lazyregexp.New(`^(?:docker\.io/|mirror\.gcr\.io/|docker\.m\.daocloud\.io/)?(?:library/)?` +
		`([^:@]+(?::\d+/[^:@]+)?)(?::([^@]+))?(?:@\S+)?$`)
)

func Is(d document.Document) bool {
	for line := range strings.Lines(string(d.Data)) {
		switch line = strings.TrimSpace(line); {
		case line == "" || strings.HasPrefix(line, "#"):
			continue
		case dockerStart.MatchString(line):
			return true
		}
		return strings.HasPrefix(strings.ToUpper(line), "ARG ") && dockerStart.Match(d.Data)
	}
	return false
}

// stage is one FROM of a Dockerfile with what is installed after it.
type stage struct {
	name, image string
	number      int      // of the line
	needs       []string // stages that it is made of, or copies from
	toolkit     bool     // CUDA's toolkit is installed in it
	dir         string   // WORKDIR
	steps       []step
	env         map[string]bool                     // variables that ENV has set
	values      map[string]shell.Value              // of ARG and ENV
	shell       []string                            // SHELL
	starts      map[string]*instruction.Instruction // CMD, ENTRYPOINT and HEALTHCHECK
	triggers    []*instruction.Instruction          // ONBUILD
	taken       []takenPath
	settings    []string // files of pip's and uv's settings that are in it
}

// step is what one command of a Dockerfile installs or removes.
type step struct {
	list    []request.Package
	removes bool
	whole   bool   // one resolution: of one name it may have several, for different Pythons
	forced  bool   // what is there is replaced even where it would do
	apart   bool   // into a directory or an environment of its own
	script  func() // notes a script or a program of which nothing is known
	any     bool   // it may install any package, whatever else is installed
}

// dockerfile is one on its way into a list. Nothing is run: what a variable's default says is taken.
type dockerfile struct {
	build Build
	// configured is set once a RUN has configured sources, which its "make install" then installs.
	configured   bool
	files        requirements.Includes
	escape       byte
	global       map[string]shell.Value // of the ARGs before the first FROM, which hold for FROM alone
	values       map[string]shell.Value // of the stage's ARGs and ENVs
	stages       []stage
	copied       []copiedPath                      // what comes of the build context
	moved        string                            // where cd has led the shell that is read
	writtenFiles map[string]string                 // files whose text the Dockerfile itself says, by their last name
	changedFiles map[string]string                 // files that a command changed in a way that is not followed, and the command
	changedPaths map[string]string                 // their paths in the stage that is read, by their last names
	context      func(name string) ([]byte, error) // opens a file of the build context; nil without one
	inside       map[string]bool                   // whether it has a file
	filled       []filledDir
	fills        int            // how often a directory was filled
	renewed      map[string]int // how many directories had been filled when a file was last known, by its path
	secrets      []string       // settings of pip and uv that one RUN gets from outside
	arch         string
	leftUnread   []facts.Unread

	shells   *shell.Reader // of its RUN instructions
	followed int           // bytes of files that its commands read
}

// Read reads what the last stage, and those that it is made of, are based on and install:
//
//	ARG CUDA=12.6.3
//	FROM nvidia/cuda:${CUDA}-runtime-ubuntu24.04 AS base
//	RUN pip install torch==2.9.0 --index-url https://download.pytorch.org/whl/cu126
func Read(d document.Document) (facts.Facts, error) { return ReadBuild(d, Build{}) }

// ReadBuild reads a Dockerfile as it is built.
func ReadBuild(d document.Document, b Build) (facts.Facts, error) {
	f := newDockerfile(d)
	f.build = b
	list, escape := instruction.Parse(string(d.Data))
	f.escape = escape
	for _, i := range list {
		if i.Name == "FROM" && f.isTarget() {
			break
		}
		f.shells.BeginInstruction()
		f.instruction(&i)
	}
	if b.Target != "" && !f.isTarget() {
		f.unread("the stage "+b.Target, "the Dockerfile has no stage of this name", 1)
	}
	f.installsLater()
	images, packages := f.last() // before f.left is taken
	out := request.Facts("Dockerfile", packages, f.leftUnread)
	if len(images) > 0 {
		if d.Typed {
			images[0].From = "command line"
		}
		if len(out.Environments) == 0 {
			out.Environments = []facts.Environment{{Kind: "Dockerfile", Active: true}}
		}
		out.Environments[0].Requested = append(images, out.Environments[0].Requested...)
	}
	out.System.Arch = f.arch
	return out, nil
}

// isTarget reports whether the stage that is read is the one that is wanted.
func (f *dockerfile) isTarget() bool {
	last := len(f.stages) - 1
	return f.build.Target != "" && last >= 0 &&
		(f.stages[last].name == strings.ToLower(f.build.Target) || strconv.Itoa(last) == f.build.Target)
}

func newDockerfile(d document.Document) *dockerfile {
	f := &dockerfile{files: requirements.NewIncludes(d), global: map[string]shell.Value{}, writtenFiles: map[string]string{},
		changedFiles: map[string]string{}, changedPaths: map[string]string{}, renewed: map[string]int{}, inside: map[string]bool{}}
	f.values, f.shells = f.global, shell.NewReader(f)
	beside := f.files.Open
	f.context = beside
	f.files.Open = func(name string) ([]byte, error) {
		if text, ok := f.writtenFiles[path.Base(name)]; ok {
			return []byte(text), nil
		}
		if why := f.changedFile(name); why != "" {
			return nil, errors.New(why)
		}
		if beside == nil {
			return nil, requirements.ErrNothingBeside
		}
		return beside(name)
	}
	return f
}

func (f *dockerfile) instruction(i *instruction.Instruction) {
	for _, h := range i.Docs {
		if h.Open {
			f.unread("<<"+h.Name, "the line that ends this text is missing", i.Number)
		}
	}
	switch i.Name {
	case "FROM":
		f.from(i)
	case "ARG":
		f.arg(i)
	case "ENV":
		f.env(i)
	case "COPY", "ADD":
		f.copy(i)
	case "WORKDIR":
		f.workdir(i)
	case "SHELL":
		if len(f.stages) > 0 {
			f.stages[len(f.stages)-1].shell = i.List
		}
	case "ONBUILD":
		f.trigger(i)
	case "CMD", "ENTRYPOINT", "HEALTHCHECK":
		f.starting(i)
	case "RUN":
		if len(f.stages) > 0 {
			f.run(i)
		}
	}
}

// words returns those of an instruction that BuildKit itself reads.
func (f *dockerfile) words(text string, of func(string) shell.Value) []string {
	w := &dockerWords{escape: f.escape, of: of}
	return w.split(text)
}

// value returns the value of a variable of the shell that runs, else that of the stage.
func (f *dockerfile) value(name string) shell.Value { return f.shells.Value(name) }

// Variable returns the value of a variable of the stage.
func (f *dockerfile) Variable(name string) shell.Value { return f.values[name] }

// arg declares variables: with their defaults, else with those that stand before the first FROM. ENV goes before ARG.
func (f *dockerfile) arg(i *instruction.Instruction) {
	for _, word := range f.words(i.Text, f.value) {
		name, text, ok := strings.Cut(word, "=")
		v := shell.ValueOf(text)
		if strings.Contains(text, "$") {
			v = shell.Value{State: shell.Hidden}
		}
		if !ok {
			v = f.global[name]
		}
		if given, ok := f.build.Args[name]; ok {
			v = shell.ValueOf(given)
		}
		if len(f.stages) == 0 || !f.stages[len(f.stages)-1].env[name] {
			f.values[name] = v
		}
	}
}

// env takes NAME=VALUE pairs, and the old form NAME VALUE. All of one instruction see the values before it.
func (f *dockerfile) env(i *instruction.Instruction) {
	if len(f.stages) == 0 {
		return
	}
	pairs := f.words(i.Text, f.value)
	if len(pairs) > 0 && !strings.Contains(pairs[0], "=") {
		pairs = []string{pairs[0] + "=" + strings.Join(pairs[1:], " ")}
	}
	s := &f.stages[len(f.stages)-1]
	for _, pair := range pairs {
		name, text, _ := strings.Cut(pair, "=")
		s.env[name] = true
		f.values[name] = shell.ValueOf(text)
		if strings.Contains(text, "$") {
			f.values[name] = shell.Value{State: shell.Hidden}
		}
	}
}

// from begins a stage. It sees what ARGs before the first FROM say, and inherits what its own image's stage has.
func (f *dockerfile) from(i *instruction.Instruction) {
	s := stage{number: i.Number, env: map[string]bool{}, values: map[string]shell.Value{}, starts: map[string]*instruction.Instruction{}}
	w := &dockerWords{escape: f.escape, of: func(name string) shell.Value { return f.global[name] }}
	for _, flag := range i.Flags {
		if platform, ok := strings.CutPrefix(flag, "--platform="); ok && strings.HasSuffix(w.word(platform), "/arm64") {
			f.arch = "aarch64"
		}
	}
	list := w.split(i.Text)
	if len(list) > 0 {
		s.image = list[0]
		if s.image == "" { // ARG IMAGE=
			s.image, _ = instruction.CutWord(i.Text)
		}
	}
	if len(list) > 2 && strings.EqualFold(list[1], "as") {
		s.name = strings.ToLower(list[2])
	}
	if context := f.build.Contexts[s.image]; imageContext.MatchString(context) {
		s.image = strings.TrimPrefix(context, "docker-image://")
	}
	s.needs = []string{strings.ToLower(s.image)}
	var triggers []*instruction.Instruction
	if at := f.stageOf(s.needs[0], len(f.stages)); at >= 0 {
		from := &f.stages[at]
		s.env, s.values, s.dir, s.shell = maps.Clone(from.env), maps.Clone(from.values), from.dir, from.shell
		s.starts, s.settings, triggers = maps.Clone(from.starts), slices.Clone(from.settings), from.triggers
	}
	f.values = s.values
	f.changedPaths = map[string]string{}
	f.stages = append(f.stages, s)
	for _, i := range triggers {
		f.instruction(i)
	}
}

// copy notes what a stage takes from others, which files of the build context it takes, and those whose text stands in
// the Dockerfile.
func (f *dockerfile) copy(i *instruction.Instruction) {
	list := i.List
	if list == nil {
		list = f.words(i.Text, f.value)
	}
	if len(list) < 2 {
		return
	}
	target := list[len(list)-1]
	for _, flag := range i.Flags {
		if from, ok := strings.CutPrefix(flag, "--from="); ok {
			w := &dockerWords{escape: f.escape, of: f.value}
			f.takeFrom(w.word(from), list[:len(list)-1], target, i.Number)
			return
		}
	}
	for _, h := range i.Docs {
		name := target
		if strings.HasSuffix(target, "/") || len(i.Docs) > 1 {
			name = h.Name
		}
		f.Write(name, h.Body(), false)
	}
	sources := slices.DeleteFunc(list[:len(list)-1], instruction.HeredocWord.MatchString)
	f.takes(sources, target)
	if i.Name == "ADD" {
		f.adds(sources, target, i.Number)
	}
}

// Unread notes what was not read. Scripts that are nested too deeply are named once, and not at each level.
func (f *dockerfile) Unread(place, reason string, number int) {
	if n := len(f.leftUnread); reason == shell.ByDepth && n > 0 && f.leftUnread[n-1].Reason == shell.ByDepth {
		return
	}
	f.unread(place, reason, number)
}

// adds notes what ADD brings from elsewhere: a fetched file, a repository, or the files of an archive.
func (f *dockerfile) adds(sources []string, target string, number int) {
	for _, source := range sources {
		name := path.Base(target)
		if strings.HasSuffix(target, "/") || target == "." || len(sources) > 1 {
			name = path.Base(source)
		}
		switch {
		case repository.MatchString(source), !installer.WebAddress.MatchString(source) && archiveFile.MatchString(source):
			f.fill(target, fmt.Sprintf("ADD %s in line %d", source, number))
		case installer.WebAddress.MatchString(source):
			f.MarkChanged(name, []string{"ADD"}, number)
		}
	}
}

func (f *dockerfile) unread(place, reason string, number int) {
	f.leftUnread = append(f.leftUnread, facts.Unread{Place: fmt.Sprintf("line %d: %s", number, place), Reason: reason,
		Kind: facts.UnreadNeeded})
}

// last returns the image at the bottom of the last stage, those that it takes packages from, and what is installed on the
// way up to it.
func (f *dockerfile) last() ([]facts.Requested, []request.Package) {
	var image facts.Requested
	var taken []facts.Requested
	var steps []step
	wanted := map[string]bool{}
	for i := range slices.Backward(f.stages) {
		s := f.stages[i]
		bottom := image.Name == "" && (i == len(f.stages)-1 || wanted["from "+s.name])
		if i < len(f.stages)-1 && !(s.name != "" && (wanted[s.name] || wanted["from "+s.name])) && !wanted[fmt.Sprint(i)] {
			continue
		}
		steps = append(slices.Clone(s.steps), steps...)
		taken = append(taken, f.takenImages(i)...)
		for _, name := range s.needs {
			wanted[name] = true
		}
		if !bottom {
			continue
		}
		if f.stageOf(s.needs[0], i) >= 0 {
			wanted["from "+s.needs[0]] = true
		} else {
			image = f.imageOf(s)
		}
	}
	if image.Name != "" {
		image.Require = f.values["NVIDIA_REQUIRE_CUDA"].Text // of the last stage
	}
	list := settle(steps)
	f.noteScripts(steps, len(list) > 0)
	return distinctImages(append([]facts.Requested{image}, taken...)), list
}

// noteScripts names the scripts that may install any package, and the first program that may be all that is installed.
func (f *dockerfile) noteScripts(steps []step, installs bool) {
	for _, s := range steps {
		if s.script != nil && (s.any || !installs) {
			s.script()
			installs = true
		}
	}
}

// distinctImages returns each of some images once.
func distinctImages(list []facts.Requested) (images []facts.Requested) {
	for _, image := range list {
		if image.Name != "" && !slices.ContainsFunc(images, func(other facts.Requested) bool {
			return other.Name == image.Name && other.Version == image.Version
		}) {
			images = append(images, image)
		}
	}
	return images
}

// stageOf returns the stage before another that a name means, -1 where it means none.
func (f *dockerfile) stageOf(name string, before int) int {
	for i := before - 1; i >= 0; i-- {
		if f.stages[i].name != "" && f.stages[i].name == name {
			return i
		}
	}
	return -1
}

// imageOf returns the image of a FROM as a fact: "nvidia/cuda", "12.6.3-runtime-ubuntu24.04".
func (f *dockerfile) imageOf(s stage) facts.Requested {
	if strings.Contains(s.image, "$") {
		f.unread("FROM "+s.image, "the image is named by an ARG without a default", s.number)
		return facts.Requested{}
	}
	m := imageName.FindStringSubmatch(s.image)
	if m == nil || m[1] == "scratch" {
		return facts.Requested{}
	}
	name := m[1]
	if strings.HasSuffix(name, "/nvidia/cuda") { // NVIDIA's own registry has it, too, and mirrors keep the name
		name = "nvidia/cuda"
	}
	return facts.Requested{Name: name, Version: m[2], Origin: "image", From: fmt.Sprintf("line %d", s.number)}
}
