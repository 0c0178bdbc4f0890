package build

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	"cudacompat/internal/version"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/internal/rules/environment"
	"cudacompat/matrix/internal/rules/python"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// HostCompiler notes a host compiler that nvcc refuses. nvcc reads the compiler's headers, so it refuses newer
// compilers and some that are too old. This affects only builds from source, never a ready-made wheel.
func HostCompiler(m *model.Machine) []*rule.Result {
	picked, _ := m.Toolkit()
	cc := m.Facts.Building.Compiler
	if picked == nil {
		return nil
	}
	limits := accepts(m, picked, cc.Name)
	// The compiler or its limits are unknown, or the toolkit has no nvcc, as in runtime images. Nothing shows that a
	// build would fail.
	if cc.Version == "" || !limits.newest.Known() {
		return nil
	}
	other := slices.ContainsFunc(m.Toolkits, func(t hardware.Toolkit) bool { return accepts(m, &t, cc.Name).let(cc) })
	switch {
	case limits.let(cc):
		return rule.Pass("toolkit")
	// Deep Learning AMIs have five toolkits. The selected one is not the only one to build with.
	case other && !m.Building():
		return nil
	}
	f := verdict.Finding{Severity: verdict.Note, Subject: "toolkit", Need: cc.Name + " " + limits.String(), Source: limits.source,
		Message: fmt.Sprintf("the CUDA %s toolkit does not accept %s %s: building fails, running is not affected",
			picked.Number.Short(), cc.Name, cc.Version),
		Evidence: []verdict.Evidence{{Fact: "toolkit", Value: picked.Version, From: picked.Path},
			{Fact: cc.Name, Value: cc.Version, From: cc.Path + " (" + cc.From + ")"}},
		Steps: []pin.Step{pin.Say(fmt.Sprintf("to build extensions, install %s %s and select it: CC=%[1]s-%[2]s CXX=%[3]s-%[2]s", cc.Name,
			limits.newest, plusPlus[cc.Name])),
			pin.Say("install a newer CUDA toolkit beside this one and point CUDA_HOME to it").Instead()}}
	if picked.GCC != "" {
		f.Evidence = append(f.Evidence, verdict.Evidence{Fact: "newest gcc", Value: picked.GCC,
			From: picked.Path + "/include/crt/host_config.h"})
	}
	// With --require build, this machine exists to build.
	if m.Building() {
		f.Severity = verdict.Warning
	}
	return rule.ReportFinding(f)
}

// limits are the compiler major versions that a toolkit accepts, as nvcc's own check compares them. If newest is
// unknown, no compiler is refused.
type limits struct {
	oldest, newest version.Number // newest is not known where nothing is
	source         []string
}

func (l limits) String() string {
	if !l.oldest.Known() {
		return "up to " + l.newest.String()
	}
	return fmt.Sprintf("%s to %s", l.oldest, l.newest)
}

// accepts returns the limits of a toolkit that can build. The check in the toolkit's own headers takes precedence over
// the table (host_compiler.csv). clang's limit is only in the table.
func accepts(m *model.Machine, t *hardware.Toolkit, compiler string) limits {
	var l limits
	if !t.NVCC {
		return l
	}
	if row := m.Tables.HostCompiler(t.Number); row != nil {
		l = limits{row.Oldest(compiler), row.Newest(compiler), row.Source}
	}
	// nvcc includes host_config.h first, and that header refuses the compiler.
	if compiler == "gcc" && t.GCC != "" {
		l.newest = t.GCCNumber
	}
	return l
}

// let reports whether a compiler is within the limits, or the limits are unknown. A patch release of gcc never decides.
func (l limits) let(c facts.Compiler) bool {
	have := version.ParseOrZero(c.Version).Major()
	return l.newest.Known() && have <= l.newest.Major() && have >= l.oldest.Major()
}

// plusPlus names the C++ compiler that belongs to a C compiler, for the variable CXX.
var plusPlus = map[string]string{"gcc": "g++", "clang": "clang++"}

const tritonBlob = "https://github.com/triton-lang/triton/blob/"

var tritonSource = []string{tritonBlob + "0419e8f04e1cb71dc228a0b3cd1cf1996b7e9456/python/triton/runtime/build.py",
	tritonBlob + "00852cfbc6dae68faaf23232869a23540d30bc9a/third_party/nvidia/backend/driver.py"}

// JITNeedsCompiler notes that Triton, which torch.compile uses, needs a C compiler: it compiles a launcher for every
// kernel and links it with libcuda. torch's own kernels need neither. It is a note, because files do not show whether a
// program uses torch.compile. An image at rest is not judged, because its PATH and ldconfig cache are not those of the
// process that will run.
func JITNeedsCompiler(m *model.Machine, b *model.Build) []*rule.Result {
	if a := notStarted(m, b); a != nil {
		return rule.ReportFinding(reportPtxas(m, b, a))
	}
	triton := slices.IndexFunc([]string{"triton", "pytorch-triton"},
		func(name string) bool { return b.Env.Package(name) != nil })
	if b.Name != "torch" || b.Device != "cuda" || triton < 0 || !m.Here() || !m.Looked("building") {
		return nil
	}
	f := verdict.Finding{Severity: verdict.Note, Subject: b.Subject, Source: tritonSource, Evidence: b.Evidence()}
	switch building := m.Facts.Building; {
	// Slim and runtime images have none. Triton tries CC, then gcc, then clang (runtime/build.py).
	case building.Compiler.Path == "":
		f.Message = "no C compiler is on PATH: torch.compile and Triton fail (Failed to find C compiler); eager code needs none"
		f.Need = "gcc or clang on PATH, or CC"
		f.Steps = []pin.Step{pin.Say("if torch.compile or Triton is used, install gcc and the C library's headers")}
		if command := installCompiler(m); command != "" {
			f.Steps = []pin.Step{pin.Run(command).Explained("if torch.compile or Triton is used")}
		}
	// Triton runs ldconfig -p to find libcuda and looks into LD_LIBRARY_PATH (driver.py of its backend).
	case building.LibCUDA == "" && !building.Named && m.Library("libcuda") != nil:
		file := m.Library("libcuda").Path
		f.Message = file + " is not where ldconfig lists libraries: torch.compile and Triton fail (libcuda.so cannot found); eager code does not ask for it"
		f.Need = "libcuda.so.1 in the list of ldconfig -p, or TRITON_LIBCUDA_PATH"
		f.Evidence = append(f.Evidence, verdict.Evidence{Fact: "libcuda", Value: m.Library("libcuda").Version, From: file})
		f.Steps = []pin.Step{pin.Run(pins.System(m).AsRoot("ldconfig")),
			pin.Run("export TRITON_LIBCUDA_PATH=" + pin.Word(path.Dir(file))).Instead()}
	default:
		return rule.Pass(b.Subject)
	}
	return rule.ReportFinding(f)
}

// installCompiler returns the step that installs a C compiler and the C library's headers, which Red Hat's gcc package
// includes.
func installCompiler(m *model.Machine) string {
	s := pins.System(m)
	if s.APT() {
		return s.Install("gcc", "libc6-dev")
	}
	return s.Install("gcc")
}

// notStarted returns the ptxas that torch's Triton would start but cannot, for a visible GPU, or for any GPU if none is
// known.
func notStarted(m *model.Machine, b *model.Build) *facts.Assembler {
	if b.Name != "torch" || b.Device != "cuda" {
		return nil
	}
	gpus := m.GPUs
	if len(gpus) == 0 {
		gpus = []hardware.GPU{{}}
	}
	for _, g := range gpus {
		name, variable := tritonTool(m, b, g)
		a := cmp.Or(assemblerNamed(b.Env, name, variable), assemblerNamed(b.Env, name, "triton"))
		if a != nil && a.Fault != "" {
			return a
		}
	}
	return nil
}

// reportPtxas reports a ptxas that cannot start. Triton starts ptxas for every kernel, so all of torch.compile
// fails. It is a warning, while a missing C compiler is a note. It is not an error, because torch's own kernels need no
// ptxas.
func reportPtxas(m *model.Machine, b *model.Build, a *facts.Assembler) verdict.Finding {
	f := python.ReportUnusablePtxas(b, facts.Hindrance{Path: a.Path, By: a.Fault})
	f.Severity = verdict.Warning
	f.Message = fmt.Sprintf("%s is %s: torch.compile and Triton fail; eager code does not start it", a.Path, a.Fault)
	if len(f.Steps) > 0 {
		return f
	}
	// python.ReportUnusablePtxas pins the build in question, torch. The ptxas is in Triton's wheel.
	f.Pins = nil
	for _, name := range []string{"triton", "pytorch-triton"} {
		if p := b.Env.Package(name); p != nil {
			f.Pins = environment.ReinstallPins(b.Place(), pin.Package{Package: name, Version: p.Version})
			break
		}
	}
	return f
}

// LibstdcxxTooOld reports a C++ library that is older than the one the build was compiled with. It is an error: the
// loader compares symbol versions (GLIBCXX_3.4.30) before any code runs, and a process has only one such library, the
// first one loaded. Conda's python finds Conda's own by its run path.
func LibstdcxxTooOld(m *model.Machine, b *model.Build) []*rule.Result {
	// nil means that nobody looked, so it says nothing. An import that worked proves that the library is new enough.
	if b.Stdcxx == nil || m.Facts.Observed.Imported {
		return nil
	}
	if len(b.Stdcxx.Missing) == 0 {
		return rule.Pass(b.Subject)
	}
	f := verdict.Finding{Severity: verdict.Error, Subject: b.Subject,
		Need: "a libstdc++.so.6 with " + b.Stdcxx.Missing[len(b.Stdcxx.Missing)-1],
		Message: fmt.Sprintf("%s is loaded as libstdc++.so.6 (found through %s) but lacks %s, which %s needs: the import fails",
			b.Stdcxx.Path, b.Stdcxx.Reason, verdict.Some(b.Stdcxx.Missing), path.Base(b.Stdcxx.By)),
		Evidence: append(b.Evidence(), verdict.Evidence{Fact: "libstdc++.so.6", Value: "lacks " + verdict.Some(b.Stdcxx.Missing),
			From: b.Stdcxx.Path + ", needed by " + b.Stdcxx.By}),
		Source: []string{"https://github.com/pytorch/pytorch/issues/157709"}}
	f.Steps = newerStdcxx(m, b)
	return rule.ReportFinding(f)
}

// newerStdcxx returns the steps that make the loader take a newer C++ library.
func newerStdcxx(m *model.Machine, b *model.Build) []pin.Step {
	switch {
	case b.Stdcxx.Reason == "LD_LIBRARY_PATH":
		return []pin.Step{pin.Say("remove " + pin.Word(path.Dir(b.Stdcxx.Path)) + " from LD_LIBRARY_PATH")}
	// A Conda environment without the library uses the system's.
	case b.Env.Kind == "conda":
		return []pin.Step{pin.Run(pin.Command("conda", "update", "-y", "-p", pin.File(b.Env.Path), "-c", "conda-forge", "libstdcxx-ng")).Explained(
			"there must be a libstdc++.so.6 in " + pin.Word(b.Env.Path+"/lib"))}
	}
	return []pin.Step{pin.Say("update the system to a release with a newer libstdc++, or run it in a container with one"),
		pin.Say("install a build that was made on an older system, such as PyTorch's own wheels").Instead()}
}
