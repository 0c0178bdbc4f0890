package triage

import (
	"maps"
	"slices"
	"strings"
)

// answer is what a record means, in words whose {names} are its slots.
type answer struct {
	cause   string
	blame   Blame
	rule    string
	weight  int
	because string
	do      []string
}

// answers are the words of what grammar finds, where no curated row says it better. Each fault is one sentence with its
// numbers; each step is a command or an action, the likeliest first.
var answers = map[string]answer{
	"libcuda": {"libcuda-not-found", Environment, "container-driver-libs", fault,
		"{library}, a part of the NVIDIA driver, was not found by the loader.",
		[]string{"`nvidia-smi` tells whether the driver is installed on this machine", "in a container: start it with `--gpus all` and NVIDIA_DRIVER_CAPABILITIES=all"}},
	"cuda-library": {"cuda-library-not-found", Environment, "library-shadowed", fault,
		"{library} ({what}, CUDA {cuda}) was not found by the loader.",
		[]string{"install the wheel that holds it: `pip install {pip}`", "or take the build of the program for the CUDA that is installed: `cudacompat doctor` names both"}},
	"torch-library": {"extension-mismatch", Environment, "extension-mismatch", fault,
		"{library}, a part of PyTorch, was not found: a compiled package was built for another PyTorch, or torch is not imported first.",
		[]string{"install the release of the package that is built for this PyTorch and Python, or build it anew", "`import torch` before it"}},
	"library": {"shared-library-not-found", Environment, "library-shadowed", fault,
		"The shared library {library} was not found by the loader.",
		[]string{"install the package that holds {library}", "if it is installed, put its directory on LD_LIBRARY_PATH, or run `ldconfig`"}},
	"windows-library": {"windows-library-not-found", Environment, "library-shadowed", fault,
		"Windows did not find {library} or a DLL that it needs.",
		[]string{"install the Microsoft Visual C++ Redistributable (2015 to 2022, x64)", "install the program or package again, for this Python and this CUDA"}},
	"torch-symbol": {"extension-mismatch", Environment, "extension-mismatch", fault,
		"A compiled package wants {symbol} of another PyTorch than the one installed.",
		[]string{"install the release of the package that is built for this PyTorch, CUDA and Python", "or build it anew: `pip install --no-build-isolation --no-cache-dir --force-reinstall PACKAGE`"}},
	"cuda-symbol": {"cuda-library-older-than-build", Environment, "library-shadowed", fault,
		"A library wants {symbol} of {what}, and an older or other {what} was loaded.",
		[]string{"take other copies off LD_LIBRARY_PATH: `unset LD_LIBRARY_PATH`", "`cudacompat doctor` names the copy that is taken and the one that is needed"}},
	"symbol": {"library-of-another-version", Environment, "library-shadowed", fault,
		"A library wants {symbol}, which the one that was loaded does not have: they were built apart.",
		[]string{"install both from one release, or build the one that complains anew", "take other copies of the library off LD_LIBRARY_PATH"}},
	"glibc": {"glibc-too-old", Environment, "glibc-too-old", fault,
		"{version} is wanted; the C library of this system is older than the one the program was built with.",
		[]string{"use a newer system or image, or a build of the program made for older ones (manylinux2014)"}},
	"libstdcxx": {"libstdcxx-too-old", Environment, "libstdcxx-too-old", fault,
		"{version} is wanted; the libstdc++ that was loaded is older than the one the library was built with.",
		[]string{"conda: `conda install -c conda-forge libstdcxx-ng`", "else take old copies of libstdc++ off LD_LIBRARY_PATH, or use a newer system"}},
	"rdma": {"nccl-transport-libraries-mixed", Environment, "efa-nccl-plugin", fault,
		"{version} is wanted; libibverbs and its providers come from two releases of rdma-core.",
		[]string{"install rdma-core and the EFA installer's packages of one release", "in a container: do not mount the host's providers over the image's own"}},
	"symbol-version": {"library-of-another-version", Environment, "library-shadowed", fault,
		"The version {version} is wanted of a library, and the copy that was loaded does not have it.",
		[]string{"install both from one release", "take other copies of the library off LD_LIBRARY_PATH"}},
	"library-damaged": {"library-damaged", Environment, "", fault,
		"{library} is there and cannot be loaded: it is damaged, of another architecture, or refused by the system.",
		[]string{"install its package again", "`file {library}` tells its architecture"}},
	"header": {"cuda-headers-missing", Environment, "toolkit-framework", fault,
		"The compiler did not find {header}, a header of {what}.",
		[]string{"install the development package of {what}", "set CUDA_HOME to a toolkit that has its headers"}},
	"compiler-too-new": {"host-compiler", Environment, "host-compiler", fault,
		"nvcc refuses the host compiler: it is newer than this CUDA toolkit supports.",
		[]string{"use an older compiler: `export CC=gcc-12 CXX=g++-12 NVCC_CCBIN=g++-12`", "or a newer CUDA toolkit"}},
	"target": {"toolkit-too-old-for-gpu", Environment, "toolkit-too-old-for-gpu", fault,
		"The compiler does not know {target}: it is older than this GPU, or has dropped it.",
		[]string{"use a CUDA toolkit that knows the GPU: `cudacompat matrix gpu` lists the first of each", "or build for the GPUs at hand: TORCH_CUDA_ARCH_LIST"}},
	"tool": {"build-tool-missing", Environment, "jit-needs-compiler", fault,
		"{tool} was not found.",
		[]string{"install {tool}, or put its directory on PATH", "set CUDA_HOME where it is a part of the CUDA toolkit"}},
	"driver-tool": {"nvidia-smi-not-found", Environment, "driver-missing", fault,
		"{tool}, which comes with the NVIDIA driver or its container toolkit, was not found.",
		[]string{"on a host: install the driver and the NVIDIA Container Toolkit", "in a container: start it with `--gpus all`"}},
	"cmake": {"cuda-home-not-set", Environment, "toolkit-framework", fault,
		"The build found no CUDA toolkit, or not the part of it that it needs.",
		[]string{"install a CUDA toolkit, not only the driver, of the major release that PyTorch was built with", "set CUDA_HOME, and CUDACXX to its bin/nvcc"}},
	"kernel-driver": {"driver-not-loaded", Environment, "driver-missing", fault,
		"The kernel could not load or start the NVIDIA driver.",
		[]string{"`dmesg | grep -i -e nvrm -e nvidia` has the driver's own reason", "install a driver release that knows this GPU and this kernel; remove older ones first", "in a virtual machine: see how the GPU is passed through"}},
	"worker-shm": {"shm-too-small", Environment, "shm-too-small", cause,
		"A DataLoader worker got a bus error: shared memory (/dev/shm) was full.",
		[]string{"give the container more: `docker run --shm-size=8g`, or `--ipc=host`", "else fewer workers, or `torch.multiprocessing.set_sharing_strategy('file_system')`"}},
	"worker-killed": {"host-out-of-memory", Program, "", cause,
		"A DataLoader worker was killed, as the kernel does when main memory is full.",
		[]string{"`dmesg | grep -i 'out of memory'` tells", "fewer workers, smaller batches, or data read in pieces"}},
	"operator": {"companion-mismatch", Environment, "companion-mismatch", fault,
		"The operator {operator} is not there: its package does not fit the PyTorch that is installed.",
		[]string{"install the release of the package that belongs to this PyTorch, from the same index", "`cudacompat pins` names pairs that fit"}},
	"network": {"node-not-reached", Environment, "", symptom,
		"A process of the job could not be reached over the network.",
		[]string{"see that the first process runs, and that its address and port are right on every node", "name the interface: NCCL_SOCKET_IFNAME, GLOO_SOCKET_IFNAME; open the firewall between the nodes"}},
	"compile-error": {"package-did-not-build", Environment, "", warning,
		"A source file of a package does not compile with the compiler, toolkit or PyTorch that is here.",
		[]string{"install a ready wheel, or the release of the package made for this PyTorch and CUDA", "read the first error of the compiler, not the last"}},
	"build": {"package-did-not-build", Environment, "", symptom,
		"A package with compiled parts did not build; the first error above this line says why.",
		[]string{"install a ready wheel for this PyTorch, CUDA and Python, where there is one", "else read the first error of the compiler, not the last: `pip install -v PACKAGE`"}},
	"kernel-module": {"module-not-built", Environment, "module-missing-for-kernel", fault,
		"The driver's kernel module was not built or does not fit the running kernel.",
		[]string{"install the headers of the running kernel: `uname -r` names it", "install a driver release that knows this kernel"}},
	"package": {"package-not-in-repository", Environment, "", fault,
		"{package} was not found where it was looked for: not for this Python or system, not in this index, or never released.",
		[]string{"name the index that has it: PyTorch's builds for CUDA are at https://download.pytorch.org/whl", "use a Python for which it is released: `cudacompat matrix torch` lists them"}},
	"packages": {"packages-conflict", Environment, "companion-mismatch", fault,
		"The package tool found no set of releases that fit together.",
		[]string{"start from an empty environment, and ask for the framework first", "`cudacompat pins` names releases that fit this machine"}},
	"wanted-package": {"packages-conflict", Environment, "companion-mismatch", symptom,
		"{wanted} is required, and {found} is installed.",
		[]string{"`pip install '{wanted}'`", "or the release of the other package that takes what is installed"}},
	"wheel": {"python-unsupported", Environment, "python-unsupported", fault,
		"The wheel is not made for this Python or this system.",
		[]string{"use a Python for which it is released", "take the wheel whose tag (cp311, manylinux, win_amd64) is this system's"}},
	"version-pair": {"version-mismatch", Environment, "", fault,
		"Built for {built}, and {found} was found.",
		[]string{"install the release that was built for {found}", "`cudacompat doctor` shows which copy is taken, and what fits"}},
	"version-wanted": {"version-mismatch", Environment, "", fault,
		"It needs {subject} {wanted} or a release that fits it.",
		[]string{"install {subject} {wanted}, or the release of the program made for the one that is here", "`cudacompat pins` names releases that fit this machine"}},
	"version": {"version-mismatch", Environment, "", symptom,
		"Two parts of different releases met: {subject}.",
		[]string{"install both from one release", "`cudacompat doctor` shows which copies are taken"}},
	"no-gpu": {"no-gpu-visible", Environment, "visible-devices", symptom,
		"The program wants a GPU and found none.",
		[]string{"`nvidia-smi` tells whether the driver sees one", "look at CUDA_VISIBLE_DEVICES, and in a container at `--gpus all`", "`python -c 'import torch; print(torch.version.cuda)'` prints None for a build without CUDA"}},
	"no-cuda-build": {"library-built-without-cuda", Environment, "cpu-only-build", fault,
		"A library was built without what the program asks of it on the GPU.",
		[]string{"install its build for CUDA", "`cudacompat doctor` names the builds that are installed"}},
	"gpu-arch": {"gpu-arch-missing", Environment, "gpu-arch-missing", fault,
		"The GPU is older or newer than what the program was built for.",
		[]string{"`nvidia-smi --query-gpu=name,compute_cap --format=csv` tells its capability", "install a build whose list of targets holds it: `cudacompat matrix torch`"}},
	"driver": {"no-driver", Environment, "driver-missing", symptom,
		"The NVIDIA driver is not there for this program, or does not answer.",
		[]string{"`nvidia-smi` tells whether it works", "in a container: start it with `--gpus all`"}},
	"device-file": {"cdi-file-stale", Environment, "cdi-spec-stale", fault,
		"{path}, a file of the driver, is not where the container engine was told.",
		[]string{"write the list of the driver's files anew: `nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml`", "`nvidia-smi` on the host tells whether the driver works"}},
	"device-node": {"device-nodes-missing", Environment, "device-nodes-missing", fault,
		"{path} cannot be opened.",
		[]string{"`ls -l {path}` on the host and in the container", "`nvidia-modprobe -u -c=0` makes the nodes"}},
	"container": {"container-runtime-failed", Environment, "container-toolkit", fault,
		"The container engine could not give the container the GPU.",
		[]string{"install the NVIDIA Container Toolkit and run `nvidia-ctk runtime configure`, then restart the engine", "`nvidia-smi` on the host must work first"}},
	"scheduler": {"kubernetes-offers-no-gpu", Environment, "container-toolkit", fault,
		"The scheduler has no GPU to give: no node offers one, or all are taken.",
		[]string{"`kubectl describe node` (nvidia.com/gpu) or `sinfo -o '%n %G'` tells what nodes offer", "see that the device plugin runs on the node"}},
	"memory": {"out-of-memory", Program, "", fault,
		"The GPU has not enough free memory for what was asked.",
		[]string{"`nvidia-smi` tells who else holds memory", "ask for less: a smaller batch, input, context or model"}},
	"memory-want": {"out-of-memory", Program, "", fault,
		"{want} more was asked for than the memory had free.",
		[]string{"`nvidia-smi` tells who else holds memory", "ask for less: a smaller batch, input, context or model"}},
	"host-memory": {"host-out-of-memory", Program, "", fault,
		"The main memory, not the GPU's, was not enough.",
		[]string{"`free -h` while it runs; in a container its limit counts", "load less at once: fewer workers, smaller pieces, memory maps"}},
	"oom-killer": {"host-out-of-memory", Program, "", cause,
		"The kernel ended a process because the main memory, or the container's limit of it, was full.",
		[]string{"give the job more memory, or raise the container's limit", "load less at once: fewer workers, smaller pieces"}},
	"hardware": {"gpu-failed", Hardware, "gpu-health", cause,
		"The GPU, its memory or a link to it reported a fault of the hardware.",
		[]string{"`nvidia-smi -q -d ECC,ROW_REMAPPER,PAGE_RETIREMENT`", "`dmesg | grep -i xid`", "drain the node and reset the GPU; replace it if that comes again"}},
	"xid-hardware": {"gpu-failed", Hardware, "gpu-health", cause,
		"Xid {code}: {meaning}.",
		[]string{"drain the node and reset the GPU: `nvidia-smi --gpu-reset`", "replace the GPU if it comes again"}},
	"xid-program": {"xid-of-the-program", Program, "", cause,
		"Xid {code}: {meaning}; a program does that, seldom the GPU.",
		[]string{"run the program under `compute-sanitizer`", "the same Xid with other programs too: look at the GPU"}},
	"xid": {"xid-ambiguous", Unknown, "", symptom,
		"Xid {code}: {meaning}; program, driver or GPU can be the reason.", nil},
	"assert": {"device-assert", Program, "", cause,
		"An assertion in a kernel failed: {expression}.",
		[]string{"check what is passed there: indices, labels and probabilities out of range are the most common", "run the failing batch once on the CPU: there the exception names the line"}},
	"status": {"", Unknown, "", fault, "{name} ({code}): {meaning}.", nil},
	"program": {"program-exception", Program, "", symptom,
		"{class}: {message}",
		[]string{"look at the last line of your own code in the traceback", "print shapes, types and devices of what is passed there"}},
	"program-words": {"program-exception", Program, "", symptom,
		"The program passed something that does not fit.",
		[]string{"print shapes, types and devices of what is passed where the traceback ends", "run the failing step once on the CPU: the message is plainer there"}},
	"shape": {"shape-mismatch", Program, "", symptom,
		"{class}: {message}",
		[]string{"print the shapes that meet there", "compare with what the layer, the checkpoint or the labels expect"}},
	"packages-do-not-fit": {"packages-do-not-fit", Environment, "companion-mismatch", symptom,
		"{class}: {message}",
		[]string{"install releases of both packages that belong together", "`pip check` names what does not fit"}},
	"module": {"module-not-installed", Environment, "extension-mismatch", symptom,
		"The Python module {module} is not installed in this environment.",
		[]string{"`pip install` the package that holds {module}, into this Python", "`python -m pip list` shows what is there"}},
	"extension": {"extension-not-built", Environment, "extension-mismatch", fault,
		"{module} is the compiled part of a package, and is not there: it was not built for this Python, or not at all.",
		[]string{"build it: `pip install --no-build-isolation .` in its source, with nvcc on PATH", "or install a ready wheel for this PyTorch, CUDA and Python"}},
	"environment": {"environment-refused", Environment, "", symptom,
		"{class}: {message}",
		[]string{"`cudacompat doctor` judges driver, toolkit and builds of this machine"}},
	"amd": {"amd-not-judged", Unknown, "", cause,
		"This is AMD's stack (HIP, ROCm): it is not judged here.",
		[]string{"`rocminfo` shows the GPU's target (gfx…), which the build must have been made for"}},
	"on-cpu": {"runs-on-cpu", Unknown, "", warning,
		"The program goes on with the CPU; the log does not say why it found no GPU.", nil},
	"exit": {"process-crashed", Unknown, "", warning, "The process ended by {signal}; the log does not say why.", nil},
}

// Answers are the causes that grammar finds, in the form of the rows that name the others: for their pages.
func Answers() []Signature {
	var all []Signature
	for _, name := range slices.Sorted(maps.Keys(answers)) {
		a := answers[name]
		if a.cause == "" || strings.Contains(a.because, "{class}") {
			continue
		}
		s := Signature{ID: name, Cause: a.cause, Blame: a.blame, Rule: a.rule, Because: slotNames(a.because)}
		for _, step := range a.do {
			s.Do = append(s.Do, slotNames(step))
		}
		all = append(all, s)
	}
	return all
}

// slotNames are words with the names of their slots, as pages without a log have them.
func slotNames(words string) string {
	return placeholder.ReplaceAllStringFunc(words, func(name string) string { return strings.ToUpper(strings.Trim(name, "{}")) })
}
