package library

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/internal/rules/environment"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// missingNCCL returns the functions that the NCCL in use lacks.
func missingNCCL(b *model.Build) []string {
	list := symbolsOf(b.Missing, "nccl")
	for _, u := range b.Unresolved {
		if strings.HasPrefix(u.Library, "libnccl.") && !slices.Contains(list, u.Symbol) {
			list = append(list, u.Symbol)
		}
	}
	return list
}

// symbolsOf returns those missing symbols that belong to one library. NCCL's all begin with "nccl".
func symbolsOf(missing []string, prefix string) []string {
	return slices.DeleteFunc(slices.Clone(missing), func(s string) bool { return !strings.HasPrefix(s, prefix) })
}

// mixedCuDNN reports whether parts of cuDNN come from different releases, which refuse each other. The front library,
// libcudnn.so.9, checks nothing.
func mixedCuDNN(b *model.Build, f *verdict.Finding) bool {
	var first *model.Taken
	for i, part := range b.TakenFiles {
		v := part.Number
		if !strings.HasPrefix(part.Name, "libcudnn_") || !v.Known() {
			continue
		}
		if first == nil {
			first = &b.TakenFiles[i]
		}
		if sameShort(v, first.Number) {
			continue
		}
		foreign := part
		if !strings.HasPrefix(first.Path, path.Dir(b.Path)+"/") {
			foreign = *first
		}
		f.Severity, f.Need = verdict.Error, "all parts of one cuDNN"
		f.Message = fmt.Sprintf("%s is taken of cuDNN %s, and %s of %s: parts of different releases refuse each other",
			first.Name, first.Version, part.Name, v)
		for _, t := range []model.Taken{*first, part} {
			f.Evidence = append(f.Evidence, verdict.Evidence{Fact: t.Name, Value: t.Version, From: t.Path + ", taken by " + t.Reason})
		}
		f.Steps = []pin.Step{pin.Say(model.Removal(foreign.Path, foreign.Reason))}
		return true
	}
	return false
}

// sameShort compares the first two parts of two versions, and the third if both have one.
func sameShort(v, w version.Number) bool {
	return v.Short() == w.Short() && (v.Parts() < 3 || w.Parts() < 3 || v.SamePatch(w))
}

// skipCuDNNCheck is the variable that makes torch accept a cuDNN with a lower minor version than its own
// (https://github.com/pytorch/pytorch/blob/v2.8.0/torch/backends/cudnn/__init__.py).
const skipCuDNNCheck = "PYTORCH_SKIP_CUDNN_COMPATIBILITY_CHECK"

// CuDNNMismatch reports a cuDNN of another major version, or an older one than the build was compiled with. NVIDIA
// promises that a program runs with the same major and an equal or higher minor version. Patch releases do not matter
// (cuDNN's page on forward compatibility).
func CuDNNMismatch(m *model.Machine, b *model.Build) []*rule.Result {
	want, source := b.CuDNNNumber, b.Source()
	// TensorFlow's build_info.py contains only the major version.
	if want.Parts() < 2 && len(b.Rows) > 0 && b.Rows[0].CuDNN.Known() {
		want = b.Rows[0].CuDNN
	}
	lib, known := b.Takes("cudnn")
	// Builds from source, from NGC and from conda may have been compiled with another cuDNN than the release's row
	// says.
	if b.Device != "cuda" || !b.Official() || !want.Known() || !known || refusesJaxlib(b) {
		return nil
	}
	have := lib.Version
	f := verdict.Finding{Subject: b.Subject, Need: fmt.Sprintf("cuDNN %s", want), Source: source,
		Message:  fmt.Sprintf("%[2]s %[3]s was built with cuDNN %[4]s, but cuDNN %[1]s is loaded", have, b.Name, b.Version, want),
		Evidence: append(b.Evidence(), lib.Evidence("cuDNN"))}
	switch {
	case conflictsWithPin(m, b, lib, want):
		addPinConflict(&f, b, lib, want)
		return rule.ReportFinding(f)
	// The parts check each other when they are opened (1002, CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH), whatever the
	// build was compiled with.
	case mixedCuDNN(b, &f):
		return rule.ReportFinding(f)
	case inAllowedRange(b, lib):
		return rule.Pass(b.Subject)
	// Another major version has another file name and cannot replace it: libcudnn.so.8, libcudnn.so.9.
	case have.Major() != want.Major():
		f.Severity = verdict.Error
	// Somebody set the variable, so he has seen what torch says without it.
	case have.LessShort(want) && b.Name == "torch" && m.Facts.Variables[skipCuDNNCheck] == "1":
		f.Severity = verdict.Note
		f.Message += ", and " + skipCuDNNCheck + " tells it not to compare"
		f.Evidence = append(f.Evidence, rule.VariableEvidence(m, skipCuDNNCheck))
	// torch raises RuntimeError in cudnn.version() and when an RNN moves to the GPU (torch/backends/cudnn). TensorFlow
	// and JAX log "Loaded runtime CuDNN library: 8.1.1 but source was compiled with: 8.6.0" and run without cuDNN
	// (tensorflow issue 62170, jax issue 16901).
	case have.LessShort(want):
		f.Severity = verdict.Error
	// A newer minor version of the same major, or another patch, works. Bad releases have rows in known-bad.
	default:
		return rule.Pass(b.Subject)
	}
	if b.Name == "torch" && have.Major() == want.Major() && f.Severity == verdict.Error {
		f.Message += ": torch raises an error where it asks for the version, as for an RNN on the GPU"
	}
	if asked := b.Asks(lib.Wheel); asked != "" {
		f.Need = "cuDNN " + strings.TrimPrefix(asked, "==")
	}
	f.Pins, f.Steps = fixLibrary(lib, m, b, want)
	return rule.ReportFinding(f)
}

// refusesJaxlib reports whether the build is a JAX beside a jaxlib of another release. It then loads no cuDNN, and the
// cuDNN that the facts show belongs to that jaxlib.
func refusesJaxlib(b *model.Build) bool {
	return b.Name == "jax" && slices.ContainsFunc(b.Hindrances, func(h facts.Hindrance) bool {
		return h.Kind == facts.HindranceRelease
	})
}

// inAllowedRange reports whether a library is in the range that the build's release requires. JAX requires a range of
// cuDNN, so its makers accept a newer wheel than the one it was compiled with.
func inAllowedRange(b *model.Build, l model.Library) bool {
	asked := b.Asks(l.Wheel)
	ok, err := version.Allows(asked, l.Version)
	return asked != "" && ok && err == nil
}

// fixLibrary returns the packages and steps that correct a library. If further libraries have another release, it
// installs the build's requirements. Otherwise it installs the wheel, by force if another wheel overwrote its files. If
// the loader takes a file from elsewhere, that file must move instead, because installing a wheel would change nothing.
func fixLibrary(l model.Library, m *model.Machine, b *model.Build, want version.Number) ([]verdict.Pin, []pin.Step) {
	if environment.HasMixedWheels(b) && !b.Shadowed(l) {
		return environment.RequirementPins(m, b), nil
	}
	if twins := b.Env.Twins(strings.TrimPrefix(model.FamilySuffix.ReplaceAllString(l.Wheel, ""), "nvidia-")); len(twins) > 1 &&
		!b.Shadowed(l) {
		return unmix(b.Env, twins)
	}
	pins := pins.PackagePin(b.Env, l.Wheel, requirementOf(b, l.Wheel, want))
	if b.Shadowed(l) {
		if hasSuitableWheel(b, l.Wheel, want) {
			pins = nil
		}
		return pins, []pin.Step{pin.Say(model.Removal(l.From, l.Reason))}
	}
	return pins, nil
}

// hasSuitableWheel reports whether a wheel is already installed in a version that the build accepts. A wheel does not
// count if another wheel overwrote one of its files.
func hasSuitableWheel(b *model.Build, wheel string, want version.Number) bool {
	have := b.Env.Package(wheel)
	return have != nil && !have.Overwritten && (have.Version == requirementOf(b, wheel, want) ||
		inAllowedRange(b, model.Library{Wheel: wheel, Version: have.Number}))
}

// requirementOf returns what to install: the exact version in the build's metadata, otherwise the range that its
// release requires, otherwise any patch of the version that it was compiled with.
func requirementOf(b *model.Build, name string, built version.Number) string {
	if exact := b.Requires[name]; exact != "" {
		return exact
	}
	if asked := b.Asks(name); asked != "" {
		return strings.TrimPrefix(asked, "==")
	}
	return built.String() + ".*"
}

// NCCLMismatch reports an NCCL that lacks a function which the build calls, or that is for a CUDA which the driver does
// not support. Every NCCL 2 is libnccl.so.2, so the loader cannot tell them apart, and NVIDIA allows any newer one. A
// mere difference is a note, because EFA, NGC and AWS images replace NCCL on purpose.
func NCCLMismatch(m *model.Machine, b *model.Build) []*rule.Result {
	lib, known := b.Takes("nccl")
	if !known || b.Shadowed(lib) {
		return nil
	}
	return judgeNCCL(m, b, lib)
}

// judgeNCCL compares the NCCL in use with the one that the build was compiled with, or with the range that its release
// requires (JAX).
func judgeNCCL(m *model.Machine, b *model.Build, lib model.Library) []*rule.Result {
	want := b.NCCLNumber
	if !want.Known() && len(b.Rows) > 0 {
		want = b.Rows[0].NCCL
	}
	need, verb := want.String(), "was built with"
	if asked := b.Asks(lib.Wheel); asked != "" {
		need, verb = strings.TrimPrefix(asked, "=="), "asks for"
	}
	if b.Device != "cuda" || !b.Official() || need == "" {
		return nil
	}
	have := lib.Version
	f := verdict.Finding{Severity: verdict.Note, Subject: b.Subject, Need: "NCCL " + need, Source: b.Source(),
		Message:  fmt.Sprintf("NCCL %s is loaded; %s %s %s %s", have, b.Name, b.Version, verb, need),
		Evidence: append(b.Evidence(), lib.Evidence("NCCL"))}
	switch missing := missingNCCL(b); {
	// torch binds all functions at import, so a missing one keeps it from starting.
	case len(missing) > 0:
		f.Severity = verdict.Error
		f.Message = fmt.Sprintf("NCCL %s lacks %s, which %s %s calls", cmp.Or(have.String(), lib.From), verdict.Some(missing),
			b.Name, b.Version)
		f.Evidence = append(f.Evidence, verdict.Evidence{Fact: "missing symbols", Value: strings.Join(missing, " "), From: lib.From})
	// NCCL contains its own CUDA runtime (error 35). driver-too-old reports the build's own CUDA.
	case m.Driver().CUDA.Known() && lib.CUDA.Major() > m.Driver().CUDA.Major() && lib.CUDA.Major() != b.CUDANumber.Major():
		f.Severity = verdict.Error
		f.Message = fmt.Sprintf("NCCL %s was built for CUDA %s; this is %s, which supports %s", have, lib.CUDA,
			m.DriverWords(), m.Driver().CUDA)
	case conflictsWithPin(m, b, lib, want):
		addPinConflict(&f, b, lib, want)
		return rule.ReportFinding(f)
	// All symbols are there. Nothing else is known.
	case !have.Known():
		return nil
	case have.Compare(want) == 0 || inAllowedRange(b, lib):
		return rule.Pass(b.Subject)
	default:
		return rule.ReportFinding(f)
	}
	f.Pins, f.Steps = fixLibrary(lib, m, b, want)
	stops := b.Name == "torch" && len(missingNCCL(b)) > 0 // it binds all functions when it is imported
	return []*rule.Result{{Subject: b.Subject, Finding: &f, EndsImport: stops}}
}

// TensorFlowCUDALibs reports a TensorFlow whose CUDA libraries are missing. It opens them by name and otherwise runs on
// the CPU, with one line in its log. It is an error, because a GPU build beside a visible GPU was meant to use it. From
// 2.14 on the extra and-cuda brings the wheels; plain `pip install tensorflow` does not.
func TensorFlowCUDALibs(m *model.Machine, b *model.Build) []*rule.Result {
	// Without a visible GPU, TensorFlow runs on the CPU with or without them.
	if b.Name != "tensorflow" || b.Device != "cuda" || len(m.GPUs) == 0 || m.Shown.Hidden {
		return nil
	}
	if !b.Looked {
		return JudgeRequestedLibraries(m, b)
	}
	missing := slices.DeleteFunc(slices.Clone(b.Missing), func(s string) bool {
		// library-shadowed reports symbols and TensorFlow's own libraries.
		return !strings.HasPrefix(s, "lib") || b.OwnLibrary(s)
	})
	if len(missing) == 0 {
		return rule.Pass(b.Subject)
	}
	f := verdict.Finding{Severity: verdict.Error, Subject: b.Subject, Need: strings.Join(missing, ", "),
		Source:   []string{"https://www.tensorflow.org/install/pip"},
		Message:  model.NowhereWords(missing) + ": TensorFlow will run on the CPU",
		Evidence: b.EvidenceLost(missing)}
	// pip considers such a wheel installed, so the step forces its files.
	if bad := b.CannotLoad(missing); len(bad) > 0 {
		f.Message = b.LostWords(missing) + ": TensorFlow will run on the CPU"
		reinstallLostWheels(b, &f, slices.DeleteFunc(slices.Clone(missing), func(library string) bool {
			return b.Installed(library) == nil || len(b.CannotLoad([]string{library})) == 0
		}))
		return rule.ReportFinding(f)
	}
	// A process that is started with LD_LIBRARY_PATH finds them, and files do not show that.
	if dirs := directoriesOffRunPath(b, missing); len(dirs) > 0 && m.Facts.System.Rest {
		return rule.ReportUndecided(b.Subject, verdict.Statement("the LD_LIBRARY_PATH of the process, which must lead to "+verdict.Some(missing)))
	} else if len(dirs) > 0 {
		f.Source = append(f.Source, "https://github.com/tensorflow/tensorflow/issues/63362")
		f.Steps = []pin.Step{pin.Run("export LD_LIBRARY_PATH=" + model.PutFirst(strings.Join(dirs, ":"))).Explained(
			"before TensorFlow starts: the wheels are installed, and its run path does not lead to them")}
		return rule.ReportFinding(f)
	}
	f.Pins, f.Steps = addWheels(m, b)
	return rule.ReportFinding(f)
}

// addWheels adds the wheels with TensorFlow's CUDA libraries. A release without such wheels needs a toolkit, or must
// be replaced by a release that has them.
func addWheels(m *model.Machine, b *model.Build) ([]verdict.Pin, []pin.Step) {
	if len(b.Rows) > 0 && !slices.ContainsFunc(b.Rows, func(r model.Row) bool { return len(r.Packages) > 0 }) {
		newer, steps := pins.ForBuild(m, b)
		return newer, append(steps, pin.Say(fmt.Sprintf("install the toolkit of CUDA %s and cuDNN %s, which this release was built with, and run `sudo ldconfig`", pin.Quoted(b.CUDANumber.Short()), pin.Quoted(b.CuDNNNumber.String()))))
	}
	own := pin.Package{Package: "tensorflow[and-cuda]", Version: b.Release.Number.String()}
	return []verdict.Pin{{Package: own.Package, Version: own.Version,
		Why:      "adds the CUDA libraries as wheels; keeps the driver",
		Commands: pins.Install(b.Place(), pin.Install{Packages: []string{own.Spec()}})}}, nil
}

// directoriesOffRunPath returns the directories of installed wheels that the loader does not search. The run path of
// TensorFlow 2.16.1 and 2.21.0 omits some (tensorflow issue 63362). Reinstalling does not help then; LD_LIBRARY_PATH
// does. It returns none if one of the wheels is not installed, because that wheel must be installed first.
func directoriesOffRunPath(b *model.Build, libraries []string) []string {
	var dirs []string
	for _, library := range libraries {
		wheel := b.Installed(library)
		if wheel == nil {
			return nil
		}
		part := strings.ReplaceAll(model.FamilySuffix.ReplaceAllString(strings.TrimPrefix(wheel.Name, "nvidia-"), ""), "-", "_")
		if dir := path.Join(path.Dir(wheel.Path), "nvidia", part, "lib"); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// CUDAPackagesMixed reports two wheels that own one path, which can hold the file of only one. NVIDIA's wheels of nccl,
// cudnn, nvshmem and, before 0.9.0, cusparselt share one directory for all CUDA versions (trait.csv). pip and uv do not
// notice.
func CUDAPackagesMixed(m *model.Machine) []*rule.Result {
	var results []*rule.Result
	standing := model.StandingOf(m.Tables, m.Facts)
	for i := range m.Facts.Environments {
		env := m.Environment(&m.Facts.Environments[i])
		for _, s := range env.SharedFiles() {
			if len(s.Wheels) < 2 || !strings.HasPrefix(s.Wheels[0].Name, "nvidia-") {
				continue
			}
			r := rule.ReportFinding(mixedWarning(m, env, s.Library, s.Wheels))
			r[0].Noted, r[0].Builds = standing(env.Environment) == model.Noted, frameworksIn(m, env)
			rule.AddVenvStep(env, r)
			results = append(results, r...)
		}
	}
	return results
}

// frameworksIn returns the builds in an environment that load libraries from NVIDIA's wheels. It omits extensions and
// CPU builds.
func frameworksIn(m *model.Machine, env *model.Environment) []*model.Build {
	list := []*model.Build{}
	for _, b := range m.Builds {
		if b.Env == env && b.IsFramework() && b.Device == "cuda" {
			list = append(list, b)
		}
	}
	return list
}

// mixedWarning returns a warning for a file that is not proven to fail: the next install or removal can replace it.
func mixedWarning(m *model.Machine, env *model.Environment, name string, twins []*model.Installed) verdict.Finding {
	f := verdict.Finding{Severity: verdict.Warning, Subject: twins[0].Name + " and " + twins[1].Name + model.PlaceOf(env.Environment),
		Need:    "one of them",
		Message: fmt.Sprintf("both own nvidia/%s/lib, so the one installed last has overwritten the other", name),
		Source:  []string{"https://github.com/pytorch/pytorch/issues/186591"}}
	for _, p := range twins {
		state := ""
		if p.Overwritten {
			state = ", its files are overwritten" + withPrefix(": ", p.Altered)
		}
		if p.Replaced != nil {
			state += ", and they are those of " + p.Replaced.By
		}
		f.Evidence = append(f.Evidence, verdict.Evidence{Fact: p.Name, Value: p.Version + state, From: p.Path})
	}
	if why := leftFails(m, env, name, twins); why != "" {
		f.Severity, f.Message = verdict.Error, f.Message+"; "+why
	}
	f.Pins, f.Steps = unmix(env, twins)
	return f
}

func withPrefix(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// leftFails says why the file that is there cannot work: it needs a newer driver, or lacks a function that the
// environment's torch calls. It returns "" if that is not proven. An unknown driver proves nothing.
func leftFails(m *model.Machine, env *model.Environment, name string, twins []*model.Installed) string {
	over := slices.ContainsFunc(twins, func(p *model.Installed) bool { return environment.PlanInstalls(m, p) })
	left := slices.DeleteFunc(slices.Clone(twins), func(p *model.Installed) bool { return p.Overwritten || over && !environment.PlanInstalls(m, p) })
	// RECORD does not show which file survived: all wheels seem whole, or none.
	if len(left) != 1 {
		return ""
	}
	family := left[0].Family()
	if m.Driver().Version.Known() || m.Driver().CUDA.Known() {
		if state, need, _ := m.Floor(family); state == hardware.FloorBelow {
			return fmt.Sprintf("%s is left, which needs %s", left[0].Name, need)
		}
	}
	for _, b := range env.Builds {
		if missing := symbolsOf(b.Missing, name); len(missing) > 0 {
			return fmt.Sprintf("%s is left, which lacks %s", left[0].Name, verdict.Some(missing))
		}
	}
	return ""
}

// unmix removes the wheels for other CUDA versions and reinstalls the one that the environment's build needs. Removing
// a wheel deletes the shared files, and the metadata of the other is still there, so the other must be installed by
// force. If no build shows its CUDA, either wheel may be the right one.
func unmix(env *model.Environment, twins []*model.Installed) ([]verdict.Pin, []pin.Step) {
	var keep *model.Installed
	release := ""
	for _, b := range env.Builds {
		cuda := version.ParseOrZero(b.CUDA)
		for _, p := range twins {
			if b.Requires[p.Name] != "" || p.Family().Major() == cuda.Major() {
				keep, release = p, cmp.Or(b.Requires[p.Name], p.Version)
			}
		}
	}
	if keep == nil {
		return nil, []pin.Step{pin.Say("uninstall both, then install again what uses them: it brings the one that it needs")}
	}
	var drop []string
	for _, p := range twins {
		if p.Name != keep.Name {
			drop = append(drop, p.Name)
		}
	}
	return []verdict.Pin{{Package: keep.Name, Version: release, Why: "keeps torch and the driver",
		Commands: pins.Install(env, pin.Install{Remove: drop, Packages: []string{keep.Name + "==" + release}, NoDeps: true,
			Again: true})}}, nil
}
