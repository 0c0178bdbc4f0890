package logs

import (
	"cmp"
	"slices"

	"cudacompat/internal/lazyregexp"
)

// The commands whose output decides between candidates. Explain takes that output beside the log.
const (
	fetchXid      = "dmesg | grep -i -e xid -e nvrm"
	fetchSMI      = "nvidia-smi -q"
	fetchDoctor   = "cudacompat doctor --log LOG"
	fetchBlocking = "CUDA_LAUNCH_BLOCKING=1 python PROGRAM"
	fetchMemory   = "nvidia-smi --query-compute-apps=pid,used_memory --format=csv"
	fetchOOM      = "dmesg | grep -i -e 'out of memory' -e oom-kill"
	fetchRanks    = "the logs of all ranks: torchrun --log-dir DIR --redirects 3, then cudacompat explain DIR"
	fetchNCCL     = "NCCL_DEBUG=INFO in the environment of every rank"
	fetchSanitize = "compute-sanitizer python PROGRAM"
	fetchBuild    = "pip install -v --no-cache-dir PACKAGE"
	fetchFault    = "python -X faulthandler PROGRAM"
)

var (
	mayBeDriver    = Candidate{"driver-mismatch", Environment, fetchDoctor}
	mayBeGPU       = Candidate{"gpu-failed", Hardware, fetchXid}
	mayBeAccess    = Candidate{"illegal-memory-access", Program, fetchBlocking}
	mayBeMemory    = Candidate{"gpu-memory-exhausted", Program, fetchMemory}
	mayBeLibraries = Candidate{"library-shadowed", Environment, fetchDoctor}
	mayBeOOM       = Candidate{"host-out-of-memory", Program, fetchOOM}
	mayBeOtherRank = Candidate{"rank-died", Unknown, fetchRanks}
	mayBeNetwork   = Candidate{"nccl-network-unreachable", Environment, fetchNCCL}
)

// may is what something can be, the likeliest first.
type may = []Candidate

// unclear is a cause that may be another.
type unclear struct {
	cause string
	may   may
}

// candidates are what unclear causes may be. They are no map, which would be filled by 34 kB of code at every start.
var candidates = []unclear{
	{"cuda-unknown-error", may{mayBeDriver, {"driver-not-loaded", Environment, fetchSMI}, mayBeGPU}},
	{"cuda-initialization-error", may{{"fork-after-cuda-init", Program, fetchFault}, mayBeDriver, mayBeGPU}},
	{"cuda-os-error", may{mayBeDriver, mayBeGPU}},
	{"cuda-out-of-memory", may{{"out-of-memory", Program, fetchMemory}, mayBeMemory, mayBeGPU}},
	{"cublas-execution-failed", may{mayBeAccess, mayBeLibraries, mayBeMemory}},
	{"cublas-not-initialized", may{mayBeMemory, mayBeAccess, mayBeLibraries}},
	{"cublas-invalid-value", may{{"shape-mismatch", Program, fetchBlocking}, mayBeLibraries}},
	{"cudnn-failed", may{mayBeMemory, {"cudnn-mismatch", Environment, fetchDoctor}, mayBeAccess}},
	{"cudnn-handle", may{mayBeMemory, {"cudnn-mismatch", Environment, fetchDoctor}}},
	{"cudnn-did-not-start", may{mayBeMemory, {"cudnn-mismatch", Environment, fetchDoctor}}},
	{"cudnn-refused-call", may{{"shape-mismatch", Program, fetchBlocking}, {"cudnn-mismatch", Environment,
		fetchDoctor}}},
	{"cusolver-failed", may{mayBeMemory, mayBeLibraries, mayBeAccess}},
	{"cufft-failed", may{mayBeLibraries, mayBeMemory}},
	{"invalid-device-ordinal", may{{"more-ranks-than-gpus", Environment,
		"nvidia-smi -L; echo $CUDA_VISIBLE_DEVICES"}, {"invalid-argument", Program, fetchBlocking}}},
	{"collective-timed-out", may{mayBeOtherRank, {"mismatched-collectives", Program,
		"TORCH_DISTRIBUTED_DEBUG=DETAIL torchrun PROGRAM"}, mayBeNetwork}},
	{"rank-lost", may{mayBeOtherRank, mayBeNetwork, mayBeGPU}},
	{"rank-died", may{mayBeOtherRank, mayBeOOM, mayBeGPU}},
	{"mpi-rank-died", may{mayBeOtherRank, mayBeOOM}},
	{"ray-worker-died", may{mayBeOOM, {"rank-died", Unknown, "ray logs worker-*.err"}}},
	{"vllm-worker-failed", may{{"gpu-memory-exhausted", Program, "the lines above, of the worker itself"},
		mayBeLibraries}},
	{"dataloader-worker-died", may{mayBeOOM, {"shm-too-small", Environment, "df -h /dev/shm"}}},
	{"notebook-kernel-died", may{mayBeOOM, mayBeLibraries}},
	{"nccl-cuda-error", may{mayBeMemory, {"fabric-not-ready", Environment, "nvidia-smi -q | grep -A3 Fabric"},
		mayBeGPU}},
	{"nccl-system-error", may{{"shm-too-small", Environment, "df -h /dev/shm"}, mayBeNetwork}},
	{"nccl-last-error", may{mayBeNetwork, mayBeLibraries, mayBeOtherRank}},
	{"out-of-memory", may{{"out-of-memory", Program, fetchMemory}, {"out-of-memory-other-process", Environment, fetchMemory}, mayBeGPU}},
	{"nccl-internal-error", may{mayBeNetwork, mayBeLibraries}},
	{"nccl-invalid-usage", may{{"two-ranks-on-one-gpu", Program, fetchNCCL}, mayBeLibraries}},
	{"nccl-transport-failed", may{{"network-card-error", Environment, "ibstat; dmesg | grep -i mlx"}, mayBeNetwork,
		mayBeOtherRank}},
	{"xid-ambiguous", may{mayBeAccess, mayBeGPU, {"driver-too-old", Environment, fetchDoctor}}},
	{"nvml-not-there", may{{"container-driver-libs-missing", Environment, fetchSMI}, {"no-driver",
		Environment, fetchDoctor}}},
	{"nvml-not-usable", may{mayBeDriver, mayBeGPU}},
	{"library-lacks-symbol", may{{"extension-mismatch", Environment, fetchDoctor}, mayBeLibraries}},
	{"extension-did-not-build", may{{"host-compiler", Environment, fetchBuild}, {"toolkit-framework", Environment,
		fetchDoctor}, {"build-out-of-memory", Environment, fetchOOM}}},
	{"tensorflow-no-gpu", may{{"no-driver", Environment, fetchSMI}, {"tensorflow-library-not-found",
		Environment, fetchDoctor}, {"container-driver-libs-missing", Environment,
		"nvidia-smi in the same container"}}},
	{"jax-fell-back", may{{"cpu-only-build", Environment, "pip list | grep jax"}, {"no-driver", Environment,
		fetchSMI}}},
	{"runs-on-cpu", may{{"no-driver", Environment, fetchSMI}, {"library-built-without-cuda", Environment,
		fetchDoctor}, {"container-driver-libs-missing", Environment, "nvidia-smi in the same container"}}},
	{"process-crashed", may{mayBeOOM, mayBeLibraries, {"launch-failure", Program, fetchFault}}},
	{"illegal-memory-access", may{{"illegal-memory-access", Program, fetchSanitize}, mayBeGPU, mayBeDriver}},
	{"launch-failure", may{{"illegal-memory-access", Program, fetchSanitize}, mayBeGPU, mayBeDriver}},
	{"rendezvous-failed", may{mayBeOtherRank, {"rendezvous-not-reached", Environment,
		"nc -zv MASTER_ADDR MASTER_PORT on every node"}}},
	{"rendezvous-store-lost", may{mayBeOtherRank, {"rendezvous-not-reached", Environment,
		"nc -zv MASTER_ADDR MASTER_PORT on every node"}}},
	{"cuda-does-not-start-on-host", may{mayBeDriver, mayBeGPU}},
	{"triton-did-not-compile", may{{"jit-too-old-for-gpu", Environment, fetchDoctor}, {"compiler-missing",
		Environment, "gcc --version"}}},
	{"kernel-did-not-compile", may{{"jit-too-old-for-gpu", Environment, fetchDoctor}, {"kernel-source", Program,
		"the compiler's lines above"}}},
	{"no-gpu-for-checkpoint", may{{"no-gpu-visible", Environment, fetchSMI}, {"wrong-usage", Program,
		"grep -n torch.load PROGRAM"}}},
	{"too-many-open-files", may{{"too-many-open-files", Environment, "ulimit -n"}, {"too-many-open-files", Program,
		"ls /proc/PID/fd | wc -l, twice"}}},
	{"memory-unbalanced", may{mayBeMemory}},
	{"shared-memory-mapping-refused", may{{"shared-memory-mapping-refused", Environment,
		"sysctl vm.max_map_count; wc -l /proc/PID/maps"}, mayBeOOM}},
	{"contained-error", may{mayBeGPU, mayBeAccess}},
	{"display-driver-reset", may{{"launch-timeout", Program, fetchSanitize}, mayBeDriver, mayBeGPU}},
	{"gpu-does-not-wake", may{mayBeDriver, mayBeGPU}},
	{"network-card-error", may{{"network-card-error", Hardware, "ibqueryerrors; dmesg | grep -i " +
		"mlx"}, {"network-card-error", Environment,
		"ibstat"}}},
	{"nvlink-without-p2p", may{{"nvlink-error", Hardware, "nvidia-smi nvlink -s"}, {"no-peer-access", Environment,
		"nvidia-smi topo -p2p r"}}},
	{"windows-stopped-the-gpu", may{mayBeDriver, mayBeGPU}},
	{"pcie-corrected-errors", may{{"pcie-errors", Hardware, "lspci -tv; nvidia-smi -q | grep -i -A2 replay"}}},
	{"tensorrt-no-implementation", may{mayBeMemory, {"library-arch-missing", Environment, fetchDoctor}, {"tensorrt-input",
		Program, "trtexec --onnx=MODEL --verbose"}}},
	{"symbol-not-in-module", may{{"gpu-arch-missing", Environment, fetchDoctor}, {"kernel-source", Program,
		"cuobjdump -symbols FILE"}}},
	{"tensorrt-plugin-missing", may{{"tensorrt-plugin-missing", Program, "ldd PLUGIN.so; trtexec --plugins=PLUGIN.so"},
		{"tensorrt-engine-mismatch", Environment, "dpkg -l | grep nvinfer; pip list | grep tensorrt"}}},
	{"container-without-driver", may{{"no-driver", Environment, "nvidia-smi on the host"}, {"wrong-usage", Program,
		"grep -n gres JOBSCRIPT"}}},
	{"kubernetes-device-unhealthy", may{mayBeGPU, {"device-plugin-without-driver", Environment,
		"kubectl logs -n kube-system -l name=nvidia-device-plugin-ds"}}},
	{"mps-server-exits", may{{"mps-not-reachable", Environment, "tail $CUDA_MPS_LOG_DIRECTORY/server.log"}, mayBeAccess}},
	{"no-attention-kernel", may{{"gpu-arch-missing", Environment, fetchDoctor}, {"input-refused", Program,
		"the UserWarnings above the error"}}},
	{"trtllm-assertion", may{{"tensorrt-engine-mismatch", Environment, "pip show tensorrt_llm; head -c 300 " +
		"ENGINE/config.json"},
		{"shape-mismatch", Program, fetchBlocking}}},
	{"ptxas-failed", may{{"jit-too-old-for-gpu", Environment, fetchDoctor}, {"kernel-source", Program,
		"the lines of ptxas below"}}},
	{"nccl-sizes-differ", may{{"mismatched-collectives", Program, "TORCH_DISTRIBUTED_DEBUG=DETAIL torchrun PROGRAM"},
		mayBeLibraries}},
	{"compile-backend-failed", may{{"compiler-missing", Environment, "gcc --version; " + fetchDoctor},
		{"kernel-source", Program, "TORCHDYNAMO_DISABLE=1 python PROGRAM"}}},
	{"nccl-shm-not-attached", may{mayBeOtherRank, {"shm-too-small", Environment, "df -h /dev/shm"}}},
	{"option-not-known", may{{"version-mismatch", Environment, "type -a PROGRAM; PROGRAM --version"}, {"wrong-usage",
		Program, "PROGRAM --help"}}},
	{"local-rank-argument", may{{"launcher-arguments", Environment, "python -c 'import torch; print(torch.__version__)'"},
		{"wrong-usage", Program, "grep -n local.rank PROGRAM"}}},
	{"jax-task-missing", may{mayBeOtherRank, mayBeNetwork}},
	{"nccl-connection-refused", may{mayBeOtherRank, mayBeNetwork}},
	{"ranks-missing-at-start", may{mayBeOtherRank, mayBeNetwork}},
	{"parallel-sizes-exceed-ranks", may{{"wrong-usage", Program, "echo $WORLD_SIZE in every rank"}, mayBeOtherRank}},
	{"xformers-no-operator", may{{"gpu-arch-missing", Environment, "python -m xformers.info"}, {"input-refused", Program,
		"the lines below, one for each kernel"}}},
	{"half-on-cpu", may{{"no-gpu-visible", Environment, fetchSMI}, {"tensors-on-different-devices", Program,
		"grep -n 'half()\\|float16' PROGRAM"}}},
	{"xla-autotuning-failed", may{mayBeMemory, {"cudnn-mismatch", Environment, fetchDoctor}}},
	{"cuda-tensor-wanted", may{{"tensors-on-different-devices", Program, fetchFault}, {"extension-mismatch", Environment,
		fetchDoctor}}},
	{"arguments-not-taken", may{{"input-refused", Program, fetchFault}, {"version-mismatch", Environment,
		"pip check; pip freeze"}}},
	{"checkpoint-damaged", may{{"checkpoint-damaged", Environment, "ls -l FILE; sha256sum FILE"},
		{"file-not-found", Program, "head -c 200 FILE"}}},
	{"simulation-nan", may{{"computation-diverged", Program, "the same start on the CPU or the Reference platform"},
		mayBeGPU}},
	{"float16-not-on-device", may{{"no-gpu-visible", Environment, fetchSMI}, {"input-refused", Program,
		"grep -n compute_type PROGRAM"}}},
	{"amd-not-judged", may{{"gpu-arch-missing", Environment, "rocminfo | grep gfx"}}},
}

// anything is what a log may be that shows trouble of which nothing more is known.
var anything = []Candidate{
	{"input-refused", Program, fetchFault},
	{"no-driver", Environment, fetchDoctor},
	{"gpu-failed", Hardware, fetchXid},
}

// clue is words that prove nothing and say where to look; loud ones do so in a log without any trouble, too.
type clue struct {
	words *lazyregexp.Regexp
	loud  bool
	may   []Candidate
}

var clues = []clue{
	{lazyregexp.New(`\bKilled\b|SIGKILL|exit code:? -?(?:9|137)\b`), true, []Candidate{mayBeOOM}},
	{lazyregexp.New(`\bNCCL\b|torchrun|\bDDP\(|DistributedDataParallel|\brank ?\d`), false, []Candidate{mayBeOtherRank,
		{"two-ranks-on-one-gpu", Program, fetchNCCL}, mayBeNetwork}},
	{lazyregexp.New(`[Ii]llegal (?:address|memory)|unspecified launch|CUDA queue|Xid|FAULTY|` +
		`errors: -\d`), true, []Candidate{
		mayBeAccess, mayBeGPU}},
	{lazyregexp.New(`\[Hardware Error\]|PCIe (?:Bus )?[Ee]rror|\bAER: `), true, []Candidate{{"pcie-errors", Hardware,
		"lspci -tv; nvidia-smi -q | grep -i -A2 replay"}}},
	{lazyregexp.New(`[Mm]iner thread hangs|incorrect temperature|(?:INVALID|invalid) (?:shares?|nonce)|` +
		`[Cc]an't stop device`), true, []Candidate{mayBeGPU, mayBeDriver}},
	{lazyregexp.New(`KeyboardInterrupt|SIGTERM|signal 15\b`), false, []Candidate{{"killed-from-outside", Environment,
		"journalctl -u SERVICE; sacct -j JOB"}}},
	{lazyregexp.New(`died unexpectedly|EngineDeadError|[Ww]orker died`), false, []Candidate{mayBeOOM, mayBeMemory}},
	{lazyregexp.New(`blocked for more than \d+ seconds`), true, []Candidate{{"driver-unresponsive", Environment,
		"dmesg | grep -A30 'blocked for more'"}, mayBeGPU}},
	{lazyregexp.New(`Faulting module|0x[cC]0000`), true, []Candidate{{"windows-library-not-found", Environment,
		fetchDoctor}}},
	{lazyregexp.New(`ExecutionProvider|onnxruntime`), false, []Candidate{{"onnxruntime-library-not-found", Environment,
		fetchDoctor}}},
	{lazyregexp.New(`amdgpu|\bvfio|firmware|nvidia-drm|nvidia-modeset|NVRM|` +
		`nouveau`), false, []Candidate{{"driver-not-loaded",
		Environment, fetchXid}, mayBeGPU}},
	{lazyregexp.New(`docker|containerd|kubelet|\[pod/|OCI runtime`), false, []Candidate{{"container-driver-libs-missing",
		Environment, "nvidia-smi in the same container"}}},
	{lazyregexp.New(`out of memory|OOM|alloc`), false, []Candidate{mayBeMemory}},
}

// command is a step's command.
var command = lazyregexp.New("`([^`]+)`")

// guesses are what the sentences of failing, of which no verdict was made, are about by their words: a word does not
// prove, but says where to look. Never nil.
func guesses(records []record) []Candidate {
	all := []Candidate{}
	for _, r := range records {
		a := answerOf(areaOf(cmp.Or(r.slot("sentence"), r.text)))
		if len(a.do) == 0 || a.blame == Unknown {
			continue
		}
		fetch := "cudacompat explain " + a.cause
		if m := command.FindStringSubmatch(a.do[0]); m != nil {
			fetch = m[1]
		}
		all = append(all, Candidate{a.cause, a.blame, fetch})
	}
	return all
}

// maxCandidates is how many causes are named that an unclear log may have.
const maxCandidates = 3

// hintsIn are the clues that lines hold, in the order of the table.
func hintsIn(lines []logLine) []clue {
	var all []clue
	for _, c := range clues {
		if slices.ContainsFunc(lines, func(l logLine) bool { return c.words.MatchString(l.text) }) {
			all = append(all, c)
		}
	}
	return all
}

// withCandidates says of an unclear diagnosis what it may be: what its cause tells, else what the lines hint at.
func (d *Diagnosis) withCandidates(hints []clue) {
	if d.Blame != Unknown {
		d.Candidates = []Candidate{}
		return
	}
	if i := slices.IndexFunc(candidates, func(u unclear) bool { return u.cause == d.Cause }); i >= 0 {
		d.Candidates = candidates[i].may
		return
	}
	all, trouble := slices.Clone(d.Candidates), d.Candidates != nil
	for _, c := range hints {
		if c.loud || trouble {
			all = append(all, c.may...)
		}
	}
	if trouble {
		all = append(all, anything...)
	}
	d.Candidates = chooseCandidates(all)
}

// chooseCandidates are the first of the candidates, each cause once, and at most two that blame the same side.
func chooseCandidates(all []Candidate) []Candidate {
	some := []Candidate{}
	blames := map[Blame]int{}
	for _, c := range all {
		known := slices.ContainsFunc(some, func(s Candidate) bool { return s.Cause == c.Cause })
		if len(some) < maxCandidates && !known && blames[c.Blame] < 2 {
			some = append(some, c)
			blames[c.Blame]++
		}
	}
	return some
}
