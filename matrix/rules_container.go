package matrix

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/pin"
	"cudacompat/probe/facts"
)

var capabilitySource = []string{
	"https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html",
}

// containerDriverLibs: a CUDA build in a container that was to have a GPU, and the driver's user space did not come in.
// An image must not bring libcuda itself: it belongs to the host's driver, and the runtime mounts it at start.
func containerDriverLibs(m *machine) []*result {
	_, asked := m.given()
	// A sidecar without a GPU, or with one and nothing of CUDA, is healthy. NVIDIA_VISIBLE_DEVICES=all is not enough,
	// because every nvidia/cuda image sets it (given).
	if m.f.System.Container == "" || !m.here() || m.jetson() || !asked || !m.judgesCUDA() {
		return nil
	}
	// What could not be looked for is not missing.
	if failed := m.probeFailure("driver-libraries"); failed != "" {
		return unknown("driver", failed)
	}
	if !m.looked("driver-libraries") {
		return nil
	}
	switch {
	case !m.loadsLibcuda() && m.f.Driver.Libcuda != nil && m.f.Driver.Libcuda.Elsewhere != "":
		return found(m.offThePath(m.f.Driver.Libcuda.Elsewhere))
	case m.badLibcuda() != "":
		return found(m.spoiledLibcuda())
	case !m.loadsLibcuda():
		return found(m.withoutLibraries(m.missingLibraries()))
	case m.lacksCompiler() != "":
		return found(m.withoutCompiler(m.lacksCompiler()))
	case m.library("libnvidia-ml") == nil:
		return found(m.withoutNVML())
	}
	return holds("driver")
}

// missingLibraries are the driver's libraries that CUDA programs need and that are nowhere, libcuda among them.
func (m *machine) missingLibraries() []string {
	missing := []string{"libcuda.so.1"}
	if !m.windowsDriver() && m.library("libnvidia-ptxjitcompiler") == nil {
		missing = append(missing, "libnvidia-ptxjitcompiler.so.1")
	}
	return missing
}

// windowsDriver reports whether the driver is Windows' own, whose loader finds its compiler by itself.
func (m *machine) windowsDriver() bool { return m.f.System.WSL || m.f.Container.Path == "wsl" }

// lacksCompiler says what is wrong with the driver's compiler of PTX, for a sentence; empty where it is there. A
// cuda-compat package brings its own.
func (m *machine) lacksCompiler() string {
	jit, cuda := m.library("libnvidia-ptxjitcompiler"), m.library("libcuda")
	switch {
	case m.windowsDriver() || m.compatTaken():
	case jit == nil:
		return "is missing from this container"
	case cuda != nil && jit.version.Known() && cuda.version.Known() && jit.version.Compare(cuda.version) != 0:
		return fmt.Sprintf("is of driver %s, and libcuda.so.1 is of %s", jit.version, cuda.version)
	}
	return ""
}

// withoutLibraries names the missing capability where the variable shows one. The default, utility,compute, brings both
// libraries, so without the variable the container had no runtime of NVIDIA's.
func (m *machine) withoutLibraries(missing []string) Finding {
	f := Finding{Severity: Error, Subject: "driver",
		Message:  joinAnd(missing) + plural(len(missing), " is", " are") + " missing from this container",
		Need:     "the driver capability compute",
		Evidence: m.evidenceGiven(), Source: capabilitySource}
	if list, lacks := m.lacksCapability("compute"); lacks {
		f.Message += fmt.Sprintf(": NVIDIA_DRIVER_CAPABILITIES=%s lacks compute", list)
		f.Steps = []pin.Step{pin.Say("start it with NVIDIA_DRIVER_CAPABILITIES=compute,utility")}
		return f
	}
	f.Need = "the host's driver libraries in this container"
	f.Message += ": it was started without NVIDIA's runtime, or the runtime did not see the driver"
	f.Steps = []pin.Step{pin.Say("start it with its GPU: `docker run --gpus all`, `podman run --device nvidia.com/gpu=all`, in " +
		"Kubernetes the limit nvidia.com/gpu"),
		pin.Say("if the container needs no GPU, set NVIDIA_VISIBLE_DEVICES=void").Instead()}
	return f
}

// offThePath: the driver's libraries came in, to a directory where the loader of CUDA programs does not look, as GKE
// mounts them and its device plugin names in LD_LIBRARY_PATH.
func (m *machine) offThePath(file string) Finding {
	dir := path.Dir(file)
	return Finding{Severity: Error, Subject: "driver", Source: []string{loaderSource},
		Message: file + " is the driver's, but programs here do not look in " + dir + ": they cannot load libcuda.so.1",
		Need:    dir + " on the loader's path",
		Evidence: append([]Evidence{{Fact: "libcuda", Value: "not on the loader's path", From: file},
			{Fact: "LD_LIBRARY_PATH", Value: m.f.Driver.Libcuda.Paths, From: m.f.Driver.Libcuda.Of}}, m.evidenceGiven()...),
		Steps: []pin.Step{pin.Run("export LD_LIBRARY_PATH=" + first(dir)).That("before the program starts; in a Pod or an image as an " +
			"environment variable, which a shell or a launcher that clears the environment loses")}}
}

// withoutCompiler: the driver compiles PTX with a library of its own. A program whose machine code fits the GPU never
// loads it; one that has only PTX for the GPU fails.
func (m *machine) withoutCompiler(wrong string) Finding {
	f := Finding{Severity: m.compilerMatters(), Subject: "driver", Need: "the driver capability compute",
		Evidence: m.evidenceGiven(), Source: capabilitySource,
		Message: "libnvidia-ptxjitcompiler.so.1 " + wrong + ": code that is compiled from PTX at run time fails (error 221)",
		Steps: []pin.Step{pin.Say("let NVIDIA's container runtime mount the driver, or mount all of its libraries; `docker run " +
			"--gpus all` does")}}
	if list, lacks := m.lacksCapability("compute"); lacks {
		f.Message += fmt.Sprintf(": NVIDIA_DRIVER_CAPABILITIES=%s lacks compute", list)
	}
	return f
}

// compilerMatters is an error when a build here has only PTX for a GPU. Where all have machine code they run, and what
// is made at run time (NVRTC's PTX, numba) may not. NVIDIA's words for error 221 are that the library compiles PTX
// where no binary fits.
func (m *machine) compilerMatters() Severity {
	for _, b := range m.builds {
		for _, g := range m.gpus {
			if covered, _ := m.code(b, g); b.counts && b.wantsCUDA() && covered == version.ByPTX {
				return Error
			}
		}
	}
	return Warning
}

// withoutNVML: CUDA works without NVML, so its absence is a note; NCCL reads the topology of the node from it, and with
// several ranks it is a warning.
func (m *machine) withoutNVML() Finding {
	f := Finding{Severity: Note, Subject: "driver",
		Message: "libnvidia-ml.so.1 is missing from this container: nvidia-smi and monitoring see nothing; CUDA works",
		Need:    "the driver capability utility", Evidence: m.evidenceGiven(), Source: capabilitySource,
		Steps: []pin.Step{pin.Say("start it with NVIDIA_DRIVER_CAPABILITIES=compute,utility")}}
	if m.usesNCCL() {
		f.Severity = Warning
		f.Message = "libnvidia-ml.so.1 is missing from this container, and NCCL asks it for the topology"
	}
	return f
}

// usesNCCL reports whether the process is one of several ranks, or NCCL was configured for it.
func (m *machine) usesNCCL() bool {
	for name := range m.f.Variables {
		// nvidia/cuda images set NCCL_VERSION themselves, whether or not the program uses NCCL.
		if strings.HasPrefix(name, "NCCL_") && name != "NCCL_VERSION" {
			return true
		}
	}
	return m.count("WORLD_SIZE") > 1 || m.count("LOCAL_WORLD_SIZE") > 1
}

// evidenceGiven is why this container was to have a GPU: its runtime's variables, and a node if one came in.
func (m *machine) evidenceGiven() []Evidence {
	var list []Evidence
	for _, name := range []string{"NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES"} {
		list = append(list, Evidence{Fact: name, Value: m.f.Variables[name], From: "environment"})
	}
	for _, n := range m.gpuNodes() {
		return append(list, Evidence{Fact: "device node", Value: n.Path, From: "/dev"})
	}
	return list
}

// containerRequirements: what the image says of the driver that it wants, which no runtime in CDI mode looks at. A
// warning: a runtime in legacy mode refuses such a container, one in CDI mode starts it, and the builds inside are
// judged by themselves.
func containerRequirements(m *machine) []*result {
	// NVIDIA's runtime itself skips the check then.
	switch {
	case isTrue(m.f.Variables["NVIDIA_DISABLE_REQUIRE"]):
		return m.imageRequirements()
	case m.f.Image != nil && m.driver().version.Known() && !m.windowsNumbers():
		return m.variablesRequire("the image's configuration", m.targetWords(), m.targetProperties())
	case m.f.System.Container == "" || !m.here():
		return m.imageRequirements()
	}
	return m.variablesRequire("environment", m.hostWords(), m.requirable())
}

// variablesRequire holds what NVIDIA_REQUIRE_* say against a host.
func (m *machine) variablesRequire(from, host string, of [][]version.Properties) []*result {
	var results []*result
	for _, name := range slices.Sorted(maps.Keys(m.f.Variables)) {
		// JetPack's release is a Jetson's, which has none of the values that are compared here.
		if strings.HasPrefix(name, "NVIDIA_REQUIRE_") && !strings.HasPrefix(name, "NVIDIA_REQUIRE_JETPACK") {
			results = append(results, m.requires(requirement{name: name, text: m.f.Variables[name], from: from,
				host: host, of: of})...)
		}
	}
	return results
}

// isTrue reads a switch as NVIDIA's runtime does (nvidia-container-toolkit, internal/requirements).
func isTrue(text string) bool {
	return slices.Contains([]string{"1", "t", "true"}, strings.ToLower(text))
}

// requirable is what the constraints are about, a GPU each; without a GPU only the driver. Brands are NVML's: "tesla",
// "geforcertx".
func (m *machine) requirable() [][]version.Properties {
	// A cuda-compat library in the image does not count: the runtime asks the host's driver.
	base := version.Properties{CUDA: m.hostCUDA(), Driver: m.found.loaded, NoGPU: true}
	var list [][]version.Properties
	for _, g := range visible(m.f) {
		p := base
		p.NoGPU, p.Brand, p.Arch = false, g.Brand, m.gpuFound(g).capability.Number()
		list = append(list, []version.Properties{p})
	}
	if len(list) == 0 {
		list = append(list, []version.Properties{base})
	}
	return list
}

// hostWords is what an image meets here, for a sentence.
func (m *machine) hostWords() string {
	words := "driver " + cmp.Or(m.f.Driver.Version, "of unknown version")
	if cuda := m.hostCUDA(); cuda.Known() {
		words += " (CUDA " + cuda.Short() + ")"
	}
	if gpus := visible(m.f); len(gpus) > 0 {
		words += " with " + m.gpuFound(gpus[0]).label
	}
	return words
}

// hostCUDA is the CUDA of the host's driver: a cuda-compat library in the image does not count.
func (m *machine) hostCUDA() version.Number {
	if seen := m.found.cuda; seen.Known() && len(m.f.Driver.Compat) == 0 {
		return seen
	}
	// The table of branches has no Windows drivers.
	if m.windowsNumbers() {
		return version.Number{}
	}
	return m.t.BranchCUDA(m.found.loaded)
}

// containerToolkit: an engine on a GPU host that cannot give a GPU to a container. One of three things is enough: a
// runtime of NVIDIA's in the engine's configuration, its hook (Docker's --gpus), or a sound CDI file.
func containerToolkit(m *machine) []*result {
	if !m.host() || len(m.gpus) == 0 || len(m.f.Runtimes.Found) == 0 {
		return nil
	}
	var results []*result
	for _, r := range m.f.Runtimes.Found {
		results = append(results, m.engine(r)...)
	}
	return results
}

// engine judges one container engine: what is configured and broken before what works, and that before what a cluster
// or Docker configures by itself.
func (m *machine) engine(r facts.Runtime) []*result {
	f := Finding{Severity: Error, Subject: r.Name, Evidence: []Evidence{{Fact: r.Name, Value: "installed", From: r.Path}},
		Source: []string{"https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html"},
		Steps:  []pin.Step{pin.Say("install the package nvidia-container-toolkit and configure it for this engine")}}
	if pin.IsName(r.Name) {
		f.Steps = m.toolkitSteps(r.Name, m.f.Runtimes.Hook == "" || len(r.Missing) > 0)
	}
	f.Need = "NVIDIA's container runtime, configured for " + r.Name
	sound := slices.ContainsFunc(m.f.Runtimes.CDI, func(s facts.CDISpec) bool { return len(s.Missing) == 0 })
	switch {
	// An error even where nothing here wants containers: the engine fails at every start of that runtime.
	case len(r.Missing) > 0:
		f.Message = fmt.Sprintf("%s names the runtime %s, which does not exist", r.Config, r.Missing[0])
		f.Evidence = append(f.Evidence, Evidence{Fact: "runtime", Value: r.Missing[0], From: r.Config})
	// CDI needs no runtime of NVIDIA's: Docker 28.2, containerd 2.0 and Podman read its files themselves.
	case r.Config != "" || sound:
		return holds(r.Name)
	// EKS writes containerd's configuration at boot, and Docker brings a containerd that nobody configures by hand.
	case r.Name == "containerd" && (m.f.Runtimes.Hook != "" || m.f.System.Rest || len(m.f.Runtimes.Found) > 1):
		return nil // configured at boot by the cluster, or Docker's own
	// `docker --gpus` calls nvidia-container-runtime-hook directly, without a runtime in daemon.json.
	case m.f.Runtimes.Hook != "":
		f.Severity, f.Message = Note, "NVIDIA's runtime is not configured for docker: --gpus works, --runtime nvidia does not"
		f.Evidence = append(f.Evidence, Evidence{Fact: "hook", Value: "installed", From: m.f.Runtimes.Hook})
	default:
		f.Message = r.Name + " has no NVIDIA runtime: no container gets a GPU"
		if !m.forContainers() {
			f.Severity = Note
		}
	}
	return found(f)
}

// toolkitSteps install NVIDIA's toolkit for containers, where it is not there, and configure an engine.
func (m *machine) toolkitSteps(engine string, absent bool) []pin.Step {
	s := m.hostSystem()
	configure := pin.Run(pin.All(s.AsRoot("nvidia-ctk", "runtime", "configure", "--runtime="+engine),
		s.AsRoot("systemctl", "restart", engine)))
	if !absent {
		return []pin.Step{configure}
	}
	if install := s.ContainerToolkit(); install != "" {
		return []pin.Step{pin.Run(install), configure}
	}
	return []pin.Step{pin.Say("install the package nvidia-container-toolkit from NVIDIA's repository"), configure}
}

// forContainers reports whether the GPUs here can hardly be for anything but containers: an EC2 GPU instance without a
// CUDA build of its own. A workstation may have Docker for other things.
func (m *machine) forContainers() bool {
	return m.instance != nil && !m.anyWants(func(*build) bool { return true })
}

// cdiSpecStale: a CDI file that mounts the libraries of a driver that is gone. The paths end in the driver's version,
// and `nvidia-ctk cdi generate` wrote them once; the engine refuses to mount what does not exist.
func cdiSpecStale(m *machine) []*result {
	if !m.host() || len(m.f.Runtimes.CDI) == 0 || !m.driver().version.Known() || m.target.Driver != "" {
		return nil
	}
	last := m.f.Runtimes.CDI[len(m.f.Runtimes.CDI)-1] // it hides the devices of those before it
	// Missing libraries of the installed release are a matter of that installation, not of a stale file.
	if len(last.Missing) == 0 || len(last.Versions) == 0 || slices.Contains(last.Versions, m.driver().version.String()) {
		return holds("CDI")
	}
	return found(Finding{Severity: Error, Subject: "CDI", Need: "a specification for driver " + m.driver().version.String(),
		Message: fmt.Sprintf("%s mounts libraries of driver %s, but this is %s: no container that asks for "+
			"nvidia.com/gpu starts", last.Path, last.Versions[0], m.driver().version),
		Evidence: []Evidence{m.evidenceDriver(), {Fact: "missing library", Value: last.Missing[0], From: last.Path}},
		Steps: []pin.Step{pin.Run(pin.Command("sudo", "nvidia-ctk", "cdi", "generate", "--output="+last.Path)).That(
			"repeat it after every driver change, as nvidia-cdi-refresh.service does")},
		Source: []string{"https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/cdi-support.html"}})
}
