package rules

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// missingNCCL returns the functions that are missing in the NCCL taken.
func missingNCCL(b *model.Build) []string {
	list := symbolsOf(b.Missing, "nccl")
	for _, u := range b.Unresolved {
		if strings.HasPrefix(u.Library, "libnccl.") && !slices.Contains(list, u.Symbol) {
			list = append(list, u.Symbol)
		}
	}
	return list
}

// symbolsOf returns the symbols of one library among what a build misses: NCCL's all begin with "nccl".
func symbolsOf(missing []string, prefix string) []string {
	return slices.DeleteFunc(slices.Clone(missing), func(s string) bool { return !strings.HasPrefix(s, prefix) })
}

// mixedCuDNN finds parts of cuDNN that are taken from different releases, which refuse each other. The front library,
// libcudnn.so.9, asks nothing of them.
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

// sameShort compares the first two parts, and the third where both have one.
func sameShort(v, w version.Number) bool {
	return v.Short() == w.Short() && (v.Parts() < 3 || w.Parts() < 3 || v.SamePatch(w))
}

// skipCuDNNCheck is the variable that makes torch go on with a cuDNN of a lower minor than its own
// (https://github.com/pytorch/pytorch/blob/v2.8.0/torch/backends/cudnn/__init__.py).
const skipCuDNNCheck = "PYTORCH_SKIP_CUDNN_COMPATIBILITY_CHECK"

// cudnnMismatch: the cuDNN that the build will take is of another major, or older than it was built with. NVIDIA
// promises that a program runs with the same major and an equal or higher minor; patches do not matter (cuDNN's page on
// forward compatibility).
func cudnnMismatch(m *model.Machine, b *model.Build) []*Result {
	want, source := b.CuDNNNumber, b.Source()
	// TensorFlow's build_info.py tells only the major.
	if want.Parts() < 2 && len(b.Rows) > 0 && b.Rows[0].CuDNN.Known() {
		want = b.Rows[0].CuDNN
	}
	lib, known := b.Takes("cudnn")
	// Source, NGC and conda builds may be built with another cuDNN than the release's row says.
	if b.Device != "cuda" || !b.Official() || !want.Known() || !known || refusesJaxlib(b) {
		return nil
	}
	have := lib.Version
	f := verdict.Finding{Subject: b.Subject, Need: fmt.Sprintf("cuDNN %s", want), Source: source,
		Message:  fmt.Sprintf("%[2]s %[3]s was built with cuDNN %[4]s, but cuDNN %[1]s is loaded", have, b.Name, b.Version, want),
		Evidence: append(b.Evidence(), lib.Evidence("cuDNN"))}
	switch {
	// The parts check each other when they are opened (1002, CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH), whatever the
	// build was made with.
	case mixedCuDNN(b, &f):
		return oneFinding(f)
	case inAllowedRange(b, lib):
		return holds(b.Subject)
	// Another major has another file name, and cannot stand in for it: libcudnn.so.8, libcudnn.so.9.
	case have.Major() != want.Major():
		f.Severity = verdict.Error
	// Somebody set the variable, knowing what torch says without it.
	case have.LessShort(want) && b.Name == "torch" && m.Facts.Variables[skipCuDNNCheck] == "1":
		f.Severity = verdict.Note
		f.Message += ", and " + skipCuDNNCheck + " tells it not to compare"
		f.Evidence = append(f.Evidence, variable(m, skipCuDNNCheck))
	// torch raises RuntimeError in cudnn.version() and where an RNN moves to the GPU (torch/backends/cudnn). TensorFlow
	// and JAX log "Loaded runtime CuDNN library: 8.1.1 but source was compiled with: 8.6.0" and have no cuDNN (tensorflow
	// issue 62170, jax issue 16901).
	case have.LessShort(want):
		f.Severity = verdict.Error
	// A newer minor of the same major, or another patch, serves the build; bad releases have rows in known-bad.
	default:
		return holds(b.Subject)
	}
	if b.Name == "torch" && have.Major() == want.Major() && f.Severity == verdict.Error {
		f.Message += ": torch raises an error where it asks for the version, as for an RNN on the GPU"
	}
	if asked := b.Asks(lib.Wheel); asked != "" {
		f.Need = "cuDNN " + strings.TrimPrefix(asked, "==")
	}
	f.Pins, f.Steps = mend(lib, m, b, want)
	return oneFinding(f)
}

// refusesJaxlib reports whether it is a JAX beside a jaxlib of another release: it loads no cuDNN, and which one it was
// built with is read from that jaxlib.
func refusesJaxlib(b *model.Build) bool {
	return b.Name == "jax" && slices.ContainsFunc(b.Hindrances, func(h facts.Hindrance) bool {
		return h.Kind == facts.HindranceRelease
	})
}

// inAllowedRange reports whether a library is in the range that the build's release asks for. JAX asks for a range of cuDNN,
// so a newer wheel than it was built with is as its makers want it.
func inAllowedRange(b *model.Build, l model.Library) bool {
	asked := b.Asks(l.Wheel)
	ok, err := version.Allows(asked, l.Version)
	return asked != "" && ok && err == nil
}

// mend returns what the build requires where more than this library is another release's; else the wheel to install,
// for which pip would do nothing where its twin has overwritten it; where the loader takes another file than the
// wheel's, that has to go out of its way, and installing a wheel would change nothing.
func mend(l model.Library, m *model.Machine, b *model.Build, want version.Number) ([]verdict.Pin, []pin.Step) {
	if besideOwn(b) && !b.Shadowed(l) {
		return requirementPins(m, b), nil
	}
	if twins := b.Env.Twins(strings.TrimPrefix(model.FamilySuffix.ReplaceAllString(l.Wheel, ""), "nvidia-")); len(twins) > 1 &&
		!b.Shadowed(l) {
		return unmix(b.Env, twins)
	}
	pins := pins.PackagePin(b.Env, l.Wheel, requirementOf(b, l.Wheel, want))
	if b.Shadowed(l) {
		if has(b, l.Wheel, want) {
			pins = nil
		}
		return pins, []pin.Step{pin.Say(model.Removal(l.From, l.Reason))}
	}
	return pins, nil
}

// has reports whether a wheel that would serve is installed already: one whose file another wheel has overwritten does
// not.
func has(b *model.Build, wheel string, want version.Number) bool {
	have := b.Env.Package(wheel)
	return have != nil && !have.Overwritten && (have.Version == requirementOf(b, wheel, want) ||
		inAllowedRange(b, model.Library{Wheel: wheel, Version: have.Number}))
}

// requirementOf returns what to install: the exact version that the build's metadata pins, else the range that its
// release asks for, else every patch of the one it was built with.
func requirementOf(b *model.Build, name string, built version.Number) string {
	if exact := b.Requires[name]; exact != "" {
		return exact
	}
	if asked := b.Asks(name); asked != "" {
		return strings.TrimPrefix(asked, "==")
	}
	return built.String() + ".*"
}

// ncclMismatch: the build's own NCCL lacks a function that it calls, or is for a CUDA that the driver does not support.
// Every NCCL 2 is libnccl.so.2, so the loader cannot tell them apart, and NVIDIA lets any newer one stand in. Merely
// another version is worth a note: EFA, NGC and AWS images replace it on purpose.
func ncclMismatch(m *model.Machine, b *model.Build) []*Result {
	lib, known := b.Takes("nccl")
	if !known || b.Shadowed(lib) {
		return nil
	}
	return judgeNCCL(m, b, lib)
}

// judgeNCCL compares the NCCL that is taken with the one that the build was made with, or with the range that its
// release asks for (JAX).
func judgeNCCL(m *model.Machine, b *model.Build, lib model.Library) []*Result {
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
	// torch binds all functions when it is imported, so one that is missing keeps it from starting.
	case len(missing) > 0:
		f.Severity = verdict.Error
		f.Message = fmt.Sprintf("NCCL %s lacks %s, which %s %s calls", cmp.Or(have.String(), lib.From), verdict.Some(missing),
			b.Name, b.Version)
		f.Evidence = append(f.Evidence, verdict.Evidence{Fact: "missing symbols", Value: strings.Join(missing, " "), From: lib.From})
	// NCCL contains its own CUDA runtime (error 35). For the build's own CUDA, driver-too-old says so.
	case m.Driver().CUDA.Known() && lib.CUDA.Major() > m.Driver().CUDA.Major() && lib.CUDA.Major() != b.CUDANumber.Major():
		f.Severity = verdict.Error
		f.Message = fmt.Sprintf("NCCL %s was built for CUDA %s; this is %s, which supports %s", have, lib.CUDA,
			m.DriverWords(), m.Driver().CUDA)
	// All symbols are there; of the rest nothing is known.
	case !have.Known():
		return nil
	case have.Compare(want) == 0 || inAllowedRange(b, lib):
		return holds(b.Subject)
	default:
		return oneFinding(f)
	}
	f.Pins, f.Steps = mend(lib, m, b, want)
	stops := b.Name == "torch" && len(missingNCCL(b)) > 0 // it binds all functions when it is imported
	return []*Result{{Subject: b.Subject, Finding: &f, EndsImport: stops}}
}

// tensorflowLibs: TensorFlow opens its CUDA libraries by name and runs on the CPU when one is nowhere, with one line in
// its log: an error, since a GPU build beside a visible GPU was to use it. From 2.14 on the extra and-cuda brings the
// wheels; plain `pip install tensorflow` does not.
func tensorflowLibs(m *model.Machine, b *model.Build) []*Result {
	// Without a visible GPU TensorFlow runs on the CPU with or without them.
	if b.Name != "tensorflow" || b.Device != "cuda" || len(m.GPUs) == 0 || m.Shown.Hidden {
		return nil
	}
	if !b.Looked {
		return bare(m, b)
	}
	missing := slices.DeleteFunc(slices.Clone(b.Missing), func(s string) bool {
		// Symbols, and TensorFlow's own libraries, are library-shadowed's.
		return !strings.HasPrefix(s, "lib") || b.OwnLibrary(s)
	})
	if len(missing) == 0 {
		return holds(b.Subject)
	}
	f := verdict.Finding{Severity: verdict.Error, Subject: b.Subject, Need: strings.Join(missing, ", "),
		Source:   []string{"https://www.tensorflow.org/install/pip"},
		Message:  model.NowhereWords(missing) + ": TensorFlow will run on the CPU",
		Evidence: b.EvidenceLost(missing)}
	// pip takes such a wheel for installed, so its files have to be forced.
	if bad := b.CannotLoad(missing); len(bad) > 0 {
		f.Message = b.LostWords(missing) + ": TensorFlow will run on the CPU"
		putBack(b, &f, slices.DeleteFunc(slices.Clone(missing), func(library string) bool {
			return b.Installed(library) == nil || len(b.CannotLoad([]string{library})) == 0
		}))
		return oneFinding(f)
	}
	// A process that is started with LD_LIBRARY_PATH finds them, which files do not show.
	if dirs := besidePath(b, missing); len(dirs) > 0 && m.Facts.System.Rest {
		return undecidable(b.Subject, verdict.Statement("the LD_LIBRARY_PATH of the process, which must lead to "+verdict.Some(missing)))
	} else if len(dirs) > 0 {
		f.Source = append(f.Source, "https://github.com/tensorflow/tensorflow/issues/63362")
		f.Steps = []pin.Step{pin.Run("export LD_LIBRARY_PATH=" + model.PutFirst(strings.Join(dirs, ":"))).Explained(
			"before TensorFlow starts: the wheels are installed, and its run path does not lead to them")}
		return oneFinding(f)
	}
	f.Pins, f.Steps = withWheels(m, b)
	return oneFinding(f)
}

// withWheels adds the wheels of TensorFlow's CUDA libraries. A release that had none of them yet wants a toolkit, or gives
// way to one that has.
func withWheels(m *model.Machine, b *model.Build) ([]verdict.Pin, []pin.Step) {
	if len(b.Rows) > 0 && !slices.ContainsFunc(b.Rows, func(r model.Row) bool { return len(r.Packages) > 0 }) {
		newer, steps := pins.ForBuild(m, b)
		return newer, append(steps, pin.Say(fmt.Sprintf("install the toolkit of CUDA %s and cuDNN %s, which this release was built with, and run `sudo ldconfig`", pin.Quoted(b.CUDANumber.Short()), pin.Quoted(b.CuDNNNumber.String()))))
	}
	own := pin.Package{Package: "tensorflow[and-cuda]", Version: b.Release.Number.String()}
	return []verdict.Pin{{Package: own.Package, Version: own.Version,
		Why:      "adds the CUDA libraries as wheels; keeps the driver",
		Commands: pins.Install(b.Place(), pin.Install{Packages: []string{own.Spec()}})}}, nil
}

// besidePath returns the directories of installed wheels with libraries that the loader does not find there, as
// TensorFlow 2.16.1's and 2.21.0's, whose run path leaves some out (tensorflow issue 63362). Installing again changes
// nothing then; LD_LIBRARY_PATH does. None where the wheel of one of them is not installed: then installing comes
// first.
func besidePath(b *model.Build, libraries []string) []string {
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

// packagesMixed: two wheels own one path, and only one of them can have its file there. NVIDIA's wheels of nccl, cudnn,
// nvshmem and, before 0.9.0, cusparselt have one directory for all CUDA families (trait.csv); pip and uv do not notice.
func packagesMixed(m *model.Machine) []*Result {
	var results []*Result
	standing := model.StandingOf(m.Tables, m.Facts)
	for i := range m.Facts.Environments {
		env := m.Environment(&m.Facts.Environments[i])
		for _, s := range env.SharedFiles() {
			if len(s.Wheels) < 2 || !strings.HasPrefix(s.Wheels[0].Name, "nvidia-") {
				continue
			}
			r := oneFinding(mixedWarning(m, env, s.Library, s.Wheels))
			r[0].Noted, r[0].Builds = standing(env.Environment) == model.Noted, frameworksIn(m, env)
			withPEP668Step(env, r)
			results = append(results, r...)
		}
	}
	return results
}

// frameworksIn returns the builds that load the libraries of NVIDIA's wheels in an environment: extensions and builds
// for the CPU do not.
func frameworksIn(m *model.Machine, env *model.Environment) []*model.Build {
	list := []*model.Build{}
	for _, b := range m.Builds {
		if b.Env == env && b.IsFramework() && b.Device == "cuda" {
			list = append(list, b)
		}
	}
	return list
}

// mixedWarning returns a warning as long as nothing says that the file which is left fails: the next install or removal
// can change the file.
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

// leftFails says why the file that is there cannot serve, empty when that is not proven: it needs a newer driver,
// or lacks a function that the environment's torch calls. A driver that is not known proves nothing.
func leftFails(m *model.Machine, env *model.Environment, name string, twins []*model.Installed) string {
	over := slices.ContainsFunc(twins, func(p *model.Installed) bool { return comes(m, p) })
	left := slices.DeleteFunc(slices.Clone(twins), func(p *model.Installed) bool { return p.Overwritten || over && !comes(m, p) })
	// RECORD does not tell which file survived: all wheels seem whole, or none.
	if len(left) != 1 {
		return ""
	}
	family := left[0].Family()
	if m.Driver().Version.Known() || m.Driver().CUDA.Known() {
		if state, need, _ := m.Floor(family); state == model.FloorBelow {
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

// unmix takes the other families' wheels away and puts the one back that the environment's build wants. Removing one
// deletes the shared files, so the other must be installed again, by force, because its metadata is still there. Where
// no build tells its CUDA, either may be wanted.
func unmix(env *model.Environment, twins []*model.Installed) ([]verdict.Pin, []pin.Step) {
	var keep *model.Installed
	release := ""
	for _, b := range env.Builds {
		cuda := version.Of(b.CUDA)
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
