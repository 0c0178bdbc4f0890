package record

import "cudacompat/internal/lazyregexp"

// Area is a subject of complaints, with the words that name it. The words for files and networks, packages and kernels,
// options and shapes are the same in every program.
type Area struct {
	Answer string
	words  *lazyregexp.Regexp
}

func about(answer, words string) Area { return Area{answer, lazyregexp.New(`(?i)` + words)} }

// Areas lists all areas. The first whose words occur in a complaint wins, so a cause (a device that may not be opened)
// precedes what merely names its consequence.
//
// They are code and not a table, as the forms of records are: the words come from programs in every language, so no
// page could be the source of a row, and the order matters as much as the words. The logs in testdata test them.
var Areas = []Area{
	about(
		"too-hot",
		`temperature.{0,40}(?:limit|threshold|abort|exceed|too high|critical)|overheat|`+
			`thermal (?:shutdown|violation|slowdown|throttl|limit|trip)|critical temperature|too hot`,
	),
	about("off-the-bus", `gpu is lost|gpu has fallen|fallen off the bus|\(rev ff\)|unknown header type 7f`),
	about("shared-memory", `/dev/shm.{0,120}no space|no space.{0,120}/dev/shm|shared memory (?:segment|region|\(shm)|`+
		`insufficient shared memory`),
	about("memory-said", `\boom\b|out of memory|not enough memory|free memory|resource_?exhausted|`+
		`memory .{0,40}(?:less than|insufficient|exceed)|requires? more .{0,20}memory`),
	about("disk-full", `no space left on device|quota ?exceeded|enospc|not enough (?:free )?(?:disk )?space|`+
		`disk (?:is )?full|read-only file ?system`),
	about("unstable", `(?:simulation|system|integration|solver|training|loss|energy|coordinates?|particles?|`+
		`positions?|gradients?)\b.{0,60}(?:unstable|blow\w* up|explod|diverg|not converg|\bnans?\b|not finite|`+
		`non-finite)|(?:floating[- ]point|invalid value).{0,40}\bnan|minimum loss scale`),
	about("context", `(?:prompt|request|input|sequence|message|context)\b.{0,60}(?:token|context|`+
		`length).{0,60}(?:exceed|too long|longer than|larger than|greater than|limit)|(?:exceed|longer than|`+
		`larger than).{0,40}(?:context|max\w*[ _](?:model[ _])?(?:len|token|position)|context[ _](?:size|length|`+
		`window))|maximum context length`),
	about("service", `job for .*service failed|failed to start .*(?:nvidia|fabric|docker|containerd|persistenced|`+
		`slurmd|dcgm|hostengine)|hostengine|nv-fabricmanager|nvidia-persistenced|mps control daemon`),
	about("access", `permission denied|operation not permitted|access(?: is)? denied|eacces|not authori[sz]ed|`+
		`insufficient permissions|must be (?:run as )?root|are you root|avc: +denied|apparmor="denied"|`+
		`requires? (?:root|superuser|administrator)`),
	about("graphics", `\bopengl|\bvulkan|\bvk_error|\begl\b|egl_|\bglx|\boptix|optix_error|opencl\b|\bcl_[a-z]+_|`+
		`\bclget|xcb|x server|\bxorg|could not connect to display|cannot open display|no display|\bglfw|dri[23]\b|`+
		`\(ee\) nvidia|graphics device`),
	about("video", `(?:hw|hardware|video|nv)[- ]?(?:accel\w*|device|decod\w*|encod\w*)|vaapi|nvdec|nvenc|cuvid|v4l2|`+
		`/dev/video|device setup failed|hwaccel|no decoder|gstreamer|encoder .{0,40}not found`),
	about("device-gone", `/dev/(?:nvidia|nvhost|nvmap|dri|kfd|infiniband)|no such device`),
	about("mpi", `\bmpi_|\bmpich|\borte\b|\borted|\bpmix|\bpmi\d?\b|\bucx\b|\bucp_|libfabric|\bmpirun|\bmpiexec|`+
		`\bprte|open mpi|not enough slots|hostfile|ofi_|verbs|ibv_|net/(?:ofi|ib|plugin)|find net with`),
	about("network-down", `\bsocket|could ?n.t resolve|not resolve|name resolution|name or service not known|`+
		`no route to|connection (?:refused|reset|timed out|error)|timed out.{0,30}connect|unreachable|ssl\b|certificate|`+
		`proxy|econn|max retries exceeded|address already in use|eaddrinuse|failed to (?:fetch|download|bind|listen)|`+
		`host not found|http ?error|handshake`),
	about("repository", `repositor(?:y|ies)\b.{0,80}(?:release|found|index|signed|gpg|key|metadata|404)|gpg|`+
		`no_pubkey|repomd|dpkg|rpm\b|\bapt\b|\bdnf\b|\byum\b|zypper|pacman|unmet|held broken|`+
		`nothing provides|no match for argument|unable to locate package|no candidate|candidate`),
	about("kernel", `dkms|kernel module|insmod|modprobe|akmods|secure boot|initramfs|modules? .{0,40}\.ko\b|`+
		`/lib/modules|kernel (?:headers|source)|vmlinuz|nouveau|\bvfio|\biommu|nvrm|nvidia-modeset|nvidia_drm`),
	about("engine", `\bcdi\b|docker|podman|containerd|\brunc\b|\bcrun\b|kubelet|pod sandbox|imagepull|cgroup|`+
		`oci runtime|apptainer|singularity|enroot|pyxis|\blxc\b|container .{0,40}(?:start|creat|runtime|hook)`),
	about("job", `slurm|srun|sbatch|\bgres\b|partition|\bpbs|qsub|no slot|cluster .{0,30}resources|resource request|`+
		`placement group`),
	about("no-device", `found no .{0,20}device|not able to use|num_gpus|num_cuda_devices|\b(?:gpus?|cuda|nvidia|`+
		`devices?|(?:graphics|display) adapters?|accelerators?|platforms?)\b.{0,60}(?:not found|not available|`+
		`unavailable|not detected|`+
		`not visible|none|no such|not (?:usable|accessible)|missing|> 0)|`+
		`(?:^|[^\w.:-])0 (?:[a-z-]+ ){0,2}(?:gpus|(?:[a-z-]+ )?(?:devices|adapters|accelerators))\b|`+
		`\b(?:no|can.?t find|cannot find|not find|invalid|`+
		`unable to (?:get|find|detect)|found no|zero|less than \w+)\b.{0,20}\b(?:gpus?|cuda|nvidia|cuda-\w+|`+
		`(?:graphics|display|suitable|appropriate|compatible) adapters?|`+
		`accelerators?|opencl)\b|`+
		`fail\w* to (?:create|open|acquire|initiali[sz]e)\b.{0,20}\b(?:gpus?|graphics) devices?\b`),
	about("driver-or-toolkit", `\bdrivers?\b|cudart|libcuda|nvcc|ptxas|toolkit|cuda_home|cuda_path|nvrtc|nvml|`+
		`kernel image|compute capab|\bsm_?\d\d|gpu architecture|firmware|libdevice|load module|couldn.t init .{0,20}gpu|`+
		`does not match dso`),
	about("installation", `install|\bpip\b|conda|\bwheel\b|package|shared (?:object|library)|\.so\b|\.dll\b|dynlib|`+
		`librar(?:y|ies)|plugin|extension|symbol|not (?:built|compiled)|built without|compiled without|rebuild|`+
		`recompile|\bcompiler\b|host compiler|glibc|not enabled in this build|backend.{0,40}(?:not|unavailable|fail)|`+
		`mismatch.{0,60}version|version.{0,60}(?:mismatch|incompatible|require|too old|not supported|newer|conflict)|`+
		`requires? .{0,30}\b\d+\.\d+|incompatible with|upgrade|outdated|no longer support|please use .{0,30}version|`+
		`setup failed|no such operator|custom (?:c\+\+ )?ops|deseriali[sz]|seriali[sz]ation|not supported by this container|(?:cannot|can.?t|`+
		`couldn.t|could not|unable to|failed to) (?:import|load) .{0,30}(?:module|symbol|kernels?|ops|backend)`),
	about("no-device", `(?:valid|select|request).{0,30}\b(?:cuda|gpu)\b.{0,10}(?:device|id)|device type|device id`),
	about("usage", `unrecogni[sz]ed|unknown (?:option|flag|argument|command|parameter|key)|invalid (?:option|choice|`+
		`argument|value|flag|parameter|command|config\w*|model name|type)|(?:unexpected|missing|extra|too few|too many|`+
		`bad|wrong|required|ambiguous|duplicate|conflicting|mutually exclusive).{0,30}(?:arguments?|options?|`+
		`parameters?|operand|keys?|fields?|flags?)|expected (?:at least )?(?:one|\d+) argument|^usage:|is not a valid|`+
		`illegal (?:option|value)|the following arguments are required|arguments? (?:is|are) required|must specify|`+
		`must be specified|option requires`),
	about("given-file", `no such file|does not exist|not a (?:file|directory)|(?:can.?t|cannot|can not|could not|`+
		`unable to|failed to|failure|error|failed) .{0,30}\b(?:open|opening|read|reading|load|loading|find|locate|parse|`+
		`parsing|stat|import|access)\b|file .{0,60}(?:not found|missing|corrupt)|filenotfound|is a directory|`+
		`not a valid .{0,20}file|invalid (?:magic|header|file)|unexpected (?:end|eof)|truncated|poll failed`),
	about("input", `\bshapes?\b|dimension|\bsizes?\b|broadcast|channels?|batch|dtype|data ?type|\bindex|indices|`+
		`out of (?:range|bounds)|\blabels?\b|\bclass(?:es)?\b|not implemented|unimplemented|unsupported|not supported|`+
		`\boperators?\b|\blayer|\btensor|tokens?\b|vocab|\bmodel\b|config|json|yaml|syntax|parse|format|\bvalue|`+
		`argument|parameter|placeholder|assert|expected`),
}
