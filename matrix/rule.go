package matrix

// Rule is what can be said without looking at any machine. A rule's id is one word used everywhere: in JSON, as the
// key of a waiver, as the name of its page and of its cases. Ids are never used again.
type Rule struct {
	ID    string
	Title string
	// After names the rules whose error makes this one a mere consequence: it stays silent then.
	After []string
	// Machine judges the machine, Build one build on it; a rule has one of them. A result that is nil means that
	// the question does not arise.
	Machine func(*machine) []*result
	Build   func(*machine, *build) []*result
	// Shown says that a build's rule depends on which GPUs a program is shown.
	Shown bool
}

// result is what one rule says of one subject: a finding, a missing fact, or, with neither, that it holds.
type result struct {
	subject string
	finding *Finding
	missing string
	noted   bool // in an environment that does not count
}

func holds(subject string) []*result { return []*result{{subject: subject}} }

func unknown(subject, missing string) []*result {
	return []*result{{subject: subject, missing: missing}}
}

func found(f Finding) []*result { return []*result{{subject: f.Subject, finding: &f}} }

// Rules is every rule, causes before their consequences.
var Rules = []Rule{
	{ID: "nouveau-loaded", Title: "the GPU belongs to nouveau", Machine: nouveauLoaded},
	{ID: "module-missing-for-kernel", Title: "the kernel that boots has no NVIDIA module", After: []string{"nouveau-loaded"}, Machine: moduleMissing},
	{ID: "driver-missing", Title: "no NVIDIA driver is loaded", Machine: driverMissing},
	{ID: "driver-mismatch", Title: "user space and kernel module are of different drivers", After: []string{"driver-missing"}, Machine: driverMismatch},
	{ID: "driver-unresponsive", Title: "the driver does not answer", After: []string{"driver-missing"}, Machine: driverUnresponsive},
	{ID: "device-access-lost", Title: "access to the GPU's devices was lost", Machine: deviceAccessLost},
	{ID: "device-permission", Title: "this user may not open the GPU's devices", After: []string{"device-access-lost"}, Machine: devicePermission},
	{ID: "device-nodes-missing", Title: "device nodes of the driver are not there", After: []string{"driver-missing", "device-access-lost"}, Machine: deviceNodesMissing},
	{ID: "container-driver-libs", Title: "the driver's libraries did not come into the container", After: []string{"device-access-lost"}, Machine: containerDriverLibs},
	{ID: "driver-drops-gpu", Title: "the driver no longer supports the GPU", After: []string{"driver-missing"}, Machine: driverDropsGPU},
	{ID: "driver-too-old-for-gpu", Title: "the driver is older than the GPU", After: []string{"driver-missing"}, Machine: driverTooOldForGPU},
	{ID: "stub-library", Title: "a stub is taken for the driver's library", After: []string{"driver-missing"}, Machine: stubLibrary},
	{ID: "open-module-required", Title: "the GPU needs the open kernel module", After: []string{"driver-missing", "driver-drops-gpu", "driver-too-old-for-gpu"}, Machine: openRequired},
	{ID: "open-module-unsupported", Title: "the open kernel module does not drive the GPU", After: []string{"driver-missing", "driver-drops-gpu", "driver-too-old-for-gpu"}, Machine: openUnsupported},
	{ID: "gsp-firmware", Title: "the open kernel module has no firmware", After: []string{"driver-missing"}, Machine: gspFirmware},
	{ID: "vgpu-driver", Title: "a part of a GPU needs the GRID driver", After: []string{"driver-missing"}, Machine: vgpuDriver},
	{ID: "fabric-manager", Title: "NVSwitch is not programmed", After: []string{"driver-missing", "driver-mismatch", "driver-unresponsive"}, Machine: fabricManager},
	{ID: "gpu-count", Title: "GPUs are missing", After: []string{"driver-missing", "driver-mismatch", "driver-unresponsive", "driver-drops-gpu", "nouveau-loaded", "open-module-required", "open-module-unsupported", "gsp-firmware", "vgpu-driver"}, Machine: gpuCount},
	{ID: "gpu-health", Title: "a GPU reports trouble of its hardware", After: []string{"driver-unresponsive"}, Machine: gpuHealth},
	{ID: "driver-packages-mixed", Title: "two installations of the driver are mixed", Machine: driverPackagesMixed},
	{ID: "driver-auto-update", Title: "the driver can be upgraded without asking", Machine: driverAutoUpdate},
	{ID: "persistence-off", Title: "the GPU is started anew for every program", After: []string{"driver-missing"}, Machine: persistenceOff},
	{ID: "forward-compat-unsupported", Title: "forward compatibility is not for this GPU", After: []string{"driver-missing"}, Machine: forwardUnsupported},
	{ID: "forward-compat-not-applicable", Title: "the cuda-compat library does not go with this driver", After: []string{"driver-missing"}, Machine: forwardNotApplicable},
	{ID: "driver-too-old", Title: "the driver is too old for the build's CUDA", After: []string{"driver-missing"}, Build: driverTooOld},
	{ID: "ptx-newer-than-driver", Title: "the build's PTX is newer than the driver", After: []string{"driver-missing", "driver-drops-gpu", "driver-too-old-for-gpu", "driver-too-old"}, Build: ptxNewer, Shown: true},
	{ID: "fatbin-zstd", Title: "the driver cannot decompress the build's code", After: []string{"driver-missing", "driver-drops-gpu", "driver-too-old-for-gpu", "driver-too-old"}, Build: fatbinZstd, Shown: true},
	{ID: "forward-compat-in-use", Title: "runs by forward compatibility", After: []string{"driver-missing", "driver-drops-gpu", "driver-too-old-for-gpu", "driver-too-old", "ptx-newer-than-driver", "fatbin-zstd"}, Build: forwardInUse},
	{ID: "minor-compat", Title: "runs by minor-version compatibility", After: []string{"driver-missing", "driver-drops-gpu", "driver-too-old-for-gpu", "driver-too-old", "ptx-newer-than-driver", "fatbin-zstd"}, Build: minorCompat},
	{ID: "cpu-only-build", Title: "the build has no CUDA in it", After: []string{"driver-missing"}, Build: cpuOnlyBuild, Shown: true},
	{ID: "gpu-arch-missing", Title: "the build has no code for the GPU", After: []string{"driver-missing", "driver-drops-gpu", "driver-too-old-for-gpu", "driver-too-old"}, Build: gpuArchMissing, Shown: true},
	{ID: "gpu-arch-ptx-only", Title: "the build has only PTX for the GPU", After: []string{"driver-missing", "driver-drops-gpu", "driver-too-old-for-gpu", "driver-too-old", "ptx-newer-than-driver"}, Build: gpuArchPTXOnly, Shown: true},
	{ID: "python-unsupported", Title: "the release has no build for this Python", Build: pythonUnsupported},
	{ID: "glibc-too-old", Title: "the C library is older than the wheel needs", Build: glibcTooOld},
	{ID: "libstdcxx-too-old", Title: "the C++ library is older than the build needs", Build: libstdcxxTooOld},
	{ID: "cudnn-mismatch", Title: "cuDNN is not one that the build can use", After: []string{"driver-missing"}, Build: cudnnMismatch},
	{ID: "nccl-mismatch", Title: "NCCL is not one that the build can use", After: []string{"driver-missing"}, Build: ncclMismatch},
	{ID: "nccl-shadowed", Title: "NCCL is not the build's own", After: []string{"driver-missing"}, Build: ncclShadowed},
	{ID: "library-shadowed", Title: "a CUDA library is taken that lacks what is needed of it", After: []string{"driver-missing"}, Build: libraryShadowed},
	{ID: "companion-mismatch", Title: "a companion package is of another release", After: []string{"driver-missing"}, Build: companionMismatch},
	{ID: "tensorflow-cuda-libs", Title: "TensorFlow cannot find its CUDA libraries", After: []string{"driver-missing"}, Build: tensorflowLibs, Shown: true},
	{ID: "cuda-packages-mixed", Title: "packages of two CUDA families own the same files", Machine: packagesMixed},
	{ID: "driver-eol", Title: "the driver's branch is past its end of life", After: []string{"driver-missing"}, Machine: driverEOL},
	{ID: "nccl-too-old-for-gpu", Title: "NCCL has no code for the GPU", After: []string{"driver-missing", "driver-drops-gpu", "driver-too-old", "gpu-arch-missing", "nccl-mismatch"}, Build: ncclTooOldForGPU, Shown: true},
	{ID: "jit-too-old-for-gpu", Title: "the build's run-time compiler is older than the GPU", After: []string{"driver-missing", "driver-drops-gpu", "driver-too-old-for-gpu", "driver-too-old", "gpu-arch-missing"}, Build: jitTooOldForGPU, Shown: true},
	{ID: "jit-needs-compiler", Title: "Triton finds no C compiler, or no libcuda", Build: jitNeedsCompiler},
	{ID: "host-compiler", Title: "the toolkit does not go with the C compiler", Machine: hostCompiler},
	{ID: "toolkit-framework", Title: "the toolkit is of another CUDA than torch", Build: toolkitFramework},
	{ID: "toolkit-too-old-for-gpu", Title: "the toolkit is older than the GPU", Machine: toolkitTooOldForGPU},
	{ID: "extension-mismatch", Title: "an extension is compiled for another torch or CUDA", After: []string{"driver-missing"}, Build: extensionMismatch},
	{ID: "numpy-abi", Title: "the build was compiled before NumPy 2", Build: numpyABI},
	{ID: "known-bad", Title: "a combination that is known to be bad", After: []string{"driver-missing", "gpu-arch-missing"}, Build: knownBad, Shown: true},
	{ID: "matrix-outdated", Title: "the tables are older than what is installed", Machine: matrixOutdated},
	{ID: "container-requirements", Title: "the image requires another driver", Machine: containerRequirements},
	{ID: "container-toolkit", Title: "the container engine cannot give out GPUs", After: []string{"driver-missing"}, Machine: containerToolkit},
	{ID: "cdi-spec-stale", Title: "the CDI specification is of a driver that is gone", After: []string{"driver-missing"}, Machine: cdiSpecStale},
	{ID: "visible-devices", Title: "CUDA_VISIBLE_DEVICES names or hides the wrong GPUs", Machine: visibleDevices},
	{ID: "world-size", Title: "more ranks than GPUs", After: []string{"visible-devices"}, Machine: worldSize},
	{ID: "shm-too-small", Title: "little shared memory for several GPUs", Machine: shmTooSmall},
	{ID: "peer-to-peer", Title: "GPUs cannot write to each other directly", Machine: peerToPeer},
	{ID: "efa-nccl-plugin", Title: "NCCL finds no plugin for EFA", Machine: efaPlugin},
	{ID: "memlock-too-small", Title: "EFA may lock too little memory", Machine: memlockTooSmall},
	{ID: "imex-channel", Title: "the container has no IMEX channel", Machine: imexChannel},
	{ID: "memory-in-use", Title: "others hold memory of the GPU", Machine: memoryInUse},
	{ID: "mig-devices", Title: "MIG devices that no program can use", Machine: migDevices},
	{ID: "compute-mode", Title: "the GPU's compute mode shuts programs out", Machine: computeMode},
	{ID: "launch-blocking", Title: "every kernel launch waits", Machine: launchBlocking},
	{ID: "not-looked-at", Title: "something that could hold CUDA code was not looked at", Machine: notLookedAt},
	{ID: "required-missing", Title: "something that was asked for is not there", Machine: requiredMissing},
}
