package logs

import (
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
)

var (
	// sitePackages matches the directory into which an interpreter of Unix installs packages.
	sitePackages = lazyregexp.New(`(?:^|[\s'"(])((?:/|~/)[\w./+-]*?)/lib(?:64)?/(python3\.\d+)t?/(?:site|dist)-packages/`)
	// runsPython matches the beginning of a command that runs Python, or pip without saying for which Python.
	runsPython = lazyregexp.New("`(?:python (-m pip|-c) |pip (install|uninstall) )")
)

// interpreter returns the Python whose packages the deciding line and the tracebacks show; "" if they show none, or
// several.
//
// The prefix of a virtual environment has its own bin/python. A directory of the system or of a user's home belongs to
// an interpreter elsewhere: of that one only the name is known.
func (d *Diagnosis) interpreter() string {
	paths := slices.Clone(d.Traces.Files)
	if len(d.Lines) > 0 {
		paths = append(paths, d.Lines[0].Text)
	}
	found := ""
	for _, file := range paths {
		m := sitePackages.FindStringSubmatch(file)
		if m == nil {
			continue
		}
		python := m[1] + "/bin/python"
		if m[1] == "/usr" || m[1] == "/usr/local" || strings.HasSuffix(m[1], "/.local") {
			python = m[2]
		}
		if found != "" && found != python {
			return ""
		}
		found = python
	}
	return found
}

// useInterpreter makes the commands of the steps that run Python or pip use the interpreter of the traceback.
func (d *Diagnosis) useInterpreter() {
	python := d.interpreter()
	if python == "" {
		return
	}
	for i, step := range d.Do {
		at := runsPython.FindStringSubmatchIndex(step)
		if at == nil {
			continue
		}
		run := "`" + python + " "
		if at[2] >= 0 {
			run += step[at[2]:at[3]] + " "
		} else {
			run += "-m pip " + step[at[4]:at[5]] + " "
		}
		d.Do[i] = step[:at[0]] + run + step[at[1]:]
	}
}
