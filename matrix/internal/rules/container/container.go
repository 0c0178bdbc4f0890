// Package container contains the rules about a container and about the process that runs in it: what the container
// engine gives it of the host's driver, what its image requires, and which variables and limits its programs start
// with.
//
// An image that only a file names is judged by its own CUDA and by the requirements that it declares.
package container

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/internal/rules/driver"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// lacksCapability reports whether NVIDIA_DRIVER_CAPABILITIES omits a capability. If it is unset, it means
// utility,compute.
func lacksCapability(m *model.Machine, want string) (list string, lacks bool) {
	list, set := m.Facts.Variables["NVIDIA_DRIVER_CAPABILITIES"]
	names := strings.Split(list, ",")
	return list, set && list != "" && !slices.Contains(names, "all") && !slices.Contains(names, want)
}

var capabilitySource = []string{
	"https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html",
}

// DriverLibs reports a container with a CUDA build that should have a GPU but did not get the driver's
// libraries. An image must not contain libcuda: it belongs to the host's driver, and the container runtime mounts it at
// start.
func DriverLibs(m *model.Machine) []*rule.Result {
	if m.Facts.Image != nil {
		return imageCapabilities(m)
	}
	_, asked := m.GivenGPUs()
	// A sidecar without a GPU is healthy, and so is one with a GPU and no CUDA. NVIDIA_VISIBLE_DEVICES=all proves
	// nothing, because every nvidia/cuda image sets it (given).
	if m.Facts.System.Container == "" || !m.Here() || m.Jetson() || !asked || !m.JudgesCUDA() {
		return nil
	}
	// If the search failed, the libraries may be there.
	if failed := m.ProbeFailure("driver-libraries"); failed != "" {
		return rule.ReportMissing("driver", verdict.Statement(failed))
	}
	if !m.Looked("driver-libraries") {
		return nil
	}
	switch {
	case !driver.LoadsLibcuda(m) && m.Facts.Driver.Libcuda != nil && m.Facts.Driver.Libcuda.Elsewhere != "":
		return rule.ReportFinding(reportOffPath(m, m.Facts.Driver.Libcuda.Elsewhere))
	case driver.LibcudaFault(m) != "":
		return rule.ReportFinding(driver.ReportSpoiledLibcuda(m))
	case !driver.LoadsLibcuda(m):
		return rule.ReportFinding(reportMissingLibraries(m, missingLibraries(m)))
	case lacksCompiler(m) != "":
		return rule.ReportFinding(reportMissingCompiler(m, lacksCompiler(m)))
	case m.Library("libnvidia-ml") == nil:
		return rule.ReportFinding(reportMissingNVML(m))
	}
	return rule.Pass("driver")
}

// missingLibraries returns the driver libraries that CUDA programs need, libcuda among them, and that were not found
// anywhere.
func missingLibraries(m *model.Machine) []string {
	missing := []string{"libcuda.so.1"}
	if !driver.IsWindowsDriver(m) && m.Library("libnvidia-ptxjitcompiler") == nil {
		missing = append(missing, "libnvidia-ptxjitcompiler.so.1")
	}
	return missing
}

// lacksCompiler describes what is wrong with the driver's PTX compiler, as part of a sentence. It returns "" if the
// compiler is there. A cuda-compat package brings its own.
func lacksCompiler(m *model.Machine) string {
	jit, cuda := m.Library("libnvidia-ptxjitcompiler"), m.Library("libcuda")
	switch {
	case driver.IsWindowsDriver(m) || m.CompatTaken():
	case jit == nil:
		return "is missing from this container"
	case cuda != nil && jit.Number.Known() && cuda.Number.Known() && jit.Number.Compare(cuda.Number) != 0:
		return fmt.Sprintf("is of driver %s, and libcuda.so.1 is of %s", jit.Number, cuda.Number)
	}
	return ""
}

// reportMissingLibraries names the missing capability if the variable shows one. The default, utility,compute, brings
// both libraries, so without the variable NVIDIA's runtime did not start the container.
func reportMissingLibraries(m *model.Machine, missing []string) verdict.Finding {
	f := verdict.Finding{Severity: verdict.Error, Subject: "driver",
		Message:  verdict.JoinAnd(missing) + verdict.Plural(len(missing), " is", " are") + " missing from this container",
		Need:     "the driver capability compute",
		Evidence: evidenceGiven(m), Source: capabilitySource}
	if list, lacks := lacksCapability(m, "compute"); lacks {
		f.Message += fmt.Sprintf(": NVIDIA_DRIVER_CAPABILITIES=%s lacks compute", list)
		f.Steps = []pin.Step{pin.Say("start it with NVIDIA_DRIVER_CAPABILITIES=compute,utility")}
		return f
	}
	f.Need = "the host's driver libraries in this container"
	start := pin.Say("start it with a GPU: `docker run --gpus all`, `podman run --device nvidia.com/gpu=all`, or in Kubernetes a limit of nvidia.com/gpu")
	switch list := m.Facts.Variables["NVIDIA_VISIBLE_DEVICES"]; {
	case !slices.Contains([]string{"", "all", "void", "none"}, list): // which NVIDIA's runtime reads, and Docker's own does not
		f.Message += ", although NVIDIA_VISIBLE_DEVICES=" + list + " asks for a GPU: NVIDIA's runtime did not start it, or did not see the driver"
		f.Steps = []pin.Step{pin.Say("start it with NVIDIA's runtime: `docker run --runtime nvidia`, or in Kubernetes `runtimeClassName: nvidia`"),
			pin.Say("if the container needs no GPU, set NVIDIA_VISIBLE_DEVICES=void").Instead()}
	case slices.Contains(m.Policy.Require, "gpu") && (len(m.GPUNodes()) == 0 || m.Facts.Container.OwnDevices == "no"):
		f.Message = "this container was given no GPU: " + f.Message
		f.Steps = []pin.Step{start}
	default:
		f.Message += ": it was started without NVIDIA's runtime, or the runtime did not see the driver"
		f.Steps = []pin.Step{start, pin.Say("if the container needs no GPU, set NVIDIA_VISIBLE_DEVICES=void").Instead()}
	}
	return f
}

// reportOffPath reports driver libraries that were mounted in a directory where the loader does not look. GKE mounts
// them so, and its device plugin names the directory in LD_LIBRARY_PATH.
func reportOffPath(m *model.Machine, file string) verdict.Finding {
	dir := path.Dir(file)
	return verdict.Finding{Severity: verdict.Error, Subject: "driver", Source: []string{model.LoaderSource},
		Message: file + " is the driver's, but programs here do not look in " + dir + ": they cannot load libcuda.so.1",
		Need:    dir + " on the loader's path",
		Evidence: append([]verdict.Evidence{{Fact: "libcuda", Value: "not on the loader's path", From: file},
			{Fact: "LD_LIBRARY_PATH", Value: m.Facts.Driver.Libcuda.Paths, From: m.Facts.Driver.Libcuda.Of}}, evidenceGiven(m)...),
		Steps: []pin.Step{pin.Run("export LD_LIBRARY_PATH=" + model.PutFirst(dir)).Explained("before the program starts; in a Pod or an image as an environment variable, which a shell or a launcher that clears the environment loses")}}
}

// reportMissingCompiler reports a missing PTX compiler. The driver compiles PTX with a library of its own. A program
// whose machine code fits the GPU never loads it; one that has only PTX for the GPU fails.
func reportMissingCompiler(m *model.Machine, wrong string) verdict.Finding {
	f := verdict.Finding{Severity: compilerMatters(m), Subject: "driver", Need: "the driver capability compute",
		Evidence: evidenceGiven(m), Source: capabilitySource,
		Message: "libnvidia-ptxjitcompiler.so.1 " + wrong + ": code that is compiled from PTX at run time fails (error 221)",
		Steps:   []pin.Step{pin.Say("let NVIDIA's container runtime mount the driver, or mount all of its libraries; `docker run --gpus all` does")}}
	if list, lacks := lacksCapability(m, "compute"); lacks {
		f.Message += fmt.Sprintf(": NVIDIA_DRIVER_CAPABILITIES=%s lacks compute", list)
	}
	return f
}

// compilerMatters returns an error if a build here has only PTX for a GPU. If all builds have machine code they run,
// but code made at run time (NVRTC's PTX, numba) may not. NVIDIA's text for error 221 says that the library compiles
// PTX if no binary fits.
func compilerMatters(m *model.Machine) verdict.Severity {
	for _, b := range m.Builds {
		for _, g := range m.GPUs {
			if covered, _, _ := m.Code(b, g); b.Counts && b.WantsCUDA() && covered == version.ByPTX {
				return verdict.Error
			}
		}
	}
	return verdict.Warning
}

// reportMissingNVML reports a missing NVML. CUDA works without it, so this is a note. NCCL reads the topology of the
// node from NVML, so with several ranks it is a warning.
func reportMissingNVML(m *model.Machine) verdict.Finding {
	f := verdict.Finding{Severity: verdict.Note, Subject: "driver",
		Message: "libnvidia-ml.so.1 is missing from this container: nvidia-smi and monitoring see nothing; CUDA works",
		Need:    "the driver capability utility", Evidence: evidenceGiven(m), Source: capabilitySource,
		Steps: []pin.Step{pin.Say("start it with NVIDIA_DRIVER_CAPABILITIES=compute,utility")}}
	if usesNCCL(m) {
		f.Severity = verdict.Warning
		f.Message = "libnvidia-ml.so.1 is missing from this container, and NCCL asks it for the topology"
	}
	return f
}

// usesNCCL reports whether the process is one of several ranks, or NCCL is configured for it.
func usesNCCL(m *model.Machine) bool {
	for name := range m.Facts.Variables {
		// nvidia/cuda images set NCCL_VERSION, whether or not the program uses NCCL.
		if strings.HasPrefix(name, "NCCL_") && name != "NCCL_VERSION" {
			return true
		}
	}
	return m.Count("WORLD_SIZE") > 1 || m.Count("LOCAL_WORLD_SIZE") > 1
}

// evidenceGiven returns the evidence that this container should have a GPU: the runtime's variables, and a device node
// if there is one.
func evidenceGiven(m *model.Machine) []verdict.Evidence {
	var list []verdict.Evidence
	for _, name := range []string{"NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES"} {
		list = append(list, verdict.Evidence{Fact: name, Value: m.Facts.Variables[name], From: "environment"})
	}
	for _, n := range m.GPUNodes() {
		return append(list, verdict.Evidence{Fact: "device node", Value: n.Path, From: "/dev"})
	}
	return list
}

// imageCapabilities reports an image that asks NVIDIA's runtime for less than CUDA needs. It is a warning, because a
// runtime in CDI mode mounts libcuda anyway, and because whoever starts the container can ask for more.
func imageCapabilities(m *model.Machine) []*rule.Result {
	list, lacks := lacksCapability(m, "compute")
	if !lacks || !m.JudgesCUDA() {
		return nil
	}
	return rule.ReportFinding(verdict.Finding{Severity: verdict.Warning, Subject: "driver", Need: "NVIDIA_DRIVER_CAPABILITIES with compute",
		Message:  fmt.Sprintf("the image sets NVIDIA_DRIVER_CAPABILITIES=%s, which lacks compute: a runtime in legacy mode mounts no libcuda.so.1", list),
		Evidence: []verdict.Evidence{{Fact: "NVIDIA_DRIVER_CAPABILITIES", Value: list, From: rule.ImageConfiguration}},
		Steps: []pin.Step{pin.Say("set NVIDIA_DRIVER_CAPABILITIES=compute,utility in the image"),
			pin.Say("start its containers with NVIDIA_DRIVER_CAPABILITIES=compute,utility").Instead()},
		Source: capabilitySource})
}

// Requirements reports a driver requirement of the image that the host does not meet. It is a warning: a
// runtime in legacy mode refuses the container, a runtime in CDI mode ignores the requirement and starts it. The builds
// inside are judged separately.
func Requirements(m *model.Machine) []*rule.Result {
	// NVIDIA's runtime also skips the check in this case.
	switch {
	case isTrue(m.Facts.Variables["NVIDIA_DISABLE_REQUIRE"]):
		return imageRequirements(m)
	case m.Facts.Image != nil && m.Driver().Version.Known() && !m.WindowsNumbers():
		return variablesRequire(m, rule.ImageConfiguration, m.TargetWords(), m.TargetProperties())
	case m.Facts.System.Container == "" || !m.Here():
		return imageRequirements(m)
	}
	return variablesRequire(m, "environment", hostWords(m), requirable(m))
}

// variablesRequire compares the NVIDIA_REQUIRE_* variables with a host.
func variablesRequire(m *model.Machine, from, host string, of [][]version.Properties) []*rule.Result {
	var results []*rule.Result
	for _, name := range slices.Sorted(maps.Keys(m.Facts.Variables)) {
		// The variable names a JetPack release. A Jetson has none of the values that are compared here.
		if strings.HasPrefix(name, "NVIDIA_REQUIRE_") && !strings.HasPrefix(name, "NVIDIA_REQUIRE_JETPACK") {
			r := requirement{name: name, text: m.Facts.Variables[name], from: from, host: host, of: of}
			expression, err := version.ParseRequirement(r.text)
			results = append(results, r.judge(m, expression, err)...)
		}
	}
	return results
}

// isTrue parses a switch as NVIDIA's runtime does (nvidia-container-toolkit, internal/requirements).
func isTrue(text string) bool {
	return slices.Contains([]string{"1", "t", "true"}, strings.ToLower(text))
}

// requirable returns the properties that the constraints refer to, one set for each GPU; without a GPU, only the
// driver's. Brands are NVML's: "tesla", "geforcertx".
func requirable(m *model.Machine) [][]version.Properties {
	// A cuda-compat library in the image does not count, because the runtime asks the host's driver.
	base := version.Properties{CUDA: hostCUDA(m), Driver: m.Found.Loaded, NoGPU: true}
	var list [][]version.Properties
	for _, g := range hardware.Visible(m.Facts) {
		p := base
		p.NoGPU, p.Brand, p.Arch = false, g.Brand, m.GPUFound(g).Capability.Number()
		list = append(list, []version.Properties{p})
	}
	if len(list) == 0 {
		list = append(list, []version.Properties{base})
	}
	return list
}

// hostWords describes the host's driver and GPU, as part of a sentence.
func hostWords(m *model.Machine) string {
	words := "driver " + cmp.Or(m.Facts.Driver.Version, "of unknown version")
	if cuda := hostCUDA(m); cuda.Known() {
		words += " (CUDA " + cuda.Short() + ")"
	}
	if gpus := hardware.Visible(m.Facts); len(gpus) > 0 {
		words += " with " + m.GPUFound(gpus[0]).Label
	}
	return words
}

// hostCUDA returns the CUDA version of the host's driver. A cuda-compat library in the image does not count.
func hostCUDA(m *model.Machine) version.Number {
	if seen := m.Found.CUDA; seen.Known() && len(m.Facts.Driver.Compat) == 0 {
		return seen
	}
	// The table of branches has no Windows drivers.
	if m.WindowsNumbers() {
		return version.Number{}
	}
	return m.Tables.BranchCUDA(m.Found.Loaded)
}

// Toolkit reports a container engine on a GPU host that cannot give a GPU to a container. One of three things
// is enough: an NVIDIA runtime in the engine's configuration, NVIDIA's hook (Docker's --gpus), or a valid CDI file.
func Toolkit(m *model.Machine) []*rule.Result {
	if !m.Host() || len(m.GPUs) == 0 || len(m.Facts.Runtimes.Found) == 0 {
		return nil
	}
	var results []*rule.Result
	for _, r := range m.Facts.Runtimes.Found {
		results = append(results, engine(m, r)...)
	}
	return results
}

// engine judges one container engine. It looks first for a configuration that is broken, then for one that works, and
// last for what a cluster or Docker configures by itself.
func engine(m *model.Machine, r facts.Runtime) []*rule.Result {
	f := verdict.Finding{Severity: verdict.Error, Subject: r.Name, Evidence: []verdict.Evidence{{Fact: r.Name, Value: "installed", From: r.Path}},
		Source: []string{"https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html"},
		Steps:  []pin.Step{pin.Say("install the package nvidia-container-toolkit and configure it for this engine")}}
	if pin.IsName(r.Name) {
		f.Steps = toolkitSteps(m, r.Name, m.Facts.Runtimes.Hook == "" || len(r.Missing) > 0)
	}
	f.Need = "NVIDIA's container runtime, configured for " + r.Name
	sound := slices.ContainsFunc(m.Facts.Runtimes.CDI, func(s facts.CDISpec) bool { return len(s.Missing) == 0 })
	switch {
	// This is an error even if nothing here wants containers: the engine fails whenever it starts that runtime.
	case len(r.Missing) > 0:
		f.Message = fmt.Sprintf("%s names the runtime %s, which does not exist", r.Config, r.Missing[0])
		f.Evidence = append(f.Evidence, verdict.Evidence{Fact: "runtime", Value: r.Missing[0], From: r.Config})
	// CDI needs no NVIDIA runtime: Docker 28.2, containerd 2.0 and Podman read the CDI files themselves.
	case r.Config != "" || sound:
		return rule.Pass(r.Name)
	// EKS writes containerd's configuration at boot. The containerd that Docker brings is not configured by hand.
	case r.Name == "containerd" && (m.Facts.Runtimes.Hook != "" || m.Facts.System.Rest || len(m.Facts.Runtimes.Found) > 1):
		return nil // configured at boot by the cluster, or Docker's own
	// `docker --gpus` calls nvidia-container-runtime-hook directly, without a runtime in daemon.json.
	case m.Facts.Runtimes.Hook != "":
		f.Severity, f.Message = verdict.Note, "NVIDIA's runtime is not configured for docker: --gpus works, --runtime nvidia does not"
		f.Evidence = append(f.Evidence, verdict.Evidence{Fact: "hook", Value: "installed", From: m.Facts.Runtimes.Hook})
	default:
		f.Message = r.Name + " has no NVIDIA runtime: no container gets a GPU"
		if !forContainers(m) {
			f.Severity = verdict.Note
		}
	}
	return rule.ReportFinding(f)
}

// toolkitSteps returns the steps that install NVIDIA's container toolkit, if it is missing, and configure an engine.
func toolkitSteps(m *model.Machine, engine string, absent bool) []pin.Step {
	s := pins.HostSystem(m)
	configure := pin.Run(pin.Sequence(s.AsRoot("nvidia-ctk", "runtime", "configure", "--runtime="+engine),
		s.AsRoot("systemctl", "restart", engine)))
	if !absent {
		return []pin.Step{configure}
	}
	if install := s.ContainerToolkit(); install != "" {
		return []pin.Step{pin.Run(install), configure}
	}
	return []pin.Step{pin.Say("install the package nvidia-container-toolkit from NVIDIA's repository"), configure}
}

// forContainers reports whether the GPUs are almost certainly meant for containers: this is an EC2 GPU instance without
// a CUDA build of its own. A workstation may have Docker for other things.
func forContainers(m *model.Machine) bool {
	return m.Instance != nil && !m.AnyWants(func(*model.Build) bool { return true })
}

// CDISpecStale reports a CDI file that mounts libraries of a driver that is no longer installed. `nvidia-ctk cdi
// generate` wrote paths that end in the driver's version. The engine refuses to mount a file that does not exist.
func CDISpecStale(m *model.Machine) []*rule.Result {
	if !m.Host() || len(m.Facts.Runtimes.CDI) == 0 || !m.Driver().Version.Known() || m.Target.Driver != "" {
		return nil
	}
	last := m.Facts.Runtimes.CDI[len(m.Facts.Runtimes.CDI)-1] // it hides the devices of those before it
	// If libraries of the installed release are missing, the installation is incomplete. The CDI file is not stale.
	if len(last.Missing) == 0 || len(last.Versions) == 0 || slices.Contains(last.Versions, m.Driver().Version.String()) {
		return rule.Pass("CDI")
	}
	return rule.ReportFinding(verdict.Finding{Severity: verdict.Error, Subject: "CDI", Need: "a specification for driver " + m.Driver().Version.String(),
		Message:  fmt.Sprintf("%s mounts libraries of driver %s, but this is %s: no container that asks for nvidia.com/gpu starts", last.Path, last.Versions[0], m.Driver().Version),
		Evidence: []verdict.Evidence{m.EvidenceDriver(), {Fact: "missing library", Value: last.Missing[0], From: last.Path}},
		Steps: []pin.Step{pin.Run(pin.Command("sudo", "nvidia-ctk", "cdi", "generate", "--output="+last.Path)).Explained(
			"repeat it after every driver change, as nvidia-cdi-refresh.service does")},
		Source: []string{"https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/cdi-support.html"}})
}
