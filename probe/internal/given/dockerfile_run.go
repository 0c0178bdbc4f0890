package given

import (
	"path"
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/probe/facts"
)

// run reads the commands of one RUN.
func (f *dockerfile) run(text string, number int) {
	f.local = map[string]string{} // a shell's settings end with it
	defer func() { f.local = nil }()
	sh := &shell{list: version.Met}
	for _, c := range splitShell(runText(text)) {
		command, reached := sh.next(c[0], f.expand(c[1]))
		if reached == version.Unmet || shellSays.MatchString(command) {
			continue
		}
		if m := shellSetting.FindStringSubmatch(command); m != nil {
			f.set(m[1], strings.Trim(m[2], `"'`), reached)
			continue
		}
		f.command(command, number, reached == version.Met)
	}
}

// set keeps a shell's variable, if its value is known.
func (f *dockerfile) set(name, value string, reached version.Truth) {
	if reached != version.Met || strings.ContainsAny(value, "$`") {
		value = ""
	}
	keep(f.local, name, value)
}

// command reads what one command installs; sure is false where a condition decides that the file does not answer.
func (f *dockerfile) command(command string, number int, sure bool) {
	s := &f.stages[len(f.stages)-1]
	var done step
	if m := pipInstall.FindStringSubmatch(command); m != nil {
		done = f.pip(words(m[1]), number)
	} else if m := pipSync.FindStringSubmatch(command); m != nil {
		done = f.pip(synced(words(m[1])), number)
	} else if m := pipRemove.FindStringSubmatch(command); m != nil && sure {
		done = step{removes: true, list: f.pip(words(m[1]), number).list}
	} else if m := condaAdd.FindStringSubmatch(command); m != nil {
		done.list = f.conda(words(m[1]), number)
	} else if m := otherTool.FindStringSubmatch(command); m != nil {
		f.unread(m[1], "its packages are in another file: check that one, too", number)
	} else if m := ownScript.FindStringSubmatch(command); m != nil && path.Base(m[1]) != "configure" {
		s.steps = append(s.steps, step{script: func() {
			f.unread(m[1], "the file itself installs no package, and what this script installs was not read", number)
		}})
	}
	for i := range done.list {
		if p := &done.list[i]; !sure && p.name != "python" {
			p.version, p.specifier, p.direct = "", facts.Conditional, false
		}
	}
	if len(done.list) > 0 {
		s.steps = append(s.steps, done)
	}
}

// condaValues are conda's options that take the next word.
var condaValues = []string{"-n", "--name", "-p", "--prefix", "-r", "--root-prefix", "-c", "--channel", "-f", "--file"}

// conda are the packages that conda's command line names.
func (f *dockerfile) conda(list []string, number int) []locked {
	c := &conda{}
	for i, word := range list {
		switch {
		case i > 0 && slices.Contains([]string{"-f", "--file"}, list[i-1]), strings.HasPrefix(word, "--file="):
			f.unread("conda's "+word, "its packages are in another file: check that one, too", number)
		case i > 0 && slices.Contains(condaValues, list[i-1]), strings.HasPrefix(word, "-"):
		case condaSpec.MatchString(word):
			c.spec(word)
		}
	}
	return c.packages()
}

// settled is what is there in the end: of one name the last release that was asked for, unless what is there will do.
func settled(steps []step) []locked {
	var list, apart []locked
	at := map[string]int{} // where a name stands in list
	for _, s := range steps {
		for _, p := range s.list {
			i, there := at[p.name]
			switch {
			case s.apart:
				apart = append(apart, p)
			case s.removes && there:
				list[i] = locked{}
				delete(at, p.name)
			case s.removes:
			case !there:
				at[p.name] = len(list)
				list = append(list, p)
			case s.forced || !p.metBy(list[i]):
				list[i] = p
			}
		}
	}
	return append(slices.DeleteFunc(list, func(p locked) bool { return p.name == "" }), apart...)
}

// metBy reports whether an installed package is what this one asks for, so that pip and conda leave it. A condition
// that nobody answers may replace it.
func (p locked) metBy(have locked) bool {
	release, ok := version.ParseRelease(have.full())
	switch {
	case p.direct, p.specifier == facts.Conditional, !ok && p.version != "":
		return false
	case p.version != "":
		want, local, _ := strings.Cut(p.version, "+")
		public, haveLocal, _ := strings.Cut(have.full(), "+")
		return want == public && (local == "" || local == haveLocal)
	}
	wanted, err := version.ParseRange(p.specifier)
	return err != nil || !ok || wanted.Has(release.Number)
}
