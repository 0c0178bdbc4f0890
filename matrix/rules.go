package matrix

import "slices"

// rules stand causes before their consequences: a rule has to know the errors that break the links on which it rests.
// Findings of one severity are printed in this order. One cause is one error: a second one would send people after a
// symptom, often with a pin that changes nothing. Two causes are two errors.
var rules = []Rule{
	{
		// On an image that cannot start nothing else has a meaning.
		ID: "architecture-mismatch", Title: "the image is for another architecture",
		Link:        LinkModule,
		onMachine:   architectureMismatch,
		LeavesNoGPU: true,
	},
	{
		// It says why an installed driver is not loaded, so it comes before those that only see that it is not.
		ID: "nouveau-loaded", Title: "the GPU is bound to nouveau",
		Link:      LinkGPU,
		SaidBy:    "architecture-mismatch",
		onMachine: nouveauLoaded,
	},
	{
		ID: "module-missing-for-kernel", Title: "the kernel that boots has no NVIDIA module",
		Link:        LinkModule,
		Rests:       []LinkName{LinkGPU},
		SaidBy:      "architecture-mismatch",
		onMachine:   moduleMissing,
		LeavesNoGPU: true,
	},
	{
		ID: "driver-missing", Title: "no NVIDIA driver is loaded",
		Link:        LinkModule,
		Rests:       []LinkName{LinkGPU},
		SaidBy:      "architecture-mismatch",
		onMachine:   driverMissing,
		LeavesNoGPU: true,
	},
	{
		ID: "driver-mismatch", Title: "user space and kernel module come from different drivers",
		Link:      LinkLibcuda,
		onMachine: driverMismatch,
	},
	{
		ID: "driver-unresponsive", Title: "the driver does not answer",
		Link:      LinkAnswers,
		Rests:     []LinkName{LinkGPU, LinkModule},
		onMachine: driverUnresponsive,
	},
	{
		// It rests on nothing: the node's own answer is proof in a container, whatever is known of its host's driver.
		ID: "device-access-lost", Title: "the container lost access to the GPU's devices",
		Link:      LinkDevices,
		onMachine: deviceAccessLost,
	},
	{
		ID: "device-permission", Title: "this user may not open the GPU's devices",
		Link:      LinkDevices,
		SaidBy:    "device-access-lost",
		onMachine: devicePermission,
	},
	{
		ID: "device-nodes-missing", Title: "the driver's device nodes are missing",
		Link:        LinkDevices,
		Rests:       []LinkName{LinkGPU, LinkModule},
		SaidBy:      "device-access-lost",
		onMachine:   deviceNodesMissing,
		LeavesNoGPU: true,
	},
	{
		ID: "container-driver-libs", Title: "the driver's libraries are missing from the container",
		Link:        LinkLibcuda,
		Rests:       []LinkName{LinkDevices},
		onMachine:   containerDriverLibs,
		LeavesNoGPU: true,
	},
	{
		ID: "driver-drops-gpu", Title: "the driver no longer supports the GPU",
		Link:      LinkModule,
		onMachine: driverDropsGPU,
		Reads:     []string{"last_branch"},
	},
	{
		ID: "driver-too-old-for-gpu", Title: "the driver is older than the GPU",
		Link:      LinkModule,
		onMachine: driverTooOldForGPU,
		Reads:     []string{"first_branch", "listed", "noted"},
	},
	{
		ID: "stub-library", Title: "a stub is loaded instead of the driver's library",
		Link:      LinkLibcuda,
		onMachine: stubLibrary,
	},
	{
		ID: "open-module-required", Title: "the GPU needs the open kernel module",
		Link:      LinkModule,
		SaidBy:    "driver-too-old-for-gpu",
		onMachine: openRequired,
	},
	{
		ID: "open-module-unsupported", Title: "the open kernel module does not drive the GPU",
		Link:      LinkModule,
		SaidBy:    "driver-drops-gpu",
		onMachine: openUnsupported,
	},
	{
		ID: "gsp-firmware", Title: "the open kernel module has no firmware",
		Link: LinkModule,
		// Firmware comes with the module, and that of the release which an update removed is no fault of its own.
		Rests:     []LinkName{LinkGPU, LinkModule},
		SaidBy:    "driver-mismatch",
		onMachine: gspFirmware,
	},
	{
		ID: "vgpu-driver", Title: "a fraction of a GPU needs the GRID driver",
		Link:      LinkModule,
		onMachine: vgpuDriver, Reads: []string{"vgpu"},
	},
	{
		// A driver that does not answer cannot tell the fabric's state, and the fabric manager is of user space's release.
		ID: "fabric-manager", Title: "NVSwitch is not programmed",
		Link:      LinkAnswers,
		Rests:     []LinkName{LinkGPU, LinkModule, LinkAnswers},
		SaidBy:    "driver-mismatch",
		onMachine: fabricManager,
	},
	{
		// A GPU that the driver leaves out for a reason which has been said is not missing.
		ID: "gpu-count", Title: "GPUs are missing",
		Rests:     []LinkName{LinkGPU, LinkModule, LinkAnswers},
		onMachine: gpuCount,
	},
	{
		// driver-unresponsive reads the same lines of the kernel log.
		ID: "gpu-health", Title: "a GPU reports a hardware fault",
		Link:      LinkAnswers,
		SaidBy:    "driver-unresponsive",
		onMachine: gpuHealth,
	},
	{
		// It rests on nothing: packages stand on disk whether or not a driver runs, and may be why it does not.
		ID: "driver-packages-mixed", Title: "two installations of the driver are mixed",
		onMachine: driverPackagesMixed,
	},
	{
		ID: "driver-auto-update", Title: "the driver can be upgraded without asking",
		onMachine: driverAutoUpdate,
	},
	{
		ID: "persistence-off", Title: "the driver initialises the GPU for every program",
		Rests:     []LinkName{LinkGPU, LinkModule},
		onMachine: persistenceOff,
	},
	{
		ID: "forward-compat-unsupported", Title: "forward compatibility is not for this GPU",
		Link:      LinkLibcuda,
		onMachine: forwardUnsupported,
	},
	{
		ID: "forward-compat-not-applicable", Title: "the cuda-compat library does not fit this driver",
		Link:      LinkLibcuda,
		onMachine: forwardNotApplicable,
	},
	{
		// Broken on the CPU, too, which is why it stands before every rule about GPUs and code.
		ID: "not-importable", Title: "Python cannot import what is installed",
		Link:    LinkPython,
		onBuild: notImportable,
	},
	{
		ID: "driver-too-old", Title: "the driver is too old for the build's CUDA",
		Link:        LinkDriver,
		onBuild:     driverTooOld,
		LeavesNoGPU: true, Reads: []string{"cuda", "driver"},
	},
	{
		// Below the floor of its CUDA no build starts: driver-too-old has said that the driver is too old.
		ID: "ptx-newer-than-driver", Title: "the build's PTX is newer than the driver",
		Link:    LinkCode,
		Rests:   []LinkName{LinkDriver},
		onBuild: ptxNewer,
		Reads:   []string{"groups"},
	},
	{
		ID: "fatbin-zstd", Title: "the driver cannot decompress the build's code",
		Link:    LinkCode,
		Rests:   []LinkName{LinkDriver},
		onBuild: fatbinZstd,
	},
	{
		ID: "forward-compat-in-use", Title: "runs by forward compatibility",
		Link:    LinkLibcuda,
		Rests:   []LinkName{LinkGPU, LinkModule, LinkDriver, LinkPython, LinkCode},
		onBuild: forwardInUse,
	},
	{
		ID: "minor-compat", Title: "runs by minor-version compatibility",
		Link:    LinkDriver,
		Rests:   []LinkName{LinkGPU, LinkModule, LinkDriver, LinkPython, LinkCode},
		onBuild: minorCompat,
		Reads:   []string{"cuda"},
	},
	{
		ID: "cpu-only-build", Title: "the build has no CUDA in it",
		Link:        LinkCode,
		onBuild:     cpuOnlyBuild,
		LeavesNoGPU: true,
	},
	{
		ID: "gpu-arch-missing", Title: "the build has no code for the GPU",
		Link:    LinkCode,
		onBuild: gpuArchMissing,
		Reads:   []string{"sass", "ptx", "groups"},
	},
	{
		// PTX that the driver cannot compile is not merely slow.
		ID: "gpu-arch-ptx-only", Title: "the build has only PTX for the GPU",
		Link:    LinkCode,
		Rests:   []LinkName{LinkDriver, LinkCode},
		onBuild: gpuArchPTXOnly,
		Reads:   []string{"sass", "ptx"},
	},
	{
		ID: "python-unsupported", Title: "the release has no build for this Python",
		Link:    LinkPython,
		SaidBy:  "not-importable",
		onBuild: pythonUnsupported,
		Reads:   []string{"python"},
	},
	{
		ID: "glibc-too-old", Title: "the C library is older than the wheel needs",
		Link:    LinkPython,
		onBuild: glibcTooOld,
		Reads:   []string{"glibc"},
	},
	{
		ID: "libstdcxx-too-old", Title: "the C++ library is older than the framework needs",
		Link:    LinkPython,
		onBuild: libstdcxxTooOld,
	},
	{
		ID: "cudnn-mismatch", Title: "the build cannot use this cuDNN",
		Link:    LinkLibraries,
		onBuild: cudnnMismatch,
		Reads:   []string{"cudnn"},
	},
	{
		ID: "nccl-mismatch", Title: "the build cannot use this NCCL",
		Link:    LinkLibraries,
		onBuild: ncclMismatch,
		Reads:   []string{"nccl"},
	},
	{
		ID: "nccl-shadowed", Title: "another NCCL hides the build's own",
		Link:    LinkLibraries,
		onBuild: ncclShadowed,
	},
	{
		ID: "library-shadowed", Title: "a CUDA library that is loaded lacks what the build needs",
		Link:    LinkLibraries,
		onBuild: libraryShadowed,
	},
	{
		ID: "companion-mismatch", Title: "a companion package belongs to another release",
		Link:    LinkLibraries,
		onBuild: companionMismatch,
		Reads:   []string{"torchvision", "torchaudio", "triton"},
	},
	{
		ID: "tensorflow-cuda-libs", Title: "TensorFlow cannot find its CUDA libraries",
		Link:    LinkLibraries,
		onBuild: tensorflowLibs,
	},
	{
		ID: "cuda-packages-mixed", Title: "packages of two CUDA families own the same files",
		Link:      LinkLibraries,
		onMachine: packagesMixed,
	},
	{
		ID: "driver-eol", Title: "the driver's branch has reached end of life",
		onMachine: driverEOL,
	},
	{
		// NCCL matters only for a build that runs on the GPU, and as long as it can be loaded.
		ID: "nccl-too-old-for-gpu", Title: "NCCL has no code for the GPU",
		Link:    LinkCode,
		SaidBy:  "gpu-arch-missing",
		onBuild: ncclTooOldForGPU,
	},
	{
		ID: "jit-too-old-for-gpu", Title: "the build's run-time compiler is older than the GPU",
		Link:    LinkCode,
		SaidBy:  "gpu-arch-missing",
		onBuild: jitTooOldForGPU,
	},
	{
		ID: "jit-needs-compiler", Title: "Triton finds no C compiler, ptxas or libcuda",
		onBuild: jitNeedsCompiler,
	},
	{
		ID: "host-compiler", Title: "the toolkit does not accept the C compiler",
		onMachine: hostCompiler,
	},
	{
		ID: "toolkit-framework", Title: "the toolkit's CUDA differs from torch's",
		onBuild: toolkitFramework,
	},
	{
		ID: "toolkit-too-old-for-gpu", Title: "the toolkit is older than the GPU",
		onMachine: toolkitTooOldForGPU,
	},
	{
		ID: "extension-mismatch", Title: "an extension was compiled for another torch or CUDA",
		Link:    LinkLibraries,
		onBuild: extensionMismatch,
	},
	{
		ID: "compiled-cache-mismatch", Title: "a cache of compiled extensions is for another GPU",
		onMachine: compiledCacheMismatch,
	},
	{
		ID: "numpy-abi", Title: "the build was compiled before NumPy 2",
		Link:    LinkPython,
		onBuild: numpyABI,
	},
	{
		// A bug of a combination matters only where the combination would run.
		ID: "known-bad", Title: "this combination is known to fail",
		Link:    LinkLibraries,
		Rests:   []LinkName{LinkDriver, LinkCode},
		onBuild: knownBad,
	},
	{
		ID: "matrix-outdated", Title: "the tables are older than what is installed",
		onMachine: matrixOutdated,
	},
	{
		ID: "container-requirements", Title: "the image requires a newer driver",
		onMachine: containerRequirements,
	},
	{
		ID: "container-toolkit", Title: "the container engine cannot give out GPUs",
		Rests:       []LinkName{LinkGPU, LinkModule},
		onMachine:   containerToolkit,
		LeavesNoGPU: true,
	},
	{
		ID: "cdi-spec-stale", Title: "the CDI specification names a driver that is gone",
		Rests:     []LinkName{LinkGPU, LinkModule},
		onMachine: cdiSpecStale,
	},
	{
		ID: "visible-devices", Title: "CUDA_VISIBLE_DEVICES names or hides the wrong GPUs",
		Link:        LinkDevices,
		onMachine:   visibleDevices,
		LeavesNoGPU: true,
	},
	{
		// A list that names an absent GPU is why the ranks see fewer.
		ID: "world-size", Title: "more ranks than GPUs",
		SaidBy:    "visible-devices",
		onMachine: worldSize,
	},
	{
		ID: "shm-too-small", Title: "too little shared memory for several GPUs",
		onMachine: shmTooSmall,
	},
	{
		ID: "peer-to-peer", Title: "GPUs cannot write to each other directly",
		onMachine: peerToPeer,
	},
	{
		ID: "efa-nccl-plugin", Title: "NCCL finds no plugin for EFA",
		onMachine: efaPlugin,
	},
	{
		ID: "efa-library-mismatch", Title: "NCCL's plugin for EFA cannot be loaded",
		onMachine: efaLibraryMismatch,
	},
	{
		ID: "memlock-too-small", Title: "EFA may lock too little memory",
		onMachine: memlockTooSmall,
	},
	{
		ID: "imex-channel", Title: "the container has no IMEX channel",
		onMachine: imexChannel,
	},
	{
		ID: "memory-in-use", Title: "other processes hold GPU memory",
		onMachine: memoryInUse,
	},
	{
		ID: "mig-devices", Title: "no program can use these MIG devices",
		Link:      LinkAnswers,
		onMachine: migDevices,
	},
	{
		ID: "compute-mode", Title: "the GPU's compute mode keeps programs out",
		Link:      LinkAnswers,
		onMachine: computeMode,
	},
	{
		ID: "gpu-not-ready", Title: "the GPU does not take work yet",
		Link:      LinkAnswers,
		Rests:     []LinkName{LinkGPU, LinkModule},
		onMachine: gpuNotReady,
	},
	{
		ID: "process-limits", Title: "a limit of this process can stop CUDA",
		onMachine: processLimits,
	},
	{
		ID: "launch-blocking", Title: "every kernel launch blocks",
		onMachine: launchBlocking,
	},
	{
		// It leaves the outcome open: nothing may be called compatible that was never looked at.
		ID: "not-looked-at", Title: "something that could hold CUDA code was not looked at",
		onMachine: notLookedAt,
	},
	{
		ID: "fleet-drift", Title: "nodes of one group are not alike",
	},
	{
		// Last, for every other rule may have said why the thing is not there.
		ID: "required-missing", Title: "something required is missing",
		onMachine: requiredMissing,
	},
}

// Rules is every rule, causes before their consequences.
func Rules() []Rule { return slices.Clone(rules) }

// RuleNamed is the rule of an id; false for an id that no rule has.
func RuleNamed(id string) (Rule, bool) {
	i := slices.IndexFunc(rules, func(r Rule) bool { return r.ID == id })
	if i < 0 {
		return Rule{}, false
	}
	return rules[i], true
}
