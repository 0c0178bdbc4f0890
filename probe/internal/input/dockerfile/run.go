package dockerfile

import (
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/version"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/input/conda"
	"cudacompat/probe/internal/input/dockerfile/installer"
	"cudacompat/probe/internal/input/dockerfile/instruction"
	"cudacompat/probe/internal/input/dockerfile/shell"
	"cudacompat/probe/internal/input/request"
)

// run reads one RUN instruction: a shell script on its line or in a here-document, or a command in exec form.
func (f *dockerfile) run(i *instruction.Instruction) {
	f.configured = false
	f.shells.Local, f.moved = map[string]shell.Value{}, "" // a shell's settings end with it
	copied := len(f.copied)
	for _, flag := range i.Flags {
		f.mount(flag, i.Number)
	}
	mounted := len(f.copied)
	defer func() { f.copied, f.moved, f.secrets = slices.Delete(f.copied, copied, mounted), "", nil }() // so do mounts
	switch {
	case i.List != nil:
		f.readExecForm(i)
	case i.Simple():
		if body := i.Docs[0].Body(); !strings.HasPrefix(body, "#!") || shell.Shebang.MatchString(body) {
			f.shells.Follow(body, i.Number, version.Met, 0)
		} else if installer.PythonText.MatchString(body) || installer.HasInstall(body) {
			f.unread("<<"+i.Docs[0].Name, installer.ByHidden, i.Number)
		}
	default:
		text := i.Text
		for _, h := range i.Docs {
			text += "\n" + h.Content + h.Name
		}
		f.runIn(text, i.Number)
	}
	f.shells.Local = nil
}

// readExecForm reads a RUN instruction in exec form, a JSON array. No shell runs the command, so variables in it are not
// expanded, unless the command itself is a shell with a script ("sh", "-c").
func (f *dockerfile) readExecForm(i *instruction.Instruction) {
	if len(i.List) == 0 {
		return
	}
	if inner, ok := shell.InnerScript(i.List, ""); ok {
		f.shells.Follow(inner, i.Number, version.Met, 1)
		return
	}
	f.command(i.List, i.Number, true)
}

// mount notes what is there for one RUN: a file of the build context (--mount=type=bind,source=requirements.txt,target=r),
// another stage or image, and a secret that sets an index.
func (f *dockerfile) mount(flag string, number int) {
	text, ok := strings.CutPrefix(flag, "--mount=")
	if !ok {
		return
	}
	kind, source, target, from := "bind", "", "", ""
	for setting := range strings.SplitSeq(text, ",") {
		switch name, value, _ := strings.Cut(setting, "="); name {
		case "type":
			kind = value
		case "from":
			from = value
		case "source", "src":
			source = value
		case "target", "dst", "destination":
			target = value
		case "env":
			if secretSetting.MatchString(value) {
				f.secrets = append(f.secrets, "the secret "+value)
			}
		}
	}
	switch {
	case kind == "secret" && secretSetting.MatchString(target):
		f.secrets = append(f.secrets, "the secret "+target)
	case from != "" && kind != "secret":
		f.takeFrom(from, []string{source}, target, number)
	case kind == "bind":
		f.takes([]string{source}, target)
	}
}

// Start reads what a command of a shell does that is given input.
func (f *dockerfile) Start(list []string, input string, number int, sure bool) {
	if input != "" {
		f.writtenFiles["stdin"], f.writtenFiles["-"] = input, input // pip install -r /dev/stdin
	}
	f.configured = f.configured || slices.Contains(installer.Configurers, path.Base(list[0]))
	if what := installer.FindHidden(list, input, f.configured); what != "" {
		f.unread(what, installer.ByHidden, number)
	}
	f.command(list, number, sure)
}

// command reads what one command installs; sure is false where a condition decides that the file does not answer.
func (f *dockerfile) command(list []string, number int, sure bool) {
	if len(list) > 1 && list[0] == "cd" && sure {
		f.moved = f.absolutePath(list[1])
	}
	t := installer.Find(list)
	if t.Does == installer.Nothing {
		if what := installer.FindUnfollowed(list); what != "" {
			f.unread(what, installer.ByUnfollowed, number)
		}
		f.configure(list)
	}
	done := f.done(t, number, sure)
	for i := range done.list {
		if p := &done.list[i]; !sure && p.Name != "python" {
			p.Version, p.Specifier, p.Direct = "", facts.Conditional, false
		}
	}
	if len(done.list) > 0 || done.script != nil {
		s := &f.stages[len(f.stages)-1]
		s.steps = append(s.steps, done)
	}
	if at := slices.Index(list, "run") + 1; t.By == "uv run" && at > 0 {
		if rest := list[at+len(t.Args):]; len(rest) > 0 {
			f.command(rest, number, sure)
		}
	}
}

// done returns what a tool does to the image.
func (f *dockerfile) done(t installer.Tool, number int, sure bool) step {
	switch t.Does {
	case installer.Installs:
		done := f.pip(t.Args, number, t.By)
		done.apart = done.apart || t.Apart
		return done
	case installer.Removes:
		if sure {
			return step{removes: true, list: f.pip(t.Args, number, t.By).list}
		}
	case installer.AddsByConda:
		return step{list: f.conda(t.Args, number)}
	case installer.InstallsFromFile:
		return f.project(t, number)
	case installer.MayInstall:
		if t.Script && path.Ext(t.Command) == ".py" {
			if text, ok := f.Text(t.Command); ok && !installer.StartsInstaller(text) {
				return step{}
			}
		}
		return step{any: t.Script, script: func() { f.unread(t.Command, t.Reason, number) }}
	case installer.BringsToolkit:
		f.stages[len(f.stages)-1].toolkit = true
	case installer.Compiles:
		if f.forGPU(t.Command) || !f.configured && strings.HasPrefix(t.Command, "make") {
			return step{script: func() { f.unread(t.Command, t.Reason, number) }}
		}
	}
	return step{}
}

// gpuBuild are the words of an image, or of a command, by which what is compiled there is for the GPU.
var gpuBuild = lazyregexp.New(`(?i)cuda|cublas|nvcc|\bgpu`)

// forGPU reports whether what a command compiles may be for the GPU: by its own words, or in an image of the toolkit.
func (f *dockerfile) forGPU(command string) bool {
	last := f.stages[len(f.stages)-1]
	image, toolkit := last.image, last.toolkit
	for _, s := range slices.Backward(f.stages) {
		if s.name != "" && s.name == strings.ToLower(image) {
			image, toolkit = s.image, toolkit || s.toolkit
		}
	}
	return toolkit || gpuBuild.MatchString(command) || strings.Contains(image, "nvidia/cuda")
}

// condaValues are conda's options that take the next word.
var condaValues = []string{"-n", "--name", "-p", "--prefix", "-r", "--root-prefix", "-c", "--channel", "-f", "--file"}

// fileOption matches conda's option before a file, and other options that stand with it: -yf env.yml.
var fileOption = lazyregexp.New(`^-[a-z]*f$`)

// conda returns the packages that conda's command line, and the files in it, name.
func (f *dockerfile) conda(list []string, number int) []request.Package {
	c := &conda.List{}
	for i, word := range list {
		switch {
		case i > 0 && (list[i-1] == "--file" || fileOption.MatchString(list[i-1])), strings.HasPrefix(word, "--file="):
			f.condaFile(c, strings.TrimPrefix(word, "--file="), number)
		case i > 0 && slices.Contains(condaValues, list[i-1]), strings.HasPrefix(word, "-"):
		case conda.SpecText.MatchString(word):
			c.Spec(word)
		}
	}
	return c.Resolved()
}

// settle returns what is there in the end: of one name the last release that was asked for, unless what is there will
// do.
func settle(steps []step) []request.Package {
	var list, apart []request.Package
	at := map[string]int{} // where a name stands in list
	for _, s := range steps {
		first := len(list)
		for _, p := range s.list {
			i, there := at[p.Name]
			if s.whole && there && i < first { // the resolution replaces what is there
				list[i], there = request.Package{}, false
			}
			switch {
			case s.apart:
				apart = append(apart, p)
			case s.removes && there:
				list[i] = request.Package{}
				delete(at, p.Name)
			case s.removes:
			case s.whole && there && i >= first: // of the same resolution
				list = append(list, p)
			case !there:
				at[p.Name] = len(list)
				list = append(list, p)
			case s.forced || !isMet(p, list[i]):
				list[i] = p
			}
		}
	}
	return append(slices.DeleteFunc(list, func(p request.Package) bool { return p.Name == "" }), apart...)
}

// isMet reports whether an installed package is what another one asks for, so that pip and conda leave it. A condition
// that nobody answers may replace it.
func isMet(p, have request.Package) bool {
	if p.Direct || p.Specifier == facts.Conditional {
		return false
	}
	asked := p.Specifier
	if p.Version != "" {
		asked = "==" + p.Version
	}
	wanted, err := version.ParseSpecifiers(asked)
	if release := have.Full(); err == nil && release != "" {
		return wanted.Has(release)
	}
	return p.Version == ""
}
