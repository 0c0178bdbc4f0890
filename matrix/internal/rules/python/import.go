// Package python contains the rules about importing a build: the interpreter, the files and modules that the import
// needs, and the requirements that an installer's plan leaves unmet.
//
// A build that cannot be imported fails on the CPU, too, so its rules precede all rules about GPUs.
package python

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/internal/rules/environment"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// importSource documents where Python looks for modules and what a RECORD lists.
const importSource = "https://docs.python.org/3/library/site.html"

// NotImportable reports an installed package that Python cannot import: the environment's interpreter is gone or has
// another version, the files are gone, or a module of the same name comes first. It is an error on the CPU, too, even
// for a build that can do without the GPU.
func NotImportable(m *model.Machine, b *model.Build) []*rule.Result {
	if b.Env.Interpreter != nil && b.Device != "cpu" {
		return reportLostInterpreter(m, b)
	}
	if b.Env.NoExec != "" {
		return reportNoExec(b)
	}
	if f := protobufTooNew(m, b); f != nil {
		return rule.ReportFinding(*f)
	}
	for _, h := range b.Hindrances {
		if lackedByEarlier(b, h) {
			return []*rule.Result{{Subject: b.Subject, Implied: true}}
		}
		switch h.Kind {
		case facts.HindranceGone:
			return rule.ReportFinding(reportFilesGone(b, h))
		case facts.HindranceSpoiled, facts.HindranceLibrary:
			return rule.ReportFinding(reportRefusedLibrary(b, h))
		case facts.HindranceWithout:
			return reportMissingRequirement(b, m, h)
		case facts.HindranceModule:
			return reportMissingModule(b, m, h)
		case facts.HindranceClosed:
			return reportUnreadable(b, m, h)
		case facts.HindranceOld:
			return rule.ReportFinding(reportOldModule(b, h))
		case facts.HindranceOnlyHere, facts.HindrancePerhaps, facts.HindranceUnmet:
			return rule.ReportUndecided(b.Subject, openQuestion(b, h))
		case facts.HindranceName:
			return rule.ReportFinding(reportMissingName(b, h))
		case facts.HindranceSymbol:
			return rule.ReportFinding(reportMissingSymbol(b, h))
		case facts.HindranceTool:
			return rule.ReportFinding(ReportUnusablePtxas(b, h))
		case facts.HindranceRelease:
			if b.Name == "tensorflow" && b.Origin != "conda-forge" { // whose builds are against its own protobuf
				return rule.ReportFinding(protobufTooOld(b, h))
			}
		// A package that hides torch may still be torch (a source tree, an editable install). A single module is not.
		case facts.HindranceHidden:
			hidden, _, _ := strings.Cut(h.Of, " ")
			if path.Base(h.Path) == "__init__.py" || hidden != "" && hidden != b.Name {
				place := strings.TrimSuffix(h.Path, "/__init__.py")
				return rule.ReportUndecided(b.Subject, verdict.Question("what is in "+place+", which Python imports instead of "+cmp.Or(hidden, b.Name)))
			}
			return rule.ReportFinding(reportHiddenModule(b, h, verdict.Error))
		// Only python -c, -m and scripts in that directory put the directory first on the path. It is a warning,
		// because the same program started elsewhere imports the right package.
		case facts.HindranceHere:
			return rule.ReportFinding(reportHiddenModule(b, h, verdict.Warning))
		}
	}
	if missing := importQuestion(m, b.Name); missing.IsMissing() {
		return rule.ReportUndecided(b.Subject, missing)
	}
	return nil
}

// openQuestion returns what is not known of a hindrance that may be none.
func openQuestion(b *model.Build, h facts.Hindrance) verdict.MissingFact {
	switch h.Kind {
	case facts.HindranceOnlyHere:
		return verdict.Question("whether it is started in " + h.Path + ": only there is the module " + h.By + ", which " + b.Name + " imports")
	case facts.HindrancePerhaps:
		return verdict.Question("whether importing " + b.Name + " needs " + h.Path + " of " + h.Of + ", which is damaged (" + h.By + ")")
	}
	return verdict.Question("whether " + b.Name + " runs with " + h.Of + ": " + h.Path + " requires " + h.Requirement)
}

// lackedByEarlier reports whether an earlier build in the environment, such as torch before torchvision, lacks the same
// module or may not read it. One step then fixes both.
func lackedByEarlier(b *model.Build, h facts.Hindrance) bool {
	if h.Kind != facts.HindranceModule && h.Kind != facts.HindranceOld && h.Kind != facts.HindranceClosed {
		return false
	}
	for _, other := range b.Env.Builds {
		if other.Name == b.Name {
			return false
		}
		if slices.ContainsFunc(other.Hindrances, func(o facts.Hindrance) bool {
			return o.Kind == h.Kind && o.By == h.By && o.Symbol == h.Symbol
		}) {
			return true
		}
	}
	return false
}

// reportLostInterpreter returns the result once for each environment, with its first build. It breaks the other builds,
// too, but a pin for each would install into an environment that cannot start.
func reportLostInterpreter(m *model.Machine, b *model.Build) []*rule.Result {
	first := slices.IndexFunc(b.Env.Builds, func(o facts.Build) bool { return o.Accelerator != "cpu" })
	if b.Env.Builds[first].Name != b.Name {
		return []*rule.Result{{Subject: b.Subject, Implied: true}}
	}
	i, python := b.Env.Interpreter, version.ShortPython(b.Env.Python)
	place := pin.File(b.Env.Path)
	f := verdict.Finding{Severity: verdict.Error, Subject: b.Subject, Need: "Python " + python, Source: []string{importSource},
		Evidence: append(b.Evidence(), verdict.Evidence{Fact: "python3", Value: i.Leads, From: i.Path}),
		Steps: []pin.Step{pin.Run(pin.Command("uv", "venv", "--clear", "--python", python, place)).Explained(
			"creates the environment again with Python " + python + "; then install what it held"),
			pin.Run(pin.Command("python"+python, "-m", "venv", "--clear", place)).Explained("the same without uv").Instead()}}
	if i.Home {
		f.Need, f.Steps = "PYTHONHOME unset", []pin.Step{rule.UnsetStep(m, "PYTHONHOME")}
		f.Evidence = append(b.Evidence(), verdict.Evidence{Fact: "PYTHONHOME", Value: i.Leads, From: rule.VariableEvidence(m, "PYTHONHOME").From})
		f.Message = fmt.Sprintf("PYTHONHOME is %s, which has no standard library of Python %s: nothing in %s can start", i.Leads,
			python, b.Env.Path)
		return rule.ReportFinding(f)
	}
	if i.NoConfig {
		f.Need = path.Join(b.Env.Path, "pyvenv.cfg")
		f.Message = fmt.Sprintf("%s has lost its pyvenv.cfg: %s starts %s, which looks for packages beside itself and imports none of these",
			b.Env.Path, i.Path, i.Leads)
		return rule.ReportFinding(f)
	}
	if i.Closed {
		f.Message = fmt.Sprintf("%s leads to %s, where this user may not go: nothing in %s starts for this user", i.Path, i.Leads, b.Env.Path)
		f.Steps = append([]pin.Step{pin.Say(fmt.Sprintf("as the user who made it, put Python %s where every user may go (for uv: UV_PYTHON_INSTALL_DIR=/opt/python), and make the environment with it again",
			python))}, pin.Say("run as that user").Instead())
		return rule.ReportFinding(f)
	}
	if i.NoExecute {
		f.Need = "permission to execute " + i.Leads
		f.Evidence = append(b.Evidence(), verdict.Evidence{Fact: path.Base(i.Leads), Value: "has no execute bit", From: i.Leads})
		f.Message = fmt.Sprintf("%s is a program that nobody may execute: nothing in %s can start", i.Leads, b.Env.Path)
		f.Steps = []pin.Step{pin.Run(pin.Command("sudo", "chmod", "a+x", pin.File(i.Leads))),
			pin.Say("copy the environment by something that keeps the modes of files (tar, rsync -a)").Instead()}
		return rule.ReportFinding(f)
	}
	if i.Gone && i.Leads == "" {
		f.Message = fmt.Sprintf("%s is gone: nothing in %s can start", i.Path, b.Env.Path)
		return rule.ReportFinding(f)
	}
	if i.Gone {
		f.Message = fmt.Sprintf("%s points to %s, which is gone: nothing in %s can start", i.Path, i.Leads, b.Env.Path)
		f.Steps = append(f.Steps, pin.Say("install that Python again where it was").Instead())
		return rule.ReportFinding(f)
	}
	f.Message = fmt.Sprintf("%s is now Python %s, but the packages of %s are installed for %s: it imports none of them",
		i.Path, i.Python, b.Env.Path, python)
	return rule.ReportFinding(f)
}

// reportNoExec reports an environment on a file system that is mounted noexec. The kernel maps no code from it, so no
// library loads, not even for the CPU: "failed to map segment from shared object". It is reported once for each
// environment.
func reportNoExec(b *model.Build) []*rule.Result {
	if b.Env.Builds[0].Name != b.Name {
		return []*rule.Result{{Subject: b.Subject, Implied: true}}
	}
	return rule.ReportFinding(verdict.Finding{Severity: verdict.Error, Subject: b.Subject, Need: "a file system that is mounted with exec",
		Source:   []string{"https://man7.org/linux/man-pages/man8/mount.8.html"},
		Message:  fmt.Sprintf("%s is on %s, which is mounted noexec: the kernel loads no library from there", b.Env.Path, b.Env.NoExec),
		Evidence: append(b.Evidence(), verdict.Evidence{Fact: "mount option", Value: "noexec", From: b.Env.NoExec + " in /proc/self/mountinfo"}),
		Steps: []pin.Step{pin.Run(pin.Command("sudo", "mount", "-o", "remount,exec", b.Env.NoExec)),
			pin.Say("create the environment on another file system (a container's --tmpfs needs the option exec)").Instead()}})
}

// reportFilesGone reports a distribution of which only the metadata is left. pip believes its own metadata and does
// nothing, so the pin must force the installation (environment.ReinstallPins). A slim image without tests and headers
// does not count: all libraries, or the package's own module, must be gone.
func reportFilesGone(b *model.Build, h facts.Hindrance) verdict.Finding {
	name, installed, _ := strings.Cut(h.Of, " ")
	what := "only the metadata of " + h.Of + " is left"
	if b.IsFramework() { // whose libraries are there
		what = h.Of + " is incomplete"
	}
	return verdict.Finding{Severity: verdict.Error, Subject: b.Subject, Need: h.Path, Pins: environment.ReinstallPins(b.Place(), pin.Package{Package: name, Version: installed}),
		Message:  fmt.Sprintf("%s: %s is gone", what, h.Path),
		Evidence: append(b.Evidence(), verdict.Evidence{Fact: "RECORD", Value: "lists " + h.Path, From: b.From}),
		Source:   []string{"https://packaging.python.org/en/latest/specifications/recording-installed-packages/"}}
}

// reportRefusedLibrary reports a library of a package, or one that it needs, that the loader refuses: it is empty,
// truncated or for another machine.
func reportRefusedLibrary(b *model.Build, h facts.Hindrance) verdict.Finding {
	owner, release, _ := strings.Cut(h.Of, " ")
	f := verdict.Finding{Severity: verdict.Error, Subject: b.Subject, Need: path.Base(h.Path), Source: []string{model.LoaderSource},
		Message:  fmt.Sprintf("%s cannot be loaded (%s), so importing %s fails", h.Path, h.By, b.Name),
		Evidence: append(b.Evidence(), verdict.Evidence{Fact: path.Base(h.Path), Value: "cannot be loaded: " + h.By, From: h.Path})}
	if h.By == "it is gone" {
		f.Message = fmt.Sprintf("%s is gone, which %s brings: %[2]s is incomplete", h.Path, owner)
		if owner != b.Name {
			f.Message += ", and " + b.Name + " needs it"
		}
		f.Evidence = append(b.Evidence(), verdict.Evidence{Fact: "RECORD", Value: "lists " + path.Base(h.Path), From: b.From})
	}
	library := path.Base(h.Path)
	if h.Kind == facts.HindranceLibrary {
		library = h.By
		f.Need, f.Message = h.By, fmt.Sprintf("%s needs %s, which the loader does not find or cannot load, so importing %s fails", h.Path, h.By, b.Name)
		f.Evidence = append(b.Evidence(), verdict.Evidence{Fact: "missing libraries", Value: h.By, From: h.Path})
	}
	wheel := b.Installed(library)
	switch {
	// Install the library's own wheel if it is known, otherwise the distribution that the package requires, otherwise
	// the package itself.
	case wheel != nil:
		f.Pins = environment.ReinstallPins(b.Place(), pin.Package{Package: wheel.Name, Version: wheel.Version})
	case h.Kind == facts.HindranceLibrary:
		f.Pins = environment.AddLibraries(b)
	default:
		f.Pins = environment.ReinstallPins(b.Place(), pin.Package{Package: owner, Version: release})
	}
	return f
}

// reportMissingRequirement reports a package that needs a framework or distribution that the environment does not have,
// as after `pip install --no-deps`. A directory of packages, or a tree at rest, does not show what else is on the
// import path of the process.
func reportMissingRequirement(b *model.Build, m *model.Machine, h facts.Hindrance) []*rule.Result {
	// pip install --target makes one directory of an import path whose other entries are unknown.
	if b.Env.Kind == "target" || m.Facts.System.Rest {
		return rule.ReportUndecided(b.Subject, verdict.Statement(h.By+", which "+b.Name+" needs: it is not in "+b.Env.Path))
	}
	f := verdict.Finding{Severity: verdict.Error, Subject: b.Subject, Need: h.By, Pins: environment.AddLibraries(b),
		Message:  fmt.Sprintf("%s needs %s, which is not installed: it does not run", b.Name, h.By),
		Evidence: append(b.Evidence(), verdict.Evidence{Fact: h.By, Value: "not installed", From: b.Env.Path}),
		Source:   []string{importSource}}
	f.Pins[0].Why = "adds " + h.By + "; keeps the driver"
	return rule.ReportFinding(f)
}

// reportUnreadable reports a file that the import needs and that this user may not read, as after an installation by
// another user under umask 077. For a tree at rest, the user who will run it is unknown.
func reportUnreadable(b *model.Build, m *model.Machine, h facts.Hindrance) []*rule.Result {
	if m.Facts.System.Rest {
		return rule.ReportUndecided(b.Subject, verdict.Question("what is in "+h.Path+", which this user may not read"))
	}
	if h.By == "root" {
		return rule.ReportUndecided(b.Subject, verdict.Question("what is in "+h.Path+", which root may not read here: run cudacompat as the user whose programs run"))
	}
	return rule.ReportFinding(verdict.Finding{Severity: verdict.Error, Subject: b.Subject, Need: "permission to read " + h.Path, Source: []string{importSource},
		Message:  fmt.Sprintf("this user may not read %s, which %s loads", h.Path, b.Name),
		Evidence: append(b.Evidence(), verdict.Evidence{Fact: path.Base(h.Path), Value: "permission denied", From: h.Path}),
		Steps:    []pin.Step{pin.Run(pin.Command("sudo", "chmod", "-R", "a+rX", pin.File(b.Env.Path))).Explained("lets every user read the environment")}})
}

// reportMissingModule reports a module that the package always imports and that is not on the import path. If the
// package requires a distribution of that name, installing it brings the module. Otherwise nothing says which
// distribution has it.
func reportMissingModule(b *model.Build, m *model.Machine, h facts.Hindrance) []*rule.Result {
	if b.Env.Kind == "target" || m.Facts.System.Rest {
		return rule.ReportUndecided(b.Subject, verdict.Statement("the module "+h.By+", which "+b.Name+" imports: it is not in "+b.Env.Path))
	}
	f := verdict.Finding{Severity: verdict.Error, Subject: b.Subject, Need: "the module " + h.By,
		Message:  fmt.Sprintf("%s imports %s, which is not installed: it cannot be imported", b.Name, h.By),
		Evidence: append(b.Evidence(), verdict.Evidence{Fact: "imports", Value: h.By, From: h.Path}),
		Source:   []string{"https://docs.python.org/3/reference/import.html"}}
	if h.Requirement != "" {
		f.Pins = requirementPin(b, h.Requirement)
		return rule.ReportFinding(f)
	}
	f.Steps = []pin.Step{pin.Say("install the package that has the module " + pin.Quoted(h.By) + " into " + pin.Word(b.Env.Path))}
	return rule.ReportFinding(f)
}

// requirementPin returns the pin for a requirement in the METADATA of an installed package.
func requirementPin(b *model.Build, requirement string) []verdict.Pin {
	name := requirement[:len(requirement)-len(strings.TrimLeft(requirement, requirementName))]
	return []verdict.Pin{{Package: name, Version: strings.TrimPrefix(requirement, name), Why: "it is required; keeps " + b.Name + " and the driver",
		Commands: pins.Install(b.Place(), pin.Install{Packages: []string{requirement}})}}
}

// requirementName lists the characters of a normalised name.
const requirementName = "abcdefghijklmnopqrstuvwxyz0123456789-"

// reportOldModule reports an imported package that uses a name which the installed release of another package does not
// have, although METADATA asks for a newer release.
func reportOldModule(b *model.Build, h facts.Hindrance) verdict.Finding {
	name, have, _ := strings.Cut(h.Of, " ")
	return verdict.Finding{Severity: verdict.Error, Subject: b.Subject, Need: h.Requirement, Pins: requirementPin(b, h.Requirement),
		Message: fmt.Sprintf("%s needs %s, and %s is installed, which has no %s: it cannot be imported", b.Name, h.Requirement, h.Of, h.Symbol),
		Evidence: append(b.Evidence(), verdict.Evidence{Fact: name, Value: have, From: b.Env.Path},
			verdict.Evidence{Fact: "takes", Value: h.Symbol, From: h.Path}),
		Source: []string{"https://packaging.python.org/en/latest/specifications/core-metadata/#requires-dist-multiple-use"}}
}

// reportMissingName reports a changed source file that no longer defines a name which the import needs. A file that was
// changed by hand and still defines it is somebody's patch.
func reportMissingName(b *model.Build, h facts.Hindrance) verdict.Finding {
	return verdict.Finding{Severity: verdict.Error, Subject: b.Subject, Need: h.By + " in " + h.Path, Source: []string{importSource},
		Message:  fmt.Sprintf("%s does not define %s, which importing %s takes from it: the file was changed or is damaged", h.Path, h.By, b.Name),
		Evidence: append(b.Evidence(), verdict.Evidence{Fact: path.Base(h.Path), Value: "another size than RECORD lists", From: h.Path}),
		Pins:     environment.ReinstallPins(b.Place(), pin.Package{Package: b.Name, Version: b.Version})}
}

// reportMissingSymbol reports a library that needs a symbol that nothing defines. Python binds all symbols when it
// loads the library, so this fails at import.
func reportMissingSymbol(b *model.Build, h facts.Hindrance) verdict.Finding {
	f := verdict.Finding{Severity: verdict.Error, Subject: b.Subject, Need: h.By, Source: []string{model.LoaderSource},
		Message: fmt.Sprintf("%s needs %s, which no library that is loaded with it defines: %s cannot be imported",
			h.Path, h.By, b.Name),
		Evidence: append(b.Evidence(), verdict.Evidence{Fact: "undefined symbol", Value: h.By, From: h.Path})}
	f.Steps = []pin.Step{pin.Say("install another release of " + pin.Quoted(b.Name) + ", or report this one to its makers: it lacks a library that it should be linked to")}
	return f
}

// protobufTooOld reports a protobuf that is too old for TensorFlow's generated code, which asks protobuf for its
// version. 2.20.0 requires 5.28.0: it does not import with 3.20.3, 4.21.12, 4.25.8 or 5.26.1, and does with 5.28.3 to
// 7.34.0. 2.18.1 requires 3.20.3 and does not import with 3.19.6.
func protobufTooOld(b *model.Build, h facts.Hindrance) verdict.Finding {
	name, have, _ := strings.Cut(h.Of, " ")
	return verdict.Finding{Severity: verdict.Error, Subject: b.Subject, Need: h.By,
		Message:  fmt.Sprintf("%s %s requires %s; with %s it cannot be imported", b.Name, b.Version, h.By, have),
		Evidence: append(b.Evidence(), verdict.Evidence{Fact: name, Value: have, From: h.Path}),
		Source:   []string{"https://github.com/tensorflow/tensorflow/issues/98980"},
		Pins: []verdict.Pin{{Package: name, Version: strings.TrimPrefix(h.By, name), Why: "keeps " + b.Name + " and the driver",
			Commands: pins.Install(b.Place(), pin.Install{Packages: []string{h.By}})}}}
}

// protobufTooNew reports a protobuf that is too new. Protobuf 4 and newer refuse the generated code of TensorFlow up to
// 2.11 ("Descriptors cannot be created directly"), unless a variable selects protobuf's slow implementation. 2.11.0 and
// 2.9.1 import with 3.9.2, 3.19.6 and 3.20.3, and not with 4.21.12, 4.25.3, 5.29.5 or 6.31.1.
func protobufTooNew(m *model.Machine, b *model.Build) *verdict.Finding {
	p := b.Env.Package("protobuf")
	if p == nil || b.Name != "tensorflow" || !b.Official() || p.Number.Major() < 4 ||
		!m.Tables.Trait("before-protobuf-4", b.Name, b.Release.Number) || m.Facts.Variables[protobufForm] == "python" {
		return nil
	}
	return &verdict.Finding{Severity: verdict.Error, Subject: b.Subject, Need: "protobuf < 4",
		Message:  fmt.Sprintf("%s %s cannot be imported with protobuf %s", b.Name, b.Version, p.Version),
		Evidence: append(b.Evidence(), verdict.Evidence{Fact: "protobuf", Value: p.Version, From: p.Path}),
		Source:   []string{"https://github.com/tensorflow/tensorflow/issues/56077"},
		Pins: []verdict.Pin{{Package: "protobuf", Version: "<3.20", Why: "keeps " + b.Name + " and the driver",
			Commands: pins.Install(b.Place(), pin.Install{Packages: []string{"protobuf<3.20"}})}}}
}

// protobufForm is the variable that selects an implementation of protobuf. "python" accepts old generated code.
const protobufForm = "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"

// ReportUnusablePtxas reports a ptxas that Triton cannot start, its own or the one that a variable names. Triton starts
// ptxas for every kernel. Without torch, Triton only compiles, so here it is an error. Beside torch, build.reportPtxas
// reports a warning.
func ReportUnusablePtxas(b *model.Build, h facts.Hindrance) verdict.Finding {
	f := verdict.Finding{Severity: verdict.Error, Subject: b.Subject, Need: h.Path, Pins: environment.ReinstallPins(b.Place(), pin.Package{Package: b.Name, Version: b.Version}),
		Message:  fmt.Sprintf("%s is %s: %s cannot compile kernels", h.Path, h.By, b.Name),
		Evidence: append(b.Evidence(), verdict.Evidence{Fact: path.Base(h.Path), Value: h.By, From: h.Path}),
		Source:   []string{"https://github.com/triton-lang/triton/blob/v3.6.0/python/triton/knobs.py"}}
	// Installing again does not change a file that a variable names.
	for _, a := range b.Env.Assemblers {
		if a.Path == h.Path && strings.HasPrefix(a.By, "TRITON_") {
			f.Pins = nil
			f.Steps = []pin.Step{pin.Run(pin.Command("unset", a.By)), pin.Run(pin.Command("chmod", "+x", pin.File(a.Path))).Instead()}
		}
	}
	return f
}

// reportHiddenModule reports that Python imports another module instead of a build. It may be anything, so the step
// renames the module that hides the build and installs nothing.
func reportHiddenModule(b *model.Build, h facts.Hindrance, severity verdict.Severity) verdict.Finding {
	f := verdict.Finding{Severity: severity, Subject: b.Subject, Source: []string{importSource},
		Need:     "no other module of that name earlier on the path",
		Message:  fmt.Sprintf("Python imports %s instead of %s: it comes first on the import path", h.Path, b.Name),
		Evidence: append(b.Evidence(), verdict.Evidence{Fact: "imported instead", Value: path.Base(h.Path), From: h.Path})}
	place := strings.TrimSuffix(h.Path, "/__init__.py")
	rename := pin.Say("rename " + pin.Word(place))
	f.Steps = []pin.Step{rename, pin.Say("remove " + pin.Word(path.Dir(place)) + " from PYTHONPATH").Instead()}
	if severity == verdict.Warning {
		f.Message = fmt.Sprintf("what is started in %s with python -c or -m, or from a script there, imports %s instead of %s", path.Dir(place), h.Path, b.Name)
		f.Steps = []pin.Step{rename, pin.Say("start programs in another directory").Instead()}
	}
	return f
}

// ReportOtherPythons reports extension modules, of a build or of a package that it imports, for another Python. CPython
// loads only those with its own tag: cp312 does not load in 3.11 or 3.13, and 3.13t differs from 3.13.
func ReportOtherPythons(b *model.Build) []*rule.Result {
	i := slices.IndexFunc(b.Hindrances, func(h facts.Hindrance) bool { return h.Kind == facts.HindranceOtherPython })
	if i < 0 {
		return nil
	}
	h, python := b.Hindrances[i], version.ShortPython(b.Env.Python)
	name, installed, _ := strings.Cut(h.Of, " ")
	f := verdict.Finding{Severity: verdict.Error, Subject: b.Subject, Need: h.Of + " for Python " + python,
		Pins: environment.ReinstallPins(b.Place(), pin.Package{Package: name, Version: installed}),
		Message: fmt.Sprintf("the extension modules of %s are for Python %s; %s has Python %s",
			h.Of, h.By, b.Env.Path, python),
		Evidence: append(b.Evidence(), verdict.Evidence{Fact: "Python", Value: python, From: b.Env.Path},
			verdict.Evidence{Fact: name, Value: "for Python " + h.By, From: h.Path}),
		Source: []string{"https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/"}}
	if name != b.Name {
		f.Message += ", so " + b.Name + " cannot be imported"
	}
	// Install all of them with one command. After a single pin, the import would fail at the next package.
	var all []pin.Package
	for _, other := range b.Hindrances[i:] {
		if name, installed, _ := strings.Cut(other.Of, " "); other.Kind == facts.HindranceOtherPython {
			all = append(all, pin.Package{Package: name, Version: installed})
		}
	}
	f.Pins = environment.ReinstallPins(b.Place(), all...)
	f.Pins[0].Why = "its files for Python " + python + "; keeps the driver"
	return rule.ReportFinding(f)
}
