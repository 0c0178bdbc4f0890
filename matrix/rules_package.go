package matrix

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/pin"
	"cudacompat/probe/facts"
)

// skipCuDNNCheck is the variable that makes torch go on with a cuDNN of a lower minor than its own
// (https://github.com/pytorch/pytorch/blob/v2.8.0/torch/backends/cudnn/__init__.py).
const skipCuDNNCheck = "PYTORCH_SKIP_CUDNN_COMPATIBILITY_CHECK"

// cudnnMismatch: the cuDNN that the build will take is of another major, or older than it was built with. NVIDIA
// promises that a program runs with the same major and an equal or higher minor; patches do not matter (cuDNN's page on
// forward compatibility).
func cudnnMismatch(m *machine, b *build) []*result {
	want, source := b.cudnn, b.source()
	// TensorFlow's build_info.py tells only the major.
	if want.Parts() < 2 && len(b.rows) > 0 && b.rows[0].CuDNN.Known() {
		want = b.rows[0].CuDNN
	}
	lib, known := b.takes("cudnn")
	// Source, NGC and conda builds may be built with another cuDNN than the release's row says.
	if b.accelerator != "cuda" || !b.official() || !want.Known() || !known || b.refusesJaxlib() {
		return nil
	}
	have := lib.version
	f := Finding{Subject: b.subject, Need: fmt.Sprintf("cuDNN %s", want), Source: source,
		Message: fmt.Sprintf("%[2]s %[3]s was built with cuDNN %[4]s, but cuDNN %[1]s is "+
			"loaded", have, b.Name, b.Version, want),
		Evidence: append(b.evidence(), lib.evidence("cuDNN"))}
	switch {
	// The parts check each other when they are opened (1002, CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH), whatever the
	// build was made with.
	case b.mixedCuDNN(&f):
		return found(f)
	case b.allowed(lib):
		return holds(b.subject)
	// Another major has another file name, and cannot stand in for it: libcudnn.so.8, libcudnn.so.9.
	case have.Major() != want.Major():
		f.Severity = Error
	// Somebody set the variable, knowing what torch says without it.
	case have.LessShort(want) && b.Name == "torch" && m.f.Variables[skipCuDNNCheck] == "1":
		f.Severity = Note
		f.Message += ", and " + skipCuDNNCheck + " tells it not to compare"
		f.Evidence = append(f.Evidence, Evidence{Fact: skipCuDNNCheck, Value: "1", From: "environment"})
	// torch raises RuntimeError in cudnn.version() and where an RNN moves to the GPU (torch/backends/cudnn). TensorFlow
	// and JAX log "Loaded runtime CuDNN library: 8.1.1 but source was compiled with: 8.6.0" and have no cuDNN (tensorflow
	// issue 62170, jax issue 16901).
	case have.LessShort(want):
		f.Severity = Error
	// A newer minor of the same major, or another patch, serves the build; bad releases have rows in known-bad.
	default:
		return holds(b.subject)
	}
	if b.Name == "torch" && have.Major() == want.Major() && f.Severity == Error {
		f.Message += ": torch raises an error where it asks for the version, as for an RNN on the GPU"
	}
	if asked := b.asks(lib.wheel); asked != "" {
		f.Need = "cuDNN " + strings.TrimPrefix(asked, "==")
	}
	f.Pins, f.Steps = lib.mend(m, b, want)
	return found(f)
}

// refusesJaxlib reports whether it is a JAX beside a jaxlib of another release: it loads no cuDNN, and which one it was
// built with is read from that jaxlib.
func (b *build) refusesJaxlib() bool {
	return b.Name == "jax" && slices.ContainsFunc(b.Hindrances, func(h facts.Hindrance) bool {
		return h.Kind == facts.HindranceRelease
	})
}

// allowed reports whether a library is in the range that the build's release asks for. JAX asks for a range of cuDNN,
// so a newer wheel than it was built with is as its makers want it.
func (b *build) allowed(l library) bool {
	asked := b.asks(l.wheel)
	ok, err := version.Allows(asked, l.version)
	return asked != "" && ok && err == nil
}

// mend is what the build requires where more than this library is another release's; else the wheel to install, for
// which pip would do nothing where its twin has overwritten it; where the loader takes another file than the wheel's,
// that has to go out of its way, and installing a wheel would change nothing.
func (l library) mend(m *machine, b *build, want version.Number) ([]Pin, []pin.Step) {
	if b.besideOwn() && !b.shadowed(l) {
		return m.required(b), nil
	}
	if twins := b.env.twins(strings.TrimPrefix(familySuffix.ReplaceAllString(l.wheel, ""), "nvidia-")); len(twins) > 1 &&
		!b.shadowed(l) {
		return unmix(b.env, twins)
	}
	pins := b.env.packagePin(l.wheel, b.wanted(l.wheel, want))
	if b.shadowed(l) {
		if b.has(l.wheel, want) {
			pins = nil
		}
		return pins, []pin.Step{pin.Say(removal(l.from, l.reason))}
	}
	return pins, nil
}

// has reports whether a wheel that would serve is installed already: one whose file another wheel has overwritten does
// not.
func (b *build) has(wheel string, want version.Number) bool {
	have := b.env.Package(wheel)
	return have != nil && !have.Overwritten && (have.Version == b.wanted(wheel, want) ||
		b.allowed(library{wheel: wheel, version: have.version}))
}

// wanted is what to install: the exact version that the build's metadata pins, else the range that its release asks
// for, else every patch of the one it was built with.
func (b *build) wanted(name string, built version.Number) string {
	if exact := b.Requires[name]; exact != "" {
		return exact
	}
	if asked := b.asks(name); asked != "" {
		return strings.TrimPrefix(asked, "==")
	}
	return built.String() + ".*"
}

// ncclMismatch: the build's own NCCL lacks a function that it calls, or is for a CUDA that the driver does not support.
// Every NCCL 2 is libnccl.so.2, so the loader cannot tell them apart, and NVIDIA lets any newer one stand in. Merely
// another version is worth a note: EFA, NGC and AWS images replace it on purpose.
func ncclMismatch(m *machine, b *build) []*result {
	lib, known := b.takes("nccl")
	if !known || b.shadowed(lib) {
		return nil
	}
	return m.judgeNCCL(b, lib)
}

// judgeNCCL compares the NCCL that is taken with the one that the build was made with, or with the range that its
// release asks for (JAX).
func (m *machine) judgeNCCL(b *build, lib library) []*result {
	want := b.nccl
	if !want.Known() && len(b.rows) > 0 {
		want = b.rows[0].NCCL
	}
	need, verb := want.String(), "was built with"
	if asked := b.asks(lib.wheel); asked != "" {
		need, verb = strings.TrimPrefix(asked, "=="), "asks for"
	}
	if b.accelerator != "cuda" || !b.official() || need == "" {
		return nil
	}
	have := lib.version
	f := Finding{Severity: Note, Subject: b.subject, Need: "NCCL " + need, Source: b.source(),
		Message:  fmt.Sprintf("NCCL %s is loaded; %s %s %s %s", have, b.Name, b.Version, verb, need),
		Evidence: append(b.evidence(), lib.evidence("NCCL"))}
	switch missing := b.missingNCCL(); {
	// torch binds all functions when it is imported, so one that is missing keeps it from starting.
	case len(missing) > 0:
		f.Severity = Error
		f.Message = fmt.Sprintf("NCCL %s lacks %s, which %s %s calls", cmp.Or(have.String(), lib.from), some(missing),
			b.Name, b.Version)
		f.Evidence = append(f.Evidence, Evidence{Fact: "missing symbols", Value: strings.Join(missing, " "), From: lib.from})
	// NCCL contains its own CUDA runtime (error 35). For the build's own CUDA, driver-too-old says so.
	case m.driver().cuda.Known() && lib.cuda.Major() > m.driver().cuda.Major() && lib.cuda.Major() != b.cuda.Major():
		f.Severity = Error
		f.Message = fmt.Sprintf("NCCL %s was built for CUDA %s; this is %s, which supports %s", have, lib.cuda,
			m.driverWords(), m.driver().cuda)
	// All symbols are there; of the rest nothing is known.
	case !have.Known():
		return nil
	case have.Compare(want) == 0 || b.allowed(lib):
		return holds(b.subject)
	default:
		return found(f)
	}
	f.Pins, f.Steps = lib.mend(m, b, want)
	stops := b.Name == "torch" && len(b.missingNCCL()) > 0 // it binds all functions when it is imported
	return []*result{{subject: b.subject, finding: &f, stops: stops}}
}

// tensorflowLibs: TensorFlow opens its CUDA libraries by name and runs on the CPU when one is nowhere, with one line in
// its log: an error, since a GPU build beside a visible GPU was to use it. From 2.14 on the extra and-cuda brings the
// wheels; plain `pip install tensorflow` does not.
func tensorflowLibs(m *machine, b *build) []*result {
	// Without a visible GPU TensorFlow runs on the CPU with or without them.
	if b.Name != "tensorflow" || b.accelerator != "cuda" || len(m.gpus) == 0 || m.shown.hidden {
		return nil
	}
	if !b.Looked {
		return m.bare(b)
	}
	missing := slices.DeleteFunc(slices.Clone(b.Missing), func(s string) bool {
		// Symbols, and TensorFlow's own libraries, are library-shadowed's.
		return !strings.HasPrefix(s, "lib") || b.ownLibrary(s)
	})
	if len(missing) == 0 {
		return holds(b.subject)
	}
	f := Finding{Severity: Error, Subject: b.subject, Need: strings.Join(missing, ", "),
		Source:   []string{"https://www.tensorflow.org/install/pip"},
		Message:  nowhereWords(missing) + ": TensorFlow will run on the CPU",
		Evidence: b.evidenceLost(missing)}
	// pip takes such a wheel for installed, so its files have to be forced.
	if bad := b.unloadable(missing); len(bad) > 0 {
		f.Message = b.lostWords(missing) + ": TensorFlow will run on the CPU"
		b.putBack(&f, slices.DeleteFunc(slices.Clone(missing), func(library string) bool {
			return b.installed(library) == nil || len(b.unloadable([]string{library})) == 0
		}))
		return found(f)
	}
	// A process that is started with LD_LIBRARY_PATH finds them, which files do not show.
	if dirs := b.besidePath(missing); len(dirs) > 0 && m.f.System.Rest {
		return undecidable(b.subject, "the LD_LIBRARY_PATH of the process, which must lead to "+some(missing))
	} else if len(dirs) > 0 {
		f.Source = append(f.Source, "https://github.com/tensorflow/tensorflow/issues/63362")
		f.Steps = []pin.Step{pin.Run("export LD_LIBRARY_PATH=" + first(strings.Join(dirs, ":"))).That(
			"before TensorFlow starts: the wheels are installed, and its run path does not lead to them")}
		return found(f)
	}
	own := pin.Package{Package: "tensorflow[and-cuda]", Version: b.release.Number.String()}
	f.Pins = []Pin{{Package: own.Package, Version: own.Version,
		Why:      "adds the CUDA libraries as wheels; keeps the driver",
		Commands: b.env.install(pin.Install{Packages: []string{own.Spec()}})}}
	return found(f)
}

// besidePath are the directories of installed wheels with libraries that the loader does not find there, as TensorFlow
// 2.16.1's and 2.21.0's, whose run path leaves some out (tensorflow issue 63362). Installing again changes nothing
// then; LD_LIBRARY_PATH does. None where the wheel of one of them is not installed: then installing comes first.
func (b *build) besidePath(libraries []string) []string {
	var dirs []string
	for _, library := range libraries {
		wheel := b.installed(library)
		if wheel == nil {
			return nil
		}
		part := strings.ReplaceAll(familySuffix.ReplaceAllString(strings.TrimPrefix(wheel.Name, "nvidia-"), ""), "-", "_")
		if dir := path.Join(path.Dir(wheel.Path), "nvidia", part, "lib"); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// packagesMixed: two wheels own one path, and only one of them can have its file there. NVIDIA's wheels of nccl, cudnn,
// nvshmem and, before 0.9.0, cusparselt have one directory for all CUDA families (trait.csv); pip and uv do not notice.
func packagesMixed(m *machine) []*result {
	var results []*result
	standing := standingOf(m.t, m.f)
	for i := range m.f.Environments {
		env := m.environment(&m.f.Environments[i])
		for _, s := range env.shared {
			// Two majors of cuDNN have different file names (libcudnn.so.8, .so.9), so neither overwrites the other.
			if len(s.wheels) < 2 || s.library == "cudnn" && s.wheels[0].version.Major() != s.wheels[1].version.Major() {
				continue
			}
			r := found(m.mixed(env, s.library, s.wheels))
			r[0].noted, r[0].builds = standing(env.Environment) == noted, m.frameworksIn(env)
			env.unmanaged(r)
			results = append(results, r...)
		}
	}
	return results
}

// frameworksIn are the builds that load the libraries of NVIDIA's wheels in an environment: extensions and builds for the
// CPU do not.
func (m *machine) frameworksIn(env *environment) []*build {
	list := []*build{}
	for _, b := range m.builds {
		if b.env == env && b.framework() && b.accelerator == "cuda" {
			list = append(list, b)
		}
	}
	return list
}

// mixed is a warning as long as nothing says that the survivor fails: the next install or removal can change the file.
func (m *machine) mixed(env *environment, name string, twins []*installed) Finding {
	f := Finding{Severity: Warning, Subject: twins[0].Name + " and " + twins[1].Name + placeOf(env.Environment),
		Need:    "one of them",
		Message: fmt.Sprintf("both own nvidia/%s/lib, so the one installed last has overwritten the other", name),
		Source:  []string{"https://github.com/pytorch/pytorch/issues/186591"}}
	for _, p := range twins {
		state := ""
		if p.Overwritten {
			state = ", its files are overwritten" + prefixed(": ", p.Altered)
		}
		f.Evidence = append(f.Evidence, Evidence{Fact: p.Name, Value: p.Version + state, From: p.Path})
	}
	if held := env.holds(name); held != nil {
		f.Evidence = append(f.Evidence, Evidence{Fact: held.Name,
			Value: "is " + held.Version + prefixed(" for CUDA ", held.CUDA), From: held.Path})
	}
	if why := m.survivorFails(env, name, twins); why != "" {
		f.Severity, f.Message = Error, f.Message+"; "+why
	}
	f.Pins, f.Steps = unmix(env, twins)
	return f
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// holds is the library that is really there, by the version in its bytes; nil where no build takes it from its wheel.
// Metadata does not tell: both wheels claim the path.
func (e *environment) holds(library string) *facts.Taken {
	for _, b := range e.Builds {
		for i, t := range b.Taken {
			if t.Version != "" && strings.HasPrefix(t.Name, "lib"+library+".so") &&
				strings.Contains(t.Path, "/nvidia/"+library+"/") {
				return &b.Taken[i]
			}
		}
	}
	return nil
}

// survivorFails says why the file that is there cannot serve, empty when that is not proven: it needs a newer driver,
// or lacks a function that the environment's torch calls. A driver that is not known proves nothing.
func (m *machine) survivorFails(env *environment, name string, twins []*installed) string {
	left := slices.DeleteFunc(slices.Clone(twins), func(p *installed) bool { return p.Overwritten })
	// RECORD does not tell which file survived: all wheels seem whole, or none.
	if len(left) != 1 {
		return ""
	}
	family := left[0].family()
	if m.driver().version.Known() || m.driver().cuda.Known() {
		if state, need, _ := m.floor(family); state == floorBelow {
			return fmt.Sprintf("%s is left, which needs %s", left[0].Name, need)
		}
	}
	for _, b := range env.Builds {
		if missing := symbolsOf(b.Missing, name); len(missing) > 0 {
			return fmt.Sprintf("%s is left, which lacks %s", left[0].Name, some(missing))
		}
	}
	return ""
}

// unmix takes the other families' wheels away and puts the one back that the environment's build wants. Removing one
// deletes the shared files, so the other must be installed again, by force, because its metadata is still there. Where
// no build tells its CUDA, either may be wanted.
func unmix(env *environment, twins []*installed) ([]Pin, []pin.Step) {
	var keep *installed
	release := ""
	for _, b := range env.Builds {
		cuda := version.Of(b.CUDA)
		for _, p := range twins {
			if b.Requires[p.Name] != "" || p.family().Major() == cuda.Major() {
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
	return []Pin{{Package: keep.Name, Version: release, Why: "keeps torch and the driver",
		Commands: env.install(pin.Install{Remove: drop, Packages: []string{keep.Name + "==" + release}, NoDeps: true,
			Again: true})}}, nil
}
