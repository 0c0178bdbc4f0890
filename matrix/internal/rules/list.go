// Package rules lists the rules that judge a machine, in the order in which they run. Each family of rules is a package
// below this one. Package rule describes what a rule is.
package rules

import (
	"slices"

	"cudacompat/matrix/internal/rules/build"
	"cudacompat/matrix/internal/rules/container"
	"cudacompat/matrix/internal/rules/coverage"
	"cudacompat/matrix/internal/rules/device"
	"cudacompat/matrix/internal/rules/driver"
	"cudacompat/matrix/internal/rules/extension"
	"cudacompat/matrix/internal/rules/library"
	"cudacompat/matrix/internal/rules/python"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/verdict"
)

// All lists the rules, causes before consequences, because a rule must know the errors that break what it depends on.
// Findings of one severity are printed in this order. Each cause yields one error: a second error would send people
// after a symptom, often with a pin that changes nothing.
var All = []rule.Rule{
	{
		// If an image cannot start, nothing else matters.
		ID: "architecture-mismatch", Title: "the image is for another architecture",
		Link:        verdict.LinkModule,
		OnMachine:   container.ArchitectureMismatch,
		LeavesNoGPU: true,
	},
	{
		// This rule explains why an installed driver is not loaded, so it comes before the rules that report that fact.
		ID: "nouveau-loaded", Title: "the GPU is bound to nouveau",
		Link:      verdict.LinkGPU,
		SaidBy:    "architecture-mismatch",
		OnMachine: driver.NouveauLoaded,
	},
	{
		ID: "module-missing-for-kernel", Title: "the kernel that boots has no NVIDIA module",
		Absence:     []string{"driver-modules", "proc-driver", "installers", "boot"},
		Link:        verdict.LinkModule,
		Rests:       []verdict.LinkName{verdict.LinkGPU},
		SaidBy:      "architecture-mismatch",
		OnMachine:   driver.ModuleMissingForKernel,
		LeavesNoGPU: true,
	},
	{
		// This rule explains why an installed module is not loaded.
		ID: "secure-boot", Title: "the kernel refuses the module for its signature",
		Link:        verdict.LinkModule,
		SaidBy:      "architecture-mismatch",
		OnMachine:   driver.SecureBoot,
		LeavesNoGPU: true,
	},
	{
		ID: "driver-missing", Title: "no NVIDIA driver is loaded",
		Absence:     []string{"proc-driver", "driver-libraries", "driver-modules", "devices"},
		Link:        verdict.LinkModule,
		Rests:       []verdict.LinkName{verdict.LinkGPU},
		SaidBy:      "architecture-mismatch",
		OnMachine:   driver.Missing,
		LeavesNoGPU: true,
	},
	{
		ID: "driver-mismatch", Title: "user space and kernel module come from different drivers",
		Absence:   []string{"driver-libraries", "proc-driver"},
		Link:      verdict.LinkLibcuda,
		OnMachine: driver.Mismatch,
	},
	{
		ID: "driver-unresponsive", Title: "the driver does not answer",
		Link:      verdict.LinkAnswers,
		Rests:     []verdict.LinkName{verdict.LinkGPU, verdict.LinkModule},
		OnMachine: driver.Unresponsive,
	},
	{
		// This rule depends on nothing: in a container the node's own answer is proof, whatever is known of the host's
		// driver.
		ID: "device-access-lost", Title: "the container lost access to the GPU's devices",
		Link:      verdict.LinkDevices,
		OnMachine: device.AccessLost,
	},
	{
		ID: "device-permission", Title: "this user may not open the GPU's devices",
		Link:      verdict.LinkDevices,
		SaidBy:    "device-access-lost",
		OnMachine: device.Permission,
	},
	{
		ID: "device-nodes-missing", Title: "the driver's device nodes are missing",
		Absence:     []string{"devices"},
		Link:        verdict.LinkDevices,
		Rests:       []verdict.LinkName{verdict.LinkGPU, verdict.LinkModule},
		SaidBy:      "device-access-lost",
		OnMachine:   device.NodesMissing,
		LeavesNoGPU: true,
	},
	{
		ID: "container-driver-libs", Title: "the driver's libraries are missing from the container",
		Absence:     []string{"driver-libraries"},
		Link:        verdict.LinkLibcuda,
		Rests:       []verdict.LinkName{verdict.LinkDevices},
		OnMachine:   container.DriverLibs,
		LeavesNoGPU: true,
	},
	{
		ID: "driver-drops-gpu", Title: "the driver no longer supports the GPU",
		Link:      verdict.LinkModule,
		OnMachine: driver.DropsGPU,
		Reads:     []string{"last_branch"},
	},
	{
		ID: "driver-too-old-for-gpu", Title: "the driver is older than the GPU",
		Link:      verdict.LinkModule,
		OnMachine: driver.TooOldForGPU,
		Reads:     []string{"first_branch", "listed", "noted"},
	},
	{
		ID: "stub-library", Title: "a stub is loaded instead of the driver's library",
		Link:      verdict.LinkLibcuda,
		OnMachine: library.Stub,
	},
	{
		ID: "open-module-required", Title: "the GPU needs the open kernel module",
		Link:      verdict.LinkModule,
		SaidBy:    "driver-too-old-for-gpu",
		OnMachine: driver.OpenModuleRequired,
	},
	{
		ID: "open-module-unsupported", Title: "the open kernel module does not drive the GPU",
		Link:      verdict.LinkModule,
		SaidBy:    "driver-drops-gpu",
		OnMachine: driver.OpenModuleUnsupported,
	},
	{
		ID: "gsp-firmware", Title: "the open kernel module has no firmware",
		Absence: []string{"firmware"},
		Link:    verdict.LinkModule,
		// Firmware comes with the module. If an update removed that release, the missing firmware is not a fault of its
		// own.
		Rests:     []verdict.LinkName{verdict.LinkGPU, verdict.LinkModule},
		SaidBy:    "driver-mismatch",
		OnMachine: driver.GSPFirmware,
	},
	{
		ID: "vgpu-driver", Title: "a fraction of a GPU needs the GRID driver",
		Link:      verdict.LinkModule,
		OnMachine: driver.VGPUDriver, Reads: []string{"vgpu"},
	},
	{
		// The fabric manager has the release of the driver's libraries. On a live machine its results rest on a driver
		// that answers (driver.FabricManager).
		ID: "fabric-manager", Title: "NVSwitch is not programmed",
		Absence:   []string{"fabric", "pci"},
		Link:      verdict.LinkAnswers,
		SaidBy:    "driver-mismatch",
		OnMachine: driver.FabricManager,
	},
	{
		// A GPU that the driver ignores for a reported reason is not missing.
		ID: "gpu-count", Title: "GPUs are missing",
		Absence:   []string{"pci"},
		Rests:     []verdict.LinkName{verdict.LinkGPU, verdict.LinkModule, verdict.LinkAnswers},
		OnMachine: device.GPUCount,
	},
	{
		// driver-unresponsive reads the same kernel log lines.
		ID: "gpu-health", Title: "a GPU reports a hardware fault",
		Link:      verdict.LinkAnswers,
		SaidBy:    "driver-unresponsive",
		OnMachine: device.GPUHealth,
	},
	{
		// This rule depends on nothing: the packages are on disk whether or not a driver runs, and may be the reason
		// that none does.
		ID: "driver-packages-mixed", Title: "two installations of the driver are mixed",
		OnMachine: driver.PackagesMixed,
	},
	{
		ID: "driver-auto-update", Title: "the driver can be upgraded without asking",
		OnMachine: driver.AutoUpdate,
	},
	{
		ID: "persistence-off", Title: "the driver initialises the GPU for every program",
		Rests:     []verdict.LinkName{verdict.LinkGPU, verdict.LinkModule},
		OnMachine: device.PersistenceOff,
	},
	{
		ID: "forward-compat-unsupported", Title: "forward compatibility is not for this GPU",
		Link:      verdict.LinkLibcuda,
		OnMachine: build.ForwardCompatUnsupported,
	},
	{
		ID: "forward-compat-not-applicable", Title: "the cuda-compat library does not fit this driver",
		Link:      verdict.LinkLibcuda,
		OnMachine: build.ForwardCompatNotApplicable,
	},
	{
		// Such a package is broken on the CPU, too, so this rule precedes all rules about GPUs and code.
		ID: "not-importable", Title: "Python cannot import what is installed",
		Absence: []string{"python"},
		Link:    verdict.LinkPython,
		OnBuild: python.NotImportable,
	},
	{
		ID: "driver-too-old", Title: "the driver is too old for the build's CUDA",
		Link:        verdict.LinkDriver,
		OnBuild:     build.DriverTooOld,
		LeavesNoGPU: true, Reads: []string{"cuda", "driver"},
	},
	{
		// Below the minimum driver of its CUDA no build starts, and driver-too-old reports that.
		ID: "ptx-newer-than-driver", Title: "the build's PTX is newer than the driver",
		Link:    verdict.LinkCode,
		Rests:   []verdict.LinkName{verdict.LinkDriver},
		OnBuild: build.PTXNewerThanDriver,
		Reads:   []string{"groups"},
	},
	{
		ID: "fatbin-zstd", Title: "the driver cannot decompress the build's code",
		Link:    verdict.LinkCode,
		Rests:   []verdict.LinkName{verdict.LinkDriver},
		OnBuild: build.FatbinZstd,
	},
	{
		ID: "forward-compat-in-use", Title: "runs by forward compatibility",
		Link:    verdict.LinkLibcuda,
		Rests:   []verdict.LinkName{verdict.LinkGPU, verdict.LinkModule, verdict.LinkDriver, verdict.LinkPython, verdict.LinkCode},
		OnBuild: build.ForwardCompatInUse,
	},
	{
		ID: "minor-compat", Title: "runs by minor-version compatibility",
		Link:    verdict.LinkDriver,
		Rests:   []verdict.LinkName{verdict.LinkGPU, verdict.LinkModule, verdict.LinkDriver, verdict.LinkPython, verdict.LinkCode},
		OnBuild: build.MinorCompat,
		Reads:   []string{"cuda"},
	},
	{
		ID: "cpu-only-build", Title: "the build has no CUDA in it",
		Absence:     []string{"python"},
		Link:        verdict.LinkCode,
		OnBuild:     build.CPUOnly,
		LeavesNoGPU: true,
	},
	{
		ID: "gpu-arch-missing", Title: "the build has no code for the GPU",
		Absence: []string{"python"},
		Link:    verdict.LinkCode,
		OnBuild: build.GPUArchMissing,
		Reads:   []string{"sass", "ptx", "groups"},
	},
	{
		// PTX that the driver cannot compile fails; it is not merely slow.
		ID: "gpu-arch-ptx-only", Title: "the build has only PTX for the GPU",
		Link:    verdict.LinkCode,
		Rests:   []verdict.LinkName{verdict.LinkDriver, verdict.LinkCode},
		OnBuild: build.GPUArchPTXOnly,
		Reads:   []string{"sass", "ptx"},
	},
	{
		ID: "python-unsupported", Title: "the release has no build for this Python",
		Link:    verdict.LinkPython,
		SaidBy:  "not-importable",
		OnBuild: build.PythonUnsupported,
		Reads:   []string{"python"},
	},
	{
		ID: "glibc-too-old", Title: "the C library is older than the wheel needs",
		Link:    verdict.LinkPython,
		OnBuild: build.GlibcTooOld,
		Reads:   []string{"glibc"},
	},
	{
		ID: "libstdcxx-too-old", Title: "the C++ library is older than the framework needs",
		Absence: []string{"python"},
		Link:    verdict.LinkPython,
		OnBuild: build.LibstdcxxTooOld,
	},
	{
		ID: "cudnn-mismatch", Title: "the build cannot use this cuDNN",
		Absence: []string{"python"},
		Link:    verdict.LinkLibraries,
		OnBuild: library.CuDNNMismatch,
		Reads:   []string{"cudnn"},
	},
	{
		ID: "nccl-mismatch", Title: "the build cannot use this NCCL",
		Absence: []string{"python"},
		Link:    verdict.LinkLibraries,
		OnBuild: library.NCCLMismatch,
		Reads:   []string{"nccl"},
	},
	{
		ID: "nccl-shadowed", Title: "another NCCL hides the build's own",
		Link:    verdict.LinkLibraries,
		OnBuild: library.NCCLShadowed,
	},
	{
		ID: "library-shadowed", Title: "a CUDA library that is loaded lacks what the build needs",
		Absence: []string{"python"},
		Link:    verdict.LinkLibraries,
		OnBuild: library.Shadowed,
	},
	{
		ID: "companion-mismatch", Title: "a companion package belongs to another release",
		Link:    verdict.LinkLibraries,
		OnBuild: extension.CompanionMismatch,
		Reads:   []string{"torchvision", "torchaudio", "triton"},
	},
	{
		ID: "tensorflow-cuda-libs", Title: "TensorFlow cannot find its CUDA libraries",
		Absence: []string{"python"},
		Link:    verdict.LinkLibraries,
		OnBuild: library.TensorFlowCUDALibs,
	},
	{
		ID: "cuda-packages-mixed", Title: "packages of two CUDA families own the same files",
		Link:      verdict.LinkLibraries,
		OnMachine: library.CUDAPackagesMixed,
	},
	{
		ID: "driver-eol", Title: "the driver's branch has reached end of life",
		OnMachine: driver.EOL,
	},
	{
		// NCCL matters only for a build that runs on the GPU and can load NCCL.
		ID: "nccl-too-old-for-gpu", Title: "NCCL has no code for the GPU",
		Link:    verdict.LinkCode,
		SaidBy:  "gpu-arch-missing",
		OnBuild: library.NCCLTooOldForGPU,
	},
	{
		ID: "jit-too-old-for-gpu", Title: "the build's run-time compiler is older than the GPU",
		Link:    verdict.LinkCode,
		SaidBy:  "gpu-arch-missing",
		OnBuild: build.JITTooOldForGPU,
	},
	{
		ID: "jit-needs-compiler", Title: "Triton finds no C compiler, ptxas or libcuda",
		Absence: []string{"building"},
		OnBuild: build.JITNeedsCompiler,
	},
	{
		ID: "host-compiler", Title: "the toolkit does not accept the C compiler",
		OnMachine: build.HostCompiler,
	},
	{
		ID: "toolkit-framework", Title: "the toolkit's CUDA differs from torch's",
		OnBuild: build.ToolkitFramework,
	},
	{
		ID: "toolkit-too-old-for-gpu", Title: "the toolkit is older than the GPU",
		OnMachine: build.ToolkitTooOldForGPU,
	},
	{
		ID: "extension-mismatch", Title: "an extension was compiled for another torch or CUDA",
		Absence: []string{"python"},
		Link:    verdict.LinkLibraries,
		OnBuild: extension.Mismatch,
	},
	{
		ID: "compiled-cache-mismatch", Title: "a cache of compiled extensions is for another GPU",
		OnMachine: build.CompiledCacheMismatch,
	},
	{
		ID: "numpy-abi", Title: "the build was compiled before NumPy 2",
		Absence: []string{"python"},
		Link:    verdict.LinkPython,
		OnBuild: python.NumPyABI,
	},
	{
		// A bug in a combination matters only if the combination would run.
		ID: "known-bad", Title: "this combination is known to fail",
		Absence: []string{"python"},
		Link:    verdict.LinkLibraries,
		Rests:   []verdict.LinkName{verdict.LinkDriver, verdict.LinkCode},
		OnBuild: build.KnownBad,
	},
	{
		ID: "matrix-outdated", Title: "the tables are older than what is installed",
		OnMachine: driver.MatrixOutdated,
	},
	{
		ID: "container-requirements", Title: "the image requires a newer driver",
		OnMachine: container.Requirements,
	},
	{
		ID: "container-toolkit", Title: "the container engine cannot give out GPUs",
		Absence:     []string{"container-runtimes"},
		Rests:       []verdict.LinkName{verdict.LinkGPU, verdict.LinkModule},
		OnMachine:   container.Toolkit,
		LeavesNoGPU: true,
	},
	{
		ID: "cdi-spec-stale", Title: "the CDI specification names a driver that is gone",
		Absence:   []string{"container-runtimes", "driver-libraries"},
		Rests:     []verdict.LinkName{verdict.LinkGPU, verdict.LinkModule},
		OnMachine: container.CDISpecStale,
	},
	{
		ID: "visible-devices", Title: "CUDA_VISIBLE_DEVICES names or hides the wrong GPUs",
		Absence:     []string{"gpu-numbers"},
		Link:        verdict.LinkDevices,
		OnMachine:   container.VisibleDevices,
		LeavesNoGPU: true,
	},
	{
		// A list that names an absent GPU explains why the ranks see fewer.
		ID: "world-size", Title: "more ranks than GPUs",
		Absence:   []string{"gpu-numbers"},
		SaidBy:    "visible-devices",
		OnMachine: container.WorldSize,
	},
	{
		ID: "shm-too-small", Title: "too little shared memory for several GPUs",
		OnMachine: container.ShmTooSmall,
	},
	{
		ID: "peer-to-peer", Title: "GPUs cannot write to each other directly",
		OnMachine: device.PeerToPeer,
	},
	{
		ID: "efa-nccl-plugin", Title: "NCCL finds no plugin for EFA",
		Absence:   []string{"efa"},
		OnMachine: device.EFANCCLPlugin,
	},
	{
		ID: "efa-library-mismatch", Title: "NCCL's plugin for EFA cannot be loaded",
		Absence:   []string{"efa"},
		OnMachine: device.EFALibraryMismatch,
	},
	{
		ID: "memlock-too-small", Title: "EFA may lock too little memory",
		OnMachine: device.MemlockTooSmall,
	},
	{
		ID: "imex-channel", Title: "the container has no IMEX channel",
		Absence:   []string{"devices"},
		OnMachine: device.IMEXChannel,
	},
	{
		ID: "memory-in-use", Title: "other processes hold GPU memory",
		OnMachine: device.MemoryInUse,
	},
	{
		ID: "mig-devices", Title: "no program can use these MIG devices",
		Absence:   []string{"devices"},
		Link:      verdict.LinkAnswers,
		OnMachine: device.MIGDevices,
	},
	{
		ID: "compute-mode", Title: "the GPU's compute mode keeps programs out",
		Link:      verdict.LinkAnswers,
		OnMachine: device.ComputeMode,
	},
	{
		ID: "gpu-not-ready", Title: "the GPU does not take work yet",
		Link:      verdict.LinkAnswers,
		Rests:     []verdict.LinkName{verdict.LinkGPU, verdict.LinkModule},
		OnMachine: device.GPUNotReady,
	},
	{
		ID: "process-limits", Title: "a limit of this process can stop CUDA",
		OnMachine: device.ProcessLimits,
	},
	{
		ID: "launch-blocking", Title: "every kernel launch blocks",
		OnMachine: container.LaunchBlocking,
	},
	{
		// This rule leaves the outcome open: cudacompat must not call something compatible that it did not look at.
		ID: "not-looked-at", Title: "something that could hold CUDA code was not looked at",
		OnMachine: coverage.NotLookedAt,
	},
	{
		ID: "fleet-drift", Title: "nodes of one group are not alike",
	},
	{
		// This rule comes last, because every other rule may explain why the thing is missing.
		ID: "required-missing", Title: "something required is missing",
		OnMachine: coverage.RequiredMissing,
	},
}

// Named returns the rule with an id, or false if there is none.
func Named(id string) (rule.Rule, bool) {
	i := slices.IndexFunc(All, func(r rule.Rule) bool { return r.ID == id })
	if i < 0 {
		return rule.Rule{}, false
	}
	return All[i], true
}
