package given

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
)

var (
	dockerLine  = lazyregexp.New(`(?i)^(from|arg|env|run|copy|add)\s+(.*)$`)
	dockerStart = lazyregexp.New(`(?im)^\s*from\s+(--platform=\S+\s+)?"?[\w./:@${}-]+"?(\s+as\s+\S+)?\s*$`)
	heredoc     = lazyregexp.New(`<<-?\s*["']?(\w+)["']?`)
	imageName   = lazyregexp.New(`^(?:docker\.io/|mirror\.gcr\.io/|docker\.m\.daocloud\.io/)?(?:library/)?` +
		`([^:@]+(?::\d+/[^:@]+)?)(?::([^@]+))?(?:@\S+)?$`)
)

func isDockerfile(d Document) bool {
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
	steps       []step
}

// step is what one command of a Dockerfile installs or removes.
type step struct {
	list    []locked
	removes bool
	forced  bool   // what is there is replaced even where it would do
	apart   bool   // into a directory or an environment of its own
	script  func() // notes a script of the build context that is started, of which nothing is known
}

// dockerfile is one on its way into a list. Nothing is run: what a variable's default says is taken.
type dockerfile struct {
	files  includes
	values map[string]string // of ARG and ENV
	local  map[string]string // of the shell of the RUN that is read; empty: not known
	stages []stage
	copied []string // files of the build context that are copied in
	arch   string
	left   []facts.Unread
}

// readDockerfile reads what the last stage, and those that it is made of, are based on and install:
//
//	ARG CUDA=12.6.3
//	FROM nvidia/cuda:${CUDA}-runtime-ubuntu24.04 AS base
//	RUN pip install torch==2.9.0 --index-url https://download.pytorch.org/whl/cu126
func readDockerfile(d Document) (facts.Facts, error) {
	f := &dockerfile{files: newIncludes(d), values: map[string]string{}}
	f.instructions(string(d.Data))
	image, list := f.last() // before f.left is taken
	out := lockedFacts("Dockerfile", list, f.left)
	if image.Name != "" {
		if len(out.Environments) == 0 {
			out.Environments = []facts.Environment{{Kind: "Dockerfile", Active: true}}
		}
		out.Environments[0].Wanted = append([]facts.Wanted{image}, out.Environments[0].Wanted...)
	}
	out.System.Arch = f.arch
	return out, nil
}

// instructions reads line by line; a line that ends in a backslash goes on, comments between are no part of it.
func (f *dockerfile) instructions(text string) {
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		number, whole := i+1, ""
		for ; i < len(lines); i++ {
			line := strings.TrimSpace(lines[i])
			if strings.HasPrefix(line, "#") {
				continue
			}
			rest, more := strings.CutSuffix(line, "\\")
			whole += rest + " "
			if !more {
				break
			}
		}
		if m := heredoc.FindStringSubmatch(whole); m != nil && strings.HasPrefix(strings.ToUpper(whole), "RUN") {
			for i++; i < len(lines) && strings.TrimSpace(lines[i]) != m[1]; i++ {
				whole += "\n" + lines[i]
			}
		}
		if m := dockerLine.FindStringSubmatch(strings.TrimSpace(strings.ReplaceAll(whole, "\n", " ; "))); m != nil {
			f.instruction(strings.ToUpper(m[1]), m[2], number)
		}
	}
}

func (f *dockerfile) instruction(name, text string, number int) {
	switch name {
	case "FROM":
		f.from(words(f.expand(text)), number)
	case "ARG", "ENV":
		f.assign(name, f.expand(text))
	case "COPY", "ADD":
		f.copy(strings.Fields(f.expand(text)))
	case "RUN":
		if len(f.stages) > 0 {
			f.run(text, number)
		}
	}
}

func (f *dockerfile) from(fields []string, number int) {
	s := stage{number: number}
	for i, field := range fields {
		platform, ok := strings.CutPrefix(field, "--platform=")
		switch {
		case ok && strings.HasSuffix(platform, "/arm64"):
			f.arch = "aarch64"
		case ok || strings.HasPrefix(field, "--"):
		case s.image == "":
			s.image = f.blank(field)
		case strings.EqualFold(field, "as") && i+1 < len(fields):
			s.name = strings.ToLower(fields[i+1])
		}
	}
	s.needs = []string{strings.ToLower(s.image)}
	f.stages = append(f.stages, s)
}

// copy notes what a stage takes from others, and which files of the build context it takes.
func (f *dockerfile) copy(fields []string) {
	for _, field := range fields {
		if from, ok := strings.CutPrefix(field, "--from="); ok && len(f.stages) > 0 {
			s := &f.stages[len(f.stages)-1]
			s.needs = append(s.needs, strings.ToLower(from))
			return
		}
	}
	if len(fields) > 1 {
		f.copied = append(f.copied, fields[:len(fields)-1]...)
	}
}

func (f *dockerfile) unread(place, reason string, number int) {
	f.left = append(f.left, facts.Unread{Place: fmt.Sprintf("line %d: %s", number, place), Reason: reason,
		Kind: facts.UnreadNeeded})
}

// beside is where a file of the image lies in the build context: where COPY takes it from, else at its own path.
func (f *dockerfile) beside(name string) string {
	for _, source := range f.copied {
		if path.Base(source) == path.Base(name) {
			return strings.TrimPrefix(source, "/")
		}
	}
	if path.IsAbs(name) {
		return path.Base(name)
	}
	return name
}

// last is the image at the bottom of the last stage, and what is installed on the way up to it.
func (f *dockerfile) last() (facts.Wanted, []locked) {
	var image facts.Wanted
	var steps []step
	wanted := map[string]bool{}
	for i := range slices.Backward(f.stages) {
		s := f.stages[i]
		bottom := image.Name == "" && (i == len(f.stages)-1 || wanted["from "+s.name])
		if i < len(f.stages)-1 && !(s.name != "" && (wanted[s.name] || wanted["from "+s.name])) && !wanted[fmt.Sprint(i)] {
			continue
		}
		steps = append(slices.Clone(s.steps), steps...)
		for _, name := range s.needs {
			wanted[name] = true
		}
		if !bottom {
			continue
		}
		if f.stageNamed(s.needs[0], i) {
			wanted["from "+s.needs[0]] = true
		} else {
			image = f.imageOf(s)
		}
	}
	list := settled(steps)
	if i := slices.IndexFunc(steps, func(s step) bool { return s.script != nil }); i >= 0 && len(list) == 0 {
		steps[i].script()
	}
	return image, list
}

func (f *dockerfile) stageNamed(name string, before int) bool {
	return slices.ContainsFunc(f.stages[:before], func(s stage) bool { return s.name != "" && s.name == name })
}

// imageOf is the image of a FROM as a fact: "nvidia/cuda", "12.6.3-runtime-ubuntu24.04".
func (f *dockerfile) imageOf(s stage) facts.Wanted {
	if strings.Contains(s.image, "$") {
		f.unread("FROM "+s.image, "the image is named by an ARG without a default", s.number)
		return facts.Wanted{}
	}
	m := imageName.FindStringSubmatch(s.image)
	if m == nil || m[1] == "scratch" {
		return facts.Wanted{}
	}
	name := m[1]
	if strings.HasSuffix(name, "/nvidia/cuda") { // NVIDIA's own registry has it, too, and mirrors keep the name
		name = "nvidia/cuda"
	}
	return facts.Wanted{Name: name, Version: m[2], Origin: "image", From: fmt.Sprintf("line %d", s.number)}
}
