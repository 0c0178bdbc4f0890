package library

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/internal/rules/environment"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
)

// openSteps returns the steps after which a package finds the libraries that it opens.
func openSteps(m *model.Machine, b *model.Build) []pin.Step {
	steps := stepsToOtherRelease(m, b)
	if b.Name == "ctranslate2" {
		steps = wheelSteps(m, b)
	}
	if len(steps) == 0 {
		of := ""
		if b.CUDA != "" { // its libraries tell; that PTX does, how old it may be at least
			of = fmt.Sprintf(" of CUDA %d", b.CUDANumber.Major())
		}
		return []pin.Step{pin.Say("install " + pin.Quoted(verdict.Some(b.Missing)+of) + ", and start the program with an LD_LIBRARY_PATH that leads there")}
	}
	return steps
}

// stepsToOtherRelease returns the steps to a release that uses the libraries of the installed framework. If there is
// none, it returns the steps to a release that brings its own libraries. A release for another CUDA than the
// framework's needs its own environment, because its cuDNN would overwrite the framework's.
func stepsToOtherRelease(m *model.Machine, b *model.Build) []pin.Step {
	framework := m.FrameworkOf(b)
	own := releaseFor(m, b, func(e tables.Extension) bool { return fitsDriver(m, e) })
	if framework == nil || own == nil {
		return replaceRelease(b, own, true, pins.Place(b.Place()))
	}
	if bringsOtherCUDA(framework, b) {
		if steps := replaceRelease(b, releaseFor(m, b, func(e tables.Extension) bool { return sharesWith(framework, e) }), false, pins.Place(b.Place())); len(steps) > 0 {
			steps[0] = steps[0].Explained("it takes the libraries of " + pin.Quoted(framework.Name))
			return steps
		}
	}
	steps := replaceRelease(b, own, true, pin.Place{})
	if len(steps) == 0 {
		return nil
	}
	steps[0] = steps[0].Explained("in an environment of its own, without " + pin.Quoted(framework.Name))
	return steps
}

// fitsDriver reports whether the driver runs the CUDA that a release is built for.
func fitsDriver(m *model.Machine, e tables.Extension) bool { return m.Reached(e.Family()) }

// bringsOtherCUDA reports whether a framework was built for another CUDA major version than the package and has all of
// its own libraries.
func bringsOtherCUDA(b *model.Build, to *model.Build) bool {
	lost := func(name string) bool { return strings.HasPrefix(name, "lib") }
	return b.CUDANumber.Major() != to.CUDANumber.Major() && b.Looked && !slices.ContainsFunc(b.Missing, lost)
}

// sharesWith reports whether a release can use a framework's libraries: they have the same CUDA and, if both are known,
// the same cuDNN.
func sharesWith(b *model.Build, e tables.Extension) bool {
	cudnn := !e.CuDNN.Known() || !b.CuDNNNumber.Known() || e.CuDNN.Major() == b.CuDNNNumber.Major()
	return cudnn && e.Family().Major() == b.CUDANumber.Major()
}

// releaseFor returns the package's own release if it fits, otherwise the newest one, for the same CUDA if possible.
func releaseFor(m *model.Machine, b *model.Build, fits func(tables.Extension) bool) *tables.Extension {
	var list []tables.Extension
	for _, e := range slices.Backward(tables.Rows[tables.Extension](m.Tables)) {
		python := version.ShortPython(b.Interpreter)
		if pins.SameProject(e.Package, b.Name) && m.Tables.Trait("cuda-from-wheels", e.Package, version.ParseOrZero(e.Release)) && fits(e) &&
			(python == "" || slices.Contains(e.Python, python)) {
			list = append(list, e)
		}
	}
	own := func(e tables.Extension) bool { return e.Package == b.Name && e.Release == b.Version }
	family := func(e tables.Extension) bool { return e.Family().Major() == b.CUDANumber.Major() && pins.Covers(m, e) }
	for _, best := range []func(tables.Extension) bool{own, family, func(e tables.Extension) bool { return pins.Covers(m, e) }} {
		if i := slices.IndexFunc(list, best); i >= 0 {
			return &list[i]
		}
	}
	return nil
}

// replaceRelease returns the steps that replace the installed release by another, with the extras that bring its
// libraries.
func replaceRelease(b *model.Build, e *tables.Extension, extras bool, at pin.Place) []pin.Step {
	if e == nil {
		return nil
	}
	extra, onnx := "[ctk]", e.Package == "onnxruntime-gpu"
	if onnx {
		extra = "[cuda,cudnn]"
	}
	if !extras {
		extra = ""
	}
	install := pin.Install{Packages: []string{e.Package + extra + "==" + e.Release}}
	if e.Package != b.Name {
		install.Remove = []string{b.Name}
	}
	command := install.Step(at)
	switch {
	case command == "":
		return nil
	case onnx:
		return []pin.Step{pin.Run(command), pin.Say("call onnxruntime.preload_dlls() before the first session")}
	}
	return []pin.Step{pin.Run(command)}
}

// wheelSteps installs the wheels with the libraries that CTranslate2 opens. CTranslate2 has no extra for them and does
// not search the wheels. A framework's cuDNN stays unchanged.
func wheelSteps(m *model.Machine, b *model.Build) []pin.Step {
	var wheels, dirs []string
	for _, library := range b.Missing {
		stem, major, _ := strings.Cut(library, ".so.")
		part, version := "cublas", ""
		if strings.HasPrefix(stem, "libcudnn") {
			part, version = "cudnn", "=="+major+".*"
		}
		if dir := path.Join(path.Dir(b.Path), "nvidia", part, "lib"); !slices.Contains(dirs, dir) {
			wheels = append(wheels, fmt.Sprintf("nvidia-%s-cu%d%s", part, b.CUDANumber.Major(), version))
			dirs = append(dirs, dir)
		}
	}
	cudnn := func(wheel string) bool { return strings.HasPrefix(wheel, "nvidia-cudnn") }
	if b.CUDANumber.Major() > 12 || m.FrameworkOf(b) != nil && slices.ContainsFunc(wheels, cudnn) {
		return nil
	}
	command := pins.InstallStep(b.Place(), pin.Install{Packages: wheels})
	if command.Run == "" {
		return nil
	}
	return []pin.Step{command, pin.Run("export LD_LIBRARY_PATH=" + model.PutFirst(strings.Join(dirs, ":"))).Explained("before the program starts")}
}

// loadingCode returns the code that loads libraries before a package needs them. The loader then finds them by soname,
// wherever they are.
func loadingCode(b *model.Build) string {
	if b.Name == "onnxruntime-gpu" {
		return "onnxruntime.preload_dlls() or `import torch`"
	}
	return "`import torch`"
}

// reportMissingOpened reports libraries that are nowhere on this system. The severity depends on whether the package
// raises an error or continues without the GPU (FailureWithout).
func reportMissingOpened(m *model.Machine, b *model.Build) verdict.Finding {
	severity, fails, source := b.FailureWithout(b.Missing)
	f := verdict.Finding{Severity: severity, Subject: b.Subject, Need: strings.Join(b.Missing, ", "), Source: []string{source},
		Steps:    openSteps(m, b),
		Message:  model.NowhereWords(b.Missing) + ", and no wheel or toolkit has " + verdict.Plural(len(b.Missing), "it", "them") + ": " + b.Name + " " + fails,
		Evidence: b.EvidenceLost(b.Missing)}
	if len(b.CannotLoad(b.Missing)) > 0 {
		f.Message = b.LostWords(b.Missing) + ": " + b.Name + " " + fails
	}
	// All wheels are installed and only files are gone, so putting the files back is enough.
	if whole := !slices.ContainsFunc(b.Missing, func(s string) bool { return b.Installed(s) == nil }); whole {
		f.Steps = nil
		reinstallLostWheels(b, &f, b.Missing)
	} else if b.JIT { // numba-cuda names its compilers' wheels in an extra
		f.Steps, f.Pins = nil, environment.AddLibraries(b)
	}
	framework := m.FrameworkOf(b)
	if framework != nil {
		f.Evidence = append(f.Evidence, framework.Evidence()...)
	}
	switch {
	// Every part of CTranslate2 that faster-whisper uses needs these libraries.
	case b.Name == "ctranslate2" && b.PartOf == "faster-whisper":
		f.Severity = verdict.Error
		f.Message += "; faster-whisper, with which it was installed, uses nothing else of it"
		if steps := whisperSteps(m, b); len(steps) > 0 {
			f.Steps, f.Pins = steps, nil
		}
	// An example is CuPy, which an extra of Ray installs beside vLLM although nobody asked for it.
	case framework != nil && b.PartOf != "":
		f.Severity = verdict.Note
		f.Message += "; it was installed with " + b.PartOf + ", whose parts that need it fail"
	}
	return f
}

// whisperSteps names the CTranslate2 release whose libraries exist, or can be installed, beside the installed torch.
// 4.4.0 opens cuDNN 8, which torch before 2.4 brings. The newest opens no cuDNN but cuBLAS 12, which a torch for CUDA
// 13 does not bring.
func whisperSteps(m *model.Machine, b *model.Build) []pin.Step {
	torch := m.FrameworkOf(b)
	if torch != nil && torch.Name == "torch" && torch.Release.Number.Known() && !torch.Release.Number.AtLeastShort(2, 4) {
		return []pin.Step{pins.InstallStep(b.Env, pin.Install{Packages: []string{"ctranslate2==4.4.0"}, NoDeps: true}).Explained(
			"opens cuDNN 8, which torch " + pin.Quoted(torch.Release.Number.Short()) + " brings")}
	}
	for _, e := range slices.Backward(tables.RowsOf[tables.Extension](m.Tables, "ctranslate2")) {
		cudnn := func(library string) bool { return strings.HasPrefix(library, "libcudnn") }
		if e.Platform != m.Platform || len(e.Opens) == 0 || slices.ContainsFunc(slices.Concat(e.Opens, e.Links), cudnn) {
			continue
		}
		dir := path.Join(path.Dir(b.Path), "nvidia", "cublas", "lib")
		return []pin.Step{pins.InstallStep(b.Env, pin.Install{Packages: []string{"ctranslate2==" + e.Release, "nvidia-cublas-cu12"}}).Explained(
			"opens no cuDNN"), pin.Run("export LD_LIBRARY_PATH=" + model.PutFirst(dir)).Explained("before the program starts")}
	}
	return nil
}

// bringsNone lists packages whose METADATA requires no CUDA library, or only in an extra: wheels onnxruntime-gpu 1.18.0
// and 1.23.2, ctranslate2 4.6.0.
var bringsNone = []string{"onnxruntime-gpu", "ctranslate2"}

// JudgeOpenedLibraries reports a package that uses CUDA by itself and whose library is nowhere. It is an error if the
// package raises an exception or explicitly asks for the GPU, and a warning if it continues without. If
// LD_LIBRARY_PATH, or something imported first, may still lead a program to the files, the answer is unknown.
func JudgeOpenedLibraries(m *model.Machine, b *model.Build) []*rule.Result {
	switch {
	// A package that opens CUDA when it first uses a GPU never opens it without a GPU.
	case len(m.GPUs) == 0 || m.Shown.Hidden:
		return nil
	case !b.Looked && slices.Contains(bringsNone, b.Name):
		return JudgeRequestedLibraries(m, b)
	case !b.Looked && planLacksLibraries(m, b):
		return AskForLibraries(b, verdict.Question(fmt.Sprintf("where it finds its libraries of CUDA %d: none of their wheels is there or comes", b.CUDANumber.Major())))
	case !b.Looked:
		return nil
	// At rest, the environment of the later process is unknown.
	case len(b.Missing) > 0 && m.Facts.System.Rest:
		return rule.ReportUndecided(b.Subject, verdict.Statement("the LD_LIBRARY_PATH of the process, which must lead to "+verdict.Some(b.Missing)))
	case len(b.Missing) > 0:
		return rule.ReportFinding(reportMissingOpened(m, b))
	case len(b.Beside) > 0 && (opensByName(b) || !opensLate(b)) && !m.Facts.System.Rest && !frameworkLoadsCUDA(m, b):
		return rule.ReportFinding(reportOffPath(m, b))
	// `import torch` loads the wheels' libraries by path, and the loader then finds them by soname.
	case len(b.Beside) > 0 && !opensLate(b) && frameworkLoadsCUDA(m, b):
		return rule.Pass(b.Subject)
	case len(b.Beside) > 0:
		return rule.ReportMissing(b.Subject, verdict.Question("whether the program loads "+verdict.Some(b.Beside)+" first, as "+loadingCode(b)+
			" may, or is led there by LD_LIBRARY_PATH"))
	}
	return rule.Pass(b.Subject)
}

// opensLate reports whether a package opens the CUDA libraries only when it first uses a GPU. Others need them at
// import.
func opensLate(b *model.Build) bool {
	return b.Name == "onnxruntime-gpu" || opensByName(b) || strings.HasPrefix(b.Name, "cupy-")
}

// opensByName reports whether a package gives the loader only a library's name and does not search for the file itself.
func opensByName(b *model.Build) bool { return b.Name == "ctranslate2" || b.Name == "paddlepaddle-gpu" }

// frameworkLoadsCUDA reports whether importing the framework of an extension loads the CUDA libraries that the
// extension needs: both have the same CUDA major version. It is false for PaddlePaddle, which opens libraries by names
// without a version.
func frameworkLoadsCUDA(m *model.Machine, b *model.Build) bool {
	framework := m.FrameworkOf(b)
	return framework != nil && framework.CUDANumber.Major() == b.CUDANumber.Major() && b.Name != "paddlepaddle-gpu"
}

// reportOffPath reports a cuBLAS that exists but is not on the loader's path. CTranslate2 and PaddlePaddle open it only
// by name, and neither they nor faster-whisper look into a wheel or a toolkit. A framework for the same CUDA can lend
// CTranslate2 the library (frameworkLoadsCUDA), so beside one there is no report.
func reportOffPath(m *model.Machine, b *model.Build) verdict.Finding {
	var libraries, dirs []string
	for _, file := range b.Beside {
		libraries = append(libraries, path.Base(file))
		if dir := path.Dir(file); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	severity, fails, source := b.FailureWithout(libraries)
	f := verdict.Finding{Severity: severity, Subject: b.Subject, Need: strings.Join(libraries, ", "), Source: []string{source},
		Message:  b.Beside[0] + " is not on the loader's path, and " + b.Name + " does not look there: it " + fails,
		Steps:    []pin.Step{pin.Run("export LD_LIBRARY_PATH=" + model.PutFirst(strings.Join(dirs, ":"))).Explained("before the program starts")},
		Evidence: b.Evidence()}
	for _, file := range b.Beside {
		f.Evidence = append(f.Evidence, verdict.Evidence{Fact: path.Base(file), Value: "not on the loader's path", From: file})
	}
	return f
}
