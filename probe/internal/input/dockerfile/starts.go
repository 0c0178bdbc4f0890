package dockerfile

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/probe/internal/input/dockerfile/installer"
	"cudacompat/probe/internal/input/dockerfile/instruction"
)

// onImage is why what an ONBUILD installs is not known.
const onImage = "it installs packages in the images that are built on this one"

// trigger notes the instruction that ONBUILD keeps for the stages and the images that are built on this one.
func (f *dockerfile) trigger(i *instruction.Instruction) {
	if len(f.stages) == 0 {
		return
	}
	later := &instruction.Instruction{Number: i.Number, Docs: i.Docs, List: i.List}
	later.Name, later.Text = instruction.CutWord(i.Text)
	later.Name = strings.ToUpper(later.Name)
	later.TakeFlags(f.escape)
	s := &f.stages[len(f.stages)-1]
	s.triggers = append(s.triggers, later)
}

// starting notes what a container starts: the last instruction of each kind holds.
func (f *dockerfile) starting(i *instruction.Instruction) {
	if len(f.stages) == 0 {
		return
	}
	kept := *i
	if kept.Name == "HEALTHCHECK" {
		_, kept.Text = instruction.CutWord(kept.Text)
		if json.Unmarshal([]byte(kept.Text), &kept.List) != nil {
			kept.List = nil
		}
	}
	f.stages[len(f.stages)-1].starts[i.Name] = &kept
}

// installsLater follows what the last stage installs when a container starts, and names what its triggers install.
func (f *dockerfile) installsLater() {
	if len(f.stages) == 0 {
		return
	}
	s := f.stages[len(f.stages)-1]
	for _, name := range []string{"ENTRYPOINT", "CMD", "HEALTHCHECK"} {
		if i := s.starts[name]; i != nil && installer.HasInstall(strings.Join(append([]string{i.Text}, strings.Join(i.List, " ")), "\n")) {
			f.run(i)
		}
	}
	for _, i := range s.triggers {
		text := i.Text
		for _, h := range i.Docs {
			text += "\n" + h.Body()
		}
		if i.Name == "RUN" && (installer.HasInstall(text) || installer.HasInstall(strings.Join(i.List, " "))) {
			f.unread("ONBUILD RUN "+i.Text, onImage, i.Number)
		}
	}
}

// runIn gives a RUN's text to the shell that SHELL names. A program that is no shell gets it as its last word.
func (f *dockerfile) runIn(text string, number int) {
	words := f.stages[len(f.stages)-1].shell
	if len(words) == 0 || slices.ContainsFunc(words, func(word string) bool {
		return installer.ShellName.MatchString(path.Base(word)) || strings.Contains(path.Base(word), "shell") || strings.HasSuffix(word, ".sh")
	}) {
		f.shells.Follow(text, number, version.Met, 0)
		return
	}
	f.command(append(slices.Clone(words), text), number, true)
}
